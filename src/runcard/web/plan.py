"""The page of a test plan. A plan is named by a key of its path; only those that the catalog lists can be named."""

from typing import TYPE_CHECKING

from starlette.routing import Route

from runcard.catalog.columns import PLANS
from runcard.errors import StoreError
from runcard.operations.catalog.list_records import list_records
from runcard.operations.plans.show import show_plan
from runcard.web.pages import render
from runcard.web.record_address import path_key

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from runcard.encoding import JsonObject
    from runcard.web.record_address import AddressedRecord

_MOST_PLANS = 20_000  # that are searched for a key
MOST_FINDINGS = 200  # that are shown


def plan_url(path: str) -> str:
    """The address of a plan."""
    return f"/plans/{path_key(path)}"


def plan_page(request: "Request") -> "Response":
    """A plan."""
    only: AddressedRecord | None = request.app.state.only_record
    row = _find(request.path_params["key"]) if only is None else only.row
    return render(request, "plan.html", row=row, shown=show_plan(row["path"]), most_findings=MOST_FINDINGS)


def _find(key: str) -> "JsonObject":
    found = list_records(PLANS, columns=["project", "path"], limit=_MOST_PLANS)
    row = next((row for row in found.rows if path_key(row["path"]) == key), None)
    if row is None:
        raise StoreError("no plan has this address", hint="see the list of plans")
    return row


ROUTES = [Route("/plans/{key}", plan_page)]
