"""Start document + events + files → final document, purely.

Whatever happens in a run is an event in its journal; whoever closes the run, its recorder or somebody else after its
death, folds the same events and gets the same document. No clock, no files, no guesses: what no event says stays null.

The events that the fold understands are listed in `EVENTS`; it passes over all others, which are the user's own, and over
lines that only look like one of these.

Invariant: whatever the events say, what the document says does not contradict itself.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from runcard.checksums import Listing
from runcard.documents.chain import Head, Line
from runcard.documents.run.digests import TOKEN_SOURCES, config_digest
from runcard.documents.run.size_limit import TRUNCATED, bounded
from runcard.documents.sums import all_known, exact_sum, money_agrees, plain_number
from runcard.documents.times import instant
from runcard.encoding import JsonObject

Events = dict[str, list[Line]]  # by name

STARTED = "run.started"  # payload: the start document
ENDED = "run.ended"  # status, duration_seconds, exit_code, resources
CONFIGURED = "config.set"  # configuration: merged over what was there
INPUTS = "inputs.added"  # files
COUNTED = "inputs.counted"  # files: path, sha256, tokens, token_source, tokenizer
ENVIRONMENT = "environment.observed"  # environment
CALLED = "model.called"  # one call of a model: tokens, cost, step, …
COSTS = "costs.set"  # totals that the caller knows better
LABELS = "labels.set"
RELATED = "relation.added"
ERROR = "error.added"
WARNING = "warning.added"
MASKED = "secrets.masked"  # rule, where, count

EVENTS = (
    *(STARTED, ENDED, CONFIGURED, INPUTS, COUNTED, ENVIRONMENT, CALLED, COSTS),
    *(LABELS, RELATED, ERROR, WARNING, MASKED),
)

# What the payload of an event must have to be taken for one; a damaged or foreign line is passed over.
_FORMS: dict[str, dict[str, type | tuple[type, ...]]] = {
    ENDED: {"status": str, "timestamp_end": str, "duration_seconds": (int, float)},
    CONFIGURED: {"configuration": dict},
    INPUTS: {"files": list},
    COUNTED: {"files": list},
    ENVIRONMENT: {"environment": dict},
    CALLED: {"tokens": dict},
    LABELS: {"labels": dict},
    RELATED: {"type": str, "id": str},
    ERROR: {"message": str},
    WARNING: {"message": str},
    MASKED: {"rule": str, "where": str, "count": int},
}


_COUNT = ("tokens", "token_source", "tokenizer")


class Files(NamedTuple):
    """What the closing found on the disk."""

    output: str | None  # digest of the bytes of SHA256SUMS
    symlinks: list[JsonObject]
    chains: tuple[Head, ...]
    ledger_head: str | None


def start_of(lines: Iterable[Line]) -> JsonObject | None:
    """The start document as the first event tells it, for when the file was lost."""
    return next(
        (line["payload"] for line in lines if line.get("event") == STARTED and "payload" in line), None
    )


def fold(start: JsonObject, lines: Iterable[Line], files: Files) -> JsonObject:
    """The final document of a run."""
    return readable(sealed(told(start, lines), files))


def readable(document: JsonObject) -> JsonObject:
    """The document, cut where it is larger than readers take; what depends on the parts that were cut is made again."""
    smaller, what = bounded(document)
    if what is None:
        return document
    files = smaller["data_sources"]["files"]
    warning = {
        "type": TRUNCATED,
        "message": f"the document was too large, so it was cut: {what}; the journal has everything",
        "timestamp": document["generation"]["timestamp_end"],
    }
    digests = {"config": config_digest(smaller["configuration"]), "data": data_digest(files)}
    return smaller | {
        "data_sources": smaller["data_sources"] | _totals(files),
        "checksums": smaller["checksums"] | digests,
        "warnings": [*smaller["warnings"], warning],
    }


def sealed(document: JsonObject, files: Files) -> JsonObject:
    """What the events tell, with what the closing found."""
    return document | {
        "symlinks": files.symlinks,
        "event_chains": [head.to_dict() for head in files.chains],
        "ledger_head": files.ledger_head,
        "checksums": document["checksums"] | {"output": files.output},
    }


def told(start: JsonObject, lines: Iterable[Line], newest_file: str | None = None) -> JsonObject:
    """What the events tell, before anything is sealed.

    `newest_file` is when the newest file of a run was written, for the estimated end of one that died.
    """
    everything = list(lines)
    events = _understood(everything)
    times = [newest_file, *(line.get("timestamp") for line in everything)]
    generation = _generation(start["generation"], events, times)
    configuration = dict(start["configuration"])
    for payload in _payloads(events, CONFIGURED):
        configuration |= payload["configuration"]
    sources = _sources(start["data_sources"], events)
    environment = dict(start["environment"])
    for payload in _payloads(events, ENVIRONMENT):
        environment |= payload["environment"]
    calls = [call for call in _payloads(events, CALLED) if not _is_unanswered(call)]
    costs = _costs(calls, list(_payloads(events, COSTS)))
    document: JsonObject = {
        "metadata_version": start["metadata_version"],
        "producer": start["producer"],
        "generation": generation,
        "configuration": configuration,
        "data_sources": sources,
        "environment": environment,
        "costs": costs,
        "token_usage": _usage(calls, costs),
    }
    document["resources"] = _last(events, ENDED).get("resources")
    document["relations"] = [*start.get("relations", []), *_payloads(events, RELATED)]
    document["trace"] = start.get("trace")
    document["errors"] = _problems(events, ERROR)
    document["warnings"] = _problems(events, WARNING)
    document["redactions"] = _redactions(events)
    document |= {"symlinks": [], "event_chains": [], "ledger_head": None}
    known = set(document) | {"checksums"}
    document |= {key: value for key, value in start.items() if key not in known}
    document["checksums"] = {
        "config": config_digest(configuration),
        "data": data_digest(sources["files"]),
        "output": None,
    }
    return document


def data_digest(files: list[JsonObject] | None) -> str | None:
    """The digest of the list of inputs: that of SHA256SUMS over the paths as they were recorded."""
    listed = {file["path"]: file["sha256"] for file in files or () if file.get("sha256") and file.get("path")}
    return str(Listing.from_hex(listed).digest) if listed else None


def _understood(lines: list[Line]) -> Events:
    """The events that can be understood, by name; a payload that was taken out says nothing."""
    events: Events = {name: [] for name in EVENTS}
    for line in lines:
        name, payload = line.get("event"), line.get("payload")
        if not isinstance(name, str) or name not in events or not isinstance(payload, dict):
            continue
        if all(isinstance(payload.get(key), kind) for key, kind in _FORMS.get(name, {}).items()):
            events[name].append(line)
    return events


def _payloads(events: Events, name: str) -> Iterator[JsonObject]:
    return (line["payload"] for line in events[name])


def _last(events: Events, name: str) -> JsonObject:
    last: JsonObject = events[name][-1]["payload"] if events[name] else {}
    return last


def _generation(start: JsonObject, events: Events, times: list[Any]) -> JsonObject:
    generation = dict(start)
    labels = {key: value for payload in _payloads(events, LABELS) for key, value in payload["labels"].items()}
    generation["labels"] = {**start.get("labels", {}), **labels}
    ended = _last(events, ENDED)
    if ended:
        generation |= {
            "status": ended["status"],
            "timestamp_end": ended["timestamp_end"],
            "duration_seconds": ended["duration_seconds"],
            "exit_code": ended.get("exit_code"),
        }
        generation["estimated"] = []
        return generation
    # The end was not recorded: the last event or the newest file is the last sign of life.
    end = _last_time([start["timestamp_start"], *times])
    generation |= {"status": "interrupted", "timestamp_end": end, "duration_seconds": _between(start, end)}
    generation["estimated"] = ["/generation/timestamp_end", "/generation/duration_seconds"]
    return generation


def _last_time(times: list[Any]) -> str | None:
    moments = {moment: time for time in times if isinstance(time, str) and (moment := instant(time))}
    return moments[max(moments)] if moments else None


def _between(start: JsonObject, end: str | None) -> float | None:
    began, ended = instant(start["timestamp_start"]), instant(end)
    if began is None or ended is None:
        return None
    seconds = max(0.0, (ended - began).total_seconds())
    return int(seconds) if seconds == int(seconds) else seconds


def _sources(start: JsonObject, events: Events) -> JsonObject:
    files: dict[str, JsonObject] = {file["path"]: file for file in start["files"] or ()}
    for payload in _payloads(events, INPUTS):
        files |= {
            file["path"]: dict(file) for file in payload["files"] if isinstance(file, dict) and "path" in file
        }
    for counted in (file for payload in _payloads(events, COUNTED) for file in payload["files"]):
        if _is_count_of(counted, files):
            files[counted["path"]] |= {name: counted.get(name) for name in _COUNT}
    listed = list(files.values())
    return {"files": listed, **_totals(listed)}


def _totals(listed: list[JsonObject]) -> JsonObject:
    """What the inputs add up to."""
    sizes = all_known(file.get("bytes") for file in listed)
    tokens = all_known(file.get("tokens") for file in listed)
    counted = bool(listed) and tokens is not None
    sources: JsonObject = {
        "total_files": len(listed),
        "total_bytes": None if sizes is None else sum(sizes),
    }
    sources["total_tokens"] = sum(tokens) if counted and tokens is not None else None
    sources["token_source"] = _weakest(file.get("token_source") for file in listed) if counted else None
    return sources


def _is_count_of(counted: object, files: dict[str, JsonObject]) -> bool:
    """Whether a count is one of the contents that are recorded: the file may have been added again since."""
    if not isinstance(counted, dict) or not isinstance(counted.get("path"), str):
        return False
    known, tokens = files.get(counted["path"]), counted.get("tokens")
    return known is not None and known.get("sha256") == counted.get("sha256") and type(tokens) is int


def _weakest(sources: Iterable[str | None]) -> str | None:
    known = (source if source in TOKEN_SOURCES else None for source in sources)
    return max(known, key=TOKEN_SOURCES.index, default=None)


def _is_unanswered(call: JsonObject) -> bool:
    """A call that failed before its reply began: it used nothing that anybody reports, and is no part of the totals."""
    return call.get("error") is not None and call.get("token_source") is None


def _total(calls: Iterable[JsonObject], name: str) -> int | None:
    known = all_known((call.get("tokens") or {}).get(name) for call in calls)
    return sum(known) if known else None


def _costs(calls: list[JsonObject], given: list[JsonObject]) -> JsonObject:
    short, long = _total(calls, "cache_write_5m"), _total(calls, "cache_write_1h")
    costs: JsonObject = {
        "input_tokens": _total(calls, "input"),
        "output_tokens": _total(calls, "output"),
        "cache_read_tokens": _total(calls, "cache_read"),
        "cache_write_tokens": None if short is None or long is None else short + long,
        "reasoning_tokens": _total(calls, "reasoning"),
        "total_cost_usd": _money(calls),
        "cost_source": _cost_source(calls),
        "token_source": _weakest(call.get("token_source") for call in calls),
        "price_rows": _rows(calls),
    }
    stated = {key: value for totals in given for key, value in totals.items() if key in costs}
    return _coherent(costs | stated, stated)


def _coherent(costs: JsonObject, stated: JsonObject) -> JsonObject:
    """What the caller states goes before what the calls say; what cannot be true beside it is not known."""
    whole = costs["input_tokens"]
    parts = [name for name in ("cache_read_tokens", "cache_write_tokens") if costs[name] is not None]
    if whole is None or sum(costs[name] for name in parts) <= whole:
        return costs
    doubtful = [name for name in ("input_tokens", *parts) if name not in stated] or parts
    return costs | dict.fromkeys(doubtful)


def _money(calls: list[JsonObject]) -> float | int | None:
    amounts = all_known(call.get("cost_usd") for call in calls)
    return plain_number(exact_sum(amounts)) if amounts else None


def _cost_source(calls: list[JsonObject]) -> str | None:
    sources = {call.get("cost_source") for call in calls}
    if not sources or None in sources:
        return None
    return "given" if sources == {"given"} else "priced"


def _rows(calls: list[JsonObject]) -> list[JsonObject]:
    rows: list[JsonObject] = []
    for call in calls:
        row = call.get("price_row")
        if row is not None and row not in rows:
            rows.append(row)
    return rows


def _usage(calls: list[JsonObject], costs: JsonObject) -> JsonObject:
    inputs, outputs = costs["input_tokens"], costs["output_tokens"]
    return {
        "total_input_tokens": inputs,
        "total_output_tokens": outputs,
        "total_tokens": None if inputs is None or outputs is None else inputs + outputs,
        "breakdown_by_step": _fitting(_breakdown(calls, "step"), costs),
        "breakdown_by_model": _fitting(_breakdown(calls, "model"), costs),
    }


def _fitting(parts: list[JsonObject], costs: JsonObject) -> list[JsonObject]:
    """The parts of totals; where the caller stated another total, nobody knows how it is made up."""
    for name, total in (
        ("input", "input_tokens"),
        ("output", "output_tokens"),
        ("cost_usd", "total_cost_usd"),
    ):
        known, whole = all_known(part[name] for part in parts), costs[total]
        if known is None or whole is None:
            continue
        if not (money_agrees(known, whole) if name == "cost_usd" else sum(known) == whole):
            parts = [part | {name: None} for part in parts]
    return parts


def _breakdown(calls: list[JsonObject], by: str) -> list[JsonObject]:
    groups: dict[str | None, list[JsonObject]] = {}
    for call in calls:
        groups.setdefault(call.get(by), []).append(call)
    return [
        {
            by: name,
            "calls": len(group),
            "input": _total(group, "input"),
            "output": _total(group, "output"),
            "cost_usd": _money(group),
            "token_source": _weakest(call.get("token_source") for call in group),
        }
        for name, group in groups.items()
    ]


def _problems(events: Events, name: str) -> list[JsonObject]:
    return [
        {
            "type": line["payload"].get("type"),
            "message": line["payload"]["message"],
            "timestamp": line.get("timestamp"),
        }
        for line in events[name]
    ]


def _redactions(events: Events) -> list[JsonObject]:
    counts: dict[tuple[str, str], int] = {}
    for payload in _payloads(events, MASKED):
        key = (payload["rule"], payload["where"])
        counts[key] = counts.get(key, 0) + payload["count"]
    return [{"rule": rule, "where": where, "count": count} for (rule, where), count in counts.items()]
