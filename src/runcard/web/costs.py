"""What all records cost, by model, day, agent, role, experiment, branch: as a table and as a chart."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from runcard.catalog.conditions import time_of
from runcard.operations.catalog.costs import RecordCosts, record_costs
from runcard.views.costs_table import csv_text
from runcard.web.pages import render

if TYPE_CHECKING:
    from starlette.requests import Request

BY = (
    "day",
    "week",
    "month",
    "model",
    "provider",
    "experiment",
    "agent",
    "role",
    "branch",
    "project",
    "tool",
    "host",
    "session",
)
PERIODS = {"7d": "7 days", "30d": "30 days", "90d": "90 days", "365d": "a year", "": "all time"}
_CSV = (
    "calls",
    "input",
    "output",
    "cache_read",
    "cache_write",
    "reasoning",
    "cost_usd",
    "known_cost_usd",
    "at_least",
    "token_source",
)
_TIMES = ("day", "week", "month")
_MOST_GROUPS = 500  # that are shown
_MOST_COLORS = 8  # parts of a bar with a color of their own
_NO_NAME = "unattributed"


def costs_page(request: "Request") -> Response:
    """The costs by one dimension."""
    by, since = _by(request), _since(request)
    report = _report(by, since)
    largest = max((group.totals.known_cost for group in report.groups), default=Decimal(0))
    groups = report.groups[::-1] if by in _TIMES else report.groups
    return render(
        request,
        "costs.html",
        by=by,
        since=since,
        dimensions=BY,
        periods=PERIODS,
        report=report,
        groups=[
            (group, float(group.totals.known_cost / largest) if largest else 0.0)
            for group in groups[:_MOST_GROUPS]
        ],
        hidden=max(0, len(groups) - _MOST_GROUPS),
        is_time=by in _TIMES,
        address=lambda **changes: "/costs?" + urlencode({"by": by, "since": since} | changes),
    )


def costs_csv(request: "Request") -> Response:
    """The same as CSV, as `runcard costs --csv` prints it."""
    by = _by(request)
    rows = []
    for key, totals in _report(by, _since(request)).groups:
        data = totals.to_dict()
        rows.append([key[by], *(data[name] if name in data else data["tokens"][name] for name in _CSV)])
    text = csv_text([by, *_CSV], rows)
    headers = {"content-disposition": 'attachment; filename="costs.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


def costs_series(request: "Request") -> Response:
    """The known costs by time and model, or by day and another dimension, for the chart."""
    by = _by(request)
    time, part = (by, "model") if by in _TIMES else ("day", by)
    report = record_costs((time, part), since=_start(_since(request)))
    sums: dict[str, Decimal] = {}
    for group in report.groups:
        name = group.key[part] or _NO_NAME
        sums[name] = sums.get(name, Decimal(0)) + group.totals.known_cost
    names = sorted(sums, key=lambda name: -sums[name])
    shown = names[:_MOST_COLORS]
    others = f"{len(names) - len(shown)} more"
    days: dict[str, dict[str, float]] = {}
    for group in report.groups:
        day = group.key[report.by[0]]
        if day is None:
            continue
        name = group.key[part] or _NO_NAME
        own = days.setdefault(day, {})
        label = name if name in shown else others
        own[label] = own.get(label, 0.0) + float(group.totals.known_cost)
    labels = [*shown, *([others] if len(names) > len(shown) else [])]
    times = [_day(day) for day in sorted(days)]
    series = [
        {"label": label, "values": [round(days[day].get(label, 0.0), 6) for day in sorted(days)]}
        for label in labels
    ]
    return JSONResponse({"x": times, "series": series, "unit": "$", "stacked": True})


def _day(text: str) -> float:
    return datetime.fromisoformat(text if len(text) > 7 else f"{text}-01").astimezone().timestamp()


def _report(by: str, since: str) -> RecordCosts:
    return record_costs((by,), since=_start(since))


def _start(since: str) -> datetime | None:
    return time_of(since, datetime.now(UTC)) if since else None


def _by(request: "Request") -> str:
    return request.query_params.get("by") or "day"


def _since(request: "Request") -> str:
    return request.query_params.get("since", "30d")


ROUTES = [
    Route("/costs", costs_page),
    Route("/costs.csv", costs_csv),
    Route("/costs.json", costs_series),
]
