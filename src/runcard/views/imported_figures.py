"""What a session that was imported has beside the figures of every session: calls, models, tools, errors, lower bounds."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from runcard.documents.exact_sums import all_known
from runcard.encoding import JsonObject
from runcard.views.formats import cost_or_known, counted, money, money_at_least, total_or_known, truncated

_MOST = 8  # names in a list
_TOOLS = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "opencode": "OpenCode",
    "madrox": "Madrox",
}


def is_lower_bound(document: JsonObject) -> bool:
    """Whether the totals of a session are lower bounds: its tool does not write all calls."""
    return bool(document.get("usage_incomplete"))


def total_at_least(
    total: float | None, known: float | None, format_amount: Callable[[Any], str], *, at_least: bool
) -> str:
    """A total, or the known part of it; with `≥` where it is a lower bound."""
    if total is None or not at_least:
        return total_or_known(total, known, format_amount)
    return money_at_least(total) if format_amount is money else f"≥ {format_amount(total)}"


def not_counted(document: JsonObject) -> str | None:
    """The kinds of calls that the totals do not include; None where they include all."""
    kinds = (document.get("usage_incomplete") or {}).get("calls_not_in_transcripts") or ()
    return "; ".join(map(str, kinds)) or None


def tool_title(document: JsonObject) -> str | None:
    """`Claude Code 2.1.197`: the tool whose session this is; None if it was not imported."""
    origin = document.get("origin_session") or {}
    name, version = origin.get("tool"), origin.get("tool_version")
    return None if name is None else " ".join(filter(None, (_TOOLS.get(name, name), version)))


def counts_by_name(parts: Iterable[JsonObject], field: str) -> str | None:
    """`Bash (12), Read (4)`: the most frequent first; None without any."""
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part.get(field) or {})
    if field == "errors_by_category" and "other" in counts:
        counts["of an unknown kind"] = counts.pop("other")
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    names = [f"{truncated(name, 60)} ({count:,})" for name, count in ordered[:_MOST]]
    hidden = len(ordered) - len(names)
    return ", ".join([*names, f"and {hidden:,} more"] if hidden > 0 else names) or None


def calls_of(instances: Sequence[JsonObject]) -> int | None:
    """The number of calls of a team; None if it is not known of every instance."""
    counts = all_known(entry.get("calls") for entry in instances)
    return None if counts is None else sum(counts)


def model_lines(instance: JsonObject, escape: Callable[[str], str] = str) -> list[str]:
    """`claude-opus-4-5, batch: 3 calls, $0.12` for each model of an instance, with names escaped."""
    lines = []
    for usage in instance.get("models") or ():
        names = (usage.get("model") or "unknown", usage.get("service_tier"))
        title = ", ".join(escape(truncated(name, 80)) for name in names if name)
        calls = [] if usage.get("calls") is None else [counted(usage["calls"], "call")]
        cost = cost_or_known(usage.get("cost"), usage.get("known_cost"))
        lines.append(f"{title}: {', '.join([*calls, cost])}")
    return lines
