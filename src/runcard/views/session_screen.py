"""The screens that `runcard show` prints for a session, and for one of its instances.

No line is wider than 80 columns, except for paths. The tree lists all instances; other long lists are cut.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from runcard.documents.session.team import work_end, work_start
from runcard.documents.times import parse_time
from runcard.encoding import JsonObject
from runcard.files import printable
from runcard.views.charges import server_tools, special_prices, total_source
from runcard.views.formats import (
    byte_size,
    cost_or_known,
    counted,
    duration,
    money,
    short_duration,
    source_text,
    token_count,
)
from runcard.views.imported_figures import (
    calls_of,
    counts_by_name,
    is_lower_bound,
    model_lines,
    not_counted,
    tool_title,
    total_at_least,
)
from runcard.views.screen_parts import (
    SCREEN,
    SECRETS_KEPT,
    SIGNATURES,
    UncutText,
    columns_of,
    cut,
    fields,
    file_list,
    fit,
    key_values,
    location,
    one_line,
    section,
    wrap_text,
)
from runcard.views.team_tree import branches

_MIN_NAME = 16  # columns
_MAX_TIMELINE = 30  # instances
_MAX_FAILED = 20
_TOKEN_CLASSES = {
    "input": "input",
    "cache_read": "read from the cache",
    "cache_write": "written to the cache",
    "output": "output",
    "reasoning": "reasoning (in output)",
}


def team_screen(
    path: str,
    document: JsonObject,
    amendments: Sequence[str] = (),
    signatures: Sequence[str] = (),
    *,
    status: str | None = None,
) -> list[str]:
    """A session, line by line; `status` is that of one which is not closed."""
    instances = document["instances"]
    return [
        f"{printable(document['team_session_id'])}  {_state(document, status)}",
        "",
        *fields(_about(path, document, is_open=status is not None), SCREEN),
        *section("Team", _team(instances, at_least=is_lower_bound(document)) if instances else []),
        *section("Cost", _cost(document) if instances else []),
        *section("Work", _work(instances)),
        *section("Timeline", _timeline(instances)),
        *section("Failed", _failed(instances)),
        *section("Not stored", cut(_not_stored(document.get("audit") or {}))),
        *section("Amendments", cut([_clipped(amendment) for amendment in amendments])),
        *section(SIGNATURES, cut([_clipped(signature) for signature in signatures])),
    ]


def _state(document: JsonObject, status: str | None) -> str:
    """How a session is doing, or ended, and how many of its agents have completed."""
    instances = document["instances"]
    if status is None and document["execution_summary"].get("failed_instances"):
        status = "failed"
    completed = sum(entry["status"] == "completed" for entry in instances)
    agents = f"{completed} of {len(instances)} completed" if instances else "no agents yet"
    return f"{status}, {agents}" if status else agents


def _about(path: str, document: JsonObject, *, is_open: bool) -> list[tuple[str, object]]:
    summary, audit = document["execution_summary"], document.get("audit") or {}
    by = audit.get("collected_by")
    stored = (document.get("resources") or {}).get("disk_bytes")
    seconds = summary.get("total_execution_time_seconds")
    tool = tool_title(document)
    stored_at = audit.get("collected_at") or document["created_at"]
    return [
        location(path),
        *_origin(document.get("origin_session") or {}, tool),
        ("started", work_start(document)),
        ("ended", None if is_open else _end(document)),
        ("duration", None if seconds is None else duration(seconds)),
        ("imported" if tool else "collected", None if is_open else stored_at + (f" by {by}" if by else "")),
        ("stored", None if stored is None else f"{byte_size(stored)} of workspaces and transcripts"),
        ("labels", key_values(document.get("labels"))),
        ("related", ", ".join(f"{other['type']} {other['id']}" for other in document.get("relations") or ())),
        ("masking", SECRETS_KEPT if (audit.get("options") or {}).get("keep_secrets") else None),
    ]


def _origin(origin: JsonObject, tool: str | None) -> list[tuple[str, object]]:
    """Where a session that was imported comes from."""
    resumed = origin.get("resumed_from")
    return [
        ("tool", tool),
        ("title", origin.get("title")),
        ("folder", UncutText(origin.get("folder") or "")),
        ("branch", origin.get("branch")),
        ("commit", origin.get("commit")),
        ("resumes", resumed and f"session {resumed}"),
    ]


def _end(document: JsonObject) -> str | None:
    """When the work of a session ended, as far as that was observed."""
    instances = document["instances"]
    if any(entry["status"] == "running" for entry in instances):
        return "still running when it was collected"
    if any(entry.get("terminated_at_source") == "collected" for entry in instances):
        return "unknown: not every end was observed"
    return work_end(document)


def _team(instances: Sequence[JsonObject], *, at_least: bool) -> list[str]:
    """A table with one line per instance, drawn as a tree; with `at_least`, its figures are lower bounds."""
    rows = [
        (
            lines + printable(entry["name"]),
            entry["status"],
            printable(entry.get("role_title") or entry["role"]),
            _amount(entry.get("tokens_used"), token_count),
            _cell_cost(entry),
            _duration(entry),
        )
        for lines, entry in branches(instances)
    ]
    bound = "≥ " if at_least else ""
    rows.insert(0, ("", "status", "role", f"{bound}tokens", f"{bound}cost", "time"))
    widths = [max(map(columns_of, column)) for column in zip(*rows, strict=True)]
    room = SCREEN - 2 - 2 * (len(widths) - 1)
    widths[2] = min(widths[2], max(4, room - _MIN_NAME - sum(widths[1:]) + widths[2]))
    widths[0] = min(widths[0], max(_MIN_NAME, room - sum(widths[1:])))
    return [f"  {'  '.join(map(_cell, row, widths, range(len(row))))}".rstrip() for row in rows]


def _cell(text: str, width: int, column: int) -> str:
    """Numbers are right-aligned; of a name deep in the tree, the lines that lead to it are cut first."""
    if column >= 3:
        return " " * (width - columns_of(text)) + text
    if column == 0 and columns_of(text) > width:
        name = text.removeprefix("…").lstrip("│├└─ ")
        room = max(0, width - columns_of(name) - 1)
        text = "…" + text[: len(text) - len(name)][-room:] + name if room > 3 else "…└── " + name
    return fit(text, width)


def _amount(value: float | None, format_amount: Callable[[Any], str]) -> str:
    return "unknown" if value is None else format_amount(value)


def _cell_cost(entry: JsonObject) -> str:
    cost, known = entry.get("cost"), entry.get("known_cost")
    return cost_or_known(cost, known)


def _duration(entry: JsonObject) -> str:
    seconds = entry.get("execution_time_seconds")
    start, end = parse_time(entry["created_at"]), parse_time(entry["terminated_at"])
    if seconds is None and start and end:
        seconds = max(0, int((end - start).total_seconds()))
    text = "unknown" if seconds is None else short_duration(seconds)
    return f"{text} …" if entry["status"] == "running" else text


def _cost(document: JsonObject) -> list[str]:
    instances, source = document["instances"], document.get("token_source")
    calls, missing = calls_of(instances), not_counted(document)
    known = fields(
        [
            ("total", _total(document, "cost", money) + total_source(instances)),
            ("calls", _calls(calls, at_least=is_lower_bound(document))),
            ("tokens", _total(document, "tokens", token_count)),
            *_token_classes(
                (document.get("resources") or {}).get("tokens") or {}, at_least=is_lower_bound(document)
            ),
            ("counts", source and source_text(source)),
            ("tools", server_tools(instances)),
            ("prices", special_prices(document.get("price_rows"))),
        ]
    )
    return [*known, *(wrap_text(f"not counted: {missing}") if missing else [])]


def _calls(count: int | None, *, at_least: bool) -> str | None:
    return None if count is None else total_at_least(count, None, token_count, at_least=at_least)


def _work(instances: Sequence[JsonObject]) -> list[str]:
    """What the agents did, where that is known."""
    return fields(
        [
            ("tool uses", counts_by_name(instances, "tool_uses")),
            ("errors", counts_by_name(instances, "errors_by_category")),
        ]
    )


def _total(document: JsonObject, what: str, format_amount: Callable[[Any], str]) -> str:
    summary = document["execution_summary"]
    total, known = summary.get(f"total_{what}"), summary.get(f"known_{what}")
    return total_at_least(total, known, format_amount, at_least=is_lower_bound(document))


def _token_classes(by_class: JsonObject, *, at_least: bool) -> list[tuple[str, object]]:
    return [
        (label, total_at_least(by_class[name], None, token_count, at_least=at_least))
        for name, label in _TOKEN_CLASSES.items()
        if by_class.get(name) is not None
    ]


def _timeline(instances: Sequence[JsonObject]) -> list[str]:
    """When each instance worked, as a bar below the time of the whole session."""
    lives = [
        (start, end, entry)
        for entry in instances
        if (start := parse_time(entry["created_at"])) and (end := parse_time(entry["terminated_at"]))
    ]
    if not lives:
        return []
    lives.sort(key=lambda life: life[0])
    shown = lives[:_MAX_TIMELINE]
    first, last = min(start for start, _, _ in lives), max(end for _, end, _ in lives)
    names = [printable(entry["name"]) for _, _, entry in shown]
    width = min(20, max(map(columns_of, names)))
    room = SCREEN - 2 - width - 2
    span = (last - first).total_seconds() or 1.0
    lines = [f"  {' ' * width}  {_scale(first, last, room)}"]
    for name, (start, end, entry) in zip(names, shown, strict=True):
        begin = min(room - 1, int((start - first).total_seconds() / span * room))
        length = max(1, round((end - start).total_seconds() / span * room))
        bar = "━" * min(length, room - begin)
        if entry["status"] == "running":
            bar = bar[:-1] + "▶"
        lines.append(f"  {fit(name, width)}  {' ' * begin}{bar}")
    more = len(lives) - len(shown)
    return [*lines, f"  … and {more:,} more"] if more else lines


def _scale(first: datetime, last: datetime, room: int) -> str:
    form = "%H:%M:%S" if first.astimezone(UTC).date() == last.astimezone(UTC).date() else "%Y-%m-%d %H:%M"
    begin, end = (f"{moment.astimezone(UTC):{form}}" for moment in (first, last))
    return f"{begin}{end:>{room - len(begin)}}"


def _failed(instances: Sequence[JsonObject]) -> list[str]:
    failed = [entry for entry in instances if entry["status"] not in {"completed", "running"}]
    reasons = [f"{one_line(entry['name'])}: {_failure(entry)}" for entry in failed[:_MAX_FAILED]]
    more = len(failed) - len(reasons)
    return [line for reason in reasons for line in wrap_text(reason)] + (
        [f"  … and {more:,} more"] if more else []
    )


def _failure(entry: JsonObject) -> str:
    """How an instance failed: its status, the category of its error where known, and the message."""
    details = entry.get("error_details") or {}
    message = details.get("message") or entry.get("error_message") or entry.get("error")
    retry = {True: "retryable", False: "not retryable", None: None}[details.get("retryable")]
    kind = ", ".join(printable(word) for word in (entry["status"], details.get("category"), retry) if word)
    return f"{kind}: {one_line(message)}" if message else kind


def _not_stored(audit: JsonObject) -> list[str]:
    omissions = [
        _clipped(f"{omission.get('path') or 'a part of the session'}: {omission['reason']}")
        for omission in audit.get("omissions") or ()
    ]
    excluded = [
        _clipped(f"{rule['pattern']}: {counted(rule['count'], 'file')} excluded by this pattern")
        for rule in audit.get("excluded") or ()
    ]
    return omissions + excluded


def _clipped(text: str) -> str:
    return fit(f"  {one_line(text)}", SCREEN).rstrip()


def instance_screen(
    session: str,
    document: JsonObject,
    names: dict[str, str],
    files: Sequence[tuple[str, int]],
    *,
    at_least: bool = False,
) -> list[str]:
    """One instance of a session, line by line; `names` are those of its parent and children, by id.

    With `at_least`, its cost and its tokens are lower bounds.
    """
    return [
        f"{printable(document['name'])}  {document['status']}",
        "",
        *fields(_about_instance(session, document, names), SCREEN),
        *section("Cost", _instance_cost(document, at_least=at_least)),
        *section("Models", [line for text in _models(document) for line in wrap_text(text)]),
        *section("Work", _work([document])),
        *section("Workspace", _workspace(document.get("workspace") or {}) + file_list(files, SCREEN)),
        *section("Transcript", _output(document.get("output") or {}) + _sources(document)),
        *section("Failed", _failed([document])),
    ]


def _about_instance(session: str, document: JsonObject, names: dict[str, str]) -> list[tuple[str, object]]:
    parent = document.get("parent_instance_id")
    seconds = _duration(document)
    if document.get("terminated_at_source") == "collected":
        seconds += " (until it was collected: the end was not observed)"
    children = document.get("children_instance_ids") or []
    return [
        ("session", UncutText(session)),
        ("instance", document["instance_id"]),
        ("role", _role(document)),
        ("model", document["model"]),
        ("parent", parent and names.get(parent, parent)),
        ("children", ", ".join(names.get(child, child) for child in children)),
        ("started", document["created_at"]),
        ("duration", seconds),
        ("labels", key_values(document.get("labels"))),
    ]


def _role(document: JsonObject) -> str:
    title = document.get("role_title")
    return f"{title} ({document['role']})" if title else str(document["role"])


def _models(document: JsonObject) -> list[str]:
    """The models of an instance, if there are several."""
    lines = model_lines(document)
    return lines if len(lines) > 1 else []


def _instance_cost(document: JsonObject, *, at_least: bool) -> list[str]:
    cost, source = document.get("cost"), document.get("cost_source")
    total = total_at_least(cost, document.get("known_cost"), money, at_least=at_least)
    tokens = total_at_least(document.get("tokens_used"), None, token_count, at_least=at_least)
    token_source = document.get("token_source")
    return fields(
        [
            ("total", total + (f" ({source_text(source)})" if source else "")),
            ("calls", _calls(document.get("calls"), at_least=at_least)),
            ("tokens", tokens),
            *_token_classes(document.get("tokens") or {}, at_least=at_least),
            ("counts", token_source and source_text(token_source)),
            ("tools", server_tools([document])),
            ("prices", special_prices(document.get("price_rows"))),
        ]
    )


def _workspace(workspace: JsonObject) -> list[str]:
    count, total, types = (workspace.get(key) for key in ("files_count", "total_size_bytes", "file_types"))
    by_type = ", ".join(
        f"{number:,} {suffix or 'without suffix'}" for suffix, number in (types or {}).items()
    )
    stored = (
        None if count is None else counted(count, "file") + ("" if total is None else f", {byte_size(total)}")
    )
    return fields([("from", UncutText(workspace.get("path") or "")), ("stored", stored), ("types", by_type)])


def _output(output: JsonObject) -> list[str]:
    lines, total = output.get("lines"), output.get("size_bytes")
    parts = [None if lines is None else counted(lines, "line"), None if total is None else byte_size(total)]
    return fields([(output.get("file") or "", ", ".join(part for part in parts if part))]) if output else []


def _sources(document: JsonObject) -> list[str]:
    """The session files of the agent's tool, with the copies of them."""
    texts = [
        f"  {one_line(source.get('source') or 'unknown')} ({byte_size(source.get('bytes') or 0)})"
        for source in document.get("sources") or ()
    ]
    return cut(texts)
