"""A record as the rows of the catalog. Pure: the documents may be of any quality, and nothing is read here.

What a document does not say is null. A value of a wrong type is as if it were not there. Keys and texts are cut to a length
that an index can hold.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from runcard.catalog.cost_units import cost_units
from runcard.catalog.tables import INSTANCE_COLUMNS, USAGE_COLUMNS
from runcard.documents.run.fields import has_calls, known_cost, model_breakdown
from runcard.documents.times import parse_time
from runcard.encoding import JsonObject

CLASSES = ("input", "output", "cache_read", "cache_write", "reasoning")
RUN, SESSION = "run", "session"

_LONGEST_TEXT = 1000  # characters of a value
_LONGEST_KEY = 200
_MOST_FACTS = 1000  # of one record
_MOST_DEPTH = 5  # levels of a configuration
_MOST_COUNT = 2**62
_LONGEST_TIME = 100  # characters
_NO_TOKENS = (None,) * len(CLASSES)
_ERROR = INSTANCE_COLUMNS.index("error")
_STARTED, _USAGE_COST = USAGE_COLUMNS.index("started"), USAGE_COLUMNS.index("cost")
_USAGE_OF_RUNS = USAGE_COLUMNS[:-4]  # without those of an agent

Row = dict[str, Any]
Facts = dict[str, tuple[float | None, str | None]]  # a number, a text, by key
RelationRow = tuple[str, str, str | None, int | None]  # type, id, digest, calls of it that were joined


@dataclass
class RecordRows:
    """The rows of one record; those of other tables than `records` without their record."""

    record: Row
    facts: Facts = field(default_factory=dict)
    instances: list[tuple[Any, ...]] = field(default_factory=list)  # in the order of INSTANCE_COLUMNS
    usage: list[tuple[Any, ...]] = field(default_factory=list)  # in the order of USAGE_COLUMNS
    calls: list[tuple[Any, ...]] = field(default_factory=list)  # in the order of CALL_COLUMNS
    files: list[tuple[bool, str, bytes]] = field(default_factory=list)  # is it an input, path, digest
    relations: list[RelationRow] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)  # by column of the search index


def run_rows(document: JsonObject, remarks: Iterable[tuple[str, JsonObject]] = ()) -> RecordRows:
    """The rows of a run, from its document and the kinds and payloads of its remarks."""
    generation, configuration = _object(document.get("generation")), _object(document.get("configuration"))
    environment, costs = _object(document.get("environment")), _object(document.get("costs"))
    git, usage = _object(environment.get("git")), _object(document.get("token_usage"))
    is_incomplete = bool(usage.get("incomplete"))
    record: Row = {
        "status": _text(generation.get("status")),
        "started": _time(generation.get("timestamp_start")),
        "ended": _time(generation.get("timestamp_end")),
        "seconds": _number(generation.get("duration_seconds")),
        "experiment": _text(generation.get("experiment_name")),
        "experiment_id": _text(generation.get("experiment_id")),
        "model": _text(configuration.get("model")),
        "provider": _text(configuration.get("provider")),
        "calls": _count(_object(document.get("performance")).get("calls")),
        **{name: _count(costs.get(f"{name}_tokens")) for name in CLASSES},
        "token_source": _text(costs.get("token_source")),
        **_cost(costs.get("total_cost_usd"), known_cost(document), is_at_least=is_incomplete),
        "command": _command(generation.get("command")),
        "exit_code": _integer(generation.get("exit_code")),
        "host": _text(_object(generation.get("process")).get("host")),
        "branch": _text(git.get("branch")),
        "git_commit": _text(git.get("commit")),
        **_problems(document),
    }
    rows = RecordRows(record)
    rows.facts = {
        **_nested_facts("config", configuration),
        **_flat_facts("label", _object(generation.get("labels"))),
        **_metric_facts(_object(document.get("metrics"))),
        **_remark_facts(remarks),
    }
    if has_calls(document):
        rows.usage = [
            (*map(row.get, _USAGE_OF_RUNS), record["started"], None, None, _fresh(*_input_of(row), record))
            for row in _run_usage(document, record)
        ]
    record |= _usage_times(rows.usage)
    rows.files = [*_inputs(_object(document.get("data_sources")))]
    rows.relations = [*_relations(document)]
    rows.texts = _texts(rows, (record["experiment"], record["command"], _text(generation.get("function"))))
    return rows


def call_row(call: JsonObject) -> tuple[Any, ...]:
    """The row of a model call, in the order of CALL_COLUMNS; its `timestamp` is that of its event."""
    get, tokens = call.get, _object(call.get("tokens"))
    short, long = _count(tokens.get("cache_write_5m")), _count(tokens.get("cache_write_1h"))
    known = cost_units(get("cost_usd"))
    return (
        _time(get("timestamp")),
        _text(get("model")),
        _text(get("provider")),
        _text(get("step")),
        _number(get("latency_seconds")),
        _number(get("time_to_first_token_seconds")),
        *(_count(tokens.get(name)) for name in ("input", "output", "cache_read")),
        None if short is None or long is None else short + long,
        _count(tokens.get("reasoning")),
        _text(get("token_source")),
        known,
        cost_units(get("known_cost_usd")) if known is None else known,
        0,
        _text(get("cost_source")),
        _text(get("observer")),
    )


def session_rows(document: JsonObject, remarks: Iterable[tuple[str, JsonObject]] = ()) -> RecordRows:
    """The rows of a session, from its team document and the kinds and payloads of its remarks."""
    summary = _object(document.get("execution_summary"))
    entries = [_object(entry) for entry in _list(document.get("instances"))]
    origin = _object(document.get("origin_session"))
    is_at_least = bool(document.get("usage_incomplete"))
    tokens = _object(_object(document.get("resources")).get("tokens"))
    failed = _count(summary.get("failed_instances"))
    record: Row = {
        "status": None if failed is None else "completed" if failed == 0 else "failed",
        "started": _time(summary.get("execution_start")),
        "ended": _time(summary.get("execution_end")),
        "seconds": _number(summary.get("total_execution_time_seconds")),
        "model": _only(_text(entry.get("model")) for entry in entries),
        "calls": _sum(_count(entry.get("calls")) for entry in entries),
        **{name: _count(tokens.get(name)) for name in CLASSES},
        "token_source": _text(document.get("token_source")),
        **_cost(summary.get("total_cost"), summary.get("known_cost"), is_at_least=is_at_least),
        "instances": len(entries),
        "failed_instances": failed,
        "host": _text(_object(document.get("system_info")).get("hostname")),
        "branch": _text(origin.get("branch")),
        "git_commit": _text(origin.get("commit")),
        "folder": _text(origin.get("folder")),
        "tool": _text(origin.get("tool")),
        **_session_problems(document),
    }
    rows = RecordRows(record)
    _add_instances(rows, entries, is_at_least=is_at_least)
    record |= _usage_times(rows.usage)
    rows.facts = {**_flat_facts("label", _object(document.get("labels"))), **_remark_facts(remarks)}
    rows.relations = [*_relations(document)]
    names = (_text(entry.get("name")) for entry in entries)
    rows.texts = _texts(rows, (_text(origin.get("title")), record["folder"], *names))
    return rows


def _run_usage(document: JsonObject, record: Row) -> list[Row]:
    """What each model was paid for; one row for all, where the parts do not make up the whole."""
    parts = model_breakdown(document)
    whole = {name: record[name] for name in (*CLASSES, "token_source", "cost", "known_cost", "at_least")}
    whole |= {"calls": record["calls"], "provider": record["provider"]}
    if len(parts) <= 1:
        model = _text(parts[0].get("model")) if parts else None
        return [{**whole, "instance_id": None, "model": model or record["model"]}]
    rows = []
    has_one_provider = _has_one_provider(document, record["provider"])
    for part in parts:
        tokens = {"input": _count(part.get("input")), "output": _count(part.get("output"))}
        cost = _cost(
            part.get("cost_usd"),
            part.get("known_cost_usd", part.get("cost_usd")),
            is_at_least=bool(record["at_least"]),
        )
        rows.append(
            {
                "instance_id": None,
                "model": _text(part.get("model")),
                "provider": record["provider"] if has_one_provider else None,
                "calls": _count(part.get("calls")),
                **{name: 0 if record[name] == 0 else None for name in CLASSES},
                **tokens,
                "token_source": _text(part.get("token_source")),
                **cost,
            }
        )
    is_whole = all(_sum(row[name] for row in rows) == whole[name] for name in ("input", "output", "cost"))
    return rows if is_whole else [{**whole, "instance_id": None, "model": None}]


def _has_one_provider(document: JsonObject, provider: str | None) -> bool:
    """Whether all prices that were used are of this provider."""
    prices = _list(_object(document.get("costs")).get("price_rows"))
    return {_object(row).get("provider") for row in prices} <= {provider}


def _add_instances(rows: RecordRows, entries: Sequence[JsonObject], *, is_at_least: bool) -> None:
    """Add the instances of a session, and what each model of an instance was paid for: by its `models`, or as a whole."""
    at_least = int(is_at_least)
    for number, entry in enumerate(entries):
        get = entry.get
        own, model, source = _text(get("instance_id")), _text(get("model")), _text(get("token_source"))
        calls, tokens, cost = _count(get("calls")), _token_counts(get("tokens")), _cost_of(entry)
        name, role, started = (
            _text(get("name")),
            _text(get("role_title")) or _text(get("role")),
            _time(get("created_at")),
        )
        agent = (rows.record["started"] if started is None else started, role, name)
        rows.instances.append(
            (
                own or f"#{number}",
                name,
                role,
                model,
                _text(get("status")),
                _text(get("parent_instance_id")),
                started,
                _time(get("terminated_at")),
                _number(get("execution_time_seconds")),
                calls,
                *tokens,
                source,
                *cost,
                at_least,
                _text(get("error_message")),
                _text(_object(get("error_details")).get("category")),
            )
        )
        parts = [_object(part) for part in _list(get("models"))]
        if not parts:  # an agent without figures has an unknown cost, not none
            fresh = _fresh(tokens[0], tokens[2], tokens[3], rows.record)
            rows.usage.append((own, model, None, calls, *tokens, source, *cost, at_least, *agent, fresh))
        for part in parts:
            tokens = _token_counts(part.get("tokens"))
            rows.usage.append(
                (
                    own,
                    _text(part.get("model")),
                    _text(part.get("provider")),
                    _count(part.get("calls")),
                    *tokens,
                    _text(part.get("token_source")) or source,
                    *_cost_of(part),
                    at_least,
                    *agent,
                    _fresh(tokens[0], tokens[2], tokens[3], rows.record),
                )
            )


def _input_of(row: Row) -> tuple[int | None, int | None, int | None]:
    return row["input"], row["cache_read"], row["cache_write"]


def _fresh(whole: int | None, read: int | None, written: int | None, record: Row) -> int | None:
    """Input without what was cached; unknown for a part that does not say what of the record's cached tokens it has."""
    hides_cache = (read is None and record["cache_read"]) or (written is None and record["cache_write"])
    return None if whole is None or hides_cache else max(0, whole - (read or 0) - (written or 0))


