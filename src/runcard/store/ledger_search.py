"""Look one record up in the ledgers of its store, without parsing them.

The bytes of a ledger are searched, and only the lines that mention the record are parsed; this takes about a millisecond
for ten thousand entries. The chain is checked where it is about the record: at each line that mentions it, with the lines
before and after, and in the last 64 KiB, which is all of a small ledger. `ledger_index` checks the whole chain.

Invariant: a ledger is only read from its beginning to its end, in blocks, so that one of any length takes little memory.
"""

import io
import os
from collections.abc import Iterator
from typing import NamedTuple

from runcard.documents.chain import ChainChecker, ChainFault, parse_entry, unparsed
from runcard.store.ledger import LedgerEntry, LedgerKey, LedgerView, entry_in, ledger_paths, open_ledger

TAIL = 1 << 16  # bytes at the end whose chain is always checked
_BLOCK = 1 << 18  # bytes that are read at once


class SearchedLedger(NamedTuple):
    """What a search found in one ledger."""

    path: str
    entries: list[LedgerEntry]  # that mention one of the words
    hashes: frozenset[str]  # of all lines that were parsed
    faults: tuple[ChainFault, ...]  # of the parts of the chain that were checked
    is_torn: bool

    def view(self, key: LedgerKey, head: str | None) -> LedgerView:
        """What it has about a record."""
        entries = [entry for entry in self.entries if entry.key == key]
        return LedgerView(os.path.basename(self.path), entries, head in self.hashes)


def search_ledgers(store: str, *words: str | None, tail: int = 1) -> list[SearchedLedger]:
    """Search every ledger of a store for words, such as the id of a record and the hash of an entry.

    The lines in the last bytes, as many as `tail` says, are read as well. Raises RuncardError if one cannot be read.
    """
    # A word may be written with escapes, so lines with a backslash are parsed as well.
    needles = [b"\\", *(word.encode(errors="replace") for word in words if word)]
    return [_search(path, needles, tail) for path in ledger_paths(store)]


def has_document(store: str, sha256: str) -> bool:
    """Whether a ledger of a store has an entry with this digest of a metadata document."""
    return any(entry.sha256 == sha256 for found in search_ledgers(store, sha256) for entry in found.entries)


class LedgerSearch:
    """Looks one record up in the ledgers of its store, like a `LedgerIndex`, and checks them where they mention it.

    The last search is kept, so that the ledgers are read once for both.
    """

    def __init__(self, store: str, *, tail: int = 1) -> None:
        self.store, self._tail = store, tail
        self._words: list[str] = []
        self._found: list[SearchedLedger] | None = None

    @property
    def ledgers(self) -> list[str]:
        """The paths of the ledgers."""
        return ledger_paths(self.store)

    def views(self, key: LedgerKey, head: str | None) -> list[LedgerView]:
        """What each ledger has about a record."""
        return [ledger.view(key, head) for ledger in self.find(key.name, head)]

    def is_current(self) -> bool:
        """It has just been read."""
        return True

    def find(self, *words: str | None) -> list[SearchedLedger]:
        """The result of `search_ledgers`."""
        wanted = [word for word in words if word]
        if self._found is None or wanted != self._words:
            self._words, self._found = wanted, search_ledgers(self.store, *wanted, tail=self._tail)
        return self._found


class _PlacedLine(NamedTuple):
    """A line of a ledger, with its place in bytes."""

    start: int
    raw: bytes  # with the newline, unless it is torn

    @property
    def end(self) -> int:
        return self.start + len(self.raw)


def _search(path: str, words: list[bytes], tail: int) -> SearchedLedger:
    """Until faults are known, their lines are numbered by their places: counting takes longer than the search itself."""
    entries, hashes, faults, damaged = [], set(), [], []
    checker, end = ChainChecker(""), -1
    is_torn = False
    for placed in _lines(path, words, tail):
        start, raw = placed
        if start != end:
            checker = ChainChecker(os.path.basename(path).removesuffix(".jsonl"), is_part=start > 0)
        end, is_torn = placed.end, not raw.endswith(b"\n")
        parsed = None if is_torn else parse_entry(start, raw[:-1])
        if parsed is None:
            damaged += [] if is_torn else [unparsed(start)]
            continue
        faults += checker.add(parsed)
        hashes.add(parsed.line["hash"])
        entry = entry_in(parsed.line)
        if entry is not None:
            entries.append(entry)
    all_faults = (*damaged, *faults)
    return SearchedLedger(path, entries, frozenset(hashes), _numbered(path, all_faults), is_torn)


def _numbered(path: str, faults: tuple[ChainFault, ...]) -> tuple[ChainFault, ...]:
    """Faults with the numbers of their lines instead of their places."""
    numbers: dict[int, int] = {}
    if faults:
        with open(open_ledger(path), "rb", buffering=_BLOCK) as file:
            number = 1
            for place in sorted({fault.number for fault in faults}):
                while (left := place - file.tell()) > 0 and (block := file.read(min(left, _BLOCK))):
                    number += block.count(b"\n")
                numbers[place] = number
    return tuple(fault._replace(number=numbers[fault.number]) for fault in faults)


def _lines(path: str, words: list[bytes], tail: int) -> Iterator[_PlacedLine]:
    """The lines with one of the words, those before and after them, and those at the end."""
    previous: _PlacedLine | None = None  # not yielded so far
    is_next = False
    for placed, is_candidate in _candidates(path, words, tail):
        if is_candidate:
            if previous is not None:
                yield previous
            yield placed
        elif is_next:
            yield placed
        previous = None if is_candidate or is_next else placed
        is_next = is_candidate


def _candidates(path: str, words: list[bytes], tail: int) -> Iterator[tuple[_PlacedLine, bool]]:
    """Lines, and whether each has a word or is at the end; of a block without such lines, both ends."""
    with open(open_ledger(path), "rb", buffering=_BLOCK) as file:
        end = os.fstat(file.fileno()).st_size - tail
        offset = 0
        while block := file.read(_BLOCK):
            if not block.endswith(b"\n"):
                block += file.readline()
            if offset + len(block) > end or _has_any(words, block):
                for raw in io.BytesIO(block):
                    placed = _PlacedLine(offset, raw)
                    offset = placed.end
                    yield placed, offset > end or _has_any(words, raw)
            else:
                first, last = block.find(b"\n") + 1, block.rfind(b"\n", 0, -1) + 1
                yield _PlacedLine(offset, block[:first]), False
                if last:
                    yield _PlacedLine(offset + last, block[last:]), False
                offset += len(block)


def _has_any(words: list[bytes], data: bytes) -> bool:
    return any(word in data for word in words)
