"""A run as the rows of the catalog."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from runcard.catalog.call_identity import UNKNOWN
from runcard.catalog.cost_units import cost_units
from runcard.catalog.document_values import (
    as_count,
    as_integer,
    as_list,
    as_number,
    as_object,
    as_text,
    as_time,
    clean_text,
)
from runcard.catalog.record_calls import usage_of_calls, written_tokens
from runcard.catalog.record_facts import flat_facts, metric_facts, nested_facts, remark_facts
from runcard.catalog.rows import (
    RecordRows,
    Row,
    cost_columns,
    digest_bytes,
    fresh_input,
    known_part,
    known_tokens,
    known_total,
    relation_rows,
    search_texts,
    usage_times,
)
from runcard.catalog.session_fields import CLASSES
from runcard.catalog.tables import USAGE_COLUMNS
from runcard.documents.run.fields import has_calls, known_cost, may_have_more, model_breakdown
from runcard.encoding import JsonObject

_USAGE_OF_RUNS = USAGE_COLUMNS[: USAGE_COLUMNS.index("started")]  # without those of an agent and of a call


def run_rows(
    document: JsonObject,
    remarks: Iterable[tuple[str, JsonObject]] = (),
    calls: Sequence[JsonObject] = (),
    *,
    is_open: bool = False,
) -> RecordRows:
    """The rows of a run, from its document, the kinds and payloads of its remarks, and its calls. One that is open may make more."""
    generation, configuration = (
        as_object(document.get("generation")),
        as_object(document.get("configuration")),
    )
    environment, costs = as_object(document.get("environment")), as_object(document.get("costs"))
    git = as_object(environment.get("git"))
    record: Row = {
        "status": as_text(generation.get("status")),
        "started": as_time(generation.get("timestamp_start")),
        "ended": as_time(generation.get("timestamp_end")),
        "seconds": as_number(generation.get("duration_seconds")),
        "experiment": as_text(generation.get("experiment_name")),
        "experiment_id": as_text(generation.get("experiment_id")),
        "model": as_text(configuration.get("model")),
        "provider": as_text(configuration.get("provider")),
        "calls": as_count(as_object(document.get("performance")).get("calls")),
        **_tokens(costs),
        "token_source": as_text(costs.get("token_source")),
        **cost_columns(
            costs.get("total_cost_usd"), known_cost(document), is_at_least=may_have_more(document)
        ),
        "command": _command(generation.get("command")),
        "exit_code": as_integer(generation.get("exit_code")),
        "host": as_text(as_object(generation.get("process")).get("host")),
        "branch": as_text(git.get("branch")),
        "git_commit": as_text(git.get("commit")),
        **_problems(document),
    }
    rows = RecordRows(record)
    rows.facts = {
        **nested_facts("config", configuration),
        **flat_facts("label", as_object(generation.get("labels"))),
        **metric_facts(as_object(document.get("metrics"))),
        **remark_facts(remarks),
    }
    if has_calls(document):
        rows.usage = usage_of_calls(calls, record, record) or [
            (
                *map(row.get, _USAGE_OF_RUNS),
                *(record["started"], None, None, fresh_input(*_input_of(row), record)),
                *UNKNOWN,
            )
            for row in _run_usage(document, record)
        ]
    rows.calls = [] if is_open else [call_row(call) for call in calls]
    record |= usage_times(rows.usage)
    if record["cost"] is None:
        record["last_unknown_cost"] = record["last_usage"]
    rows.files = [*_inputs(as_object(document.get("data_sources")))]
    rows.relations = [*relation_rows(document)]
    rows.texts = search_texts(
        rows, (record["experiment"], record["command"], as_text(generation.get("function")))
    )
    return rows


def call_row(call: JsonObject) -> tuple[Any, ...]:
    """The row of a model call, in the order of CALL_COLUMNS; its `timestamp` is that of its event."""
    get, tokens = call.get, as_object(call.get("tokens"))
    known = cost_units(get("cost_usd"))
    return (
        as_time(get("timestamp")),
        as_text(get("model")),
        as_text(get("provider")),
        as_text(get("step")),
        as_number(get("latency_seconds")),
        as_number(get("time_to_first_token_seconds")),
        *(as_count(tokens.get(name)) for name in ("input", "output", "cache_read")),
        written_tokens(tokens),
        as_count(tokens.get("reasoning")),
        as_text(get("token_source")),
        known,
        known_part(None, get("known_cost_usd")) if known is None else known,
        0,
        as_text(get("cost_source")),
        as_text(get("observer")),
    )


def _tokens(costs: JsonObject) -> Row:
    counts = {name: as_count(costs.get(f"{name}_tokens")) for name in CLASSES}
    sent, output = counts["input"], counts["output"]
    whole = None if sent is None or output is None else sent + output
    return {**counts, "tokens": whole, "known_tokens": known_tokens(whole, sent, output)}


def _run_usage(document: JsonObject, record: Row) -> list[Row]:
    """What each model was paid for; one row for all, where the parts do not make up the whole."""
    parts = model_breakdown(document)
    whole = {name: record[name] for name in (*CLASSES, "token_source", "cost", "known_cost", "at_least")}
    whole |= {"calls": record["calls"], "provider": record["provider"]}
    if len(parts) <= 1:
        model = as_text(parts[0].get("model")) if parts else None
        return [{**whole, "instance_id": None, "model": model or record["model"]}]
    rows = []
    has_one_provider = _has_one_provider(document, record["provider"])
    for part in parts:
        tokens = {"input": as_count(part.get("input")), "output": as_count(part.get("output"))}
        cost = cost_columns(
            part.get("cost_usd"),
            part.get("known_cost_usd", part.get("cost_usd")),
            is_at_least=bool(record["at_least"]),
        )
        rows.append(
            {
                "instance_id": None,
                "model": as_text(part.get("model")),
                "provider": record["provider"] if has_one_provider else None,
                "calls": as_count(part.get("calls")),
                **{name: as_count(part.get(name, 0 if record[name] == 0 else None)) for name in CLASSES},
                **tokens,
                "token_source": as_text(part.get("token_source")),
                **cost,
            }
        )
    is_whole = all(
        known_total(row[name] for row in rows) == whole[name] for name in ("input", "output", "cost")
    )
    return rows if is_whole else [{**whole, "instance_id": None, "model": None}]


def _has_one_provider(document: JsonObject, provider: str | None) -> bool:
    """Whether all prices that were used are of this provider."""
    prices = as_list(as_object(document.get("costs")).get("price_rows"))
    return {as_object(row).get("provider") for row in prices} <= {provider}


def _input_of(row: Row) -> tuple[int | None, int | None, int | None]:
    return row["input"], row["cache_read"], row["cache_write"]


def _inputs(sources: JsonObject) -> Iterator[tuple[bool, str, bytes]]:
    seen = set()
    for file in as_list(sources.get("files")):
        path, digest = as_object(file).get("path"), digest_bytes(as_object(file).get("sha256"))
        if isinstance(path, str) and digest is not None and path not in seen:
            seen.add(path)
            yield True, clean_text(path), digest


def _problems(document: JsonObject) -> Row:
    errors = [as_object(error) for error in as_list(document.get("errors"))]
    warnings = as_list(document.get("warnings"))
    first = as_text(errors[0].get("message")) if errors else None
    return {"errors": len(errors), "warnings": len(warnings), "first_error": first}


def _command(words: object) -> str | None:
    import shlex  # noqa: PLC0415

    known = [word for word in as_list(words) if isinstance(word, str)]
    return as_text(shlex.join(known)) if known else None
