"""The ledgers of a store, read once and kept small, to look many records up in them.

Each ledger is read from its beginning to its end, and its chain is checked on the way. Some 60 bytes stay in memory for
each entry: where it is, and short digests by which it is found. The entry itself is read again when it is needed.

Invariant: a short digest only leads to a line. What is returned was read from that line.

An index is not sent to other processes: each of them reads the ledgers itself, once for many records.
"""

import os
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby, pairwise
from typing import NamedTuple, Self

from runcard.documents.chain import (
    ChainChecker,
    ChainFault,
    Head,
    JournalStream,
    Line,
    parse_line,
    unparsed,
)
from runcard.documents.times import parse_time
from runcard.store.ledger import (
    DELETED,
    LedgerEntry,
    LedgerKey,
    LedgerView,
    entry_in,
    ledger_paths,
    ledger_state,
    open_ledger,
)

_BLOCK = 1 << 18  # bytes that are read at once
_LINE = 2048  # bytes: few lines are longer
_NEVER = datetime.min.replace(tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class _LineTable:
    """Numbers of lines by short digests of texts; sorted once, then looked up."""

    def __init__(self) -> None:
        self.digests, self.lines = array("q"), array("Q")

    def add(self, digest: int, line: int) -> None:
        self.digests.append(digest)
        self.lines.append(line)

    def sort(self) -> None:
        """By digest; those of one digest stay in their order."""
        order = sorted(range(len(self.digests)), key=self.digests.__getitem__)
        self.digests = array("q", map(self.digests.__getitem__, order))
        self.lines = array("Q", map(self.lines.__getitem__, order))

    def rows(self, digest: int) -> range:
        """The rows with this digest."""
        return range(bisect_left(self.digests, digest), bisect_right(self.digests, digest))


class RecordKeys:
    """The keys of many records, eight bytes for each.

    Only digests are kept. They depend on a secret of this process, so nobody can make two keys with the same digest.
    """

    def __init__(self) -> None:
        self._digests = array("q")
        self._is_sorted = True

    def add(self, key: LedgerKey) -> None:
        self._digests.append(hash(key))
        self._is_sorted = False

    def __contains__(self, key: LedgerKey) -> bool:
        return self.has_digest(hash(key))

    def has_digest(self, digest: int) -> bool:
        if not self._is_sorted:
            self._digests, self._is_sorted = array("q", sorted(self._digests)), True
        row = bisect_left(self._digests, digest)
        return row < len(self._digests) and self._digests[row] == digest

    def has_repeated(self) -> bool:
        """Whether a key was added twice."""
        digests = sorted(self._digests)
        return any(first == second for first, second in pairwise(digests))


class IndexedLedger(NamedTuple):
    """One host's ledger: its chain, and where its lines begin in the index."""

    path: str
    descriptor: int
    first: int  # its first line in the index
    faults: tuple[ChainFault, ...]
    is_torn: bool
    end: Head | None  # its last line; None without any

    @property
    def name(self) -> str:
        return os.path.basename(self.path)


class PlacedEntry(NamedTuple):
    """An entry with its place in the history of the store."""

    time: int  # the latest in its ledger so far: it never goes back, even if the clock did
    line: int  # in the index
    entry: LedgerEntry


class LedgerIndex:
    """The ledgers of a store. Raises RuncardError if one cannot be read."""

    def __init__(self, store: str) -> None:
        self.store = store
        self.state = ledger_state(store)  # before they are read: what comes later is a change
        self.ledgers: list[IndexedLedger] = []
        self._offsets, self._times = array("Q"), array("q")  # of each line
        self._keys, self._hashes = _LineTable(), _LineTable()
        self.events: Counter[str] = Counter()  # how many entries of each kind
        self._archived: set[int] = set()  # digests of the keys of records that had an archive
        try:
            for path in ledger_paths(store):
                self.ledgers.append(self._read(path))
        except BaseException:
            self.close()
            raise
        self._keys.sort()
        self._hashes.sort()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __reduce__(self) -> "tuple[object, ...]":
        return _index_of_process, (self.store, self.state)

    def close(self) -> None:
        """Close the files; nothing can be looked up any more."""
        for ledger in self.ledgers:
            with suppress(OSError):
                os.close(ledger.descriptor)
        self.ledgers = []

    def is_current(self) -> bool:
        """Whether no ledger has changed since it was read."""
        return ledger_state(self.store) == self.state

    # Reading.

    def _read(self, path: str) -> IndexedLedger:
        descriptor = open_ledger(path)
        try:
            with open(descriptor, "rb", buffering=0, closefd=False) as file:
                journal = JournalStream(lambda: iter(partial(file.read, _BLOCK), b""))
                return self._indexed(path, descriptor, journal)
        except BaseException:
            os.close(descriptor)
            raise

    def _indexed(self, path: str, descriptor: int, journal: JournalStream) -> IndexedLedger:
        checker = ChainChecker(os.path.basename(path).removesuffix(".jsonl"))
        first, latest, faults, end = len(self._offsets), _NEVER, [], None
        for entry in journal:
            line = entry.line
            faults += checker.add(entry)
            latest = max(latest, parse_time(str(line.get("timestamp"))) or _NEVER)
            self._add(line, journal.offset, latest)
            end = Head(line["writer"], line["seq"], line["hash"])
        damaged = map(unparsed, journal.damaged)
        return IndexedLedger(path, descriptor, first, (*damaged, *faults), bool(journal.torn), end)

    def _add(self, line: Line, offset: int, latest: datetime) -> None:
        number = len(self._offsets)
        self._offsets.append(offset)
        self._times.append((latest - _NEVER) // _MICROSECOND)
        self._hashes.add(hash(line["hash"]), number)
        entry = entry_in(line)
        if entry is not None:
            self.events[entry.event] += 1
            self._keys.add(hash(entry.key), number)
            if entry.archive is not None:
                self._archived.add(hash(entry.key))

    # Looking up.

    def views(self, key: LedgerKey, head: str | None) -> list[LedgerView]:
        """What each ledger has about a record."""
        placed = [self._placed(row) for row in self._keys.rows(hash(key))]
        entries: dict[str, list[LedgerEntry]] = {ledger.path: [] for ledger in self.ledgers}
        for found in placed:
            if found is not None and found.entry.key == key:
                entries[self._ledger(found.line).path].append(found.entry)
        with_head = set() if head is None else self._with_line(head)
        return [
            LedgerView(ledger.name, entries[ledger.path], ledger.path in with_head) for ledger in self.ledgers
        ]

    def numbered(self, key: LedgerKey) -> list[tuple[str, int, LedgerEntry]]:
        """The entries about a record in the order of time, each with the name of its ledger and the number of its line."""
        placed = filter(None, map(self._placed, self._keys.rows(hash(key))))
        found = sorted(each for each in placed if each.entry.key == key)
        ledgers = [self._ledger(each.line) for each in found]
        return [
            (ledger.name, each.line - ledger.first + 1, each.entry)
            for ledger, each in zip(ledgers, found, strict=True)
        ]

    def _with_line(self, line_hash: str) -> set[str]:
        """The paths of the ledgers that have a line with this hash."""
        numbers = [self._hashes.lines[row] for row in self._hashes.rows(hash(line_hash))]
        return {self._ledger(number).path for number in numbers if _has_hash(self._raw(number), line_hash)}

    def _placed(self, row: int) -> PlacedEntry | None:
        number = self._keys.lines[row]
        line = parse_line(self._raw(number))
        entry = None if line is None else entry_in(line)  # None if the file was written over meanwhile
        return None if entry is None else PlacedEntry(self._times[number], number, entry)

    def _ledger(self, line: int) -> IndexedLedger:
        if len(self.ledgers) == 1:
            return self.ledgers[0]
        return self.ledgers[bisect_right(self.ledgers, line, key=lambda ledger: ledger.first) - 1]

    def _raw(self, line: int) -> bytes:
        """The bytes of a line, without the newline."""
        descriptor, offset, size = self._ledger(line).descriptor, self._offsets[line], _LINE
        while b"\n" not in (data := os.pread(descriptor, size, offset)) and len(data) == size:
            size *= 8
        return data.partition(b"\n")[0]

    def hash_at(self, ledger: IndexedLedger, seq: int) -> str | None:
        """The hash of the line of a ledger with this `seq`; the last one, if a broken chain has several."""
        lines = self._lines(ledger)
        likely = lines[seq - 1 : seq]  # a whole chain counts its lines
        numbers = likely if likely and not ledger.faults else lines
        parsed = (parse_line(self._raw(number)) for number in numbers)
        return next((line["hash"] for line in reversed([*parsed]) if line and line["seq"] == seq), None)

    def count(self, ledger: IndexedLedger) -> int:
        """The number of lines of a ledger, without those that cannot be parsed."""
        return len(self._lines(ledger))

    def _lines(self, ledger: IndexedLedger) -> range:
        following = [other.first for other in self.ledgers if other.first > ledger.first]
        return range(ledger.first, min(following, default=len(self._offsets)))

    # What the store lacks, and what it archived.

    def absent(self, present: RecordKeys) -> Iterator[list[PlacedEntry]]:
        """The entries about each record that is not `present`, in the order of time."""
        digests = self._keys.digests
        return self._by_record(row for row, digest in enumerate(digests) if not present.has_digest(digest))

    def archive_history(self) -> list[LedgerEntry]:
        """All entries about records that have, or had, an archive, in the order of time."""
        rows = (row for row, digest in enumerate(self._keys.digests) if digest in self._archived)
        placed = sorted(found for entries in self._by_record(rows) for found in entries)
        return [found.entry for found in placed]

    def count_deleted(self) -> int:
        """How many records were deleted on purpose."""
        records = self._by_record(range(len(self._keys.digests)))
        return sum(any(found.entry.event == DELETED for found in entries) for entries in records)

    def _by_record(self, rows: Iterable[int]) -> Iterator[list[PlacedEntry]]:
        for _, same in groupby(rows, key=self._keys.digests.__getitem__):
            by_key: dict[LedgerKey, list[PlacedEntry]] = {}
            for found in filter(None, map(self._placed, same)):
                by_key.setdefault(found.entry.key, []).append(found)
            yield from map(sorted, by_key.values())


_of_process: dict[tuple[str, object], LedgerIndex] = {}  # the one that this process read for another process


def _index_of_process(store: str, state: object) -> LedgerIndex:
    """The index for a process that was given one by another: it is kept until there is another store, or a new state."""
    key = (os.path.abspath(store), state)
    if key not in _of_process:
        while _of_process:
            _of_process.popitem()[1].close()
        _of_process[key] = LedgerIndex(store)
    return _of_process[key]


def _has_hash(raw: bytes, line_hash: str) -> bool:
    """Whether a line has this hash, which is the end of each line that runcard writes."""
    if raw.endswith(b'"hash":"%b"}' % line_hash.encode(errors="replace")):
        return True
    line = parse_line(raw)
    return line is not None and line["hash"] == line_hash
