"""The sections `performance` and `resources` of a session's documents: how they follow from what was observed.

Those of an instance come from its SPEC, its times and its stored files; those of the team from the documents of its
instances. A value that does not follow from these is null.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from runcard.documents.exact_sums import all_known, exact_sum, plain_number, whole_sum
from runcard.documents.findings import Finding, display_value, finding
from runcard.documents.times import SECOND
from runcard.encoding import JsonObject

TOKEN_CLASSES = ("input", "output", "cache_read", "cache_write", "reasoning")
_PERFORMANCE = ("response_times", "wall_seconds", "active_seconds", "peak_memory_bytes")

Findings = Iterator[Finding]


def instance_sections(
    spec_fields: JsonObject, seconds: int, disk_bytes: int | None, tokens: JsonObject | None
) -> JsonObject:
    """Both sections of an instance; `disk_bytes` is the size of its stored files, None if none were stored."""
    given, used = spec_fields.get("performance", {}), spec_fields.get("resources", {})
    performance = {name: given.get(name) for name in _PERFORMANCE}
    if performance["wall_seconds"] is None:
        performance["wall_seconds"] = seconds
    memory = {"memory_bytes": used["memory_bytes"]} if used.get("memory_bytes") is not None else {}
    return {
        "performance": performance,
        "resources": {
            "cpu_seconds": used.get("cpu_seconds"),
            **memory,
            "disk_bytes": disk_bytes,
            "tokens": {name: (tokens or {}).get(name) for name in TOKEN_CLASSES},
        },
    }


def team_sections(
    entries: Sequence[JsonObject], instances: Sequence[JsonObject], wall_seconds: int
) -> JsonObject:
    """Both sections of a team, from the entries of its document and the sections of its instances."""
    measured = [instance.get("performance") or {} for instance in instances]
    used = [instance.get("resources") or {} for instance in instances]
    cpu = all_known(each.get("cpu_seconds") for each in used)
    stored = [size for each in used if (size := each.get("disk_bytes")) is not None]
    return {
        "performance": {
            "response_times": _response_times(measured),
            "wall_seconds": wall_seconds,
            "active_seconds": _active_seconds(entries, measured),
            "peak_memory_bytes": _largest(each.get("peak_memory_bytes") for each in measured),
        },
        "resources": {
            "cpu_seconds": None if cpu is None else plain_number(exact_sum(cpu)),
            "disk_bytes": sum(stored) if stored else None,
            "tokens": {name: _class_total(name, used) for name in TOKEN_CLASSES},
        },
    }


def earlier_team_sections(
    entries: Sequence[JsonObject], instances: Sequence[JsonObject], wall_seconds: int, *, has_peak: bool
) -> JsonObject:
    """The same as runcard wrote it before instance documents had `format_version`.

    Response times were those of all instances or unknown, and so was the peak memory of several. Still earlier, there was none
    (not `has_peak`), and `active_seconds` was the sum of the instances'.
    """
    sections = team_sections(entries, instances, wall_seconds)
    performance = sections["performance"]
    measured = [instance.get("performance") or {} for instance in instances]
    performance["response_times"] = _earlier_response_times(measured)
    if len(measured) != 1:
        performance["peak_memory_bytes"] = None
    if not has_peak:
        del performance["peak_memory_bytes"]
        active = all_known(each.get("active_seconds") for each in measured)
        performance["active_seconds"] = None if active is None else plain_number(exact_sum(active))
    return sections


def _response_times(measured: Sequence[JsonObject]) -> JsonObject | None:
    """Those of the calls of all instances that have any. Percentiles do not follow from those of several instances."""
    stated = [times for each in measured if (times := each.get("response_times")) and times.get("count") != 0]
    stated = [times for times in stated if any(value is not None for value in times.values())]
    if len(stated) <= 1:
        only: JsonObject | None = next(iter(stated), None)
        return only
    counts, means, longest = (
        all_known(times.get(name) for times in stated) for name in ("count", "mean", "max")
    )
    mean = None
    if counts and means:
        mean = sum(count * value for count, value in zip(counts, means, strict=True)) / sum(counts)
    return {
        "count": sum(counts) if counts else None,
        "mean": mean,
        "p50": None,
        "p95": None,
        "max": max(longest) if longest else None,
    }


def _earlier_response_times(measured: Sequence[JsonObject]) -> JsonObject | None:
    times_by_instance = all_known(each.get("response_times") for each in measured)
    if not times_by_instance:
        return None
    if len(times_by_instance) == 1:
        only: JsonObject = times_by_instance[0]
        return only
    counts, means, longest = (
        [times.get(name) for times in times_by_instance] for name in ("count", "mean", "max")
    )
    if None in (*counts, *means, *longest):
        return None
    total = sum(counts)
    mean = sum(count * value for count, value in zip(counts, means, strict=True)) / total if total else None
    return {"count": total, "mean": mean, "p50": None, "p95": None, "max": max(longest)}


def _largest(parts: Iterable[float | None]) -> float | None:
    """The largest of the parts, if all are known: peaks at different times do not add up."""
    known = all_known(parts)
    return max(known) if known else None


def _active_seconds(entries: Sequence[JsonObject], measured: Sequence[JsonObject]) -> float | int | None:
    """The time in which at least one instance was at work, from its start to its end, in whole seconds.

    Unknown if an end was not observed. If instances state their own active time, that of one is that of the team; of
    several it is unknown how they overlap.
    """
    stated = [each.get("active_seconds") for each in measured]
    if any(seconds is not None for seconds in stated):
        return stated[0] if len(stated) == 1 else None
    if any(_has_unknown_end(entry) for entry in entries):
        return None
    total, until = timedelta(), None
    for start, end in sorted(map(_lifetime, entries)):
        begin = start if until is None else max(start, until)
        if end > begin:
            total += end - begin
        until = end if until is None else max(until, end)
    return total // SECOND


def _has_unknown_end(entry: JsonObject) -> bool:
    """Whether the end of an instance is the time of the collection, although it was no longer running."""
    return entry.get("terminated_at_source") == "collected" and entry["status"] != "running"


def _lifetime(entry: JsonObject) -> tuple[datetime, datetime]:
    return datetime.fromisoformat(entry["created_at"]), datetime.fromisoformat(entry["terminated_at"])


def _class_total(name: str, used: Sequence[JsonObject]) -> int | None:
    counts = all_known((each.get("tokens") or {}).get(name) for each in used)
    return None if counts is None else sum(counts)


def team_section_rules(document: JsonObject, instances: Sequence[JsonObject]) -> Findings:
    """The rules for both sections of a team document: they agree with its instances and its summary."""
    tokens = (document.get("resources") or {}).get("tokens") or {}
    for name in TOKEN_CLASSES:
        counts = [(instance.get("tokens") or {}).get(name) for instance in instances]
        known = [count for count in counts if count is not None]
        stated, actual = tokens.get(name), whole_sum(known)
        is_wrong = stated is not None and (stated != actual if len(known) == len(counts) else stated < actual)
        if is_wrong:
            yield finding(
                "sum.tokens",
                f"/resources/tokens/{name}",
                f"{name} is {display_value(stated)}, but the instances' tokens add up to {display_value(actual)}",
                hint=f"write {display_value(actual)}, or correct the instances",
                expected=actual,
                found=stated,
            )
    wall = (document.get("performance") or {}).get("wall_seconds")
    total = (document.get("execution_summary") or {}).get("total_execution_time_seconds")
    if wall is not None and total is not None and not total <= wall < total + 1:
        yield finding(
            "summary.times",
            "/performance/wall_seconds",
            f"wall_seconds is {display_value(wall)}, but total_execution_time_seconds is {display_value(total)}",
            hint=f"write {display_value(total)}, or correct the summary",
            expected=total,
            found=wall,
        )
