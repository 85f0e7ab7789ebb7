"""The first page: what ran lately, what it cost, what failed, what to look at. On the first day: what can be imported."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from runcard.catalog.searching import Filters
from runcard.errors import RuncardError, StoreError
from runcard.operations.catalog.budget import budget, start_of_month
from runcard.operations.catalog.costs import record_costs
from runcard.operations.catalog.list_records import list_records
from runcard.operations.checks.doctor import DoctorReport, doctor
from runcard.operations.sessions.call_costs import CostTotals
from runcard.operations.sessions.costs import costs
from runcard.operations.sessions.import_sessions import TOOLS, ImportProgress, ImportReport, import_sessions
from runcard.store import layout
from runcard.store.find_record import open_record
from runcard.web.pages import render, render_part

if TYPE_CHECKING:
    from decimal import Decimal

    from starlette.requests import Request

    from runcard.encoding import JsonObject
    from runcard.operations.catalog.budget import Budget
    from runcard.web.verification import RememberedVerdict

_LATEST = 8
_FAILED = 5
_CHECKED = 20  # records whose verdicts are looked at
_FRESH = 60.0  # seconds for which a look at all session files holds
_SHOWN = (
    "experiment",
    "name",
    "calls",
    "tokens",
    "duration",
    "error",
    "exit_code",
    "sha256",
    "model",
    "title",
)


def home(request: "Request") -> Response:
    """The first page."""
    latest = list_records(columns=_SHOWN, limit=_LATEST)
    failed = list_records(filters=Filters(status="failed", since="30d"), columns=_SHOWN, limit=_FAILED)
    running = list_records(filters=Filters(status="running"), columns=_SHOWN, limit=_FAILED)
    return render(
        request, "home.html", latest=latest, failed=failed, running=running, job=request.app.state.imports.job
    )


class SpentAmount(NamedTuple):
    """What was spent since a time."""

    title: str
    totals: CostTotals


def spend_part(request: "Request") -> Response:
    """What was spent today, this week and this month."""
    now = datetime.now().astimezone()
    today = now.date()
    monday, month = today - timedelta(days=today.weekday()), today.replace(day=1)
    reports = {
        title: record_costs((), since=datetime(start.year, start.month, start.day).astimezone())
        for title, start in (("Today", today), ("This week", monday), ("This month", month))
    }
    spent = [SpentAmount(title, report.totals) for title, report in reports.items()]
    report = reports["This week" if monday < month else "This month"]
    amount: Decimal | None = request.app.state.budget
    state: Budget | None = None
    if amount is not None:
        state = budget(amount, spent[-1].totals, start_of_month(now))
    return render_part(request, "spend.html", spent=spent, budget=state, report=report)


class LatestCheck(NamedTuple):
    """What is known of a record's integrity without reading its files."""

    row: "JsonObject"
    verdict: "RememberedVerdict | None"
    has_signature: bool

    @property
    def is_open(self) -> bool:
        """Whether nothing is known of it as it is now."""
        return self.verdict is None or self.verdict.is_outdated

    @property
    def is_bad(self) -> bool:
        return self.verdict is not None and not self.is_open and not self.verdict.is_good


def checks_part(request: "Request") -> Response:
    """Which of the latest records were not verified since the page was started, and what `verify` said of the others."""
    rows = list_records(columns=_SHOWN, limit=_CHECKED).rows
    closed = [row for row in rows if row["status"] != "running" and not row.get("stored_on")]
    checks = [
        LatestCheck(row, request.app.state.verdicts.get(row), _has_signature(row["path"])) for row in closed
    ]
    return render_part(request, "checks.html", checks=checks)


def _has_signature(path: str) -> bool:
    """Whether a record has a file of signatures; only verifying says whether they are right."""
    try:
        return open_record(path).has_file(layout.SIGNATURE)
    except (RuncardError, OSError):
        return False


@dataclass
class SessionFilesLook:
    """What the agent tools have on this machine, as it was a short time ago: looking takes a while."""

    _lock: Lock = field(default_factory=Lock)
    _time: float = 0.0
    _report: DoctorReport | None = None
    _costs: dict[str, CostTotals] = field(default_factory=dict)

    def look(self) -> tuple[DoctorReport, dict[str, CostTotals]]:
        with self._lock:
            if self._report is None or time.monotonic() - self._time > _FRESH:
                self._report = doctor()
                self._costs = self._read_costs() if self._report.transcripts else {}
                self._time = time.monotonic()
            return self._report, self._costs

    def forget(self) -> None:
        self._time = -_FRESH

    @staticmethod
    def _read_costs() -> dict[str, CostTotals]:
        try:
            report = costs("all", by=("tool",))
        except RuncardError:
            return {}
        return {group.key["tool"] or "": group.totals for group in report.groups}


def transcripts_part(request: "Request") -> Response:
    """The sessions of agent tools: how many are not imported, when they are deleted, what they cost."""
    report, tool_costs = request.app.state.session_files.look()
    return render_part(
        request,
        "transcripts.html",
        report=report,
        costs=tool_costs,
        warnings=[one for tool in report.transcripts for one in _soon(tool.soon, tool.title)],
        job=request.app.state.imports.job,
    )


def _soon(count: int, title: str) -> list[str]:
    return [f"{count:,} of {title} within 7 days"] if count else []


@dataclass
class ImportJob:
    """An import that a button started."""

    tool: str
    progress: ImportProgress | None = None
    report: ImportReport | None = None
    error: RuncardError | None = None

    @property
    def is_done(self) -> bool:
        return self.report is not None or self.error is not None


@dataclass
class Imports:
    """At most one import at a time."""

    job: ImportJob | None = None
    _lock: Lock = field(default_factory=Lock)

    def start(self, tool: str, files: SessionFilesLook) -> ImportJob:
        with self._lock:
            if self.job is not None and not self.job.is_done:
                raise StoreError("an import is going on", hint="wait until it is done")
            self.job = job = ImportJob(tool)
        Thread(target=self._run, args=(job, files), daemon=True, name="import").start()
        return job

    @staticmethod
    def _run(job: ImportJob, files: SessionFilesLook) -> None:
        def advance(progress: ImportProgress) -> None:
            job.progress = progress

        try:
            job.report = import_sessions(job.tool, everywhere=True, progress=advance)
        except RuncardError as error:
            job.error = error
        except Exception as error:  # noqa: BLE001 - the end of a thread: the page says what happened
            job.error = StoreError(f"the import stopped: {error!r}")
        files.forget()


def start_import(request: "Request") -> Response:
    """Import all sessions of a tool, as `runcard import TOOL --all` does."""
    tool = request.path_params["tool"]
    if tool not in TOOLS:
        raise StoreError(f"there is no tool {tool!r}", hint=f"use {', '.join(TOOLS)}")
    state = request.app.state
    state.imports.start(tool, state.session_files)
    if request.headers.get("hx-request") != "true":
        return RedirectResponse("/", 303)
    return import_part(request)


def import_part(request: "Request") -> Response:
    """How far the import is."""
    return render_part(request, "import.html", job=request.app.state.imports.job, now=datetime.now(UTC))


ROUTES = [
    Route("/", home),
    Route("/home/spend", spend_part),
    Route("/home/checks", checks_part),
    Route("/home/transcripts", transcripts_part),
    Route("/import", import_part),
    Route("/import/{tool}", start_import, methods=["POST"]),
]
