"""Totals of a whole session that a caller reports, such as the result of `claude -p`, where the meter saw the session's calls.

The calls count, and the total does not. It belongs to a session of the meter by the session's id, or if its counts are exactly
the sum of those of a session, or of one model in it.
"""

from runcard.encoding import JsonObject

TOTAL = "is_total"  # a field of reports with the counts of several calls
SESSION = "client_session"

_MOST = 10_000  # sessions and models


class MeteredSessions:
    """What the meter saw of each session."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str | None, str | None], tuple[int, int]] = {}  # by session, and by its model
        self._has_totals = False

    def __bool__(self) -> bool:
        """Whether a report may be the total of a session."""
        return self._has_totals and bool(self._sums)

    def add(self, call: JsonObject) -> None:
        if call.get("observer") == "meter":
            session, counts = _text(call.get(SESSION)), _counts(call) or (0, 0)
            for key in ((session, None), (session, _text(call.get("model")))):
                if key in self._sums or len(self._sums) < _MOST:
                    before = self._sums.get(key, (0, 0))
                    self._sums[key] = before[0] + counts[0], before[1] + counts[1]
        elif call.get(TOTAL) is True:
            self._has_totals = True

    def includes(self, call: JsonObject) -> bool:
        """Whether a report is the total of a session of the meter."""
        if call.get(TOTAL) is not True or call.get("observer") is not None:
            return False
        session = _text(call.get(SESSION))
        if session is not None:
            return (session, None) in self._sums
        return call.get("response_id") is None and _counts(call) in self._sums.values()


def _counts(call: JsonObject) -> tuple[int, int] | None:
    tokens = call.get("tokens")
    sent, output = (tokens.get("input"), tokens.get("output")) if isinstance(tokens, dict) else (None, None)
    return (sent, output) if isinstance(sent, int) and isinstance(output, int) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
