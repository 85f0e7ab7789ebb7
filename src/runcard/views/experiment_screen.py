"""The screen that `runcard experiment show` prints, and the table of `runcard experiment list`."""

from collections.abc import Callable, Sequence
from typing import Any

from runcard.encoding import JsonObject
from runcard.files import printable
from runcard.views.formats import (
    counted,
    duration,
    money,
    money_at_least,
    settings_shown,
    token_count,
    truncated,
)
from runcard.views.record_table import local_time
from runcard.views.screen_parts import fields, section

_MAX_ROWS = 8  # of configuration and models


def experiment_screen(summary: JsonObject, runs: Sequence[str] = ()) -> list[str]:
    """An experiment, line by line; `runs` are the lines of the table of its last runs."""
    about = fields(
        [
            ("directory", summary["path"]),
            ("created", summary["created_at"]),
            ("about", summary["description"]),
        ]
    )
    settings = settings_shown(summary["configuration"] or {})
    return [
        f"{printable(summary['name'])}  {summary['experiment_id']}",
        *(["", *about] if about else []),
        *section("Configuration", fields(settings[:_MAX_ROWS]) + _more(settings)),
        *section("Runs", _totals(summary) if summary["runs"] else ["  none yet"]),
        *section("Last runs", [f"  {line}" for line in runs]),
    ]


def experiment_table(rows: Sequence[JsonObject]) -> list[str]:
    """A line for each experiment, below the names of the columns."""
    head = ["experiment", "runs", "last run", "about"]
    cells = [
        [
            printable(row["name"]),
            "unknown" if row["runs"] is None else f"{row['runs']:,}",
            local_time(row["last_run"]) if row["last_run"] else "none" if row["runs"] == 0 else "unknown",
            printable(truncated(row["description"] or "", 60)),
        ]
        for row in rows
    ]
    return [line.removeprefix("  ") for line in _table([head, *cells])]


def _totals(summary: JsonObject) -> list[str]:
    models = list(summary["by_model"].items())
    totals: list[tuple[str, object]] = [
        ("total", _statuses(summary["runs"], summary["by_status"])),
        ("duration", _total(summary["duration_seconds"], duration)),
        *_costs(summary),
        (
            "models",
            ", ".join(
                f"{truncated(model, 40)} ({counted(count, 'run')})" for model, count in models[:_MAX_ROWS]
            ),
        ),
    ]
    return fields(totals) + _more(models)


def _costs(summary: JsonObject) -> list[tuple[str, object]]:
    """The cost and the tokens of the runs that called models."""
    without = summary["runs_without_calls"]
    if without == summary["runs"]:
        return [("cost", "no model calls recorded")]
    return [
        ("cost", _total(summary["cost_usd"], money, is_incomplete=summary["incomplete"])),
        ("input", _total(summary["input_tokens"], _tokens, is_incomplete=summary["incomplete"])),
        ("output", _total(summary["output_tokens"], _tokens, is_incomplete=summary["incomplete"])),
        ("no calls", f"{counted(without, 'run')} without recorded model calls" if without else None),
    ]


def _statuses(runs: int, by_status: dict[str, int]) -> str:
    """`20 runs, all completed`, or how many of each status."""
    if len(by_status) == 1:
        return f"{counted(runs, 'run')}, {'all ' if runs > 1 else ''}{next(iter(by_status))}"
    return f"{counted(runs, 'run')}: " + ", ".join(f"{count:,} {name}" for name, count in by_status.items())


def _total(total: JsonObject, format_amount: Callable[[Any], str], *, is_incomplete: bool = False) -> str:
    """The sum of the known amounts, and for how many runs it is unknown."""
    if total["known"] is None:
        return "unknown"
    missing, known = total["runs_unknown"], total["known"]
    if not missing and not is_incomplete:
        return format_amount(known)
    at_least = money_at_least(known) if format_amount is money else f"≥ {format_amount(known)}"
    return f"{at_least}, unknown for {counted(missing, 'run')}" if missing else at_least


def _tokens(count: int) -> str:
    return f"{token_count(count)} tokens"


def _more(items: Sequence[object]) -> list[str]:
    return [f"  … and {len(items) - _MAX_ROWS:,} more"] if len(items) > _MAX_ROWS else []


def _table(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
