"""The tools that list, search and show records."""

from typing import TYPE_CHECKING

from runcard.encoding import JsonObject
from runcard.mcp_server.paging import cursor_number, page_of_items, page_of_value
from runcard.mcp_server.tools import (
    COUNT,
    CURSOR,
    FLAG,
    OBJECTS,
    PAGE,
    POINTER,
    RECORD,
    TEXT,
    TEXTS,
    ToolCall,
    ToolDefinition,
    about,
    answer_schema,
    arguments_schema,
    optional,
    quoted_value,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runcard.catalog.searching import Filters
    from runcard.store.record import Record

_MOST_ROWS = 200  # of one answer
_MOST_HITS = 2000  # lines of transcripts that are looked for beyond those of an answer
_FAR = 10_000_000

_FILTERS: JsonObject = {
    "model": about(TEXT, "A part of the name of the model."),
    "status": about(TEXT, "completed, failed, interrupted or running."),
    "since": about(TEXT, "Started since: 2026-11-01, or 7d, 12h, 30m ago."),
    "until": about(TEXT, "Started before; written like since."),
    "experiment": about(TEXT, "The name of an experiment."),
    "tags": about(TEXTS, "Tags that it must have, all of them."),
    "where": about(TEXT, "A condition, such as: cost > 0.5 and metric.accuracy > 0.6 and label.team = ux"),
}
_FILTER_NAMES = tuple(_FILTERS)

RECORD_REFERENCE = answer_schema(
    {
        "id": TEXT,
        "kind": about(TEXT, "run or session"),
        "path": about(TEXT, "Its directory, or its archive."),
        "archived": FLAG,
    }
)


def record_reference(record: "Record") -> JsonObject:
    """What names a record in an answer."""
    from runcard.files import json_name, printable  # noqa: PLC0415

    return {
        "id": printable(record.id),
        "kind": record.kind,
        "path": json_name(record.path).text,
        "archived": record.is_archived,
    }


def _filters(arguments: JsonObject, text: str | None = None) -> "Filters":
    from runcard.catalog.searching import Filters  # noqa: PLC0415 - long to load

    values = {name: arguments[name] for name in _FILTER_NAMES if arguments.get(name) is not None}
    return Filters(**values | {"tags": tuple(values.get("tags", ()))}, text=text)


def list_records(call: ToolCall, **arguments: object) -> JsonObject:
    """A page of the catalog, brought up to date first."""
    from runcard.operations.catalog.list_records import list_records as listed_records  # noqa: PLC0415 - long to load

    given: JsonObject = dict(arguments)
    stores = call.scope.stores
    sort, text = given.get("sort", "-started"), given.get("text")
    offset = cursor_number(given.get("cursor"), _FAR)
    call.report(0, message="reading the catalog")
    found = listed_records(
        str(given.get("what", "records")),
        _filters(given, text),
        columns=given.get("columns"),
        sort=[sort],
        limit=min(int(given.get("limit", 50)), _MOST_ROWS),
        offset=offset,
        **stores.catalog(),
    )
    page = page_of_items(found.rows, before=offset, total=max(found.total, offset + len(found.rows)))
    answer = {"quoted": {"records": page.value}, "total": found.total, **page.to_dict()}
    return answer | {"warnings": _warnings(found.warning, found.unreachable)}


def search_records(call: ToolCall, **arguments: object) -> JsonObject:
    """Records with words in names, errors, labels or values; or the lines of transcripts that have them."""
    given: JsonObject = dict(arguments)
    if given.pop("where_to_look", "records") == "records":
        return list_records(call, **given)
    from runcard.operations.catalog.search_transcripts import search_transcripts  # noqa: PLC0415 - long to load

    offset, limit = cursor_number(given.get("cursor"), _FAR), min(int(given.get("limit", 50)), _MOST_ROWS)
    stores = call.scope.stores

    def with_progress(records: "Iterable[object]") -> "Iterator[object]":
        for number, record in enumerate(records, 1):
            call.report(number, message="reading transcripts that are new")
            yield record

    found = search_transcripts(
        str(given["text"]),
        "records",
        _filters(given),
        limit=offset + _MOST_HITS,
        with_progress=with_progress,
        **stores.catalog(),
    )
    rows = found.rows[offset : offset + limit]
    page = page_of_items(rows, before=offset, total=max(len(found.rows), offset))
    return {
        "quoted": {"hits": page.value},
        "total": len(found.rows),
        "total_is_at_least": found.has_more,
        **page.to_dict(),
        "warnings": [
            *_warnings(found.warning, found.unreachable),
            *(f"{path} could not be read: {reason}" for path, reason in found.unread[:20]),
        ],
    }


def _warnings(warning: str | None, unreachable: "Iterable[str]") -> list[str]:
    stores = [
        f"the store {path} cannot be reached: its records are listed as they were" for path in unreachable
    ]
    return [*([warning] if warning else []), *stores]


def get_record(
    call: ToolCall, record: str, agent: str | None = None, pointer: str = "", cursor: str | None = None
) -> JsonObject:
    """A run, a session or one of its agents as `show` has it, as far as it fits."""
    from runcard.operations.checks.show import ShownRun, show_record  # noqa: PLC0415 - long to load
    from runcard.operations.checks.show_session import show_instance  # noqa: PLC0415

    opened = call.scope.stores.open(record)
    shown = show_record(opened)
    value = shown.to_dict()
    if agent is not None:
        if isinstance(shown, ShownRun):
            from runcard.errors import UsageError  # noqa: PLC0415

            raise UsageError(f"{opened.id} is a run: it has no agents", hint="leave out the argument agent")
        value = show_instance(shown, agent).to_dict()
    remark = shown.remark if isinstance(shown, ShownRun) else None
    return shown_answer(opened, value, pointer, cursor) | {"remark": remark}


def shown_answer(
    record: "Record", value: JsonObject, pointer: str = "", cursor: str | None = None
) -> JsonObject:
    """The answer about a record: what `show` has about it, or a part of that."""
    page = page_of_value(value, pointer, cursor)
    return {
        "record": record_reference(record),
        "pointer": pointer,
        "quoted": {"value": page.value},
        **page.to_dict(),
    }


_LIST_ANSWER: JsonObject = {
    "total": about(COUNT, "How many there are, on all pages."),
    **PAGE,
    "warnings": about(TEXTS, "Why the list may not be complete."),
}

TOOLS = (
    ToolDefinition(
        name="list_records",
        title="List records",
        description=(
            "List recorded runs and sessions of agents, newest first, with status, model, tokens, cost and times. "
            "Filter by status, model, time, experiment, tags or a condition. Use it to find the id of a record."
        ),
        arguments=arguments_schema(
            {
                "what": about(
                    {
                        "type": "string",
                        "enum": ["records", "runs", "sessions", "instances", "calls", "experiments"],
                    },
                    "What to list. Default: records, which are runs and sessions.",
                ),
                **_FILTERS,
                "text": about(TEXT, "Words in names, errors, labels or values, all of them."),
                "columns": about(
                    {"type": "array", "items": TEXT, "maxItems": 30},
                    "The columns, such as id, cost, config.temperature, metric.accuracy, label.team, error.",
                ),
                "sort": about(
                    TEXT, "The column to sort by; -cost is from the largest down. Default: -started."
                ),
                "limit": about(
                    {"type": "integer", "minimum": 1, "maximum": _MOST_ROWS}, "The most rows. Default: 50."
                ),
                "cursor": CURSOR,
            }
        ),
        answer=answer_schema(
            {
                "quoted": answer_schema({"records": about(OBJECTS, "A row for each, by column.")}),
                **_LIST_ANSWER,
            }
        ),
        function=list_records,
    ),
    ToolDefinition(
        name="search_records",
        title="Search records and transcripts",
        description=(
            "Find words in records: in their names, errors, labels and values, or in the lines of their transcripts "
            "(the output of runs and agents). A hit in a transcript has its record, agent, line and text."
        ),
        arguments=arguments_schema(
            {
                "text": about(
                    {"type": "string", "minLength": 1, "maxLength": 1000}, "The words; all must occur."
                ),
                "where_to_look": about(
                    {"type": "string", "enum": ["records", "transcripts"]}, "Default: records."
                ),
                **_FILTERS,
                "limit": about(
                    {"type": "integer", "minimum": 1, "maximum": _MOST_ROWS}, "The most hits. Default: 50."
                ),
                "cursor": CURSOR,
            },
            ("text",),
        ),
        answer=answer_schema(
            {
                "quoted": {
                    "type": "object",
                    "properties": {
                        "records": about(OBJECTS, "The records, as list_records has them."),
                        "hits": about(
                            OBJECTS, "Lines of transcripts: id, kind, path, agent, file, line, text."
                        ),
                    },
                },
                **_LIST_ANSWER,
                "total_is_at_least": about(FLAG, "There are more hits than total."),
            },
            ("quoted", *_LIST_ANSWER),
        ),
        function=search_records,
    ),
    ToolDefinition(
        name="get_record",
        title="Read a record",
        description=(
            "Read the metadata of a run or a session: status, configuration, model, tokens, cost, inputs, environment, errors, "
            "files and amendments; or of one agent of a session. Large parts are shortened: ask for them by their pointer."
        ),
        arguments=arguments_schema(
            {
                "record": RECORD,
                "agent": about(TEXT, "The name or id of an agent of a session: its own document."),
                "pointer": POINTER,
                "cursor": CURSOR,
            },
            ("record",),
        ),
        answer=answer_schema(
            {
                "record": RECORD_REFERENCE,
                **quoted_value("status, files, amendments and document"),
                "remark": about(optional(TEXT), "About a run that is not closed."),
            }
        ),
        function=get_record,
    ),
)
