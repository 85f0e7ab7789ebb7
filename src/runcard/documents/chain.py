"""The hash chain of a journal: a line cannot be changed, moved or removed without breaking it.

Each line has `seq`, `writer`, `prev`, `payload_sha256`, `salt`, `payload` and `hash` besides its own fields:

* `payload_sha256` is the SHA-256 of the salt's text followed by the canonical JSON of the payload;
* `hash` is the SHA-256 of the canonical JSON of the line without `payload`, `salt` and `hash`;
* `prev` is the `hash` of the same writer's previous line; the first one follows from the record and the writer.

A payload can be removed together with its salt: the chain stays valid, and the payload cannot be guessed from its digest.
All digests here are bare hex. Nothing here reads or writes files.
"""

import heapq
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from runcard.digests import sha256_bytes
from runcard.encoding import JsonObject, both_forms, canonical_json, decode_json, decode_json_line
from runcard.errors import EncodingError

Line = JsonObject

_NOT_HASHED = frozenset({"payload", "salt", "hash"})
_SALT = re.compile("[0-9a-f]{32}")


class Head(NamedTuple):
    """The end of one writer's chain."""

    writer: str
    count: int  # type: ignore[assignment] # of lines; `tuple.count` is not used
    head: str

    def to_dict(self) -> JsonObject:
        return {"writer": self.writer, "count": self.count, "head": self.head}


def first_link(record_id: str, writer: str) -> str:
    """The `prev` of a writer's first line."""
    return sha256_bytes(f"runcard-journal-1:{record_id}:{writer}".encode()).hex


class EncodedLine(NamedTuple):
    """A line of a journal as bytes, with its hash."""

    raw: bytes  # with the newline
    hash: str


def write_line(fields: Mapping[str, Any], payload: Any, salt: str, prev: str) -> EncodedLine:  # noqa: ANN401
    """A line of a journal; `fields` has `seq`, `writer` and the line's own fields, `salt` is hex digits."""
    forms = both_forms(payload)
    line = both_forms({**fields, "prev": prev, "payload_sha256": _salted_digest(salt, forms.canonical)})
    digest = sha256_bytes(line.canonical).hex
    ends = (salt.encode(), forms.compact, digest.encode())
    return EncodedLine(b'%b,"salt":"%b","payload":%b,"hash":"%b"}\n' % (line.compact[:-1], *ends), digest)


def make_line(fields: Mapping[str, Any], payload: Any, salt: str, prev: str) -> Line:  # noqa: ANN401
    """The same, parsed."""
    line: Line = decode_json(write_line(fields, payload, salt, prev).raw)
    return line


def payload_digest(salt: str, payload: Any, *, is_plain: bool = False) -> str:  # noqa: ANN401
    return _salted_digest(salt, canonical_json(payload, is_plain=is_plain))


def _salted_digest(salt: str, canonical: bytes) -> str:
    return sha256_bytes(salt.encode() + canonical).hex


def line_hash(line: Mapping[str, Any], *, is_plain: bool = False) -> str:
    hashed = {key: value for key, value in line.items() if key not in _NOT_HASHED}
    return sha256_bytes(canonical_json(hashed, is_plain=is_plain)).hex


class JournalEntry(NamedTuple):
    """A line that was read from a journal."""

    number: int  # in its file, from 1
    raw: bytes  # without the newline
    line: Line
    is_plain: bool = False  # whether it is surely plain, and can be hashed faster; see `decode_json_line`


class Journal(NamedTuple):
    """The lines that were read from a journal."""

    entries: list[JournalEntry]
    torn: bytes = b""  # an unfinished last line
    damaged: tuple[int, ...] = ()  # numbers of lines that cannot be parsed


def parse(data: bytes) -> Journal:
    """Parse a journal. A last line without a newline is torn: its writer was killed."""
    stream = JournalStream(lambda: [data])
    entries = list(stream)
    return Journal(entries, stream.torn, tuple(stream.damaged))


class JournalStream:
    """A journal that may be too long for memory: each iteration reads it again, and holds one block and one line of it.

    `blocks` starts to read: it returns the bytes of the journal from its beginning, in blocks of any size.
    """

    def __init__(self, blocks: Callable[[], Iterable[bytes]]) -> None:
        self._blocks = blocks
        # Of the last iteration, as far as it went:
        self.torn = b""  # an unfinished last line
        self.damaged = array("Q")  # numbers of lines that cannot be parsed
        self.offset = 0  # of the last entry, in bytes

    def __iter__(self) -> Iterator[JournalEntry]:
        self.torn, self.damaged, end = b"", array("Q"), 0
        for number, raw in enumerate(self._whole_lines(), 1):
            start, end = end, end + len(raw) + 1
            entry = parse_entry(number, raw)
            if entry is None:
                self.damaged.append(number)
            else:
                self.offset = start
                yield entry

    def _whole_lines(self) -> Iterator[bytes]:
        begun: list[bytes] = []  # the parts of a line so far
        for block in self._blocks():
            first, *others = block.split(b"\n")
            begun.append(first)
            if others:
                yield b"".join(begun)
                *whole, last = others
                yield from whole
                begun = [last]
        self.torn = b"".join(begun)

    @property
    def lines(self) -> "JournalLines":
        """The parsed lines; to be iterated as often as needed."""
        return JournalLines(self)