def _usage_times(usage: Sequence[tuple[Any, ...]]) -> Row:
    """The columns of a record that say when its usage was."""
    times = [row[_STARTED] for row in usage]
    unknown = [row[_STARTED] for row in usage if row[_USAGE_COST] is None]
    return {
        "last_usage": _last(times),
        "last_unknown_cost": _last(unknown),
        "undated_usage": times.count(None),
    }


def _last(times: list[int | None]) -> int | None:
    return max((-1 if time is None else time for time in times), default=None)


def _token_counts(tokens: object) -> tuple[int | None, ...]:
    """The tokens of each class, in the order of CLASSES."""
    if type(tokens) is not dict:
        return _NO_TOKENS
    return tuple([_count(tokens.get(name)) for name in CLASSES])


def _cost_of(entry: JsonObject) -> tuple[int | None, int | None]:
    """The cost of an instance or a part of one, and what is known of it."""
    cost = cost_units(entry.get("cost"))
    return cost, cost_units(entry["known_cost"]) if "known_cost" in entry else cost


def _inputs(sources: JsonObject) -> Iterator[tuple[bool, str, bytes]]:
    seen = set()
    for file in _list(sources.get("files")):
        path, digest = _object(file).get("path"), digest_bytes(_object(file).get("sha256"))
        if isinstance(path, str) and digest is not None and path not in seen:
            seen.add(path)
            yield True, _clean(path), digest


