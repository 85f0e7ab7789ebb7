"""Count a response once, however often it is reported: by a watched client, by `add_usage`, again by a child process.

Reports with the same response id are of one response. The most complete one counts: reported before given before partial,
then the one with more counts and larger ones. What it leaves open is taken from the others, and a cost that the caller or the
vendor stated is kept. The journal keeps all reports.

Some servers use an id again. So reports are of different responses if a client was watched for each of them, if their
providers differ, or if both are final and their counts differ: the final counts of a response do not change.

Pure, and the same for whoever closes the run. Values come from a journal: they may be of any type.
"""

from collections.abc import Iterable

from runcard.encoding import JsonObject

_MOST_WITH_ONE_ID = 100  # responses that a report is compared with: the newest ones
_SOURCES = ("partial", "given", "reported")  # the more reliable, the later
_COST = ("cost_usd", "cost_source", "price_row", "known_cost_usd", "unpriced")
_STATED = ("reported", "given")
_WATCHED = "api"  # a field that only calls of watched clients have


def count_once(calls: Iterable[JsonObject]) -> tuple[list[JsonObject], int]:
    """The calls without repeated reports, and how many of these there were."""
    distinct: list[JsonObject] = []
    by_id: dict[tuple[str, int], list[int]] = {}
    repeats = 0
    for call in calls:
        key = _key(call)
        known = by_id.setdefault(key, []) if key else []
        same = next((n for n in known[-_MOST_WITH_ONE_ID:] if _is_same(distinct[n], call)), None)
        if same is None:
            known.append(len(distinct))
            distinct.append(call)
        else:
            distinct[same] = _merged(distinct[same], call)
            repeats += 1
    return distinct, repeats


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
