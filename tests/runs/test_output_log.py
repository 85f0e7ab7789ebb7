"""The log of a command: bounded, masked, and its own whatever the command does to the file."""

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcard.store.runs import output_log
from runcard.store.runs.output_log import LogResult, OutputLog

LEAD = 16  # of each stream, instead of 64 KiB


class Shouting:
    """A filter that holds back what is no whole line yet, as masking does."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes, /) -> bytes:
        lines, newline, self._held = (self._held + data).rpartition(b"\n")
        return (lines + newline).upper()

    def flush(self) -> bytes:
        return self._held.upper()


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., OutputLog]:
    monkeypatch.setattr(output_log, "_LEAD", LEAD)
    (tmp_path / ".runcard").mkdir()
    (tmp_path / "run").mkdir()
    return lambda **limits: OutputLog(str(tmp_path / "run"), Shouting, **limits)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "output.log"


def test_lines_of_two_streams_are_kept_whole(make: Callable[..., OutputLog], path: Path) -> None:
    log = make()
    for stream, data in (("out", b"one "), ("err", b"two "), ("out", b"three\n"), ("err", b"four")):
        log.feed(stream, data)
    assert path.read_bytes() == b"ONE THREE\n"
    result = log.close()
    assert path.read_bytes() == b"ONE THREE\nTWO FOUR"
    assert result == LogResult(18, is_cut=False, write_error=None, moved_to=None, was_removed=False)


def test_what_just_fits_is_not_cut(make: Callable[..., OutputLog], path: Path) -> None:
    log = make(head=10, tail=10)
    text = b"".join(
        b"%03d\n" % number for number in range(12)
    )  # as long as both, with what the filters see before
    for at in range(0, len(text), 4):
        log.feed("out", text[at : at + 4])
    assert not log.close().is_cut
    assert path.read_bytes() == text


def test_head_and_tail_are_kept_and_the_cut_is_said(make: Callable[..., OutputLog], path: Path) -> None:
    log = make(head=10, tail=10)
    text = b"".join(b"line %03d\n" % number for number in range(100))
    for at in range(0, len(text), 3):
        log.feed("out", text[at : at + 3])
    assert path.read_bytes().endswith(b"and its end]\n"), "while it is at work, the cut is said already"
    result = log.close()
    assert (result.total, result.is_cut) == (900, True)
    found = path.read_bytes()
    cut, said = re.findall(rb"\[runcard: .*\]", found)
    first, last = found.partition(b"\n")[0], found.rpartition(b"]\n")[2]
    assert first == b"LINE 000"
    assert (
        cut == b"[runcard: left out from here on: this log has the first 10 bytes of the output, and its end]"
    )
    assert said == b"[runcard: 900 bytes in all; here are the last 10 bytes]"
    assert len(last) >= 10
    assert text.upper().endswith(last)


class Plain:
    """A filter that changes nothing and holds nothing back."""

    def feed(self, data: bytes, /) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


MARKS = re.compile(rb"\n\[runcard: left .*\]\n\n\[runcard: .*\]\n")


@given(
    st.integers(0, 40),
    st.integers(1, 40),
    st.lists(st.binary(min_size=1, max_size=30).map(lambda data: data.replace(b"[", b"")), max_size=30),
)
def test_whatever_comes_head_and_tail_are_kept(head: int, tail: int, pieces: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(output_log, "_LEAD", LEAD)
        for folder in (".runcard", "run"):
            (Path(name) / folder).mkdir()
        log = OutputLog(str(Path(name) / "run"), Plain, head=head, tail=tail)
        for piece in pieces:
            log.feed("out", piece)
        result = log.close()
        whole, found = b"".join(pieces), (Path(name) / "run" / "output.log").read_bytes()
    if not result.is_cut:
        assert found == whole
        return
    first, last = MARKS.split(found)
    assert first == whole[:head]
    assert whole.endswith(last)
    assert tail <= len(last) < len(whole) - head


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"mine")


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(b"mine"), append])
def test_the_log_survives_what_is_done_to_the_file(
    make: Callable[..., OutputLog], path: Path, harm: Callable[[Path], object]
) -> None:
    log = make()
    log.feed("out", b"before\n")
    harm(path)
    log.feed("out", b"after\n")
    result = log.close()
    assert path.read_bytes() == b"BEFORE\nAFTER\n"
    assert result.was_removed == (result.moved_to is None)
    if result.moved_to is not None:
        assert (path.parent / result.moved_to).read_bytes().endswith(b"mine")


def test_a_disk_that_is_full_stops_the_log_alone(
    make: Callable[..., OutputLog], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = make()
    log.feed("out", b"before\n")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as context:
        context.setattr(os, "write", full)
        log.feed("out", b"lost\n")
    log.feed("out", b"after\n")
    result = log.close()
    assert path.read_bytes() == b"BEFORE\n"
    assert result.write_error is not None
    assert "No space left on device" in result.write_error


def test_where_no_file_can_be_without_a_name(
    make: Callable[..., OutputLog], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "O_TMPFILE")
    log = make()
    log.feed("out", b"before\n")
    path.unlink()
    assert log.close().was_removed
    assert path.read_bytes() == b"BEFORE\n"
    assert list((path.parents[1] / ".runcard").iterdir()) == []
