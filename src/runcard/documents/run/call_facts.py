"""What the model calls of a run tell about it: which model made it, and how long its calls took.

The calls are added one at a time, and are not kept. Their payloads come from a journal: a value may be of any type, and then
it is unknown.
"""

from operator import itemgetter

from runcard.documents.percentiles import Times
from runcard.encoding import JsonObject

FILLED = ("model", "provider")  # the settings that the calls fill in when the user gave none

SERVER_TOOLS = "server_tools"
ToolUses = dict[
    str, tuple[tuple[int, int], int]
]  # by tool: the first use (call and place in it), and the count

_LATENCY, _FIRST_TOKEN = "latency_seconds", "time_to_first_token_seconds"
_MOST_KINDS = 50  # of errors
_LONGEST_KIND = 100  # characters
_LONGEST = 10**9  # seconds; a longer time is a mistake


class ModelOfCalls:
    """The model and the provider of calls, as far as all calls have the same."""

    def __init__(self) -> None:
        self._values: dict[str, set[str | None]] = {name: set() for name in FILLED}

    def add(self, call: JsonObject) -> None:
        for name, values in self._values.items():
            if len(values) < 2:
                values.add(value if isinstance(value := call.get(name), str) else None)

    def fill_in(self, configuration: JsonObject) -> JsonObject:
        """The configuration; a model or provider that is not given is that of the calls."""
        found: JsonObject = {}
        for name, values in self._values.items():
            only = next(iter(values)) if len(values) == 1 else None
            if configuration.get(name) is None and only:
                found[name] = only
        return configuration | found


class FailedCalls:
    """The calls that failed, by the kind of their error.

    A watched client reports a call that it gave up, the meter each attempt. Where the meter saw calls, its reports count.
    """

    def __init__(self) -> None:
        self._has_metered = False
        self._counts: dict[bool, dict[tuple[str, int | None], int]] = {True: {}, False: {}}  # by meter or not

    def add(self, call: JsonObject) -> None:
        """Add a call, failed or not."""
        is_metered = call.get("observer") == "meter"
        self._has_metered = self._has_metered or is_metered
        error = call.get("error")
        if not isinstance(error, dict):
            return
        kind, status, counts = error.get("type"), error.get("status"), self._counts[is_metered]
        key = str(kind)[:_LONGEST_KIND] if kind else "error", status if type(status) is int else None
        if key not in counts and len(counts) >= _MOST_KINDS:
            key = ("other", None)
        counts[key] = counts.get(key, 0) + 1

    def section(self) -> list[JsonObject]:
        """The kinds of errors, with their numbers of calls; in the order of first calls."""
        return [
            {"type": kind, "status": status, "calls": count}
            for (kind, status), count in self._counts[self._has_metered].items()
        ]


class CallTimes:
    """The section `performance`: the number of calls, and their times as far as they are known.

    A call within another call, such as one of a helper model, has no time of its own.
    """

    def __init__(self) -> None:
        self._calls = 0
        self._timed = 0  # calls that are not within another one
        self._latency = Times()
        self._first_token = Times()
        self._inner_first_token = Times()  # of calls within others

    def add(self, call: JsonObject) -> None:
        is_timed = _LATENCY in call
        self._calls += 1
        self._timed += is_timed
        if _is_time(call.get(_LATENCY)):
            self._latency.add(call[_LATENCY])
        if _is_time(call.get(_FIRST_TOKEN)):
            (self._first_token if is_timed else self._inner_first_token).add(call[_FIRST_TOKEN])

    def section(self, *, with_parts: bool = True) -> JsonObject | None:
        """The section; None without calls. Without `with_parts`, calls within others do not count."""
        if not self._timed:
            return None
        calls = self._calls if with_parts else self._timed
        section: JsonObject = {"calls": calls}
        if latency := self._latency.summary():
            # The number of measured calls stands there only where it is not that of all calls.
            known = len(self._latency)
            section[_LATENCY] = latency if known == calls else {"count": known, **latency}
        if first := (
            self._first_token + self._inner_first_token if with_parts else self._first_token
        ).summary():
            section[_FIRST_TOKEN] = first
        return section


def add_tool_uses(uses: ToolUses, number: int, call: JsonObject) -> None:
    """Add how often a call, the one with this number, used each tool that the vendor bills apart."""
    tools = call.get(SERVER_TOOLS)
    for place, (name, count) in enumerate(tools.items()) if isinstance(tools, dict) else ():
        if type(count) is int and count > 0:
            first, so_far = uses.get(str(name), ((number, place), 0))
            uses[str(name)] = min(first, (number, place)), so_far + count


def tool_counts(uses: ToolUses) -> dict[str, int]:
    """How often each tool was used, in the order of first uses."""
    return {name: count for name, (_, count) in sorted(uses.items(), key=itemgetter(1))}


def _is_time(value: object) -> bool:
    return type(value) in {int, float} and 0 <= value <= _LONGEST  # type: ignore[operator]
