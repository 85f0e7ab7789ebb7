"""The hash chain of a journal: a line cannot be changed, moved or removed without breaking it.

Each line has `seq`, `writer`, `prev`, `payload_sha256`, `salt`, `payload` and `hash` besides its own fields:

* `payload_sha256` is the SHA-256 of the salt's text followed by the canonical JSON of the payload;
* `hash` is the SHA-256 of the canonical JSON of the line without `payload`, `salt` and `hash`;
* `prev` is the `hash` of the same writer's previous line; the first one follows from the record and the writer.

A payload can be removed together with its salt: the chain stays valid, and the payload cannot be guessed from its digest.
All digests here are bare hex. Nothing here reads or writes files.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from runcard.digests import sha256_bytes
from runcard.encoding import JsonObject, both_forms, canonical_json, decode_json
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


def payload_digest(salt: str, payload: Any) -> str:  # noqa: ANN401
    return _salted_digest(salt, canonical_json(payload))


def _salted_digest(salt: str, canonical: bytes) -> str:
    return sha256_bytes(salt.encode() + canonical).hex


def line_hash(line: Mapping[str, Any]) -> str:
    hashed = {key: value for key, value in line.items() if key not in _NOT_HASHED}
    return sha256_bytes(canonical_json(hashed)).hex


class JournalEntry(NamedTuple):
    """A line that was read from a journal."""

    number: int  # in its file, from 1
    raw: bytes  # without the newline
    line: Line


class Journal(NamedTuple):
    """The lines that were read from a journal."""

    entries: list[JournalEntry]
    torn: bytes = b""  # an unfinished last line
    damaged: Sequence[int] = ()  # numbers of lines that cannot be parsed


def parse(data: bytes) -> Journal:
    """Parse a journal. A last line without a newline is torn: its writer was killed."""
    whole, newline, torn = data.rpartition(b"\n")
    entries, damaged = [], []
    for number, raw in enumerate(whole.split(b"\n"), 1) if newline else ():
        line = parse_line(raw)
        if line is None:
            damaged.append(number)
        else:
            entries.append(JournalEntry(number, raw, line))
    return Journal(entries, torn, damaged)


def parse_line(raw: bytes) -> Line | None:
    """A line of a journal; None if it cannot be parsed."""
    try:
        line = decode_json(raw)
    except EncodingError:
        return None
    has_shape = (
        isinstance(line, dict)
        and type(line.get("seq")) is int  # not a bool
        and all(isinstance(line.get(key), str) for key in ("writer", "prev", "payload_sha256", "hash"))
    )
    return line if has_shape else None


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
    checker = ChainChecker(record_id, first=first)
    checker.faults += [unparsed(number) for number in journal.damaged]
    withheld = []
    for entry in journal.entries:
        checker.add(entry.number, entry.line)
        if is_withheld(entry.line):
            withheld.append(entry)
    return ChainCheck(tuple(checker.heads.values()), tuple(checker.faults), tuple(withheld))


class ChainChecker:
    """Checks the chains of a journal line by line, and keeps only their ends and faults.

    `first` replaces the first link that follows from record and writer. With `is_part`, the lines are a part of a journal:
    the first of each writer may follow any line.
    """

    def __init__(self, record_id: str, *, first: str | None = None, is_part: bool = False) -> None:
        self._record_id, self._first, self._is_part = record_id, first, is_part
        self.heads: dict[str, Head] = {}
        self.faults: list[ChainFault] = []

    def add(self, number: int, line: Line) -> None:
        """The next line, which has this number in its file."""
        writer, seq = line["writer"], line["seq"]
        previous = self.heads.get(writer) or self._start(line)
        self.faults += [ChainFault(number, writer, seq, reason) for reason in _reasons(line, previous)]
        self.heads[writer] = Head(writer, seq, line["hash"])

    def _start(self, line: Line) -> Head:
        if self._is_part:
            return Head(line["writer"], line["seq"] - 1, line["prev"])
        return Head(line["writer"], 0, self._first or first_link(self._record_id, line["writer"]))


def unparsed(number: int) -> ChainFault:
    """The fault of a line that cannot be parsed."""
    return ChainFault(number, "", 0, "the line cannot be parsed")


def is_withheld(line: Line) -> bool:
    """Whether the payload of a line was removed, together with its salt."""
    return "payload" not in line and "salt" not in line


def _reasons(line: Line, previous: Head) -> Iterable[str]:
    if line["seq"] != previous.count + 1:
        yield f"seq {line['seq']} follows {previous.count}"
    elif line["prev"] != previous.head:
        yield "prev is not the hash of the previous line"
    if line["hash"] != line_hash(line):
        yield "the line does not match its hash"
    if "payload" in line or "salt" in line:
        salt = line.get("salt")
        if not isinstance(salt, str) or not _SALT.fullmatch(salt) or "payload" not in line:
            yield "a payload without its salt, or a salt without its payload"
        elif line["payload_sha256"] != payload_digest(salt, line["payload"]):
            yield "the payload does not match its digest"


def heads(entries: Iterable[JournalEntry]) -> tuple[Head, ...]:
    """The end of each writer's chain, according to its last line."""
    last = {entry.line["writer"]: entry.line for entry in entries}
    return tuple(Head(writer, line["seq"], line["hash"]) for writer, line in last.items())


def merge(journals: Iterable[Journal]) -> list[JournalEntry]:
    """Merge the lines of all writers by time; each writer's stay in their order, and none occurs twice."""
    queues: dict[str, list[JournalEntry]] = {}
    for journal in journals:
        for entry in journal.entries:
            queue = queues.setdefault(entry.line["writer"], [])
            if not queue or entry.line["seq"] > queue[-1].line["seq"]:
                queue.append(entry)
    merged: list[JournalEntry] = []
    queued = {writer: iter(queue) for writer, queue in queues.items()}
    heads = {writer: next(entries) for writer, entries in queued.items()}
    while heads:
        writer = min(heads, key=lambda name: (str(heads[name].line.get("timestamp", "")), name))
        merged.append(heads.pop(writer))
        following = next(queued[writer], None)
        if following is not None:
            heads[writer] = following
    return merged
