"""What the README shows of the demo: the picture of a terminal, the record, and its changed copy."""

from pathlib import Path

import pytest
import update_demo as demo

import runcard
from docs.pages import Block
from docs.sessions import run_console
from runcard.cli.demo.model import demo_environment, scripted_model
from runcard.cli.demo.tour import prepare


def test_the_commands_in_the_picture_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(str(tmp_path))
    text = demo.read((demo.ROOT / demo.PICTURE).read_text("utf-8"))
    assert [line[2:] for line in text.splitlines() if line.startswith("$ ")] == list(demo.COMMANDS)
    with scripted_model() as address:
        for name, value in demo_environment(address).items():
            monkeypatch.setenv(name, value)
        run_console(Block("console", ("varying",), text, line=1), tmp_path)


def test_a_drawing_can_be_read() -> None:
    """Colors, markup, indented lines and lines that are wrapped."""
    shown = f"$ cat a\n\x1b[31m\x1b[1mError:\x1b[0m <a> & b\n\n  {'long ' * 40}end\n"
    picture = demo.draw(shown)
    assert demo.read(picture) == shown.replace("\x1b[31m\x1b[1m", "").replace("\x1b[0m", "")
    assert ">Error:</tspan>" in picture


def test_the_record_is_intact_and_its_copy_is_not() -> None:
    [record], [changed] = (runcard.verify(demo.ROOT / path) for path in (demo.RECORD, demo.CHANGED))
    assert (record.verdict.intact, record.verdict.complete) == (True, True)
    assert (changed.verdict.intact, changed.verdict.complete) == (False, True)
    assert [(one.kind, one.path) for one in changed.verdict.findings] == [("changed", "personas/ada.json")]


def test_the_script_makes_all_three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["", str(tmp_path)])
    assert demo.main() == 0
    assert demo.read((tmp_path / demo.PICTURE).read_text("utf-8")).count("$ ") == len(demo.COMMANDS)
    [record], [changed] = (runcard.verify(tmp_path / path) for path in (demo.RECORD, demo.CHANGED))
    assert (record.verdict.intact, changed.verdict.intact) == (True, False)
