"""Why the calls of a run may have used more than is recorded: then its totals are "at least".

Each reason is an event, perhaps repeated. They become `token_usage.incomplete`, and a warning each.
"""

from runcard.encoding import JsonObject

INCOMPLETE = "usage-incomplete"  # the type of the warning

_MOST = 100  # reasons


class IncompleteUsage:
    """The reasons, each once, in the order of first events."""

    def __init__(self) -> None:
        self._reasons: dict[tuple[str, str | None], JsonObject] = {}
        self._times: list[str | None] = []  # when each was first recorded

    def __bool__(self) -> bool:
        return bool(self._reasons)

    def add(self, payload: JsonObject, time: str | None) -> None:
        hint, calls = payload.get("hint"), payload.get("calls")
        key = payload["reason"], hint if isinstance(hint, str) else None
        count = calls if type(calls) is int and calls >= 0 else None
        known = self._reasons.get(key)
        if known is not None:
            known["calls"] = None if known["calls"] is None or count is None else known["calls"] + count
        elif len(self._reasons) < _MOST:
            self._reasons[key] = {"reason": key[0], "hint": key[1], "calls": count}
            self._times.append(time)

    def with_reason(self, reason: str, time: str | None) -> "IncompleteUsage":
        """These reasons, and one more."""
        more = IncompleteUsage()
        more._reasons = {key: dict(known) for key, known in self._reasons.items()}
        more._times = list(self._times)
        more.add({"reason": reason}, time)
        return more

    @property
    def section(self) -> list[JsonObject]:
        """The reasons, each with the number of calls that it is about, if that is known."""
        return [dict(reason) for reason in self._reasons.values()]

    @property
    def warnings(self) -> list[JsonObject]:
        return [
            {"type": INCOMPLETE, "message": _message(reason, hint), "timestamp": time}
            for (reason, hint), time in zip(self._reasons, self._times, strict=True)
        ]


def _message(reason: str, hint: str | None) -> str:
    return f"the totals are incomplete: {reason}" + (f"; {hint}" if hint else "")
