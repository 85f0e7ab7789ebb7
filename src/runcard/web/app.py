"""The application: every route, and what becomes of an error."""

import os
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from runcard.errors import DocumentError, RuncardError, StoreError, UsageError
from runcard.files import printable
from runcard.operations.catalog.list_records import WHATS
from runcard.web import (
    api,
    compare,
    costs,
    experiment,
    home,
    lists,
    live,
    plan,
    record_files,
    run,
    session,
    verification,
)
from runcard.web.api import api_error
from runcard.web.guard import RequestGuard
from runcard.web.home import Imports, SessionFilesLook
from runcard.web.live import Watchers
from runcard.web.pages import STATIC, render
from runcard.web.verification import TRUSTS_NOBODY, ReaderTrust, VerdictMemory

if TYPE_CHECKING:
    from decimal import Decimal

    from starlette.requests import Request
    from starlette.responses import Response

    from runcard.local_http.access_token import OpeningCode
    from runcard.local_http.listener import HttpListener

_NOT_FOUND = 404
_VIEWS = (home, api, compare, costs, experiment, live, plan, record_files, verification, run, session, lists)


def make_app(
    listener: "HttpListener",
    token: str | None = None,
    budget: "Decimal | None" = None,
    trust: ReaderTrust = TRUSTS_NOBODY,
    code: "OpeningCode | None" = None,
) -> RequestGuard:
    """The page as an ASGI application; with a token, nothing is answered without it, and `code` stands for it once.

    `budget` is what may be spent in a month, `trust` says whose signatures and time-stamps are trusted.
    """
    return RequestGuard(make_views(budget, trust), listener, token, code)


def make_views(budget: "Decimal | None" = None, trust: ReaderTrust = TRUSTS_NOBODY) -> Starlette:
    """The views without a guard: for a program that asks them itself."""
    app = Starlette(
        routes=[
            Mount("/static", PackageFiles(directory=STATIC)),
            Route("/favicon.ico", _icon),
            *(route for view in _VIEWS for route in view.ROUTES),
        ],
        exception_handlers={RuncardError: _failed, HTTPException: _failed, OSError: _failed, 500: _failed},
    )
    app.state.verdicts = VerdictMemory(trust)
    app.state.watchers = Watchers()
    app.state.session_files = SessionFilesLook()
    app.state.imports = Imports()
    app.state.budget = budget
    app.state.only_record = None
    return app


class PackageFiles(StaticFiles):
    """The files of the page. Unlike records they may be kept by a browser, which asks whether they changed."""

    def file_response(self, *arguments: Any, **options: Any) -> "Response":  # noqa: ANN401 - as the base has them
        answer = super().file_response(*arguments, **options)
        answer.headers["cache-control"] = "no-cache"
        return answer


def _icon(request: "Request") -> "Response":  # noqa: ARG001 - as routes are called
    from starlette.responses import FileResponse  # noqa: PLC0415

    return FileResponse(os.path.join(STATIC, "icon.svg"), media_type="image/svg+xml")


def _failed(request: "Request", error: Exception) -> "Response":
    """An error as a page, a part of a page, or data. What is wrong inside of the server is not shown."""
    problem: RuncardError
    if isinstance(error, HTTPException):
        status, problem = error.status_code, _refusal(error, request.url.path)
    elif isinstance(error, RuncardError):
        status, problem = _status(error), error
    elif isinstance(error, FileNotFoundError):
        status, problem = _NOT_FOUND, StoreError("a file vanished", hint="load the page again")
    else:
        status, problem = (
            500,
            StoreError("this could not be shown", hint="see what `runcard verify` says of it"),
        )
    if request.url.path.startswith("/api"):
        return api_error(problem, status)
    is_part = request.headers.get("hx-request") == "true"
    return render(
        request,
        "error_part.html" if is_part else "error.html",
        status,
        error=problem,
        status_code=status,
        back=_list_of(request.url.path),
    )


def _refusal(error: HTTPException, path: str) -> StoreError:
    if error.status_code == _NOT_FOUND:
        return StoreError(f"there is no page {printable(path)}", hint="check the address")
    return StoreError(str(error.detail).lower())


def _list_of(path: str) -> str | None:
    """The list from which a page is reached, where there is one."""
    first = path.strip("/").split("/")[0].removesuffix(".csv")
    if first == "compare":
        return "/records"
    return f"/{first}" if first in WHATS else None


def _status(error: RuncardError) -> int:
    if isinstance(error, UsageError):
        return 400
    return _NOT_FOUND if isinstance(error, StoreError | DocumentError) else 500
