"""Start document + events + files → final document. A pure function.

Everything that happens in a run is an event in its journal. Whoever closes the run, its recorder or another process after
it was killed, folds the same events and gets the same document. No clock, no files, no guesses: a value that no event has
stays null. The one estimate, the end of a killed run, is in `estimated_end.py`.

The events are named in `events.py`. All others are the user's own and are ignored, as are damaged lines.

Invariant: whatever the events are, the fields of the document agree with each other.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from runcard.checksums import Listing
from runcard.documents.chain import Head, Line
from runcard.documents.exact_sums import all_known, exact_sum, money_agrees, plain_number
from runcard.documents.run.call_facts import SERVER_TOOLS, performance, server_tool_uses, with_model_of_calls
from runcard.documents.run.config_digest import config_digest
from runcard.documents.run.estimated_end import estimated_end
from runcard.documents.run.events import (
    CONFIG_SET,
    COSTS_SET,
    ENVIRONMENT_OBSERVED,
    ERROR_ADDED,
    EVENTS,
    INPUTS_ADDED,
    INPUTS_COUNTED,
    LABELS_SET,
    MODEL_CALLED,
    PAYLOADS,
    RELATION_ADDED,
    RUN_ENDED,
    RUN_STARTED,
    SECRETS_MASKED,
    WARNING_ADDED,
)
from runcard.documents.run.repeated_calls import count_once
from runcard.documents.run.size_limit import TRUNCATED, cut_to_limit
from runcard.documents.token_sources import weakest_source
from runcard.encoding import JsonObject

EventsByName = dict[str, list[Line]]

KNOWN_COST = "known_cost_usd"  # the part of an unknown cost that is known

_TOKEN_COUNT = ("tokens", "token_source", "tokenizer")


class FileFacts(NamedTuple):
    """What closing the run found on disk."""

    output: str | None  # digest of the bytes of SHA256SUMS
    symlinks: list[JsonObject]
    chains: tuple[Head, ...]
    ledger_head: str | None


def start_document_in(lines: Iterable[Line]) -> JsonObject | None:
    """The start document in the first event, in case the file was lost."""
    return next(
        (line["payload"] for line in lines if line.get("event") == RUN_STARTED and "payload" in line), None
    )


def fold(start: JsonObject, lines: Iterable[Line], files: FileFacts) -> JsonObject:
    """The final document of a run."""
    return cut_to_size(add_file_facts(fold_events(start, lines), files))


def cut_to_size(document: JsonObject) -> JsonObject:
    """The document, cut if it is larger than readers accept; what depends on the parts that were cut is updated."""
    smaller, cuts = cut_to_limit(document)
    if cuts is None:
        return document
    files = smaller["data_sources"]["files"]
    warning = {
        "type": TRUNCATED,
        "message": f"the document was too large, so it was cut: {cuts}; the journal has everything",
        "timestamp": document["generation"]["timestamp_end"],
    }
    digests = {"config": config_digest(smaller["configuration"]), "data": data_digest(files)}
    return smaller | {
        "data_sources": smaller["data_sources"] | _input_totals(files),
        "checksums": smaller["checksums"] | digests,
        "warnings": [*smaller["warnings"], warning],
    }


def add_file_facts(document: JsonObject, files: FileFacts) -> JsonObject:
    """The folded document, completed with what closing the run found on disk."""
    return document | {
        "symlinks": files.symlinks,
        "event_chains": [head.to_dict() for head in files.chains],
        "ledger_head": files.ledger_head,
        "checksums": document["checksums"] | {"output": files.output},
    }


def fold_events(
    start: JsonObject,
    lines: Iterable[Line],
    newest_file: str | None = None,
    *,
    with_repeats: bool = False,
    with_parts: bool = True,
) -> JsonObject:
    """The document as far as the events decide it; `newest_file` is when a killed run wrote its newest file.

    Earlier versions of runcard counted repeated reports of a response as well, and no calls inside others in `performance`:
    `with_repeats` and `with_parts` fold as they did.
    """
    journal = list(lines)
    events = _events_by_name(journal)
    times = [newest_file, *(line.get("timestamp") for line in journal)]
    generation = _generation(start["generation"], events, times)
    sources = _data_sources(start["data_sources"], events)
    environment = dict(start["environment"])
    for payload in _payloads(events, ENVIRONMENT_OBSERVED):
        environment |= payload["environment"]
    all_calls = list(_payloads(events, MODEL_CALLED))
    answered = [call for call in all_calls if not _is_unanswered(call)]
    calls, repeats = (answered, 0) if with_repeats else count_once(answered)
    configuration = with_model_of_calls(_with_settings(start, events), calls or all_calls)
    costs = _costs(calls, list(_payloads(events, COSTS_SET)))
    document: JsonObject = {
        "metadata_version": start["metadata_version"],
        "producer": start["producer"],
        "generation": generation,
        "configuration": configuration,
        "data_sources": sources,
        "environment": environment,
        "costs": costs,
        "token_usage": _token_usage(calls, costs) | ({"repeated_reports": repeats} if repeats else {}),
    }
    document["resources"] = _last(events, RUN_ENDED).get("resources")
    if (call_times := performance(calls, with_parts=with_parts)) is not None:
        document["performance"] = call_times
    document["relations"] = [*start.get("relations", []), *_payloads(events, RELATION_ADDED)]
    document["trace"] = start.get("trace")
    document["errors"] = _problems(events, ERROR_ADDED)
    document["warnings"] = _problems(events, WARNING_ADDED)
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


def without_call_facts(document: JsonObject, start: JsonObject, lines: Iterable[Line]) -> JsonObject:
    """A folded document as earlier versions of runcard folded it: calls filled in no model and had no times."""
    configuration = given_configuration(start, lines)
    checksums = document["checksums"] | {"config": config_digest(configuration)}
    earlier = document | {"configuration": configuration, "checksums": checksums}
    return {name: value for name, value in earlier.items() if name != "performance"}


def given_configuration(start: JsonObject, lines: Iterable[Line]) -> JsonObject:
    """The configuration as the user gave it, without what the calls fill in."""
    return _with_settings(start, _events_by_name(list(lines)))


def _with_settings(start: JsonObject, events: EventsByName) -> JsonObject:
    configuration = dict(start["configuration"])
    for payload in _payloads(events, CONFIG_SET):
        configuration |= payload["configuration"]
    return configuration


def data_digest(files: list[JsonObject] | None) -> str | None:
    """The digest of the inputs: that of a SHA256SUMS over the paths as they were recorded."""
    hexes = {file["path"]: file["sha256"] for file in files or () if file.get("sha256") and file.get("path")}
    return str(Listing.from_hex(hexes).digest) if hexes else None


def _events_by_name(lines: list[Line]) -> EventsByName:
    """The events with a complete payload; one whose payload was withheld is left out."""
    events: EventsByName = {name: [] for name in EVENTS}
    for line in lines:
        name, payload = line.get("event"), line.get("payload")
        if not isinstance(name, str) or name not in events or not isinstance(payload, dict):
            continue
        if all(isinstance(payload.get(key), kind) for key, kind in PAYLOADS[name].items()):
            events[name].append(line)
    return events


def _payloads(events: EventsByName, name: str) -> Iterator[JsonObject]:
    return (line["payload"] for line in events[name])


def _last(events: EventsByName, name: str) -> JsonObject:
    last: JsonObject = events[name][-1]["payload"] if events[name] else {}
    return last


def _generation(start: JsonObject, events: EventsByName, times: list[object]) -> JsonObject:
    generation = dict(start)
    labels = {
        key: value for payload in _payloads(events, LABELS_SET) for key, value in payload["labels"].items()
    }
    generation["labels"] = {**start.get("labels", {}), **labels}
    ended = _last(events, RUN_ENDED)
    if not ended:
        return generation | estimated_end(start["timestamp_start"], times)
    return generation | {
        "status": ended["status"],
        "timestamp_end": ended["timestamp_end"],
        "duration_seconds": ended["duration_seconds"],
        "exit_code": ended.get("exit_code"),
        "estimated": [],
    }


def _data_sources(start: JsonObject, events: EventsByName) -> JsonObject:
    files: dict[str, JsonObject] = {file["path"]: file for file in start["files"] or ()}
    for payload in _payloads(events, INPUTS_ADDED):
        files |= {
            file["path"]: dict(file) for file in payload["files"] if isinstance(file, dict) and "path" in file
        }
    for counted in (file for payload in _payloads(events, INPUTS_COUNTED) for file in payload["files"]):
        if _is_count_of(counted, files):
            files[counted["path"]] |= {name: counted.get(name) for name in _TOKEN_COUNT}
    inputs = list(files.values())
    return {"files": inputs, **_input_totals(inputs)}


def _input_totals(inputs: list[JsonObject]) -> JsonObject:
    sizes = all_known(file.get("bytes") for file in inputs)
    tokens = all_known(file.get("tokens") for file in inputs)
    return {
        "total_files": len(inputs),
        "total_bytes": None if sizes is None else sum(sizes),
        "total_tokens": sum(tokens) if tokens else None,
        "token_source": weakest_source(file.get("token_source") for file in inputs) if tokens else None,
    }


def _is_count_of(counted: object, files: dict[str, JsonObject]) -> bool:
    """Whether a count is of the recorded contents: the file may have been added again since."""
    if not isinstance(counted, dict) or not isinstance(counted.get("path"), str):
        return False
    known, tokens = files.get(counted["path"]), counted.get("tokens")
    return known is not None and known.get("sha256") == counted.get("sha256") and type(tokens) is int


def _is_unanswered(call: JsonObject) -> bool:
    """A call that failed before its reply began: no usage was reported, and it is not part of the totals."""
    return call.get("error") is not None and call.get("token_source") is None


def _total(calls: Iterable[JsonObject], name: str) -> int | None:
    known = all_known((call.get("tokens") or {}).get(name) for call in calls)
    return sum(known) if known else None


def _costs(calls: list[JsonObject], stated_totals: list[JsonObject]) -> JsonObject:
    short, long = _total(calls, "cache_write_5m"), _total(calls, "cache_write_1h")
    costs: JsonObject = {
        "input_tokens": _total(calls, "input"),
        "output_tokens": _total(calls, "output"),
        "cache_read_tokens": _total(calls, "cache_read"),
        "cache_write_tokens": None if short is None or long is None else short + long,
        "reasoning_tokens": _total(calls, "reasoning"),
        "total_cost_usd": _total_cost(calls),
        "cost_source": _cost_source(calls),
        "token_source": weakest_source(call.get("token_source") for call in calls),
        "price_rows": _price_rows(calls),
    }
    stated = {key: value for totals in stated_totals for key, value in totals.items() if key in costs}
    return _with_known_cost(_without_contradictions(costs | stated, stated), "total_cost_usd", calls)


def _without_contradictions(costs: JsonObject, stated: JsonObject) -> JsonObject:
    """Totals stated by the caller have precedence; a computed one that contradicts them becomes null."""
    whole = costs["input_tokens"]
    parts = [name for name in ("cache_read_tokens", "cache_write_tokens") if costs[name] is not None]
    if whole is None or sum(costs[name] for name in parts) <= whole:
        return costs
    doubtful = [name for name in ("input_tokens", *parts) if name not in stated] or parts
    return costs | dict.fromkeys(doubtful)


def _with_known_cost(totals: JsonObject, name: str, calls: list[JsonObject]) -> JsonObject:
    """The totals; beside an unknown cost stands the part of it that is known, if there is one."""
    amounts = [call.get("known_cost_usd" if call.get("cost_usd") is None else "cost_usd") for call in calls]
    known = [amount for amount in amounts if amount is not None]
    if totals[name] is not None or not known:
        return totals
    fields = list(totals.items())
    after = [key for key, _ in fields].index(name) + 1
    return dict([*fields[:after], (KNOWN_COST, plain_number(exact_sum(known))), *fields[after:]])


def _total_cost(calls: list[JsonObject]) -> float | int | None:
    amounts = all_known(call.get("cost_usd") for call in calls)
    return plain_number(exact_sum(amounts)) if amounts else None


def _cost_source(calls: list[JsonObject]) -> str | None:
    """`priced` when a part of the total was computed, else `reported` when a part was, else `given`."""
    sources = {call.get("cost_source") for call in calls}
    if not sources or None in sources:
        return None
    return "given" if sources == {"given"} else "priced" if "priced" in sources else "reported"


def _price_rows(calls: list[JsonObject]) -> list[JsonObject]:
    rows: list[JsonObject] = []
    for call in calls:
        row = call.get("price_row")
        if row is not None and row not in rows:
            rows.append(row)
    return rows


def _token_usage(calls: list[JsonObject], costs: JsonObject) -> JsonObject:
    inputs, outputs = costs["input_tokens"], costs["output_tokens"]
    return {
        "total_input_tokens": inputs,
        "total_output_tokens": outputs,
        "total_tokens": None if inputs is None or outputs is None else inputs + outputs,
        "breakdown_by_step": _agreeing_parts(_breakdown(calls, "step"), costs),
        "breakdown_by_model": _agreeing_parts(_breakdown(calls, "model"), costs),
    }


def _agreeing_parts(parts: list[JsonObject], costs: JsonObject) -> list[JsonObject]:
    """The parts of the totals; their values become null where the caller stated a different total."""
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
    return _without_larger_costs(parts, costs["total_cost_usd"])


def _without_larger_costs(parts: list[JsonObject], total: float | None) -> list[JsonObject]:
    """The parts; what is known of their costs is left out where it exceeds the total that the caller stated."""
    known = [amount for part in parts if (amount := part.get(KNOWN_COST, part["cost_usd"])) is not None]
    if total is None or money_agrees(known, total, at_least=True):
        return parts
    return [{name: value for name, value in part.items() if name != KNOWN_COST} for part in parts]


def _breakdown(calls: list[JsonObject], by: str) -> list[JsonObject]:
    groups: dict[str | None, list[JsonObject]] = {}
    for call in calls:
        groups.setdefault(call.get(by), []).append(call)
    return [_breakdown_row(by, name, group) for name, group in groups.items()]


def _breakdown_row(by: str, name: str | None, calls: list[JsonObject]) -> JsonObject:
    row: JsonObject = {
        by: name,
        "calls": len(calls),
        "input": _total(calls, "input"),
        "output": _total(calls, "output"),
        "cost_usd": _total_cost(calls),
        "token_source": weakest_source(call.get("token_source") for call in calls),
    }
    if by == "model" and (tools := server_tool_uses(calls)):
        row[SERVER_TOOLS] = tools
    return _with_known_cost(row, "cost_usd", calls)


def _problems(events: EventsByName, name: str) -> list[JsonObject]:
    return [
        {
            "type": line["payload"].get("type"),
            "message": line["payload"]["message"],
            "timestamp": line.get("timestamp"),
        }
        for line in events[name]
    ]


def _redactions(events: EventsByName) -> list[JsonObject]:
    counts: dict[tuple[str, str], int] = {}
    for payload in _payloads(events, SECRETS_MASKED):
        key = (payload["rule"], payload["where"])
        counts[key] = counts.get(key, 0) + payload["count"]
    return [{"rule": rule, "where": where, "count": count} for (rule, where), count in counts.items()]
