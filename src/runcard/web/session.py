"""The page of a session: the team as a tree and over time, what each agent used, what is missing."""

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from runcard.catalog.session_rows import session_status
from runcard.documents.session.team import work_end, work_start
from runcard.documents.times import parse_time
from runcard.errors import StoreError
from runcard.files import json_name
from runcard.operations.checks.show import show_record
from runcard.operations.checks.show_session import (
    ShownSession,
    open_transcript,
    show_instance,
)
from runcard.operations.checks.shown_damage import shown_damage
from runcard.operations.sessions.audit_trail import audit_trail
from runcard.operations.sessions.transcript_page import read_page, search
from runcard.store import layout
from runcard.views.imported_figures import calls_of, is_lower_bound, not_counted, tool_title
from runcard.web.drawing import timeline
from runcard.web.pages import render, render_part
from runcard.web.record_address import record_url
from runcard.web.record_files import found_record
from runcard.web.run import MOST_FILES, digests

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request

    from runcard.encoding import JsonObject
    from runcard.web.record_address import AddressedRecord

_CLASSES = ("input", "cache_read", "cache_write", "output", "reasoning")
_MOST_AUDIT = 200  # entries that are shown
_LAST_BYTE = 1 << 50


def session_page(request: "Request") -> Response:
    """A session."""
    found, shown = _shown(request)
    document = shown.document
    instances: list[JsonObject] = document["instances"]
    summary = document["execution_summary"]
    audit = document.get("audit") or {}
    return render(
        request,
        "session.html",
        found=found,
        row=found.row,
        shown=shown,
        document=document,
        summary=summary,
        status_word=shown.status or session_status(summary),
        about=_about(document, shown),
        started=work_start(document),
        ended=None if shown.status else work_end(document),
        instances=instances,
        timeline=timeline(instances),
        at_least=is_lower_bound(document),
        calls=calls_of(instances),
        not_counted=not_counted(document),
        known_calls=_known_sum(entry.get("calls") for entry in instances),
        classes=_classes((document.get("resources") or {}).get("tokens") or {}, instances),
        class_names=_CLASSES,
        class_fields=(document.get("resources") or {}).get("tokens") or {},
        errors=_errors(instances),
        tools=_sums(instances, "tool_uses"),
        omissions=(audit.get("omissions") or [])[:_MOST_AUDIT],
        more_omissions=max(0, len(audit.get("omissions") or []) - _MOST_AUDIT),
        redactions=audit.get("redactions") or [],
        excluded=audit.get("excluded") or [],
        amendments=[entry.describe() for entry in shown.amendments.entries],
        verdict=request.app.state.verdicts.get(found.row),
        damage=None if shown.is_open else shown_damage(shown.record, document, shown.amendments),
        agent_url=_AgentUrls(found),
    )


def cumulative_costs(request: "Request") -> Response:
    """The known cost of a session over time, for its chart: each agent counts when it ended."""
    _, shown = _shown(request)
    steps = sorted(
        (end.timestamp(), entry["cost"] if entry.get("cost") is not None else entry.get("known_cost") or 0)
        for entry in shown.document["instances"]
        if (end := parse_time(entry["terminated_at"]))
    )
    start = parse_time(work_start(shown.document) or "")
    times, costs, total = [start.timestamp()] if start else [], [0.0] if start else [], 0.0
    for time, cost in steps:
        total += cost
        if times and times[-1] == time:  # a chart has one value for each time
            costs[-1] = round(total, 6)
            continue
        times.append(time)
        costs.append(round(total, 6))
    return JSONResponse({"x": times, "series": [{"label": "known cost", "values": costs}], "unit": "$"})


def agent_page(request: "Request") -> Response:
    """One agent of a session, with a page of its transcript."""
    found, shown = _shown(request)
    agent = show_instance(shown, request.path_params["agent"])
    asked = request.query_params
    start, before, words = (
        _byte(asked.get("start")),
        asked.get("before"),
        asked.get("words", "")[:200].strip(),
    )
    page, hits, problem, has_more = None, None, None, False
    try:
        with open_transcript(shown, request.path_params["agent"]) as file:
            if words:
                hits, has_more = search(file, words)
            else:
                page = read_page(file, start, None if before is None else _byte(before))
    except StoreError as error:
        problem = error
    files = [
        {"name": json_name(path).text, "path": path, "bytes": size} for path, size in agent.files[:MOST_FILES]
    ]
    return render(
        request,
        "agent.html",
        found=found,
        row=found.row,
        agent=agent,
        entry=shown.find(request.path_params["agent"]),
        at_least=is_lower_bound(shown.document),
        page=page,
        hits=hits,
        has_more=has_more,
        words=words,
        problem=problem,
        files=files,
        folder=layout.instance_file(agent.document["instance_id"], layout.WORKSPACE),
        more_files=max(0, len(agent.files) - MOST_FILES),
        sources=agent.document.get("sources") or [],
        agent_url=_AgentUrls(found),
    )