class JournalLines:
    """The parsed lines of a journal; each iteration reads it again."""

    def __init__(self, entries: Iterable[JournalEntry]) -> None:
        self._entries = entries

    def __iter__(self) -> Iterator[Line]:
        return (entry.line for entry in self._entries)


def parse_line(raw: bytes) -> Line | None:
    """A line of a journal; None if it cannot be parsed."""
    entry = parse_entry(0, raw)
    return None if entry is None else entry.line


def parse_entry(number: int, raw: bytes) -> JournalEntry | None:
    """The same with its number."""
    try:
        line, is_plain = decode_json_line(raw)
    except EncodingError:
        return None
    has_shape = (
        isinstance(line, dict)
        and type(line.get("seq")) is int  # not a bool
        and isinstance(line.get("writer"), str)
        and isinstance(line.get("prev"), str)
        and isinstance(line.get("payload_sha256"), str)
        and isinstance(line.get("hash"), str)
    )
    return JournalEntry(number, raw, line, is_plain) if has_shape else None


class ChainFault(NamedTuple):
    """A line at which a chain is broken."""

    number: int  # of the line in the file
    writer: str
    seq: int
    reason: str


class ChainCheck(NamedTuple):
    """The result of checking the chains of a journal."""

    heads: tuple[Head, ...]
    faults: tuple[ChainFault, ...]
    withheld: tuple[JournalEntry, ...]  # lines without their payload


def check(journal: Journal, record_id: str, *, first: str | None = None) -> ChainCheck:
    """Check every writer's chain; `first` replaces the first link that follows from record and writer."""
    chains = ChainChecker(record_id, first=first)
    faults = [unparsed(number) for number in journal.damaged]
    for entry in journal.entries:
        faults += chains.add(entry)
    withheld = tuple(entry for entry in journal.entries if is_withheld(entry.line))
    return ChainCheck(chains.heads, tuple(faults), withheld)


class ChainChecker:
    """Checks the chains of a journal line by line, in the order of the file.

    `first` replaces the first link that follows from record and writer. With `is_part`, the lines are a part of a journal:
    the first of each writer may follow any line.
    """

    def __init__(
        self,
        record_id: str,
        *,
        first: str | None = None,
        is_part: bool = False,
        earlier_ids: Iterable[str] = (),
    ) -> None:
        """`earlier_ids` are others that the record had, with which a chain may begin."""
        self._record_ids = (record_id, *earlier_ids)
        self._first = first
        self._is_part = is_part
        self._heads: dict[str, Head] = {}

    def add(self, entry: JournalEntry) -> list[ChainFault]:
        """The faults at the next line."""
        writer, seq = entry.line["writer"], entry.line["seq"]
        previous = self._heads.get(writer) or self._start(entry.line)
        self._heads[writer] = Head(writer, seq, entry.line["hash"])
        return [ChainFault(entry.number, writer, seq, reason) for reason in _reasons(entry, previous)]

    def _start(self, line: Line) -> Head:
        """What the first line of a writer must follow."""
        if self._is_part:
            return Head(line["writer"], line["seq"] - 1, line["prev"])
        links = [first_link(record_id, line["writer"]) for record_id in self._record_ids]
        stated = line["prev"] if line["prev"] in links else links[0]
        return Head(line["writer"], 0, self._first or stated)

    @property
    def heads(self) -> tuple[Head, ...]:
        """The end of each writer's chain so far."""
        return tuple(self._heads.values())


def unparsed(number: int) -> ChainFault:
    """The fault of a line that cannot be parsed."""
    return ChainFault(number, "", 0, "the line cannot be parsed")


def is_withheld(line: Line) -> bool:
    """Whether the payload of a line was taken out."""
    return "payload" not in line and "salt" not in line


def _reasons(entry: JournalEntry, previous: Head) -> Iterable[str]:
    line, is_plain = entry.line, entry.is_plain
    if line["seq"] != previous.count + 1:
        yield f"seq {line['seq']} follows {previous.count}"
    elif line["prev"] != previous.head:
        yield "prev is not the hash of the previous line"
    if line["hash"] != line_hash(line, is_plain=is_plain):
        yield "the line does not match its hash"
    if "payload" in line or "salt" in line:
        salt = line.get("salt")
        if not isinstance(salt, str) or not _SALT.fullmatch(salt) or "payload" not in line:
            yield "a payload without its salt, or a salt without its payload"
        elif line["payload_sha256"] != payload_digest(salt, line["payload"], is_plain=is_plain):
            yield "the payload does not match its digest"


def heads(lines: Iterable[Line]) -> tuple[Head, ...]:
    """The end of each writer's chain, according to its last line."""
    last = {line["writer"]: line for line in lines}
    return tuple(Head(writer, line["seq"], line["hash"]) for writer, line in last.items())


def merge(writers: Iterable[Iterable[JournalEntry]]) -> Iterator[JournalEntry]:
    """Merge the lines of all writers by time; each writer's, in one of the iterables, stay in their order."""
    return heapq.merge(*writers, key=_time_and_writer)


def _time_and_writer(entry: JournalEntry) -> tuple[str, str]:
    return str(entry.line.get("timestamp", "")), entry.line["writer"]
