"""The model calls of a run in words: how many, how long they took. Unknown times are left out."""

from runcard.encoding import JsonObject
from runcard.views.formats import counted, duration

_TIMES = {"p50": "median", "p95": "p95", "max": "longest"}


def call_times(document: JsonObject) -> str | None:
    """`3; median 1.2 s, p95 3.1 s, longest 3.4 s; first token after 0.4 s (median)`; None without calls."""
    section = document.get("performance") or {}
    if not section.get("calls"):
        return None
    latency = section.get("latency_seconds") or {}
    times = [
        f"{label} {duration(latency[name])}"
        for name, label in _TIMES.items()
        if latency.get(name) is not None
    ]
    if times and latency.get("count") is not None:
        times[0] = f"of {latency['count']:,} with a known time: {times[0]}"
    first = (section.get("time_to_first_token_seconds") or {}).get("p50")
    parts = [f"{section['calls']:,}", ", ".join(times)]
    parts.append("" if first is None else f"first token after {duration(first)} (median)")
    return "; ".join(part for part in parts if part)


def call_count(part: JsonObject) -> str | None:
    """`3 calls`, of a part of a breakdown; None if it does not say."""
    calls = part.get("calls")
    return counted(calls, "call") if type(calls) is int and calls > 0 else None
