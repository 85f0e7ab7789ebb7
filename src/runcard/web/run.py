"""The page of a run: what it is, from what, with what, how much it cost, and whether it is intact."""

import json
from shlex import quote
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from runcard.checksums.listing import read_file
from runcard.documents.run.application import labelled_versions
from runcard.documents.run.fields import has_calls, may_have_more, model_breakdown
from runcard.errors import RuncardError
from runcard.files import json_name
from runcard.operations.catalog.lineage import lineage
from runcard.operations.checks.show import ShownRun, show_run
from runcard.operations.checks.shown_damage import shown_damage
from runcard.operations.runs.call_list import list_calls
from runcard.operations.runs.event_list import list_events
from runcard.store import layout
from runcard.views.call_times import witness_line
from runcard.views.charges import server_tools, special_prices
from runcard.views.formats import command_line, run_duration, settings_shown, source_text
from runcard.views.metrics import metric_values
from runcard.views.missing_usage import counts_source, failed_calls, missing_usage, no_calls
from runcard.web.drawing import lineage_graph, waterfall
from runcard.web.pages import render, render_part
from runcard.web.record_address import any_record_url
from runcard.web.record_files import found_record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request

    from runcard.encoding import JsonObject
    from runcard.operations.catalog.lineage import RelatedRecord
    from runcard.store.record import Record

MOST_FILES = 500  # that are listed
_MOST_LISTING = 8 << 20  # bytes of SHA256SUMS that are read
_MOST_NODES = 8  # records on each side of the graph
_CLASSES = ("input", "output", "cache_read", "cache_write", "reasoning")


def run_page(request: "Request") -> Response:
    """A run."""
    found = found_record(request)
    record = found.open()
    shown = show_run(record)
    document = shown.document
    calls = list_calls(record)
    files = shown.files[:MOST_FILES]
    return render(
        request,
        "run.html",
        found=found,
        row=found.row,
        shown=shown,
        document=document,
        generation=document["generation"],
        about=_about(shown),
        settings=[(name, _setting(value)) for name, value in settings_shown(document["configuration"])],
        environment=_environment(document),
        cost=_cost(document),
        metrics=metric_values(document) if document.get("metrics") else [],
        inputs=_inputs(document)[:MOST_FILES],
        more_inputs=max(0, len(_inputs(document)) - MOST_FILES),
        files=_outputs(files, digests(record)),
        more_files=len(shown.files) - len(files),
        problems=[(kind, one) for kind in ("errors", "warnings") for one in document.get(kind) or ()],
        amendments=[entry.describe() for entry in shown.amendments.entries],
        calls=calls,
        waterfall=waterfall(calls.calls),
        verdict=request.app.state.verdicts.get(found.row),
        damage=None if shown.is_open else shown_damage(shown.record, document, shown.amendments),
        rerun=f"runcard rerun {quote(record.path)}",
    )


def events_part(request: "Request") -> Response:
    """The events of a run, for the place in its page."""
    found = found_record(request)
    start = request.query_params.get("start", "0")
    first = int(start) if start.isascii() and start.isdecimal() and len(start) < 16 else 0
    page = list_events(found.open(), first)
    return render_part(request, "events.html", page=page, row=found.row, start=first)


def lineage_part(request: "Request") -> Response:
    """Where a run came from and what was made from it, for the place in its page."""
    found = found_record(request)
    record = found.open()
    inputs = {
        file["path"]: str(file["sha256"])
        for file in _inputs(record.document().to_dict())
        if file.get("sha256")
    }
    related = lineage(found.row["path"], found.row["started"], inputs, digests(record))
    graph = lineage_graph(
        _nodes(related.made_inputs, "made later"),
        found.row["id"],
        _nodes(related.read_outputs, "read earlier"),
    )
    hidden = sum(max(0, len(side) - _MOST_NODES) for side in (related.made_inputs, related.read_outputs))
    return render_part(request, "lineage.html", lineage=related, graph=graph, hidden=hidden)


