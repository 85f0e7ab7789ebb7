"""Count a response once, however often it is reported: by a watched client, by `add_usage`, again by a child process.

Reports with the same response id are of one response. The most complete one counts: reported before given before partial,
then the one with more counts and larger ones. What it leaves open is taken from the others, and a cost that the caller or the
vendor stated is kept. The journal keeps all reports.

Some servers use an id again. So reports are of different responses if a client was watched for each of them, if their
providers differ, or if both are final and their counts differ: the final counts of a response do not change.

Pure, and the same for whoever closes the run. Values come from a journal: they may be of any type.

A journal may hold a million calls, and few of them are repeated. So the ids are collected first, 8 bytes for each call. Where
some occur more than once, the calls are read again, and only theirs are kept: from the first report to the last.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from runcard.encoding import JsonObject

_MOST_WITH_ONE_ID = 100  # responses that a report is compared with: the newest ones
_GROUPS = 64  # of ids: those of one group are counted at once
_SOURCES = ("partial", "given", "reported")  # the more reliable, the later
_COST = ("cost_usd", "cost_source", "price_row", "known_cost_usd", "unpriced")
_STATED = ("reported", "given")
_WATCHED = "api"  # a field that only calls of watched clients have


class ResponseIds:
    """The response ids of all calls, as hashes: two ids with the same hash are compared later."""

    def __init__(self) -> None:
        self._hashes: dict[int, array[int]] = {}  # by group

    def add(self, call: JsonObject) -> None:
        key = _key(call)
        if key is not None:
            value = hash(key)
            group = value % _GROUPS
            if group not in self._hashes:
                self._hashes[group] = array("q")
            self._hashes[group].append(value)

    def repeated(self) -> dict[int, int]:
        """The hashes that occur more than once, and how often."""
        counts = (Counter(hashes) for hashes in self._hashes.values() if len(hashes) > 1)
        return {value: count for group in counts for value, count in group.items() if count > 1}


class _Response(NamedTuple):
    """A response that may be reported again."""

    number: int  # of the call that reported it first
    key: tuple[str, int]
    call: JsonObject


class DistinctCalls:
    """Passes each call on once: `count` gets its number, in the order of first reports, and what is known of it.

    Calls whose id is not among the `repeated` are passed on at once, the others when no further report can follow.
    """

    def __init__(self, count: Callable[[int, JsonObject], None], repeated: Mapping[int, int]) -> None:
        self.repeats = 0
        self._count = count
        self._reports_left = dict(repeated)
        self._open: dict[int, list[_Response]] = {}
        self._calls = 0

    def add(self, call: JsonObject) -> None:
        number = self._calls
        self._calls += 1
        key = _key(call) if self._reports_left else None
        value = hash(key)
        if key is None or value not in self._reports_left:
            self._count(number, call)
            return
        responses = self._open.setdefault(value, [])
        self._add_report(responses, _Response(number, key, call))
        self._reports_left[value] -= 1
        if not self._reports_left[value]:
            del self._reports_left[value], self._open[value]
            for response in responses:
                self._count(response.number, response.call)

    def end(self) -> None:
        """Pass on the rest, in case there were fewer reports than expected."""
        for responses in self._open.values():
            for response in responses:
                self._count(response.number, response.call)
        self._open.clear()

    def _add_report(self, responses: list[_Response], report: _Response) -> None:
        same_id = [n for n, response in enumerate(responses) if response.key == report.key]
        same = next((n for n in same_id if _is_same(responses[n].call, report.call)), None)
        if same is not None:
            self.repeats += 1
            responses[same] = responses[same]._replace(call=_merged(responses[same].call, report.call))
            return
        responses.append(report)
        if len(same_id) == _MOST_WITH_ONE_ID:  # the oldest is not compared any more
            oldest = responses.pop(same_id[0])
            self._count(oldest.number, oldest.call)


def _key(call: JsonObject) -> tuple[str, int] | None:
    """The response id, and the number of a call inside that response."""
    response_id, part = call.get("response_id"), call.get("part")
    if not isinstance(response_id, str) or not response_id:
        return None
    return response_id, part if isinstance(part, int) else 0


def _is_same(first: JsonObject, second: JsonObject) -> bool:
    if _WATCHED in first and _WATCHED in second:
        return False
    providers = {str(call["provider"]).casefold() for call in (first, second) if call.get("provider")}
    if len(providers) > 1:
        return False
    if first.get("token_source") != "reported" or second.get("token_source") != "reported":
        return True
    pairs = [[_counts(call).get(name) for call in (first, second)] for name in ("input", "output")]
    return all(None in pair or pair[0] == pair[1] for pair in pairs)


def _merged(first: JsonObject, second: JsonObject) -> JsonObject:
    """The more complete report, with what only the other one states."""
    best, other = (first, second) if _completeness(first) >= _completeness(second) else (second, first)
    cost_of = other if _cost_rank(other) > _cost_rank(best) else best
    facts = other | {name: value for name, value in best.items() if value is not None or name not in other}
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
