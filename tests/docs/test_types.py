"""Every Python sample in the documentation passes `mypy --strict`, as it would in the code of a user.

A page becomes one module and a sample with a file name another one. Each line of code keeps its line number, so that an
error names the line of the page.
"""

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.pages import PAGES, ROOT, Block, blocks, name

pytestmark = pytest.mark.long  # without its cache, mypy takes a minute

# Names may be used again for a value of another type: a page is typed into one interactive session.
_OPTIONS = (
    "--strict",
    "--allow-redefinition-new",
    "--local-partial-types",
    "--no-error-summary",
    "--disable-error-code=import-untyped",  # pandas has no types of its own
)


@pytest.fixture(scope="module")
def cache() -> Path:
    folder = ROOT / ".mypy_cache" / "docs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def modules() -> dict[str, tuple[Path, str]]:
    """The Python samples of all pages: for each module name the page and its code."""
    found: dict[str, tuple[Path, str]] = {}
    for page in PAGES:
        samples = blocks(page, "python")
        module = re.sub(r"\W", "_", name(page).removesuffix(".md"))
        if session := [sample for sample in samples if not sample.words]:
            found[module] = page, at_their_lines(session)
        for sample in samples:
            if sample.words:
                found[f"{module}_line_{sample.line}"] = page, at_their_lines([sample])
    return found


def at_their_lines(samples: list[Block]) -> str:
    """The code of the samples, on the same lines as in their page."""
    lines: dict[int, str] = {}
    for sample in samples:
        lines.update((sample.line + offset, line) for offset, line in code_lines(sample.text))
    return "".join(f"{lines.get(number, '')}\n" for number in range(1, max(lines) + 1))


def code_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of code of a sample, each with its offset: without the prompts and the output of a doctest."""
    if ">>>" not in text:
        yield from enumerate(text.splitlines())
        return
    for example in doctest.DocTestParser().get_examples(text):
        for offset, line in enumerate(example.source.splitlines()):
            yield example.lineno + offset, line


def check(folder: Path, cache: Path) -> list[str]:
    """The errors that mypy reports for the modules in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *_OPTIONS, "--config-file=", f"--cache-dir={cache}", "."],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    return [line for line in done.stdout.splitlines() if ": error: " in line]


def test_every_sample_is_typed(tmp_path: Path, cache: Path) -> None:
    samples = modules()
    for module, (_, text) in samples.items():
        (tmp_path / f"{module}.py").write_text(text, "utf-8")
    errors = check(tmp_path, cache)
    shown = [f"{name(samples[line.partition('.py:')[0]][0])}:{line.partition('.py:')[2]}" for line in errors]
    assert not shown, "\n".join(shown)


def test_a_sample_with_a_wrong_type_is_found(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "wrong.py").write_text("import runcard\n\nruncard.load('team.json').no_such_field\n", "utf-8")
    [error] = check(tmp_path, cache)
    assert error.startswith("wrong.py:3: error:")
