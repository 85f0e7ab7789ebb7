"""Start document + events + files → final document, purely.

Whatever happens in a run is an event in its journal; whoever closes the run, its recorder or somebody else after its
death, folds the same events and gets the same document. No clock, no files, no guesses: what no event says stays null.

The events that the fold understands are listed in `EVENTS`; it passes over all others, which are the user's own.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from runcard.checksums import Listing
from runcard.documents.chain import Head, Line
from runcard.documents.generation import TOKEN_SOURCES, config_digest
from runcard.documents.sums import all_known, exact_sum, plain_number
from runcard.documents.times import instant

Fields = dict[str, Any]

STARTED = "run.started"  # payload: the start document
ENDED = "run.ended"  # status, duration_seconds, exit_code, resources
CONFIGURED = "config.set"  # configuration: merged over what was there
INPUTS = "inputs.added"  # files
ENVIRONMENT = "environment.observed"  # environment
CALLED = "model.called"  # one call of a model: tokens, cost, step, …
COSTS = "costs.set"  # totals that the caller knows better
LABELS = "labels.set"
RELATED = "relation.added"
ERROR = "error.added"
WARNING = "warning.added"
MASKED = "secrets.masked"  # rule, where, count

EVENTS = (
    *(STARTED, ENDED, CONFIGURED, INPUTS, ENVIRONMENT, CALLED, COSTS),
    *(LABELS, RELATED, ERROR, WARNING, MASKED),
)

CLASSES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")


class Files(NamedTuple):
    """What the closing found on the disk."""

    output: str | None  # digest of the bytes of SHA256SUMS
    symlinks: list[Fields]
    chains: tuple[Head, ...]
    ledger_head: str | None


def start_of(lines: Iterable[Line]) -> Fields | None:
    """The start document as the first event tells it, for when the file was lost."""
    return next(
        (line["payload"] for line in lines if line.get("event") == STARTED and "payload" in line), None
    )


def fold(start: Fields, lines: Iterable[Line], files: Files) -> Fields:
    """The final document of a run."""
    events = list(lines)
    generation = _generation(start["generation"], events)
    configuration = dict(start["configuration"])
    for payload in _payloads(events, CONFIGURED):
        configuration |= payload["configuration"]
    sources = _sources(start["data_sources"], events)
    environment = start["environment"]
    for payload in _payloads(events, ENVIRONMENT):
        environment = {**environment, **payload["environment"]}
    calls = list(_payloads(events, CALLED))
    document: Fields = {
        "metadata_version": start["metadata_version"],
        "producer": start["producer"],
        "generation": generation,
        "configuration": configuration,
        "data_sources": sources,
        "environment": environment,
        "costs": _costs(calls, list(_payloads(events, COSTS))),
    }
    if calls:
        document["token_usage"] = _usage(calls)
    document["resources"] = _last(events, ENDED).get("resources")
    document["relations"] = [*start.get("relations", []), *_payloads(events, RELATED)]
    document["trace"] = start.get("trace")
    document["errors"] = _problems(events, ERROR)
    document["warnings"] = _problems(events, WARNING)
    document["redactions"] = _redactions(events)
    document["symlinks"] = files.symlinks
    document["event_chains"] = [head.to_dict() for head in files.chains]
    document["ledger_head"] = files.ledger_head
    known = set(document) | {"checksums"}
    document |= {key: value for key, value in start.items() if key not in known}
    document["checksums"] = {
        "config": config_digest(configuration),
        "data": data_digest(sources["files"]),
        "output": files.output,
    }
    return document


def data_digest(files: list[Fields] | None) -> str | None:
    """The digest of the list of inputs: that of SHA256SUMS over the paths as they were recorded."""
    listed = {file["path"]: file["sha256"] for file in files or () if file.get("sha256")}
    return str(Listing.from_hex(listed).digest) if listed else None


def _payloads(events: list[Line], name: str) -> Iterator[Fields]:
    return (line["payload"] for line in events if line.get("event") == name and "payload" in line)


def _last(events: list[Line], name: str) -> Fields:
    return next(_payloads(events[::-1], name), {})


def _generation(start: Fields, events: list[Line]) -> Fields:
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
    # Nobody saw the end: the last event is the last sign of life.
    last = max((line["timestamp"] for line in events if isinstance(line.get("timestamp"), str)), default=None)
    end = last or start["timestamp_start"]
    generation |= {"status": "interrupted", "timestamp_end": end, "duration_seconds": _between(start, end)}
    generation["estimated"] = ["/generation/timestamp_end", "/generation/duration_seconds"]
    return generation


def _between(start: Fields, end: str | None) -> float | None:
    began, ended = instant(start["timestamp_start"]), instant(end)
    if began is None or ended is None:
        return None
    seconds = max(0.0, (ended - began).total_seconds())
    return int(seconds) if seconds == int(seconds) else seconds


def _sources(start: Fields, events: list[Line]) -> Fields:
    files: dict[str, Fields] = {file["path"]: file for file in start["files"] or ()}
    for payload in _payloads(events, INPUTS):
        files |= {file["path"]: file for file in payload["files"]}
    listed = list(files.values())
    sizes = all_known(file.get("bytes") for file in listed)
    tokens = all_known(file.get("tokens") for file in listed)
    counted = bool(listed) and tokens is not None
    sources: Fields = {
        "files": listed,
        "total_files": len(listed),
        "total_bytes": None if sizes is None else sum(sizes),
    }
    sources["total_tokens"] = sum(tokens) if counted and tokens is not None else None
    sources["token_source"] = _weakest(file.get("token_source") for file in listed) if counted else None
    return sources


def _weakest(sources: Iterable[str | None]) -> str | None:
    return max(sources, key=TOKEN_SOURCES.index, default=None)


def _total(calls: Iterable[Fields], name: str) -> int | None:
    known = all_known((call.get("tokens") or {}).get(name) for call in calls)
    return sum(known) if known else None


def _costs(calls: list[Fields], given: list[Fields]) -> Fields:
    writes = [_total(calls, name) for name in ("cache_write_5m", "cache_write_1h")]
    known_writes = [count for count in writes if count is not None]
    costs: Fields = {
        "input_tokens": _total(calls, "input"),
        "output_tokens": _total(calls, "output"),
        "cache_read_tokens": _total(calls, "cache_read"),
        "cache_write_tokens": sum(known_writes) if known_writes else None,
        "reasoning_tokens": _total(calls, "reasoning"),
        "total_cost_usd": _money(calls),
        "cost_source": _cost_source(calls),
        "token_source": _weakest(call.get("token_source") for call in calls),
        "price_rows": _rows(calls),
    }
    for totals in given:
        costs |= totals
    return costs


def _money(calls: list[Fields]) -> float | int | None:
    amounts = all_known(call.get("cost_usd") for call in calls)
    return plain_number(exact_sum(amounts)) if amounts else None


def _cost_source(calls: list[Fields]) -> str | None:
    sources = {call.get("cost_source") for call in calls}
    if not sources or None in sources:
        return None
    return "given" if sources == {"given"} else "priced"


def _rows(calls: list[Fields]) -> list[Fields]:
    rows: list[Fields] = []
    for call in calls:
        row = call.get("price_row")
        if row is not None and row not in rows:
            rows.append(row)
    return rows


def _usage(calls: list[Fields]) -> Fields:
    inputs, outputs = _total(calls, "input"), _total(calls, "output")
    return {
        "total_input_tokens": inputs,
        "total_output_tokens": outputs,
        "total_tokens": None if inputs is None or outputs is None else inputs + outputs,
        "breakdown_by_step": _breakdown(calls, "step"),
        "breakdown_by_model": _breakdown(calls, "model"),
    }


def _breakdown(calls: list[Fields], by: str) -> list[Fields]:
    groups: dict[str | None, list[Fields]] = {}
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


def _problems(events: list[Line], name: str) -> list[Fields]:
    return [
        {
            "type": line["payload"].get("type"),
            "message": line["payload"]["message"],
            "timestamp": line.get("timestamp"),
        }
        for line in events
        if line.get("event") == name and "payload" in line
    ]


def _redactions(events: list[Line]) -> list[Fields]:
    counts: dict[tuple[str, str], int] = {}
    for payload in _payloads(events, MASKED):
        key = (payload["rule"], payload["where"])
        counts[key] = counts.get(key, 0) + payload["count"]
    return [{"rule": rule, "where": where, "count": count} for (rule, where), count in counts.items()]
