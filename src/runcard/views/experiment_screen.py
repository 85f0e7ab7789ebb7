"""Experiments on the terminal: one of them on a screen, all of them in a table."""

from collections.abc import Callable, Sequence
from typing import Any

from runcard.encoding import JsonObject
from runcard.files import printable
from runcard.views.formats import duration, money, token_count, truncated
from runcard.views.screen_parts import fields, section

_MOST = 8  # settings and models


def experiment_screen(said: JsonObject) -> list[str]:
    """An experiment, line by line: what it is, what came of it, its last runs."""
    about = [("directory", said["path"]), ("created", said["created_at"]), ("about", said["description"])]
    settings = list((said["configuration"] or {}).items())
    return [
        f"{printable(said['name'])}  {said['experiment_id']}",
        "",
        *fields(about),
        *section("With", fields(settings[:_MOST]) + _more(settings)),
        *section("Runs", _sums(said) if said["runs"] else ["  none yet"]),
        *section("Last runs", _table([_run(run) for run in said["last_runs"]])),
    ]


def experiment_table(rows: Sequence[JsonObject]) -> list[str]:
    """A line for each experiment, below the names of the columns."""
    head = ["experiment", "runs", "last run", "about"]
    cells = [
        [
            printable(row["name"]),
            "unknown" if row["runs"] is None else f"{row['runs']:,}",
            str(row["last_run"] or ("none" if row["runs"] == 0 else "unknown")),
            printable(truncated(row["description"] or "", 60)),
        ]
        for row in rows
    ]
    return [line.removeprefix("  ") for line in _table([head, *cells])]


def _sums(said: JsonObject) -> list[str]:
    statuses = ", ".join(f"{count:,} {status}" for status, count in said["by_status"].items())
    models = list(said["by_model"].items())
    known = [
        ("in all", f"{said['runs']:,}: {statuses}"),
        ("took", _total(said["duration_seconds"], duration)),
        ("cost", _total(said["cost_usd"], money)),
        ("input", _total(said["input_tokens"], _tokens)),
        ("output", _total(said["output_tokens"], _tokens)),
        ("models", ", ".join(f"{truncated(model, 40)} ({_runs(count)})" for model, count in models[:_MOST])),
    ]
    return fields(known) + _more(models)


def _total(total: JsonObject, words: Callable[[Any], str]) -> str:
    """A sum of what is known, and what it leaves out."""
    if total["known"] is None:
        return "unknown"
    return words(total["known"]) + (
        f", unknown for {_runs(total['runs_unknown'])}" if total["runs_unknown"] else ""
    )


def _tokens(count: int) -> str:
    return f"{token_count(count)} tokens"


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"


def _cost(run: JsonObject) -> str:
    known = run["known_cost_usd"]
    return f"over {money(known)}" if run["cost_usd"] is None and known else money(run["cost_usd"])


def _run(run: JsonObject) -> list[str]:
    return [
        str(run["started"] or "unknown"),
        str(run["status"] or "unknown"),
        duration(run["duration_seconds"]),
        _cost(run),
        printable(run["path"]),
    ]


def _more(items: Sequence[object]) -> list[str]:
    return [f"  … and {len(items) - _MOST:,} more"] if len(items) > _MOST else []


def _table(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