def audit_part(request: "Request") -> Response:
    """The audit trail of a session, and its files with their digests, for the place in its page."""
    found = found_record(request)
    record = found.open()
    files = sorted(digests(record).items())
    entries, is_cut = audit_trail(record, _MOST_AUDIT)
    return render_part(
        request,
        "audit.html",
        events=entries,
        is_cut=is_cut,
        most=_MOST_AUDIT,
        files=files[:MOST_FILES],
        more_files=max(0, len(files) - MOST_FILES),
        row=found.row,
    )


def _shown(request: "Request") -> tuple["AddressedRecord", ShownSession]:
    found = found_record(request)
    shown = show_record(found.open())
    if not isinstance(shown, ShownSession):
        raise StoreError("this is not a session", hint="see the list of runs")
    return found, shown


class _AgentUrls:
    """The addresses of the agents of a session."""

    def __init__(self, found: "AddressedRecord") -> None:
        self._row = found.row

    def __call__(self, instance_id: str, **query: str | int) -> str:
        row = self._row
        base = record_url("session", row["id"], row["path"], f"/agents/{quote(instance_id, safe='')}")
        return f"{base}&{urlencode(query)}" if query else base


def _byte(text: str | None) -> int:
    return (
        min(int(text), _LAST_BYTE) if text and text.isascii() and text.isdecimal() and len(text) < 16 else 0
    )


def _about(document: "JsonObject", shown: ShownSession) -> list[tuple[str, Any]]:
    origin, audit = document.get("origin_session") or {}, document.get("audit") or {}
    resumed = origin.get("resumed_from")
    return [
        (name, value)
        for name, value in (
            ("Tool", tool_title(document)),
            ("Title", origin.get("title")),
            ("Folder", origin.get("folder")),
            ("Branch", origin.get("branch")),
            ("Commit", origin.get("commit")),
            ("Resumes", resumed),
            ("Stored by", None if shown.status else audit.get("collected_by")),
            (
                "Labels",
                ", ".join(f"{key} = {value}" for key, value in (document.get("labels") or {}).items()),
            ),
            ("Related", ", ".join(f"{one['type']} {one['id']}" for one in document.get("relations") or ())),
        )
        if value not in (None, "")
    ]


def _classes(tokens: "JsonObject", instances: "list[JsonObject]") -> list[tuple[str, int | None, int]]:
    """The tokens of each class: all, if that is known, and the known part."""
    return [
        (
            name.replace("_", " "),
            tokens.get(name),
            _known_sum((entry.get("tokens") or {}).get(name) for entry in instances),
        )
        for name in _CLASSES
        if name in tokens
    ]


def _known_sum(counts: "Iterable[int | None]") -> int:
    return sum(count for count in counts if count is not None)


def _errors(instances: "list[JsonObject]") -> list[tuple[str, int]]:
    """How many errors of each category there were; of an agent without counts, the one with which it ended."""
    ends = [
        {"errors_by_category": {kind: 1}}
        for entry in instances
        if not entry.get("errors_by_category")
        and (kind := (entry.get("error_details") or {}).get("category"))
    ]
    return _sums([*instances, *ends], "errors_by_category")


def _sums(instances: "list[JsonObject]", field: str) -> list[tuple[str, int]]:
    """Counts by name over all agents, the largest first."""
    sums: dict[str, int] = {}
    for entry in instances:
        for name, count in (entry.get(field) or {}).items():
            number = count if isinstance(count, int) else (count or {}).get("count", 0)
            sums[name] = sums.get(name, 0) + number
    return sorted(sums.items(), key=lambda pair: -pair[1])


ROUTES = [
    Route("/sessions/{id}", session_page),
    Route("/sessions/{id}/costs.json", cumulative_costs),
    Route("/sessions/{id}/audit", audit_part),
    Route("/sessions/{id}/agents/{agent}", agent_page),
]
