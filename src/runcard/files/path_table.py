"""Values by path, in the order of the bytes of the paths, in bounded memory.

A table that becomes large keeps its entries in a temporary file without a name, which no other program can open and which
disappears with the process. It is in the directory for temporary files (`TMPDIR`). Where none can be written, the entries
stay in memory.

Entries are moved to the file in sorted runs. Runs that follow one another form a chain, so a table that is filled in order
is one chain and is read from start to end; several chains are merged. A later value for a path replaces the earlier one.

Invariant: iterating yields each path once, in strictly increasing order of its bytes, with its last value.
"""

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Generic, NamedTuple, TypeVar, cast

from runcard.files.names import encode_name

V = TypeVar("V")  # text, or a tuple of JSON values, which is a list when it is read from the file

MEMORY = 12 << 20  # bytes, estimated, that a table holds before it moves its entries to the file

_ENTRY = 230  # bytes of an entry besides the text of its path
_BLOCK = 512  # entries that are read at once


class _BlockOfEntries(NamedTuple):
    """Entries in the file: the first path, and where they are."""

    first: bytes
    offset: int
    size: int


class PathTable(Generic[V]):
    """A mapping that can be filled, read in order, and searched for a few paths."""

    def __init__(self) -> None:
        self._recent: dict[str, V] = {}
        self._recent_size = 0
        self._chains: list[list[_BlockOfEntries]] = []  # a later one has later values
        self._last = b""  # the last path of the last chain
        self._moved = 0  # entries in the file
        self._descriptor = -1
        self._end = 0  # of the file
        self._can_move = True
        self._cached: dict[int, tuple[_BlockOfEntries, dict[str, V]]] = {}  # by the number of its chain

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def __setitem__(self, path: str, value: V) -> None:
        self._recent[path] = value
        self._recent_size += _ENTRY + len(path)
        if self._recent_size > MEMORY:
            self._move()

    def update(self, entries: Mapping[str, V]) -> None:
        """Set some values, as many as fit in memory."""
        self._recent.update(entries)
        self._recent_size += len(entries) * _ENTRY + sum(map(len, entries))
        if self._recent_size > MEMORY:
            self._move()

    def get(self, path: str) -> V | None:
        """The value of a path; None when it has none."""
        if path in self._recent:
            return self._recent[path]
        key = encode_name(path)
        for number in reversed(range(len(self._chains))):
            blocks = self._chains[number]
            place = bisect_right(blocks, key, key=_first)
            if place and path in (entries := self._read(number, blocks[place - 1])):
                return entries[path]
        return None

    def hold(self) -> None:
        """Keep all entries in memory from now on, for a caller who searches for many paths in any order."""
        self._recent, self._chains, self._can_move = dict(self), [], False

    def __contains__(self, path: str) -> bool:
        return path in self._recent or (bool(self._chains) and self.get(path) is not None)

    def __len__(self) -> int:
        if not self._chains:
            return len(self._recent)
        is_in_order = len(self._chains) == 1 and not self._recent
        return self._moved if is_in_order else sum(1 for _ in self)

    def __iter__(self) -> Iterator[tuple[str, V]]:
        """All entries, in order; the table must not be changed meanwhile."""
        recent = _in_order(self._recent)
        chains = list(map(self._entries, self._chains))
        if not recent or not chains or self._last < encode_name(recent[0][0]):
            last = chains.pop() if chains else ()
            return _merged([*chains, chain(last, recent)])
        return _merged([*chains, iter(recent)])

    def _entries(self, blocks: list[_BlockOfEntries]) -> Iterator[tuple[str, V]]:
        for block in blocks:
            yield from zip(*self._load(block), strict=True)

    def _load(self, block: _BlockOfEntries) -> tuple[list[str], list[V]]:
        import json  # noqa: PLC0415 - small tables need no file

        data = os.pread(self._descriptor, block.size, block.offset)
        return cast("tuple[list[str], list[V]]", json.loads(data))

    def _read(self, number: int, block: _BlockOfEntries) -> dict[str, V]:
        """The entries of a block of a chain; those of the last one are kept, since paths are often searched in order."""
        if (cached := self._cached.get(number)) is None or cached[0] is not block:
            cached = self._cached[number] = block, dict(zip(*self._load(block), strict=True))
        return cached[1]

    def _move(self) -> None:
        """Move the recent entries to the file, as a new run."""
        if not self._can_move:
            return
        entries = _in_order(self._recent)
        try:
            run = self._write_run(iter(entries))
        except OSError:
            self._can_move = False
            return
        if self._chains and self._last < run[0].first:
            self._chains[-1] += run
        else:
            self._chains.append(run)
        self._last = encode_name(entries[-1][0])
        self._moved += len(entries)
        self._recent, self._recent_size = {}, 0

    def _write_run(self, entries: Iterator[tuple[str, V]]) -> list[_BlockOfEntries]:
        import json  # noqa: PLC0415 - small tables need no file

        from runcard.files.unnamed_file import unnamed_file, write_at  # noqa: PLC0415

        if self._descriptor < 0:
            self._descriptor = unnamed_file()
        run = []
        while some := list(islice(entries, _BLOCK)):
            data = json.dumps(list(zip(*some, strict=True)), separators=(",", ":")).encode("ascii")
            write_at(self._descriptor, data, self._end)
            run.append(_BlockOfEntries(encode_name(some[0][0]), self._end, len(data)))
            self._end += len(data)
        return run


def _first(block: _BlockOfEntries) -> bytes:
    return block.first


def in_byte_order(paths: Iterable[str]) -> list[str]:
    """Paths in the order of their bytes."""
    # Text in ASCII has the order of its bytes, and is sorted faster.
    some = list(paths)
    some.sort(key=None if "".join(some).isascii() else encode_name)
    return some


def _in_order(entries: dict[str, V]) -> list[tuple[str, V]]:
    return [(path, entries[path]) for path in in_byte_order(entries)]


def _merged(chains: list[Iterator[tuple[str, V]]]) -> Iterator[tuple[str, V]]:
    if len(chains) == 1:
        yield from chains[0]
        return
    from heapq import merge  # noqa: PLC0415 - small tables do not need it

    last: tuple[str, V] | None = None
    for entry in merge(*chains, key=lambda entry: encode_name(entry[0])):
        if last is not None and last[0] != entry[0]:
            yield last
        last = entry  # of the same path, the one of the later chain comes last
    if last is not None:
        yield last
