"""Count a call once, however often it is reported: by a watched client, by the meter, by `add_usage`, by a child process.

Reports with the same response id, or with the same request id where one of them has no response id, are of one call. Some
servers send no id: then a watched client and the meter report the same call if model, prompt and counts are the same. A report
of `add_usage` without any id is that of a call of the meter with exactly the same counts, if the same agent has one. The most complete
report counts: reported before given before partial, then the one with more counts and larger ones. What it leaves open is
taken from the others, and a cost that the caller or the vendor stated is kept. Times are those of the meter. The journal
keeps all reports.

Some servers use an id again. So reports are of different calls if both are of watched clients, or both of the meter; if their
request ids or their providers differ; or if both are final and their counts differ.

Pure, and the same for whoever closes the run. Values come from a journal: they may be of any type.

A journal may hold a million calls, and few of them are repeated. So the ids are collected first, 8 bytes for each. Where some
occur more than once, the calls are read again, and only theirs are kept: from the first report to the last.
"""

from array import array
from collections import Counter, deque
from collections.abc import Callable, Hashable, KeysView, Mapping, Sequence
from typing import NamedTuple

from runcard.encoding import JsonObject

_MOST_WITH_ONE_ID = 100  # calls that a report is compared with: the newest ones
_MOST_WITH_ONE_COUNT = 2000  # calls that wait for a report without an id: programs report at their end
_GROUPS = 64  # of ids: those of one group are counted at once
_SOURCES = ("partial", "given", "reported")  # the more reliable, the later
_COST = ("cost_usd", "cost_source", "price_row", "known_cost_usd", "unpriced")
_STATED = ("reported", "given")
_METER, _WATCH = "meter", "watch"
_OF_METER = ("observer", "status", "latency_seconds", "time_to_first_token_seconds")
_WATCHED = "api"  # a field that only observed calls have; earlier versions did not name the observer

_Key = tuple[str, str, int]


class Repeats(NamedTuple):
    """What is reported more than once, as hashes, and how often."""

    ids: dict[int, int]
    counts: dict[
        int, tuple[int, int]
    ]  # that calls of the meter and reports without an id have: how many of each

    def __bool__(self) -> bool:
        return bool(self.ids or self.counts)


class ReportIds:
    """The ids of all reports, as hashes: two ids with the same hash are compared later."""

    def __init__(self) -> None:
        self._ids = {_METER: _Hashes(), _WATCH: _Hashes(), None: _Hashes()}  # by observer
        self._metered, self._nameless = _Hashes(), _Hashes()

    def add(self, call: JsonObject) -> None:
        observer = _observer(call)
        ids = self._ids[observer if observer in self._ids else None]
        for key in _keys(call):
            ids.add(key)
        if (counts := _comparable_counts(call)) is not None:
            (self._metered if observer == _METER else self._nameless).add(counts)

    def repeated(self) -> Repeats:
        counts: dict[int, tuple[int, int]] = {}
        for group in sorted(self._nameless.groups & self._metered.groups):
            nameless, metered = self._nameless.counts(group), self._metered.counts(group)
            counts |= {value: (metered[value], nameless[value]) for value in nameless.keys() & metered.keys()}
        return Repeats(self._repeated_ids(), counts)

    def _repeated_ids(self) -> dict[int, int]:
        """The ids that can be of one call: an id that one observer saw again is of different calls."""
        found: dict[int, int] = {}
        for group in sorted(set().union(*(hashes.groups for hashes in self._ids.values()))):
            counts: Counter[int] = Counter()
            for hashes in self._ids.values():
                counts.update(hashes.group(group))
            repeated = {value: count for value, count in counts.items() if count > 1}
            for observer in (_METER, _WATCH) if repeated else ():
                own = self._ids[observer].counts(group)
                repeated = {value: count for value, count in repeated.items() if own.get(value) != count}
            found |= repeated
        return found


class _Hashes:
    """The hashes of many values."""

    def __init__(self) -> None:
        self._hashes: dict[int, array[int]] = {}  # by group

    def add(self, key: Hashable) -> None:
        value = hash(key)
        group = value % _GROUPS
        if group not in self._hashes:
            self._hashes[group] = array("q")
        self._hashes[group].append(value)

    @property
    def groups(self) -> KeysView[int]:
        """The numbers of the groups that have a hash: most runs have few calls."""
        return self._hashes.keys()

    def group(self, number: int) -> Sequence[int]:
        return self._hashes.get(number, ())

    def counts(self, group: int) -> dict[int, int]:
        """How often each hash of a group occurs."""
        return Counter(self.group(group))


