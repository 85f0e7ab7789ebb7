"""A session as the rows of the catalog."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runcard.catalog.call_identity import UNKNOWN
from runcard.catalog.cost_units import cost_units
from runcard.catalog.document_values import as_list, as_number, as_object, as_text, as_time
from runcard.catalog.record_calls import by_instance, usage_of_calls
from runcard.catalog.record_facts import flat_facts, remark_facts
from runcard.catalog.rows import (
    RecordRows,
    Row,
    cost_columns,
    fresh_input,
    known_part,
    known_tokens,
    known_total,
    relation_rows,
    search_texts,
    usage_times,
)
from runcard.catalog.session_fields import CLASSES, session_fields
from runcard.catalog.tables import INSTANCE_COLUMNS
from runcard.encoding import JsonObject

_NAME, _MODEL, _CALLS = (INSTANCE_COLUMNS.index(name) for name in ("name", "model", "calls"))
_OWN = ("instance_id", "name", "model", "token_source", "calls")
_NO_TOKENS = (None,) * len(CLASSES)


def session_status(summary: JsonObject) -> str | None:
    """The status of a closed session, by its `execution_summary`."""
    failed = summary.get("failed_instances")
    return None if failed is None else "completed" if failed == 0 else "failed"


def session_rows(
    document: JsonObject,
    remarks: Iterable[tuple[str, JsonObject]] = (),
    calls: Sequence[JsonObject] = (),
    *,
    is_plain: bool = False,
    is_open: bool = False,
) -> RecordRows:
    """The rows of a session, from its team document, the kinds and payloads of its remarks, and the calls that its journal lists.

    A text of a document with `is_plain` has no characters that a database does not take.
    """
    document = session_fields(document, is_plain=is_plain)
    summary, origin = document.get("execution_summary") or {}, document.get("origin_session") or {}
    entries: list[JsonObject] = document.get("instances") or []
    is_at_least = bool(document.get("usage_incomplete")) or is_open
    failed = summary.get("failed_instances")
    record: Row = {
        "status": session_status(summary),
        "started": as_time(summary.get("execution_start")),
        "ended": as_time(summary.get("execution_end")),
        "seconds": as_number(summary.get("total_execution_time_seconds")),
        **_session_tokens(summary, (document.get("resources") or {}).get("tokens")),
        "token_source": document.get("token_source"),
        **cost_columns(summary.get("total_cost"), summary.get("known_cost"), is_at_least=is_at_least),
        "instances": len(entries),
        "failed_instances": failed,
        "host": (document.get("system_info") or {}).get("hostname"),
        "branch": origin.get("branch"),
        "git_commit": origin.get("commit"),
        "folder": origin.get("folder"),
        "tool": origin.get("tool"),
        "title": origin.get("title"),
        **_session_problems(document),
    }
    rows = RecordRows(record)
    own = origin.get("id") if isinstance(origin.get("id"), str) else None
    listed = by_instance(call | {"client_session": own} if own else call for call in calls) if calls else {}
    _add_instances(rows, entries, listed, at_least=int(is_at_least))
    record |= usage_times(rows.usage)
    record["model"] = _only(row[_MODEL] for row in rows.instances)
    record["calls"] = known_total(row[_CALLS] for row in rows.instances)
    rows.facts = {**flat_facts("label", as_object(document.get("labels"))), **remark_facts(remarks)}
    rows.relations = [*relation_rows(document)]
    names = (row[_NAME] for row in rows.instances)
    rows.texts = search_texts(rows, (record["title"], record["folder"], *names))
    return rows


def _add_instances(
    rows: RecordRows, entries: Sequence[JsonObject], listed: Mapping[str, list[JsonObject]], *, at_least: int
) -> None:
    """Add the instances of a session, and what was paid for: each call; else what its `models` have; or the instance as a whole."""
    record_started = rows.record["started"]
    for number, entry in enumerate(entries):
        get = entry.get
        own, name, model, source, calls = map(get, _OWN)
        role, started = get("role_title") or get("role"), as_time(get("created_at"))
        tokens, cost = _token_counts(get("tokens")), _cost_of(entry)
        whole = _whole(tokens, get("tokens_used"))
        rows.instances.append(
            (
                *(own or f"#{number}", name, role, model, get("status"), get("parent_instance_id")),
                *(started, as_time(get("terminated_at")), as_number(get("execution_time_seconds"))),
                *(calls, whole, known_tokens(whole, tokens[0], tokens[1])),
                *tokens,
                source,
                *cost,
                *(at_least, get("error_message"), (get("error_details") or {}).get("category")),
            )
        )
        agent = (record_started if started is None else started, role, name)
        if own is not None and own in listed:
            figures = dict[str, Any](zip((*CLASSES, "cost", "known_cost"), (*tokens, *cost), strict=True))
            figures["calls"] = calls
            started_at = rows.record | {"started": agent[0]}
            if found := usage_of_calls(listed[own], started_at, figures, (own, role, name)):
                rows.usage += found
                continue
        parts = get("models") or ()
        if not parts:  # an agent without figures has an unknown cost, not none
            fresh = fresh_input(tokens[0], tokens[2], tokens[3], rows.record)
            rows.usage.append(
                (own, model, None, calls, *tokens, source, *cost, at_least, *agent, fresh, *UNKNOWN)
            )
        for part in parts:
            tokens = _token_counts(part.get("tokens"))
            rows.usage.append(
                (
                    *(own, part.get("model"), part.get("provider")),
                    part.get("calls") if len(parts) > 1 or "calls" in part else calls,
                    *tokens,
                    part.get("token_source") or source,
                    *_cost_of(part),
                    at_least,
                    *agent,
                    fresh_input(tokens[0], tokens[2], tokens[3], rows.record),
                    *UNKNOWN,
                )
            )


def _token_counts(tokens: JsonObject | None) -> tuple[int | None, ...]:
    """The tokens of each class, in the order of CLASSES."""
    return tuple(map(tokens.get, CLASSES)) if tokens else _NO_TOKENS


def _cost_of(entry: JsonObject) -> tuple[int | None, int | None]:
    """The cost of an instance or a part of one, and what is known of it."""
    cost = cost_units(entry.get("cost"))
    return cost, known_part(cost, entry["known_cost"]) if "known_cost" in entry else cost


def _session_tokens(summary: JsonObject, tokens: JsonObject | None) -> Row:
    counts = _token_counts(tokens)
    whole = _whole(counts, summary.get("total_tokens"))
    known = summary.get("known_tokens") or known_tokens(None, counts[0], counts[1])
    return {
        **dict(zip(CLASSES, counts, strict=True)),
        "tokens": whole,
        "known_tokens": known if whole is None else whole,
    }


def _whole(counts: Sequence[int | None], stated: int | None) -> int | None:
    """Input and output; where one is unknown, the sum that the document states."""
    sent, output = counts[0], counts[1]
    return stated if sent is None or output is None else sent + output


def _session_problems(document: JsonObject) -> Row:
    errors = as_list(document.get("errors"))
    return {"errors": len(errors), "warnings": 0, "first_error": as_text(errors[0]) if errors else None}


def _only(values: Iterable[str | None]) -> str | None:
    distinct = set(values) - {None, "unknown"}
    return distinct.pop() if len(distinct) == 1 else None
