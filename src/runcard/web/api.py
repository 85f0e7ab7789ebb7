"""The same as data: `/api`, with the JSON that the commands print with `--json`, and its OpenAPI document."""

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from runcard.catalog.conditions import time_of
from runcard.errors import StoreError, UsageError
from runcard.operations.catalog.costs import record_costs
from runcard.operations.catalog.list_records import WHATS
from runcard.operations.checks.show import ShownRun, show_record
from runcard.operations.checks.show_session import show_instance
from runcard.operations.runs.event_list import list_events
from runcard.web.list_query import read_query
from runcard.web.lists import ask
from runcard.web.openapi import openapi_document
from runcard.web.record_address import FOLDERS, find_record

if TYPE_CHECKING:
    from starlette.requests import Request

    from runcard.web.record_address import AddressedRecord


def _json(data: Any, status: int = 200) -> Response:  # noqa: ANN401 - any JSON
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    return Response(text.encode("utf-8", "backslashreplace"), status, media_type="application/json")


def api_error(error: Exception, status: int) -> Response:
    """An error as data."""
    message = getattr(error, "message", None) or str(error) or "error"
    return _json({"error": {"message": message, "hint": getattr(error, "hint", None)}}, status)


def list_rows(request: "Request") -> Response:
    """`runcard ls WHAT --json`."""
    what = request.path_params["what"]
    if what not in WHATS:
        raise StoreError(f"there is no table {what!r}", hint=f"use {', '.join(WHATS)}")
    return _json(ask(read_query(what, request.query_params)).to_dict())


def show(request: "Request") -> Response:
    """`runcard show RECORD --json`."""
    shown = show_record(_record_at(request).open())
    return _json(shown.to_dict(shown.inputs()) if isinstance(shown, ShownRun) else shown.to_dict())


def show_agent(request: "Request") -> Response:
    """`runcard show SESSION --instance AGENT --json`."""
    shown = show_record(
        find_record("session", request.path_params["id"], request.query_params.get("at")).open()
    )
    if isinstance(shown, ShownRun):
        raise UsageError("this is a run, and only sessions have instances", hint="name a session")
    return _json(show_instance(shown, request.path_params["agent"]).to_dict())


def verify(request: "Request") -> Response:
    """`runcard verify RECORD --json`."""
    return _json(request.app.state.verdicts.check(_record_at(request)).summary)


def events(request: "Request") -> Response:
    """The events of a run from a byte on."""
    start = request.query_params.get("start", "0")
    if not (start.isascii() and start.isdecimal() and len(start) < 16):
        raise UsageError("start is not a number", hint="pass next_byte of the last answer")
    page = list_events(
        find_record("run", request.path_params["id"], request.query_params.get("at")).open(), int(start)
    )
    return _json(
        {
            "events": [event.to_dict() for event in page.events],
            "next_byte": page.next_byte,
            "is_end": page.is_end,
        }
    )


def costs(request: "Request") -> Response:
    """`runcard costs --by … --json`."""
    by = [name.strip() for name in request.query_params.get("by", "month").split(",") if name.strip()][:4]
    since = request.query_params.get("since")
    start = time_of(since, datetime.now(UTC)) if since else None
    return _json(record_costs(by or ["month"], since=start).to_dict())


def openapi(request: "Request") -> Response:  # noqa: ARG001 - as routes are called
    """The OpenAPI document of this API."""
    return _json(openapi_document())


def _record_at(request: "Request") -> "AddressedRecord":
    kinds = {folder: kind for kind, folder in FOLDERS.items()}
    folder = request.path_params["folder"]
    if folder not in kinds:
        raise StoreError(f"there is no table {folder!r}", hint="use runs or sessions")
    return find_record(kinds[folder], request.path_params["id"], request.query_params.get("at"))


ROUTES = [
    Route("/api/openapi.json", openapi),
    Route("/api/costs", costs),
    Route("/api/runs/{id}/events", events),
    Route("/api/sessions/{id}/agents/{agent}", show_agent),
    Route("/api/{folder}/{id}/verify", verify, methods=["POST"]),
    Route("/api/{folder}/{id}", show),
    Route("/api/{what}", list_rows),
]
