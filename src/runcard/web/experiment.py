"""An experiment as drawings: its configuration against a metric, as points and as lines across axes."""

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.routing import Route

from runcard.catalog.searching import Filters
from runcard.errors import RuncardError, StoreError
from runcard.operations.catalog.list_records import RUNS, list_records
from runcard.operations.catalog.value_table import record_values
from runcard.web.experiment_drawing import parallel_axes, scatter
from runcard.web.pages import render
from runcard.web.record_address import AddressedRecord, row_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from runcard.encoding import JsonObject
    from runcard.operations.catalog.value_table import FactValue

MOST_RUNS = 500  # that are drawn
_SAMPLE = 40  # runs that are read for the names of values
_MOST_AXES = 8
_FIGURES = ("cost", "tokens", "duration")
_DRAWN = ("config.", "metric.", "score.")


def experiment_url(name: str) -> str:
    """The address of an experiment."""
    return "/experiment?" + urlencode({"name": name})


def experiment_page(request: "Request") -> "Response":
    """The runs of an experiment: two of their values as points, and all that differ as lines."""
    name = request.query_params.get("name", "")
    filters = Filters(experiment=name)
    newest = list_records(RUNS, filters, columns=["store"], limit=_SAMPLE)
    if not name or not newest.rows:
        raise StoreError("no run of this experiment is known here", hint="see the list of experiments")
    names = _value_names(newest.rows)
    inputs = [each for each in names if each.startswith("config.")]
    results = [each for each in names if not each.startswith("config.")] + list(_FIGURES)
    x = _choice(request.query_params.get("x"), names, results, inputs or results)
    y = _choice(request.query_params.get("y"), names, results, results)
    axes = list(dict.fromkeys([*inputs[: _MOST_AXES - 1], y]))
    columns = list(dict.fromkeys([*axes, x, y, "status", "started"]))
    found = list_records(RUNS, filters, columns=columns, limit=MOST_RUNS)
    runs = [(row["id"], row_url(row), row) for row in found.rows]
    return render(
        request,
        "experiment.html",
        name=name,
        found=found,
        hidden=max(0, found.total - len(found.rows)),
        inputs=inputs,
        results=results,
        x=x,
        y=y,
        scatter=scatter([(label, url, row[x], row[y]) for label, url, row in runs]),
        axes=parallel_axes(axes, [(label, url, [row[axis] for axis in axes]) for label, url, row in runs]),
        all_axes=len(inputs) + 1,
        listed=list(dict.fromkeys(["id", "status", *axes, x, "cost"])),
    )


def _choice(
    asked: str | None, names: "Sequence[str]", results: "Sequence[str]", default: "Sequence[str]"
) -> str:
    return asked if asked is not None and (asked in names or asked in results) else default[0]


def _value_names(rows: "Sequence[JsonObject]") -> list[str]:
    """The values by which the newest runs differ, those of the configuration first; all, if none does."""
    values: dict[str, set[FactValue]] = {}
    counts: dict[str, int] = {}
    for row in rows:
        try:
            facts = record_values(AddressedRecord(row, [], None).open())
        except (RuncardError, OSError):
            continue
        for name, value in facts.items():
            if name.startswith(_DRAWN):
                values.setdefault(name, set()).add(value)
                counts[name] = counts.get(name, 0) + 1
    differing = [name for name in values if len(values[name]) > 1 or counts[name] < len(rows)]
    return sorted(differing or values)


ROUTES = [Route("/experiment", experiment_page)]