def digest_bytes(text: object) -> bytes | None:
    """The bytes of a digest in hex, with `sha256:` in front or not."""
    if not isinstance(text, str):
        return None
    digits = text.removeprefix("sha256:")
    try:
        return bytes.fromhex(digits) if len(digits) == 64 else None
    except ValueError:
        return None


def _relations(document: JsonObject) -> Iterator[RelationRow]:
    seen = set()
    joined = _joined_calls(document)
    for relation in _list(document.get("relations")):
        kind, other = _text(_object(relation).get("type")), _text(_object(relation).get("id"))
        if kind and other and (kind, other) not in seen:
            seen.add((kind, other))
            calls = joined.get(other) if kind == RUN else None
            yield kind, other, _text(_object(relation).get("sha256")), calls


def _joined_calls(document: JsonObject) -> dict[str, int]:
    """How many calls of each run that metered a session are in the session, too."""
    joined = {}
    for entry in map(_object, _list(document.get("metered_runs"))):
        both, only = _count(entry.get("calls_in_both")), _count(entry.get("only_metered"))
        if (run := _text(entry.get("run_id"))) and both is not None and only is not None:
            joined[run] = both + only
    return joined


def _nested_facts(prefix: str, data: Mapping[str, Any]) -> Facts:
    """The values of a configuration by their names, with dots between the names of levels."""
    facts: Facts = {}
    work: list[tuple[str, Any, int]] = [
        (f"{prefix}.{key}", value, 1) for key, value in reversed(list(data.items()))
    ]
    while work and len(facts) < _MOST_FACTS:
        key, value, depth = work.pop()
        if isinstance(value, dict) and depth < _MOST_DEPTH:
            work += [(f"{key}.{name}", inner, depth + 1) for name, inner in reversed(value.items())]
        elif (fact := _fact(value)) is not None:
            facts[_clean(key)[:_LONGEST_KEY]] = fact
    return facts


