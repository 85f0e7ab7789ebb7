"""The model calls of a run in words: how many, how long they took, whether a witness agrees. Unknown times are left out."""

from runcard.encoding import JsonObject
from runcard.views.formats import counted, duration, truncated

_TIMES = {"p50": "median", "p95": "p95", "max": "longest"}
_SHOWN = 3  # request ids
_MAX_HOSTS = 8
_WITNESS_LISTS = {
    "only_reported": "only in its telemetry",
    "only_metered": "only metered",
    "differing": "with other token counts",
}


def call_times(document: JsonObject) -> str | None:
    """`3; median 1.2 s, p95 3.1 s, longest 3.4 s; first token after 0.4 s (median)`; `1; 1.2 s`; None without calls."""
    section = document.get("performance") or {}
    if not section.get("calls"):
        return None
    latency = section.get("latency_seconds") or {}
    is_one = section["calls"] == 1
    times = [
        duration(latency[name]) if is_one else f"{label} {duration(latency[name])}"
        for name, label in _TIMES.items()
        if latency.get(name) is not None and not (is_one and name != "p50")
    ]
    if times and latency.get("count") is not None:
        times[0] = f"of {latency['count']:,} with a known time: {times[0]}"
    first = (section.get("time_to_first_token_seconds") or {}).get("p50")
    parts = [f"{section['calls']:,}", ", ".join(times)]
    if first is not None:
        parts.append(f"first token after {duration(first)}" + ("" if is_one else " (median)"))
    return "; ".join(part for part in parts if part)


def call_count(part: JsonObject) -> str | None:
    """`3 calls`, of a part of a breakdown; None if it does not say."""
    calls = part.get("calls")
    return counted(calls, "call") if type(calls) is int and calls > 0 else None


def witness_line(document: JsonObject) -> str | None:
    """`3 calls agree with the telemetry of Claude Code; 1 only metered: req_1`; None if there was no comparison."""
    section = document.get("witness") or {}
    if not section:
        return None
    if section.get("source") == "proxy":
        return _connections(section.get("connections"))
    if not section.get("reported") and not section.get("metered"):
        return "no calls of Claude Code to compare"
    agreeing = section.get("agreeing") or 0
    verb = "agrees" if agreeing == 1 else "agree"
    parts = [f"{counted(agreeing, 'call')} {verb} with the telemetry of Claude Code"]
    for name, words in _WITNESS_LISTS.items():
        ids = [str(some_id) for some_id in section.get(name) or ()]
        if ids:
            shown = ", ".join([*ids[:_SHOWN], "…"] if len(ids) > _SHOWN else ids)
            parts.append(f"{len(ids):,} {words}: {shown}")
    if section.get("without_id"):
        parts.append(f"{section['without_id']:,} without a request id")
    return "; ".join(parts)


def _connections(rows: object) -> str:
    """`3 connections to api.openai.com did not pass the meter`."""
    counts = [
        f"{counted(count, 'connection')} to {truncated(str(row.get('host')), 100)}"
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict) and type(count := row.get("connections")) is int
    ]
    if not counts:
        return "no connection to a model provider around the meter"
    shown = ", ".join([*counts[:_MAX_HOSTS], "…"] if len(counts) > _MAX_HOSTS else counts)
    return f"{shown} did not pass the meter"
