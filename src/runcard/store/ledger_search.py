"""Look one record up in the ledgers of its store, without parsing them.

The bytes of a ledger are searched, and only the lines that mention the record are parsed; this takes about a millisecond
for ten thousand entries. The chain is checked where it is about the record: at each line that mentions it, with the lines
before and after, and in the last 64 KiB, which is all of a small ledger. `ledger_index` checks the whole chain.
"""

import io
import os
from collections.abc import Iterator
from typing import NamedTuple

from runcard.documents.chain import ChainChecker, ChainFault, JournalEntry, parse_line, unparsed
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


def _search(path: str, words: list[bytes], tail: int) -> SearchedLedger:
    entries, hashes, faults, damaged = [], set(), [], []
    checker, last = ChainChecker(""), -1
    is_torn = False
    for number, raw in _lines(path, words, tail):
        if number != last + 1:
            checker = ChainChecker(os.path.basename(path).removesuffix(".jsonl"), is_part=number > 1)
        last, is_torn = number, not raw.endswith(b"\n")
        line = None if is_torn else parse_line(raw[:-1])
        if line is None:
            damaged += [] if is_torn else [unparsed(number)]
            continue
        faults += checker.add(JournalEntry(number, raw, line))
        hashes.add(line["hash"])
        entry = entry_in(line)
        if entry is not None:
            entries.append(entry)
    all_faults = (*damaged, *faults)
    return SearchedLedger(path, entries, frozenset(hashes), all_faults, is_torn)


def _lines(path: str, words: list[bytes], tail: int) -> Iterator[tuple[int, bytes]]:
    """The lines with one of the words, those before and after them, and those at the end; with their numbers."""
    previous: tuple[int, bytes] | None = None  # not yielded so far
    is_next = False
    for number, raw, is_candidate in _candidates(path, words, tail):
        if is_candidate:
            if previous is not None:
                yield previous
            yield number, raw
        elif is_next:
            yield number, raw
        previous = None if is_candidate or is_next else (number, raw)
        is_next = is_candidate


def _candidates(path: str, words: list[bytes], tail: int) -> Iterator[tuple[int, bytes, bool]]:
    """Lines with their numbers, and whether each has a word or is at the end; of a block without such lines, both ends."""
    with open(open_ledger(path), "rb", buffering=_BLOCK) as file:
        end = os.fstat(file.fileno()).st_size - tail
        offset, number = 0, 1
        while block := file.read(_BLOCK):
            if not block.endswith(b"\n"):
                block += file.readline()
            if offset + len(block) > end or _has_any(words, block):
                for raw in io.BytesIO(block):
                    offset += len(raw)
                    yield number, raw, offset > end or _has_any(words, raw)
                    number += 1
            else:
                count = block.count(b"\n")
                yield number, block[: block.find(b"\n") + 1], False
                if count > 1:
                    yield number + count - 1, block[block.rfind(b"\n", 0, -1) + 1 :], False
                offset += len(block)
                number += count


def _has_any(words: list[bytes], data: bytes) -> bool:
    return any(word in data for word in words)
