"""The ledgers of a folder of archives in a bucket: one for each host, in numbered objects.

An object cannot be appended to, so each append creates the next segment: a line or more, chained to those before it, as in the
ledger of a store. A segment is created, never replaced. Two processes of a host that take the same number: one wins, and the
other one chains its entry to the winner's.
"""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import groupby
from typing import NamedTuple

from runcard.documents.chain import (
    ChainChecker,
    Head,
    JournalStream,
    first_link,
    parse_line,
    unparsed,
    write_line,
)
from runcard.documents.findings import COMPLETE, Finding, ledger_finding, record_finding
from runcard.documents.times import format_time
from runcard.encoding import JsonObject
from runcard.errors import StoreError
from runcard.files import printable, shell_word
from runcard.parallel.calls import CallThreads
from runcard.store.ledger import LedgerEntry, entry_in, host_name
from runcard.store.remote.bucket import Bucket, ObjectState, bucket_of
from runcard.store.remote.urls import ObjectUrl, ledgers, segment, segment_of

_ATTEMPTS = 50  # segments that other processes of this host create meanwhile
_READERS = 16  # requests at a time


class RemoteLedger:
    """This host's ledger in a folder of archives."""

    def __init__(self, folder: ObjectUrl, create: Callable[[ObjectUrl, bytes], bool] | None = None) -> None:
        self._folder, self._bucket = folder, bucket_of(folder)
        self._create = create or self._bucket.create
        self._name = f"ledger-{host_name()}"
        self._number = 0  # of the last segment that is known
        self._head: Head | None = None

    def append(self, event: str, timestamp: str, payload: JsonObject) -> None:
        """Add an entry; it is durable when this returns."""
        for _ in range(_ATTEMPTS):
            before = self._head or self._find_head()
            seq, writer = before.count + 1, before.writer
            fields = {"seq": seq, "timestamp": timestamp, "event": event, "writer": writer}
            line = write_line(fields, payload, os.urandom(16).hex(), before.head)
            url = segment(self._folder, self._name, self._number + 1)
            # An answer that was lost: the salt is random, so equal bytes are our own.
            if self._create(url, line.raw) or self._bucket.read(url) == line.raw:
                self._number, self._head = self._number + 1, Head(writer, seq, line.hash)
                return
            self._head = None  # another process was faster
        raise StoreError(
            f"cannot append to the ledger in {printable(str(self._folder))}: other processes are faster",
            hint="try again later",
        )

    def _find_head(self) -> Head:
        self._number = self._last_segment()
        nothing = Head(self._name, 0, first_link(self._name, self._name))
        if not self._number:
            return nothing
        data = self._bucket.read(segment(self._folder, self._name, self._number)) or b""
        line = parse_line(data.rstrip(b"\n").rpartition(b"\n")[2])
        if line is None:
            raise StoreError(
                f"the last segment of {self._name} in {printable(str(self._folder))} is damaged",
                hint=f"see all that is wrong: runcard verify {shell_word(str(self._folder))}",
            )
        return Head(self._name, line["seq"], line["hash"])

    def _last_segment(self) -> int:
        """The number of the last segment; 0 for none. It takes a few requests, however many segments there are.

        If one in the middle was removed, the listing has those behind it: its place is never taken again.
        """
        low, step = self._number, 1
        while self._exists(low + step):
            low, step = low + step, step * 2
        high = low + step  # does not exist
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._exists(middle) else (low, middle)
        place = ledgers(self._folder).below(self._name)
        behind = self._bucket.list(place, after=segment(self._folder, self._name, low))
        numbers = (found[2] for state in behind if (found := segment_of(state.url)) is not None)
        return max(numbers, default=low)

    def _exists(self, number: int) -> bool:
        return self._bucket.state(segment(self._folder, self._name, number)) is not None


class ReadLedger(NamedTuple):
    """One host's ledger, read and checked."""

    name: str
    entries: list[
        LedgerEntry
    ]  # with the times of the server, as the clocks of hosts differ, and the URLs of archives
    findings: tuple[Finding, ...]


def read_ledgers(objects: Iterable[ObjectState]) -> list[ReadLedger]:
    """The ledgers of all hosts in folders of archives, of which these are the objects."""
    known = [(segment_of(state.url), state) for state in objects]
    segments = sorted((*place, state) for place, state in known if place is not None)
    return [
        _read(folder, name, [(number, state) for _, _, number, state in own])
        for (folder, name), own in groupby(segments, key=lambda item: item[:2])
    ]


def _read(folder: ObjectUrl, name: str, segments: list[tuple[int, ObjectState]]) -> ReadLedger:
    place = printable(str(ledgers(folder).below(name)))
    findings = [
        ledger_finding(place, "", f"segment {number:,} is missing", breaks=COMPLETE)
        for number in _gaps([number for number, _ in segments])
    ]
    ends: list[int] = []
    stream, checker, entries = (
        JournalStream(lambda: _contents(bucket_of(folder), segments, ends)),
        ChainChecker(name),
        [],
    )
    faults = []
    for entry in stream:
        faults += checker.add(entry)
        if (found := entry_in(entry.line)) is not None:
            _, state = segments[bisect_left(ends, entry.number)]
            archive = found.archive and str(folder.below(found.archive))
            entries.append(found._replace(time=format_time(state.modified), archive=archive))
    faults = [*map(unparsed, stream.damaged), *faults]
    findings += [
        record_finding("chain", place, "", f"line {fault.number}: {fault.reason}") for fault in faults
    ]
    if stream.torn:
        findings.append(ledger_finding(place, "", "the last line is torn: an entry was not finished"))
    return ReadLedger(name, entries, tuple(findings))


def _gaps(numbers: list[int]) -> Iterator[int]:
    """The numbers that are missing; the first few of many."""
    expected = 1
    for number in numbers:
        yield from range(expected, min(number, expected + 10))
        expected = number + 1


def _contents(bucket: Bucket, segments: list[tuple[int, ObjectState]], ends: list[int]) -> Iterator[bytes]:
    """The segments in order, several requests at a time; `ends` gets the number of the last line of each."""
    with closing(CallThreads(_READERS)) as threads:
        for start in range(0, len(segments), _READERS * 4):
            calls = [
                threads.submit(partial(bucket.read, state.url))
                for _, state in segments[start : start + _READERS * 4]
            ]
            for call in calls:
                data = call.result() or b""
                ends.append((ends[-1] if ends else 0) + data.count(b"\n"))
                yield data