def _flat_facts(prefix: str, data: Mapping[str, Any]) -> Facts:
    facts: Facts = {}
    for key, value in list(data.items())[:_MOST_FACTS]:
        if (fact := _fact(value)) is not None:
            facts[_clean(f"{prefix}.{key}")[:_LONGEST_KEY]] = fact
    return facts


def _metric_facts(metrics: Mapping[str, Any]) -> Facts:
    """The last value of a metric under its name; the smallest and the largest with `.min` and `.max`."""
    facts: Facts = {}
    for suffix, key in (
        (".min", "min"),
        (".max", "max"),
        ("", "last"),
    ):  # a metric may be called `a.min`: its own value counts
        for name, values in list(metrics.items())[:_MOST_FACTS]:
            if (number := _number(_object(values).get(key))) is not None:
                facts[_clean(f"metric.{name}{suffix}")[:_LONGEST_KEY]] = (float(number), None)
    return facts


def _remark_facts(
    remarks: Iterable[tuple[str, JsonObject]],
) -> Facts:
    """Tags and evaluations, the latest of each name."""
    facts: Facts = {}
    for kind, payload in remarks:
        if kind == "tag" and (tag := _text(payload.get("tag"))):
            facts[f"tag.{tag}"[:_LONGEST_KEY]] = (1.0, tag)
        elif kind == "evaluation" and (name := _text(payload.get("name"))):
            fact = _fact(payload.get("value"))
            if fact is not None:
                facts[f"score.{name}"[:_LONGEST_KEY]] = fact
    return facts


