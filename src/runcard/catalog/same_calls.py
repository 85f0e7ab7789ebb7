"""Which reports in different records are of one call, and what counts of it.

Reports are of one call if their response ids are the same, or their request ids where one of them has no response id. Servers
use ids again, so that is not enough. The records must be related: a run and one that it started, a run and a session at the same
time, two sessions with one transcript. Two reports of one record are two calls: its own fold has joined the others. Final counts of
runs must agree; a transcript may have other counts than the wire. Where an id does not tell calls apart, that makes it unclear.

Pure. The best report supplies the figures: a final usage before others, then wire, client, transcript. The call belongs to the record
that knows most about who made it: a session before runs, an inner run before the one that started it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from runcard.catalog.rows import RUN

CLOSE = 120_000  # milliseconds between the times that two reports of one call may have
_MOST = 1000  # calls with one id at one time that a report is compared with: some servers use an id again and again
_CallId = tuple[str, int]  # which of its ids, and the hash of it
_SOURCES = ("estimated", "partial", "given", "reported")  # the more reliable, the later


class CallRecord(NamedTuple):
    """What must be known of a record to compare its calls."""

    number: int
    kind: str
    record_id: str
    tool: str | None
    started: int | None
    ended: int | None
    ancestors: Collection[str] = ()  # ids of the runs that it is a part of
    lacks_ancestor: bool = False  # the record of one of them is gone, and so are the ids of those above it
    place: tuple[str, str] = ("", "")  # its path and its host: the number changes when it is read again

    def is_copy_of(self, other: "CallRecord") -> bool:
        return (self.kind, self.record_id, self.tool) == (other.kind, other.record_id, other.tool)

    def spans(self, time: int | None) -> bool:
        """Whether it may have seen a call at this time."""
        if time is None:
            return True
        is_after = self.started is None or time >= self.started - CLOSE
        return is_after and (self.ended is None or time <= self.ended + CLOSE)

    def may_have_started(self, other: "CallRecord") -> bool:
        """Whether a run may have started another, whose lineage is not known to its end."""
        return other.lacks_ancestor and self.spans(other.started) and self.spans(other.ended)


class CallClaim(NamedTuple):
    """A call as one record has it."""

    record: CallRecord
    number: int  # of its row
    response: int | None
    request: int | None
    client_session: str | None
    witness: int
    time: int | None
    source: str | None
    figures: tuple[
        int | None, ...
    ]  # input, output, cache read, cache write, reasoning, cost, known cost, fresh input

    @property
    def place(self) -> tuple[int, int]:
        return self.record.number, self.number

    @property
    def ids(self) -> list[_CallId]:
        known = (("response", self.response), ("request", self.request))
        return [(name, value) for name, value in known if value is not None]

    @property
    def rank(self) -> tuple[int, int, int]:
        """The more, the more reliable."""
        place = _SOURCES.index(self.source) if self.source in _SOURCES else -1
        return place, self.witness, sum(figure is not None for figure in self.figures)

    @property
    def depth(self) -> tuple[bool, bool, int]:
        """The more, the more is known about who made the call."""
        is_session = self.record.kind != RUN
        return is_session, self.record.tool is not None, len(self.record.ancestors)

    @property
    def order(self) -> tuple[object, ...]:
        """What decides between equal reports."""
        return self.record.place, self.record.number, self.number


@dataclass
class SameCall:
    """The reports of one call."""

    reports: list[CallClaim] = field(default_factory=list)
    is_unclear: bool = False  # they may be of several calls

    @property
    def owner(self) -> CallClaim:
        return min(self.reports, key=lambda one: (_most_first(one.depth), one.order))

    @property
    def ordered(self) -> list[CallClaim]:
        """The most reliable report first."""
        return sorted(
            self.reports, key=lambda one: (_most_first(one.rank), _most_first(one.depth), one.order)
        )

    @property
    def best(self) -> CallClaim:
        return self.ordered[0]

    @property
    def figures(self) -> tuple[int | None, ...]:
        """Those of the best report; what it leaves open is taken from the others."""
        return tuple(
            next((value for value in values if value is not None), None)
            for values in zip(*(one.figures for one in self.ordered), strict=True)
        )

    def distance(self, report: CallClaim) -> tuple[bool, int] | None:
        """Whether a report has other counts than this call, and how far in time it is from it; None if it is of another."""
        if not all(is_same(one, report) for one in self.reports):
            return None
        has_others = any(one.figures[:2] != report.figures[:2] for one in self.reports)
        times = [
            abs(one.time - report.time)
            for one in self.reports
            if one.time is not None and report.time is not None
        ]
        return has_others, min(times, default=0)


def same_calls(reports: Iterable[CallClaim]) -> list[SameCall]:
    """The calls of these reports, in any order."""
    found: list[SameCall] = []
    kept: dict[_Slot, list[SameCall]] = {}
    ordered = sorted(reports, key=lambda one: (_most_first(one.rank), one.time or 0, one.order))
    repeated = _repeated_ids(ordered)
    for report in ordered:
        slots = _slots(report)
        near = {id(call): call for slot in slots for call in kept.get(slot, ())[-_MOST:]}.values()
        distances = [
            (*distance, place, call)
            for place, call in enumerate(near)
            if (distance := call.distance(report)) is not None
        ]
        if distances:
            has_others, time, _, call = min(distances, key=lambda each: each[:3])
            is_sure = time <= CLOSE and repeated.isdisjoint(report.ids)
            call.is_unclear |= has_others and not is_sure
        else:
            found.append(call := SameCall())
        call.reports.append(report)
        for slot in slots:
            if slot.is_own and all(call is not one for one in kept.setdefault(slot, [])[-_MOST:]):
                kept[slot].append(call)
    return found


def _most_first(rank: tuple[int, ...]) -> tuple[int, ...]:
    """What sorts the highest rank first."""
    return tuple(-part for part in rank)


def _repeated_ids(reports: Iterable[CallClaim]) -> set[_CallId]:
    """The ids that several calls of one record have: they do not tell calls apart."""
    counts = Counter((one.record.number, own) for one in reports for own in one.ids)
    return {own for (_, own), count in counts.items() if count > 1}


class _Slot(NamedTuple):
    """Where calls with an id are kept: by their time, or by the session that they name."""

    id: _CallId
    period: int | None
    session: str | None = None
    is_own: bool = True  # of the report itself, and not only near it

    def __hash__(self) -> int:
        return hash(self[:3])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Slot) and self[:3] == other[:3]


def _slots(report: CallClaim) -> list[_Slot]:
    ids = report.ids
    period = None if report.time is None else report.time // CLOSE
    slots = [_Slot(one, period) for one in ids]
    if report.client_session is not None:
        slots += [_Slot(one, None, report.client_session) for one in ids]
    if period is not None:
        slots += [_Slot(one, other, is_own=False) for one in ids for other in (period - 1, period + 1, None)]
    return slots


def is_same(one: CallClaim, other: CallClaim) -> bool:
    """Whether two reports are of one call."""
    if one.record.number == other.record.number or not _has_same_id(one, other):
        return False
    is_close = one.time is None or other.time is None or abs(one.time - other.time) <= CLOSE
    if one.record.is_copy_of(other.record):
        return is_close
    if one.record.kind == RUN and other.record.kind == RUN:
        return is_close and _are_nested(one.record, other.record) and _has_same_counts(one, other)
    if one.record.kind != other.record.kind and None not in {one.client_session, other.client_session}:
        return one.client_session == other.client_session or (is_close and _is_in_fork(one, other))
    return is_close and one.record.spans(other.time) and other.record.spans(one.time)


def _has_same_id(one: CallClaim, other: CallClaim) -> bool:
    if one.response is not None and other.response is not None:
        return one.response == other.response
    return one.request is not None and one.request == other.request


def _is_in_fork(one: CallClaim, other: CallClaim) -> bool:
    """Whether a session that was forked has the calls of the one before, under its own name."""
    return one.ids == other.ids and len(one.ids) > 1 and _has_same_counts(one, other)


def _are_nested(one: CallRecord, other: CallRecord) -> bool:
    if one.record_id in other.ancestors or other.record_id in one.ancestors:
        return True
    return one.may_have_started(other) or other.may_have_started(one)


def _has_same_counts(one: CallClaim, other: CallClaim) -> bool:
    if one.source != "reported" or other.source != "reported":
        return True
    pairs = zip(one.figures[:2], other.figures[:2], strict=True)
    return all(None in pair or pair[0] == pair[1] for pair in pairs)


def ancestors(record_id: str, parents: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """The ids of the runs that a run is a part of, however far; `parents` are by id."""
    found: set[str] = set()
    work = list(parents.get(record_id, ()))
    while work:
        one = work.pop()
        if one not in found and one != record_id:
            found.add(one)
            work += parents.get(one, ())
    return frozenset(found)
