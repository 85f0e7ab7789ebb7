"""Compare the calls that the meter saw with those that the program itself reported, by request id."""

import json
from typing import Any

from runcard.documents.run.events import MODEL_CALLED
from runcard.encoding import JsonObject
from runcard.observe.meter.otlp_witness import ReportedCall

_MOST_IDS = 1000  # in each list of the record
_EVENT = f'"{MODEL_CALLED}"'.encode()


def compare_calls(reported: list[ReportedCall], journal: str) -> JsonObject:
    """The payload of the event: which calls of Claude Code only one of the two has, and which have other counts.

    `journal` is the file with the calls that were metered.
    """
    metered = [
        call for call in metered_calls(journal) if call.get("client_session") and not call.get("error")
    ]
    by_id = {call.request_id: _reported_counts(call) for call in reported if call.request_id is not None}
    metered_by_id = {call["request_id"]: _metered_counts(call) for call in metered if call.get("request_id")}
    both = by_id.keys() & metered_by_id.keys()
    differing = [name for name in by_id if name in both and by_id[name] != metered_by_id[name]]
    without_id = sum(call.request_id is None for call in reported)
    without_id += sum(not call.get("request_id") for call in metered)
    return {
        "source": "otlp",
        "reported": len(reported),
        "metered": len(metered),
        "agreeing": len(both) - len(differing),
        "only_reported": [name for name in by_id if name not in both][:_MOST_IDS],
        "only_metered": [name for name in metered_by_id if name not in both][:_MOST_IDS],
        "differing": differing[:_MOST_IDS],
        "without_id": without_id,
    }


def metered_calls(journal: str) -> list[dict[str, Any]]:
    """The calls that the meter recorded."""
    calls = []
    with open(journal, "rb") as file:
        for line in file:
            payload = _payload(line) if _EVENT in line else {}
            if payload.get("observer") == "meter":
                calls.append(payload)
    return calls


def _payload(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
        payload = event["payload"] if event["event"] == MODEL_CALLED else {}
    except (ValueError, LookupError, TypeError, RecursionError):  # the command may write to the journal
        return {}
    return payload if isinstance(payload, dict) else {}


def _reported_counts(call: ReportedCall) -> tuple[int, ...]:
    """All input, output, and the cached parts of the input."""
    count = call.tokens.get
    cached = (count("cache_read", 0), count("cache_write", 0))
    return count("input", 0) + sum(cached), count("output", 0), *cached


def _metered_counts(call: dict[str, Any]) -> tuple[int, ...]:
    tokens = call.get("tokens") or {}
    count = {name: value for name, value in tokens.items() if isinstance(value, int)}.get
    written = sum(count(name, 0) for name in ("cache_write", "cache_write_5m", "cache_write_1h"))
    return count("input", 0), count("output", 0), count("cache_read", 0), written