def _fact(value: object) -> tuple[float | None, str | None] | None:
    """A value as a number and as a text; None for what is neither."""
    if isinstance(value, bool):
        return float(value), "true" if value else "false"
    if isinstance(value, int | float):
        with contextlib.suppress(OverflowError):
            return float(value), None
        return None, str(value)[:_LONGEST_TEXT]
    if isinstance(value, str):
        return None, _clean(value)[:_LONGEST_TEXT]
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value[:100]):
        return None, _clean(", ".join(map(str, value[:100])))[:_LONGEST_TEXT]
    return None


def _problems(document: JsonObject) -> Row:
    errors = [_object(error) for error in _list(document.get("errors"))]
    warnings = _list(document.get("warnings"))
    first = _text(errors[0].get("message")) if errors else None
    return {"errors": len(errors), "warnings": len(warnings), "first_error": first}


def _session_problems(document: JsonObject) -> Row:
    errors = _list(document.get("errors"))
    return {"errors": len(errors), "warnings": 0, "first_error": _text(errors[0]) if errors else None}


def _texts(rows: RecordRows, summary: Iterable[str | None]) -> dict[str, str]:
    """What full-text search finds a record by, besides its names, which the reader adds."""
    labels = (f"{key.partition('.')[2]} {text or ''}" for key, (_, text) in rows.facts.items())
    instance_errors = (row[_ERROR] for row in rows.instances)
    return {
        "summary": " ".join(dict.fromkeys(part for part in (*summary, rows.record.get("model")) if part)),
        "errors": " ".join(filter(None, (rows.record.get("first_error"), *instance_errors))),
        "labels": " ".join(labels),
    }


def _cost(total: object, known: object, *, is_at_least: bool) -> Row:
    return {"cost": cost_units(total), "known_cost": cost_units(known), "at_least": int(is_at_least)}


def _sum(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if not known or None in known else sum(known)  # type: ignore[arg-type]


def _only(values: Iterable[str | None]) -> str | None:
    distinct = set(values) - {None, "unknown"}
    return distinct.pop() if len(distinct) == 1 else None


def _command(words: object) -> str | None:
    import shlex  # noqa: PLC0415

    known = [word for word in _list(words) if isinstance(word, str)]
    return _text(shlex.join(known)) if known else None


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str | None:
    if type(value) is not str or not value:
        return None
    return value if len(value) <= _LONGEST_TEXT and _is_clean(value) else _clean(value)[:_LONGEST_TEXT]


def _is_clean(text: str) -> bool:
    return text.isascii() and "\0" not in text


def _clean(text: str) -> str:
    """A text that a database can hold: without lone surrogates and NUL."""
    return text if _is_clean(text) else text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def _number(value: object) -> float | int | None:
    """A number that a database can hold: an integer that is too large as a float."""
    if type(value) is float:
        return value
    if type(value) is not int:
        return None
    if abs(value) < _MOST_COUNT:
        return value
    with contextlib.suppress(OverflowError):
        return float(value)
    return None


def _integer(value: object) -> int | None:
    return value if type(value) is int and abs(value) < _MOST_COUNT else None


def _count(value: object) -> int | None:
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value < _MOST_COUNT else None


@lru_cache(maxsize=256)
def _time_of(text: str) -> int | None:
    """The agents of a session often start and end together."""
    with contextlib.suppress(OverflowError, ValueError):
        moment = parse_time(text)
        return None if moment is None else round(moment.timestamp() * 1000)
    return None


def _time(value: object) -> int | None:
    return _time_of(value) if type(value) is str and len(value) <= _LONGEST_TIME else None