class _Response:
    """A call that may be reported again."""

    __slots__ = ("call", "number", "observers", "waits_for")

    def __init__(self, number: int, call: JsonObject) -> None:
        self.number = number  # of the first report
        self.call = call
        self.observers = {_observer(call)}
        self.waits_for: set[int] = set()  # the ids that may be reported again, as hashes

    def add(self, call: JsonObject) -> None:
        """Add another report of the call."""
        self.call = _merged(self.call, call)
        self.observers.add(_observer(call))


class DistinctCalls:
    """Passes each call on once: `count` gets its number, in the order of first reports, and what is known of it.

    Calls that are not among the `repeated` are passed on at once, the others when no further report can follow.
    """

    def __init__(self, count: Callable[[int, JsonObject], None], repeated: Repeats) -> None:
        self._nameless = _NamelessReports(count, repeated.counts) if repeated.counts else None
        self._count = self._nameless.add if self._nameless else count
        self._reports_left = dict(repeated.ids)
        self._open: dict[int, list[_Response]] = {}  # by id
        self._calls = 0
        self._repeats = 0

    @property
    def repeats(self) -> int:
        """The number of reports that did not count."""
        return self._repeats + (self._nameless.repeats if self._nameless else 0)

    def add(self, call: JsonObject) -> None:
        number = self._calls
        self._calls += 1
        ids = {hash(key) for key in _keys(call)} & self._reports_left.keys() if self._reports_left else set()
        if not ids:
            self._count(number, call)
            return
        response = self._find(ids, call)
        if response is None:
            response = _Response(number, call)
        else:
            self._repeats += 1
            response.add(call)
        for value in sorted(ids):
            self._keep(value, response)
        if not response.waits_for:
            self._count(response.number, response.call)

    def _find(self, ids: set[int], call: JsonObject) -> _Response | None:
        """The open call that this is a report of: the most similar one, then the first."""
        responses = {id(response): response for value in ids for response in self._open.get(value, ())}
        same = [response for response in responses.values() if _is_same(response, call)]
        return min(same, key=lambda one: (-_likeness(one.call, call), one.number), default=None)

    def _keep(self, value: int, response: _Response) -> None:
        """Keep a call that has this id, until no report of it can follow."""
        responses = self._open.setdefault(value, [])
        if response not in responses:
            responses.append(response)
            response.waits_for.add(value)
        self._reports_left[value] -= 1
        passed: list[_Response] = []
        if not self._reports_left[value]:
            del self._reports_left[value], self._open[value]
            passed = responses
        elif len(responses) > _MOST_WITH_ONE_ID:  # the oldest is not compared any more
            passed = [responses.pop(0)]
        for one in passed:
            one.waits_for.discard(value)
            if not one.waits_for and one is not response:
                self._count(one.number, one.call)

    def end(self) -> None:
        """Pass on the rest, in case there were fewer reports than expected."""
        waiting = {id(one): one for responses in self._open.values() for one in responses}
        for response in waiting.values():
            self._count(response.number, response.call)
        self._open.clear()
        if self._nameless is not None:
            self._nameless.end()


class _NamelessReports:
    """Joins reports without an id and calls of the meter that have the same counts, each with at most one other."""

    def __init__(
        self, count: Callable[[int, JsonObject], None], common: Mapping[int, tuple[int, int]]
    ) -> None:
        self.repeats = 0
        self._count = count
        self._left = {value: list(numbers) for value, numbers in common.items()}  # not seen yet
        self._waiting: dict[tuple[int, int], deque[tuple[int, JsonObject]]] = {}  # by counts and side

    def add(self, number: int, call: JsonObject) -> None:
        value = hash(_comparable_counts(call))
        if value not in self._left:
            self._count(number, call)
            return
        own = 0 if _observer(call) == _METER else 1
        left, other = self._left[value], (value, 1 - own)
        left[own] -= 1
        match = self._match(other, call)
        if match is not None:
            self.repeats += 1
            self._count(min(number, match[0]), _merged(match[1], call))
        elif left[1 - own] > 0:
            self._wait((value, own), number, call)
        else:
            self._count(number, call)
        if left[own] <= 0:
            for waiting in self._waiting.pop(other, ()):
                self._count(*waiting)

    def _match(self, side: tuple[int, int], call: JsonObject) -> tuple[int, JsonObject] | None:
        waiting = self._waiting.get(side)
        found = next((one for one in waiting or () if _agrees(one[1], call)), None)
        if waiting is not None and found is not None:
            waiting.remove(found)
        return found

    def _wait(self, side: tuple[int, int], number: int, call: JsonObject) -> None:
        waiting = self._waiting.setdefault(side, deque())
        waiting.append((number, call))
        if len(waiting) > _MOST_WITH_ONE_COUNT:
            self._count(*waiting.popleft())

    def end(self) -> None:
        for waiting in self._waiting.values():
            for number, call in waiting:
                self._count(number, call)
        self._waiting.clear()


