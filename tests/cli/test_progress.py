"""The running count of long work."""

import io
import sys
from collections.abc import Iterator

import pytest

from runcard.cli import progress
from runcard.cli.progress import Progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _terminal(monkeypatch: pytest.MonkeyPatch) -> _Terminal:
    """A terminal for stderr; not a fixture, since pytest sets its own stream between fixtures and test."""
    stream = _Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_EVERY", 0.0)


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    assert list(Progress("documents").over(range(5))) == [0, 1, 2, 3, 4]
    assert terminal.getvalue() == ""


def test_long_work_shows_a_count_and_wipes_it_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    _impatient(monkeypatch)
    assert list(Progress("documents").over("ab")) == ["a", "b"]
    shown = terminal.getvalue().split("\r\x1b[K")
    assert [text.partition(",")[0] for text in shown] == ["", "1 documents", "2 documents", ""]
    assert shown[2].endswith(" a second")


def test_the_count_is_wiped_before_other_text_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    _impatient(monkeypatch)
    counted = Progress("documents")
    for item in counted.over("ab"):
        counted.wipe()
        counted.wipe()
        terminal.write(f"{item}\n")
    shown = terminal.getvalue().split("\r\x1b[K")
    assert [text.partition(",")[0] for text in shown] == ["", "1 documents", "a\n", "2 documents", "b\n"]


def test_the_count_is_wiped_when_the_work_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    _impatient(monkeypatch)
    with pytest.raises(ZeroDivisionError):
        list(Progress("documents").over(1 // item for item in (1, 0)))
    assert terminal.getvalue().endswith(" a second\r\x1b[K")


def test_nothing_is_shown_where_no_terminal_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _impatient(monkeypatch)
    assert list(Progress("documents").over("ab")) == ["a", "b"]
    assert capsys.readouterr().err == ""


def test_one_item_that_takes_long_shows_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    counted = Progress("records")
    counted.files(1, 1)
    _impatient(monkeypatch)

    def work() -> Iterator[int]:
        counted.files(12_000, 3_400_000_000)
        yield 1

    assert list(counted.over(work())) == [1]
    assert terminal.getvalue().split("\r\x1b[K")[1] == "12,000 files, 3,400 MB"