def _nodes(records: "Iterable[RelatedRecord]", mark: str) -> list[tuple[str, str | None, str]]:
    """The records of a graph; `mark` is for those that only have the same content."""
    nodes: list[tuple[str, str | None, str]] = []
    for record in list(records)[:_MOST_NODES]:
        more = f" and {len(record.files) - 1} more" if len(record.files) > 1 else ""
        before = f"{mark}: " if record.is_too_late else ""
        nodes.append((record.id, any_record_url(record.id, record.path), f"{before}{record.files[0]}{more}"))
    return nodes


def digests(record: "Record") -> dict[str, str]:
    """The digests of a record's files, by path; none where the listing is missing, wrong or too large."""
    try:
        file = record.open(layout.CHECKSUMS)
        if file is None:
            return {}
        with file:
            if file.seekable():
                size = file.seek(0, 2)
                file.seek(0)
                if size > _MOST_LISTING:
                    return {}
            return dict(read_file(file).hex_items())
    except (RuncardError, OSError):
        return {}


def _about(shown: ShownRun) -> list[tuple[str, Any]]:
    generation = shown.document["generation"]
    relations = shown.document.get("relations") or ()
    return [
        (name, value)
        for name, value in (
            ("Command", command_line(generation.get("command") or [])),
            ("Function", generation.get("function")),
            ("Exit code", generation.get("exit_code")),
            ("Duration", None if shown.status == "running" else run_duration(generation)),
            ("Experiment", generation.get("experiment_name")),
            (
                "Labels",
                ", ".join(f"{key} = {value}" for key, value in (generation.get("labels") or {}).items()),
            ),
            ("Related", ", ".join(f"{one['type']} {one['id']}" for one in relations)),
            ("Host", (generation.get("process") or {}).get("host")),
            ("Masking", "secrets were kept" if shown.document.get("keep_secrets") else None),
        )
        if value not in (None, "")
    ]


def _setting(value: Any) -> str:  # noqa: ANN401 - any value of a configuration
    """A setting: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _environment(document: "JsonObject") -> list[tuple[str, Any]]:
    environment = document["environment"]
    git = environment.get("git") or {}
    commit = git.get("commit")
    packages = environment.get("packages") or {}
    return [
        (name, value)
        for name, value in (
            *labelled_versions(environment),
            ("Commit", commit and commit[:12] + (" + uncommitted changes" if git.get("dirty") else "")),
            ("Branch", git.get("branch")),
            ("Python", environment.get("python_version")),
            ("Platform", environment.get("platform")),
            ("Packages", len(packages) or None),
        )
        if value is not None
    ]


def _cost(document: "JsonObject") -> "JsonObject":
    """What the calls of a run cost, as the page shows it."""
    costs, usage = document["costs"], document.get("token_usage") or {}
    total = costs.get("total_cost_usd")
    parts = {
        name: rows for name in ("step", "model") if len(rows := usage.get(f"breakdown_by_{name}") or []) > 1
    }
    return {
        "has_calls": has_calls(document),
        "none": no_calls(document),
        "total": total,
        "known": costs.get("known_cost_usd"),
        "at_least": may_have_more(document),
        "calls": (document.get("performance") or {}).get("calls"),
        "tokens": [(name.replace("_", " "), costs.get(f"{name}_tokens")) for name in _CLASSES],
        "source": source_text(source) if total is not None and (source := costs.get("cost_source")) else None,
        "counts_source": counts_source(document),
        "missing": missing_usage(document),
        "failed": failed_calls(document),
        "tools": server_tools(model_breakdown(document)),
        "prices": special_prices(costs.get("price_rows")),
        "witness": witness_line(document),
        "parts": parts,
    }


def _inputs(document: "JsonObject") -> "list[JsonObject]":
    files = document["data_sources"].get("files") or ()
    return [file if isinstance(file, dict) else {"path": file} for file in files]


def _outputs(files: "Iterable[tuple[str, int]]", known: dict[str, str]) -> "list[JsonObject]":
    return [
        {"name": json_name(path).text, "path": path, "bytes": size, "sha256": known.get(path)}
        for path, size in files
    ]


ROUTES = [
    Route("/runs/{id}", run_page),
    Route("/runs/{id}/events", events_part),
    Route("/runs/{id}/lineage", lineage_part),
]
