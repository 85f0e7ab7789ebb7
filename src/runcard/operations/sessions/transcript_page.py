"""A transcript in pages: of a file of any size, only a page is in memory.

The log of an imported session has steps: a heading, `[time] kind: name`, and its text indented. Any other log is lines. A page begins
and ends at a step or a line where that is possible; where it is not, it says so.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import SEEK_END
from typing import BinaryIO, NamedTuple

PAGE = 128 << 10  # bytes
_BLOCK = 1 << 20
_HEADING = re.compile(
    rb"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ|no time)\] "
    rb"(user|assistant|thinking|tool use|tool result|error|interruption|note)(: [^\n]*?)?( \(failed\))?$",
    re.MULTILINE,
)
_LONGEST_HEADING = 4096


@dataclass
class TranscriptStep:
    """What an agent was told, said or did."""

    kind: (
        str | None
    )  # None: lines of a log without steps, or the rest of a step that began on an earlier page
    time: str | None
    name: str | None
    is_failed: bool
    text: str
    start: int  # its first byte

    @property
    def lines(self) -> int:
        return self.text.count("\n") + 1


@dataclass
class TranscriptPage:
    """A part of a transcript."""

    start: int
    end: int
    size: int | None  # of all of it; None if that is not known without reading all
    steps: list[TranscriptStep] = field(default_factory=list)
    begins_inside: bool = False  # of a step, or a line
    ends_inside: bool = False

    @property
    def is_last(self) -> bool:
        return self.size is not None and self.end >= self.size


class TranscriptHit(NamedTuple):
    """A line with the words that were looked for."""

    start: int  # the first byte of its step or line
    text: str


def read_page(file: BinaryIO, start: int = 0, before: int | None = None) -> TranscriptPage:
    """The page that begins at a byte, or the one that ends at it."""
    size = _size(file)
    if before is not None:
        before = before if size is None else min(before, size)
        start = max(0, before - PAGE)
    _skip(file, start)
    data = _read(file, PAGE if before is None else before - start)
    if before is not None and start:
        cut = _first_place(data)
        start, data = start + cut, data[cut:]
    return _page(data, start, size, is_whole=before is not None)


def _page(data: bytes, start: int, size: int | None, *, is_whole: bool) -> TranscriptPage:
    is_end = len(data) < PAGE or (size is not None and start + len(data) >= size)
    end = len(data) if is_end or is_whole else _last_place(data)
    if size is None and is_end:
        size = start + len(data)
    data = data[:end]
    page = TranscriptPage(start, start + end, size)
    headings = list(_HEADING.finditer(data))
    if not headings or headings[0].start():
        rest = data[: headings[0].start() if headings else len(data)]
        if rest.strip():
            page.steps.append(TranscriptStep(None, None, None, False, _dedented(rest), start))
            page.begins_inside = bool(start) and bool(headings or rest.startswith(b"  "))
    for number, heading in enumerate(headings):
        until = headings[number + 1].start() if number + 1 < len(headings) else len(data)
        page.steps.append(_step(heading, data[heading.end() : until], start))
    page.ends_inside = not page.is_last and not is_whole and not _is_place(data)
    return page


def _step(heading: "re.Match[bytes]", text: bytes, start: int) -> TranscriptStep:
    time, kind, name, failed = (
        None if part is None else part.decode("utf-8", "replace") for part in heading.groups()
    )
    return TranscriptStep(
        kind,
        None if time == "no time" or time is None else f"{time[:10]}T{time[11:]}",
        name[2:] if name else None,
        bool(failed),
        _dedented(text),
        start + heading.start(),
    )


def _dedented(text: bytes) -> str:
    lines = text.decode("utf-8", "replace").strip("\n").split("\n")
    return "\n".join(line.removeprefix("  ") for line in lines)


def _is_place(data: bytes) -> bool:
    """Whether data ends where a step or, in a log without steps, a line ends."""
    return data.endswith(b"\n\n") or (data.endswith(b"\n") and _HEADING.search(data) is None)


def _last_place(data: bytes) -> int:
    """Where to end a page: before its last step, or after its last line, or inside of a line between characters."""
    last = None
    for last in _HEADING.finditer(data):  # noqa: B007 - the last one is meant
        pass
    if last is not None and last.start():
        return last.start()
    end = data.rfind(b"\n") + 1
    if end:
        return end
    end = len(data)
    while end > len(data) - 4 and end and data[end - 1] & 0xC0 == 0x80:
        end -= 1
    return end - 1 if end and data[end - 1] >= 0xC0 else end or len(data)


def _first_place(data: bytes) -> int:
    """Where to begin a page that ends at a given place: at a step, or a line, if there is one in it."""
    heading = _HEADING.search(data)
    if heading is not None and heading.start() < len(data):
        return heading.start()
    return data.find(b"\n") + 1 if 0 <= data.find(b"\n") < len(data) - 1 else 0


def search(file: BinaryIO, words: str, most: int = 50) -> tuple[list[TranscriptHit], bool]:
    """The lines with all words, whatever their case, and whether there are more."""
    wanted = [word.lower().encode() for word in words.split()]
    hits: list[TranscriptHit] = []
    if not wanted:
        return hits, False
    place = 0
    for start, line in _lines(file):
        if (
            line.startswith(b"[") and len(line) < _LONGEST_HEADING and _HEADING.match(line.rstrip(b"\n"))
        ) or not line.startswith(b"  "):
            place = start
        lower = line.lower()
        if all(word in lower for word in wanted):
            if len(hits) == most:
                return hits, True
            hits.append(TranscriptHit(place, _around(line, lower.find(wanted[0]))))
    return hits, False


def _around(line: bytes, at: int) -> str:
    start = max(0, at - 80)
    text = line[start : at + 220].decode("utf-8", "replace").strip()
    return f"{'…' if start else ''}{text}{'…' if at + 220 < len(line) else ''}"


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines with their first bytes; one that is longer than a block in parts."""
    start = 0
    while line := file.readline(_BLOCK):
        yield start, line
        start += len(line)


def _size(file: BinaryIO) -> int | None:
    if not file.seekable():
        return None
    size = file.seek(0, SEEK_END)
    file.seek(0)
    return size


def _skip(file: BinaryIO, start: int) -> None:
    if file.seekable():
        file.seek(start)
        return
    while start > 0 and (data := file.read(min(start, _BLOCK))):
        start -= len(data)


def _read(file: BinaryIO, count: int) -> bytes:
    parts = []
    while count > 0 and (data := file.read(count)):
        parts.append(data)
        count -= len(data)
    return b"".join(parts)
