"""A page as a session: its shell and Python samples, run from top to bottom in one directory.

In a `console` block a line that begins with `$ ` is a command for bash, lines that begin with `> ` go on with it, and the
lines below are what it prints, on stdout and stderr together. A line of `...` stands for any lines. A `python` block
is a doctest when it has a `>>>`, and is executed as it is otherwise; the blocks of a page share their names.
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
    for step, found in zip(expected, printed, strict=False):
        assert matches(step.expected, found), (
            f"line {block.line}: $ {step.command}--- the page says\n{step.expected}--- it prints\n{found}"
        )


def matches(expected: str, found: str) -> bool:
    lines = [
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line)
        for line in expected.splitlines(keepends=True)
    ]
    return re.fullmatch("".join(lines), found) is not None


def _environment(folder: Path) -> dict[str, str]:
    own = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "80",
        "NO_COLOR": "1",
    }
    return {**os.environ, **own}


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
