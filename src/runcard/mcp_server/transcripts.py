"""The tool that reads a transcript, or another text file of a record, in pages: never more of it is in memory."""

from io import SEEK_END
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from runcard.encoding import JsonObject
from runcard.errors import StoreError, UsageError
from runcard.files import printable
from runcard.mcp_server.paging import ENVELOPE, MOST_BYTES, json_size, text_head
from runcard.mcp_server.records import RECORD_REFERENCE, record_reference
from runcard.mcp_server.tools import (
    COUNT,
    CURSOR,
    FLAG,
    PAGE,
    RECORD,
    TEXT,
    ToolCall,
    ToolDefinition,
    about,
    answer_schema,
    arguments_schema,
)

if TYPE_CHECKING:
    from runcard.store.record import Record

_BUDGET = MOST_BYTES - ENVELOPE
_BLOCK = 1 << 18


class TranscriptPlace(NamedTuple):
    """A place in a file: the byte, and the number of its line."""

    offset: int
    line: int

    @property
    def cursor(self) -> str:
        return f"{self.offset}.{self.line}"


class _PagedFile:
    """A file that is read from the start on, or from any place if it can seek; an archived one cannot."""

    def __init__(self, file: BinaryIO, call: ToolCall) -> None:
        self._file, self._call = file, call
        self._can_seek = file.seekable()
        self._at = 0

    def skip_to(self, offset: int) -> None:
        if self._can_seek:
            self._file.seek(offset)
            self._at = offset
        while self._at < offset and self._read(min(_BLOCK, offset - self._at)):
            pass

    def _read(self, count: int) -> bytes:
        data = self._file.read(count)
        self._at += len(data)
        self._call.report(self._at, message="reading")
        return data

    def read(self, count: int) -> bytes:
        """This many bytes, or fewer at the end."""
        parts = []
        while count and (data := self._read(count)):
            parts.append(data)
            count -= len(data)
        return b"".join(parts)

    def rest(self) -> int:
        """How many bytes follow."""
        if self._can_seek:
            here, self._at = self._at, self._file.seek(0, SEEK_END)
            return max(0, self._at - here)
        start = self._at
        while self._read(_BLOCK):
            pass
        return self._at - start

    def line(self, number: int) -> TranscriptPlace:
        """Where a line begins; raises UsageError if there are fewer."""
        line, start = 1, 0
        while line < number:
            base, data = self._at, self._read(_BLOCK)
            if not data:
                raise UsageError(
                    f"there is no line {number:,}: it has {line:,}", hint="pass a smaller line, or from_end"
                )
            at = -1
            while line < number and (at := data.find(b"\n", at + 1)) >= 0:
                line, start = line + 1, base + at + 1
        return TranscriptPlace(start, line)

    def last_page(self) -> TranscriptPlace:
        """Where the last page begins: at a line, if one begins in it."""
        lines, tail = 0, b""
        while data := self._read(_BLOCK):
            lines += data.count(b"\n")
            tail = (tail + data)[-_BUDGET // 2 :]
        while json_size(tail.decode("utf-8", "replace")) > _BUDGET:
            tail = tail[len(tail) // 4 :]
        start = tail.find(b"\n") + 1
        if start in {0, len(tail)} or self._at == len(tail):
            start = 0
        return TranscriptPlace(self._at - len(tail) + start, 1 + lines - tail[start:].count(b"\n"))


def _place(cursor: str) -> TranscriptPlace:
    offset, _, line = cursor.partition(".")
    if not all(part.isascii() and part.isdecimal() and len(part) < 16 for part in (offset, line)):
        raise UsageError(
            f"{printable(cursor[:40])!r} is not a cursor of this answer",
            hint="pass next_cursor of the last answer, with the same other arguments; or none, to begin again",
        )
    return TranscriptPlace(int(offset), int(line))


def _page_text(data: bytes, *, is_end: bool) -> tuple[str, int]:
    """The text of a page, and how many bytes it is of: whole lines, unless one is longer than a page."""
    text = data.decode("utf-8", "replace")
    head = text_head(text, _BUDGET)
    if len(head) == len(text) and is_end:
        return text, len(data)
    end = head.rfind("\n") + 1
    if end:
        head = head[:end]
        return head, _nth_line_end(data, head.count("\n"))
    cut = len(head.encode("utf-8", "replace")) if "\ufffd" not in head else _cut(data, len(head))
    return data[:cut].decode("utf-8", "replace"), cut


def _nth_line_end(data: bytes, count: int) -> int:
    at = -1
    for _ in range(count):
        at = data.index(b"\n", at + 1)
    return at + 1


def _cut(data: bytes, most: int) -> int:
    """Where to cut bytes that are not all UTF-8, outside of a character: each byte is at most one."""
    cut = min(most, len(data))
    while cut > 1 and cut > most - 4 and cut < len(data) and data[cut] & 0xC0 == 0x80:
        cut -= 1
    return cut


def read_transcript(
    call: ToolCall,
    record: str,
    agent: str | None = None,
    file: str | None = None,
    cursor: str | None = None,
    line: int | None = None,
    *,
    from_end: bool = False,
) -> JsonObject:
    """A page of the output of a run or an agent, or of another file of the record."""
    if sum((cursor is not None, line is not None, from_end)) > 1:
        raise UsageError(
            "pass only one of cursor, line and from_end", hint="a cursor goes on after the last answer"
        )
    opened = call.scope.stores.open(record)
    place = TranscriptPlace(0, 1) if cursor is None else _place(cursor)
    if line is not None or from_end:
        with _open(opened, agent, file)[1] as stream:
            paged = _PagedFile(stream, call)
            place = paged.last_page() if line is None else paged.line(line)
    name, stream = _open(opened, agent, file)
    with stream:
        paged = _PagedFile(stream, call)
        paged.skip_to(place.offset)
        data = paged.read(_BUDGET)
        text, size = _page_text(data, is_end=len(data) < _BUDGET)
        left_out = len(data) - size + paged.rest()
    after = TranscriptPlace(place.offset + size, place.line + text.count("\n"))
    return {
        "record": record_reference(opened),
        "file": name,
        "first_line": place.line,
        "first_byte": place.offset,
        "ends_inside_a_line": bool(left_out) and not text.endswith("\n"),
        "quoted": {"text": text},
        "left_out": left_out,
        "left_out_unit": "bytes",
        "next_cursor": after.cursor if left_out else None,
        "shortened_parts": 0,
    }


def _open(record: "Record", agent: str | None, file: str | None) -> tuple[str, BinaryIO]:
    """The file, with its name."""
    from runcard.operations.checks.show import ShownRun, show_record  # noqa: PLC0415 - long to load
    from runcard.operations.checks.show_session import open_output, open_transcript  # noqa: PLC0415

    if file is not None:
        stream = record.open(file)
        if stream is None:
            raise StoreError(f"the record has no file {printable(file)}", hint="get_record lists its files")
        return printable(file), stream
    shown = show_record(record)
    if isinstance(shown, ShownRun):
        if agent is not None:
            raise UsageError(f"{record.id} is a run: it has no agents", hint="leave out the argument agent")
        return "output.log", open_output(record, shown.amendments)
    if agent is None:
        names = ", ".join(printable(entry["name"]) for entry in shown.document["instances"][:20])
        raise UsageError(f"{record.id} is a session: name one of its agents", hint=f"its agents are: {names}")
    return f"output.log of {printable(agent)}", open_transcript(shown, agent)


TOOLS = (
    ToolDefinition(
        name="read_transcript",
        title="Read a transcript",
        description=(
            "Read the output of a run, the transcript of an agent of a session, or another text file of a record, in pages of "
            "whole lines. Start at the beginning, at a line (such as that of a hit of search_records), or at the last page."
        ),
        arguments=arguments_schema(
            {
                "record": RECORD,
                "agent": about(
                    TEXT, "The name or id of an agent; required for a session, unless file is passed."
                ),
                "file": about(
                    {"type": "string", "minLength": 1, "maxLength": 4096},
                    "The path of another file in the record, such as experiment.jsonl or instances/lead/workspace/a.md.",
                ),
                "cursor": CURSOR,
                "line": about({"type": "integer", "minimum": 1}, "The line to begin with, from 1."),
                "from_end": about(FLAG, "Read the last page."),
            },
            ("record",),
        ),
        answer=answer_schema(
            {
                "record": RECORD_REFERENCE,
                "file": about(TEXT, "The file that was read."),
                "first_line": about(COUNT, "The number of the first line of this page, from 1."),
                "first_byte": COUNT,
                "ends_inside_a_line": about(
                    FLAG, "The last line is longer than the page: it goes on in the next one."
                ),
                "quoted": answer_schema(
                    {"text": about(TEXT, "Bytes that are not UTF-8 are replaced by U+FFFD.")}
                ),
                **PAGE,
            }
        ),
        function=read_transcript,
    ),
)
