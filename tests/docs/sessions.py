"""A page as a session: its shell and Python samples, run from top to bottom in one directory.

In a `console` block a line that begins with `$ ` is a command for bash, lines that begin with `> ` go on with it, and the
lines below are what it prints, on stdout and stderr together. A line of `...` stands for any lines. In a block that is
marked `varying`, what differs from run to run (ids, times, the versions of the machine) need only be of the same kind. A
`python` block is a doctest when it has a `>>>`, and is executed as it is otherwise; the blocks of a page share their names.
One that has a name becomes that file.
"""

import doctest
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docs.pages import Block

_MARK = "\x1f"
_VARYING = {
    r"\b(run|exp)-[0-9a-z]{16,}\b": r"\1-<id>",
    r"\bw-[0-9a-f]{8}(:\d+)?\b": "<writer>",  # and an event of it
    r"(?m)^runcard: /.+/(?=[^/]+/[^/]+$)": "runcard: <place>/",
    r'"path": "/.+/(?=[^/]+/[^/]+")': '"path": "<place>/',
    r"\bSHA256:[A-Za-z0-9+/]{43}": "<fingerprint>",
    r"\bAAAA[A-Za-z0-9+/]{16,}=*": "<key>",
    r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9]{6}-[0-9a-f]{8}\b": "<anchor>",
    r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9]{6}(-[0-9]+)?\b": "<name>",
    r"\banchor <anchor>, [0-9,]+ bytes": "anchor <anchor>, <bytes>",
    r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9]{2}-[0-9]{2}-[0-9]{2}\b": "<second>",
    r"\b[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}\b": "<minute>",
    r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]+)?Z": "<time>",
    r"\barchive/[0-9]{4}-[0-9]{2}/": "archive/<month>/",
    r"\b[0-9.]+ s\b": "<span>",
    r"\b[0-9.]+ [kMG]?B\b": "<size>",
    r"\b[0-9a-f]{64}\b": "<digest>",
    r"(python +)[0-9.]+\S*": r"\1<version>",
    r"(platform +)\w+": r"\1<platform>",
    r"(packages +)[0-9]+": r"\1<count>",
}


@dataclass(frozen=True)
class Step:
    """A command and what it should print."""

    command: str
    expected: str


def steps(text: str) -> Iterator[Step]:
    command, expected = "", ""
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            if command:
                yield Step(command, expected)
            command, expected = line[2:], ""
        elif line.startswith("> ") and not expected:
            command += line[2:]
        else:
            assert command, f"output before the first command: {line}"
            expected += line
    yield Step(command, expected)


def run_console(block: Block, folder: Path) -> None:
    """Run the commands of a block in one shell, and compare what each prints."""
    expected = list(steps(block.text))
    # The exit code survives the mark, so that a sample may go on with `echo $?`.
    script = "".join(f"{step.command}_code=$?; printf '{_MARK}'; (exit $_code)\n" for step in expected)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=_environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    printed = done.stdout.split(_MARK)
    assert len(printed) == len(expected) + 1, f"bash stumbled:\n{done.stdout}"
    same = matches if "varying" not in block.words else matches_kind
    for step, found in zip(expected, printed, strict=False):
        assert same(step.expected, found), (
            f"line {block.line}: $ {step.command}--- the page says\n{step.expected}--- it prints\n{found}"
        )


def matches(expected: str, found: str) -> bool:
    lines = [
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line)
        for line in expected.splitlines(keepends=True)
    ]
    return re.fullmatch("".join(lines), found) is not None


def matches_kind(expected: str, found: str) -> bool:
    """The same but for what differs from run to run."""
    return matches(_settled(expected), _settled(found))


def _settled(text: str) -> str:
    for pattern, kind in _VARYING.items():
        text = re.sub(pattern, kind, text)
    return text


def _environment(folder: Path) -> dict[str, str]:
    own = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "PYTEST_ADDOPTS": "-p no:randomly",  # installed here, not where a user follows the page
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    return {**kept, **own}


def run_python(block: Block, names: dict[str, Any], page: str) -> None:
    if ">>>" not in block.text:
        exec(compile(block.text, f"{page}:{block.line}", "exec"), names)  # noqa: S102 - our own page
        return
    # The names are handed over as they are: the next block goes on with them.
    test = doctest.DocTestParser().get_doctest(block.text, {}, page, page, block.line - 1)
    test.globs = names
    told = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    failed, _ = runner.run(test, out=told.write, clear_globs=False)
    assert not failed, told.getvalue()