def _keys(call: JsonObject) -> list[_Key]:
    """The response id with the number of a call inside that response, and the request id; without any, model and prompt."""
    part = call.get("part")
    keys = [("response", call.get("response_id"), part if isinstance(part, int) else 0)]
    keys += [("request", call.get("request_id"), 0)]
    ids = [(kind, value, part) for kind, value, part in keys if isinstance(value, str) and value]
    prompt = call.get("prompt_sha256")
    if ids or _observer(call) is None or not isinstance(prompt, str):
        return ids
    return [("prompt", f"{call.get('api')} {call.get('requested_model')} {prompt}", 0)]


def _observer(call: JsonObject) -> str | None:
    """Who observed a call; None for a report of `add_usage`."""
    observer = call.get("observer")
    return observer if isinstance(observer, str) else _WATCH if _WATCHED in call else None


def _comparable_counts(call: JsonObject) -> tuple[int, int] | None:
    """The counts of a call of the meter, or of a report without an id; None for other reports."""
    is_metered = _observer(call) == _METER
    if call.get("part") is not None or not (is_metered or (_observer(call) is None and not _keys(call))):
        return None
    counts = _counts(call)
    return (counts["input"], counts["output"]) if {"input", "output"} <= counts.keys() else None


def _agrees(first: JsonObject, second: JsonObject) -> bool:
    """Whether two reports with the same counts do not contradict each other, and are of the same agent of a session."""
    left, right = _counts(first), _counts(second)
    if any(left[name] != right[name] for name in left.keys() & right.keys()):
        return False
    if first.get("instance_id") != second.get("instance_id"):
        return False
    models = [{call.get("model"), call.get("requested_model")} - {None} for call in (first, second)]
    return _has_same_provider(first, second) and (not all(models) or bool(models[0] & models[1]))


def _is_same(response: _Response, report: JsonObject) -> bool:
    """Whether a report that has an id of a response is one of it."""
    call, observer = response.call, _observer(report)
    if observer is not None and observer in response.observers:
        return False
    for name in ("response_id", "request_id"):
        ids = [one.get(name) for one in (call, report)]
        if all(isinstance(value, str) and value for value in ids) and ids[0] != ids[1]:
            return False
    if not _has_same_provider(call, report):
        return False
    if call.get("token_source") != "reported" or report.get("token_source") != "reported":
        return True
    return _has_same_counts(call, report)


def _likeness(call: JsonObject, report: JsonObject) -> int:
    """How similar two reports with a common id are, if one is of the meter; without it, the first call counts."""
    if _METER not in {_observer(call), _observer(report)}:
        return 0
    same_request = call.get("request_id") is not None and call.get("request_id") == report.get("request_id")
    return 2 * same_request + _has_same_counts(call, report)


def _has_same_provider(first: JsonObject, second: JsonObject) -> bool:
    return len({str(call["provider"]).casefold() for call in (first, second) if call.get("provider")}) <= 1


def _has_same_counts(first: JsonObject, second: JsonObject) -> bool:
    pairs = [[_counts(call).get(name) for call in (first, second)] for name in ("input", "output")]
    return all(None in pair or pair[0] == pair[1] for pair in pairs)


def _merged(first: JsonObject, second: JsonObject) -> JsonObject:
    """The more complete report, with what only the other one states, and the times of the meter."""
    best, other = (first, second) if _completeness(first) >= _completeness(second) else (second, first)
    cost_of = other if _cost_rank(other) > _cost_rank(best) else best
    facts = other | {name: value for name, value in best.items() if value is not None or name not in other}
    meter = next((call for call in (first, second) if _observer(call) == _METER), {})
    facts |= {name: meter[name] for name in _OF_METER if meter.get(name) is not None}
    return {name: value for name, value in facts.items() if name not in _COST} | {
        name: cost_of[name] for name in _COST if name in cost_of
    }


def _completeness(call: JsonObject) -> tuple[int, int, int, bool, bool]:
    source, counts = call.get("token_source"), _counts(call).values()
    return (
        _SOURCES.index(source) if source in _SOURCES else -1,
        len(counts),
        sum(counts),
        call.get("service_tier") is not None,
        call.get("cost_usd") is not None,
    )


def _counts(call: JsonObject) -> dict[str, int]:
    tokens = call.get("tokens")
    counts = tokens if isinstance(tokens, dict) else {}
    return {name: count for name, count in counts.items() if type(count) is int}


def _cost_rank(call: JsonObject) -> int:
    """How reliable a cost is: one that was stated counts more than one that was computed."""
    source = call.get("cost_source")
    return _STATED.index(source) if source in _STATED else -1
