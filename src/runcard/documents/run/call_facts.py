"""What the model calls of a run tell about it: which model made it, and how long its calls took. Pure functions.

The payloads come from a journal: a value may be of any type, and then it is unknown.
"""

from collections import Counter
from collections.abc import Sequence

from runcard.documents.percentiles import time_summary
from runcard.encoding import JsonObject

FILLED = ("model", "provider")  # the settings that the calls fill in when the user gave none

SERVER_TOOLS = "server_tools"

_LATENCY, _FIRST_TOKEN = "latency_seconds", "time_to_first_token_seconds"
_LONGEST = 10**9  # seconds; a longer time is a mistake


def with_model_of_calls(configuration: JsonObject, calls: Sequence[JsonObject]) -> JsonObject:
    """The configuration; a model or provider that is not given is that of the calls, if all of them have the same."""
    found: JsonObject = {}
    for name in FILLED:
        values = {value if isinstance(value := call.get(name), str) else None for call in calls}
        if configuration.get(name) is None and len(values) == 1 and (only := values.pop()):
            found[name] = only
    return configuration | found


def performance(calls: Sequence[JsonObject], *, with_parts: bool = True) -> JsonObject | None:
    """The section `performance`: the number of calls, and their times as far as they are known; None without calls.

    A call within another call, such as one of a helper model, has no time of its own; without `with_parts` it does not
    count.
    """
    timed = [call for call in calls if _LATENCY in call]
    own = list(calls) if timed and with_parts else timed
    if not own:
        return None
    section: JsonObject = {"calls": len(own)}
    known = [call[_LATENCY] for call in own if _is_time(call.get(_LATENCY))]
    if latency := time_summary(known):
        # The number of measured calls stands there only where it is not that of all calls.
        section[_LATENCY] = latency if len(known) == len(own) else {"count": len(known), **latency}
    if first := time_summary(call[_FIRST_TOKEN] for call in own if _is_time(call.get(_FIRST_TOKEN))):
        section[_FIRST_TOKEN] = first
    return section


def server_tool_uses(calls: Sequence[JsonObject]) -> dict[str, int]:
    """How often these calls used each tool that the vendor bills apart."""
    uses: Counter[str] = Counter()
    for call in calls:
        tools = call.get(SERVER_TOOLS)
        for name, count in tools.items() if isinstance(tools, dict) else ():
            if type(count) is int and count > 0:
                uses[str(name)] += count
    return dict(uses)


def _is_time(value: object) -> bool:
    return type(value) in {int, float} and 0 <= value <= _LONGEST  # type: ignore[operator]
