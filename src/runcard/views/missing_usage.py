"""What the totals of a run do not include, in words: calls that failed, and calls that were not seen or not understood."""

from runcard.documents.run.fields import known_cost, may_have_more
from runcard.encoding import JsonObject
from runcard.views.formats import cost_or_known, counted, source_text, token_count, truncated

_MOST = 8  # kinds of failures, or reasons
_FAILURES = {  # types of the meter; others are the vendor's
    "client-gone": "cancelled",
    "cut": "cut off",
    "ended": "unfinished",  # when the command ended
    "malformed-reply": "unreadable reply",
}


def no_calls(document: JsonObject) -> str:
    """What is said instead of a cost if a run has no call; whether calls were looked for."""
    is_metered = (document.get("reproduce") or {}).get("meter") is not False
    return "no model calls recorded" + ("" if is_metered else " (the meter was off: --no-meter)")


def cost_in_short(document: JsonObject) -> str | None:
    """`3 model calls, $0.02`; None without calls."""
    calls = (document.get("performance") or {}).get("calls")
    if not calls:
        return None
    total, known = document["costs"]["total_cost_usd"], known_cost(document)
    cost = "cost unknown" if total is None and not known else cost_or_known(total, known)
    return f"{counted(calls, 'model call')}, {cost}"


def failed_calls(document: JsonObject) -> str | None:
    """`2 × rate_limit_error 429, 1 × cut off`; None without any."""
    rows = _rows(document, "failed_calls")
    if not rows:
        return None
    kinds = [f"{row.get('calls') or 0:,} × {_kind(row)}" for row in rows[:_MOST]]
    hidden = sum(row.get("calls") or 0 for row in rows[_MOST:])
    return ", ".join([*kinds, f"{hidden:,} × others"] if hidden else kinds)


def missing_usage(document: JsonObject) -> list[str]:
    """Why the totals are incomplete, one line for each reason."""
    rows = _rows(document, "incomplete")
    lines = [
        truncated(str(row.get("reason") or "unknown"), 200)
        + (f" ({counted(row['calls'], 'call')})" if row.get("calls") else "")
        for row in rows[:_MOST]
    ]
    hidden = len(rows) - len(lines)
    return [*lines, f"and {hidden:,} more reasons"] if hidden > 0 else lines


def total_tokens(document: JsonObject, name: str) -> str:
    """A total of tokens; `≥` where calls are missing."""
    count = document["costs"].get(name)
    return ("≥ " if count is not None and may_have_more(document) else "") + token_count(count)


def counts_source(document: JsonObject) -> str | None:
    """Where the token counts come from; None if that is not known."""
    source = document["costs"].get("token_source")
    if source == "partial" and _rows(document, "incomplete"):
        return "incomplete"
    return source_text(source) if source else None


def _kind(row: JsonObject) -> str:
    status = row.get("status")
    name = str(row.get("type") or "error")
    return truncated(_FAILURES.get(name, name), 60) + ("" if status is None else f" {status}")


def _rows(document: JsonObject, name: str) -> list[JsonObject]:
    rows = (document.get("token_usage") or {}).get(name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
