"""What was read from a session file: its calls, and what could not be read."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from runcard.documents.times import parse_time
from runcard.transcripts.calls import NO_TIME, CallTable

if TYPE_CHECKING:
    from runcard.transcripts.codex import Thread

MOST_UNREAD = 100  # lines of one file that are named
_LONGEST_TEXT = 1000  # characters of a name
_LONGEST_TYPE = 80  # characters of the name of a type
_MOST_TYPES = 100  # unknown ones that are named; the rest is counted together
_decode = json.JSONDecoder().raw_decode


class TranscriptFile(NamedTuple):
    """A file to read, or a part of it."""

    tool: str
    path: str
    size: int
    start: int = 0
    end: int | None = None  # None: to its end


class UnreadPart(NamedTuple):
    """A file or a line that could not be read, and why."""

    path: str
    line: int | None
    reason: str


@dataclass
class FileContent:
    """What a file has."""

    calls: CallTable = field(default_factory=CallTable)
    lines: int = 0
    unread: list[tuple[int | None, str]] = field(default_factory=list)  # line and reason
    unread_more: int = 0  # lines that are not in the list
    unknown_types: "Counter[str]" = field(default_factory=Counter)
    sessions: frozenset[str] = frozenset()  # those that a database has, whose older files do not count
    thread: "Thread | None" = None  # of Codex: what must be compared with other files

    def add_unread(self, line: int | None, reason: str) -> None:
        if len(self.unread) < MOST_UNREAD:
            self.unread.append((line, reason))
        else:
            self.unread_more += 1

    def unread_parts(self, path: str, lines_before: int = 0) -> Iterator[UnreadPart]:
        """What could not be read, with the number of each line in the whole file."""
        for line, reason in self.unread:
            yield UnreadPart(path, None if line is None else line + lines_before, reason)
        if self.unread_more:
            yield UnreadPart(path, None, f"{self.unread_more:,} more lines")

    def add_unknown_type(self, name: object) -> None:
        text = name if isinstance(name, str) else "no type" if name is None else f"a {type(name).__name__}"
        text = text[:_LONGEST_TYPE]
        is_new = text not in self.unknown_types and len(self.unknown_types) >= _MOST_TYPES
        self.unknown_types["other types" if is_new else text] += 1


def decode_record(line: bytes) -> dict[str, Any]:
    """The object in a line; raises ValueError with the reason for anything else.

    Bytes that are not UTF-8 and lone surrogates stay in strings as they are: what matters here are the numbers.
    """
    try:
        text = line.decode("utf-8", "surrogateescape").strip()
        value, end = _decode(text)
        if end != len(text):
            raise ValueError("more than one value")  # noqa: TRY301
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError as error:
        stripped = line.strip()
        is_cut = stripped.startswith(b"{") and not stripped.endswith(b"}")
        raise ValueError("the line is cut off" if is_cut else f"not JSON: {error}"[:200]) from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - one kind of error for all bad lines
    return value


def milliseconds(value: object) -> int:
    """A time of a record, as text or as a number of milliseconds; NO_TIME for anything else."""
    if isinstance(value, str):
        moment = parse_time(value)
        try:
            return NO_TIME if moment is None else max(NO_TIME, round(moment.timestamp() * 1000))
        except (OverflowError, ValueError):
            return NO_TIME
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e14:
        return int(value)
    return NO_TIME


def text_of(value: object) -> str | None:
    """A text that is not empty, in UTF-8 and not too long; None for anything else."""
    if not isinstance(value, str) or not value:
        return None
    text = value[:_LONGEST_TEXT]
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def object_of(value: object) -> dict[str, Any]:
    """An object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}
