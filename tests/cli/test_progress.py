"""The running count of long work."""

import io
import sys
from collections.abc import Iterator

import pytest

from runcard.cli import progress
from runcard.cli.progress import ByteProgress, Progress
from runcard.cli.verbosity import reset_verbosity, set_verbosity


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


def test_a_bar_has_bytes_percentage_speed_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    _impatient(monkeypatch)
    clock = [0.0]
    monkeypatch.setattr("runcard.cli.progress.time.monotonic", lambda: clock[0])
    bar = ByteProgress(lambda: 6_000_000, passes=2)

    def work() -> Iterator[str]:
        for name in ("first", "second"):
            for done in (1_500_000, 3_000_000, 1_000, 3_000_000):
                clock[0] += 2
                bar.advance(1, done)
            yield name

    assert [(name, bar.record) for name in bar.over(work())] == [
        ("first", (1, 3_000_000)),
        ("second", (1, 3_000_000)),
    ]
    shown = terminal.getvalue().split("\r\x1b[K")
    assert shown[1] == "██░░░░░░░░░░░░░░░░░░  12% 750.0 kB of 6.0 MB, 375.0 kB/s, 14 s left"
    assert shown[4] == "██████████░░░░░░░░░░  50% 3.0 MB of 6.0 MB, 375.0 kB/s, 8 s left"
    assert shown[-2] == "████████████████████ 100% 6.0 MB of 6.0 MB, 375.0 kB/s, 0 s left"
    assert shown[-1] == ""


def test_a_bar_whose_end_is_not_known_has_bytes_and_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    _impatient(monkeypatch)
    clock = [0.0]
    monkeypatch.setattr("runcard.cli.progress.time.monotonic", lambda: clock[0])
    bar = ByteProgress(lambda: 0)

    def work() -> Iterator[int]:
        clock[0] += 2
        bar.advance(1, 4_000_000)
        yield 1

    assert list(bar.over(work())) == [1]
    assert terminal.getvalue() == "\r\x1b[K4.0 MB, 2.0 MB/s\r\x1b[K"


def test_where_no_terminal_is_lines_are_printed_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    monkeypatch.setattr("runcard.cli.progress.time.monotonic", lambda: clock[0])
    bar = ByteProgress(lambda: 4_000_000, everywhere=True)

    def work() -> Iterator[int]:
        for done in range(1, 5):
            clock[0] += 1
            bar.advance(1, done * 1_000_000)
        yield 1

    assert list(bar.over(work())) == [1]
    assert capsys.readouterr().err.splitlines() == [
        " 50% 2.0 MB of 4.0 MB, 1.0 MB/s, 2 s left",
        "100% 4.0 MB of 4.0 MB, 1.0 MB/s, 0 s left",
        "4.0 MB done",
    ]


def test_quiet_shows_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    _impatient(monkeypatch)
    set_verbosity(quiet=True)
    try:
        assert list(Progress("documents", everywhere=True).over("ab")) == ["a", "b"]
    finally:
        reset_verbosity()
    assert terminal.getvalue() == ""
