"""runcard ls"""

import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import json_option
from runcard.cli.printing import complain, say_empty, say_json, say_text

if TYPE_CHECKING:
    from runcard.operations.catalog.list_records import RecordList

_WHATS = ("records", "runs", "sessions", "instances")  # a test compares them with the operation's
_MOST_ON_A_TERMINAL = 50


class _Names(click.ParamType[tuple[str, ...]]):
    """Names with commas between them: `id,cost`."""

    name = "NAMES"

    def convert(self, value: object, *_: object) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        return tuple(dict.fromkeys(name.strip() for name in str(value).split(",") if name.strip()))


@click.command("ls")
@click.argument("what", type=click.Choice(_WHATS), default="records", metavar=f"[{'|'.join(_WHATS)}]")
@click.option("--model", metavar="TEXT", help="Only those of a model whose name contains TEXT.")
@click.option("--status", metavar="STATUS", help="Only those with this status, such as failed.")
@click.option("--since", metavar="WHEN", help="Only those that started since: 7d, 12h, 2026-11-01.")
@click.option("--until", metavar="WHEN", help="Only those that started before.")
@click.option("--experiment", metavar="NAME", help="Only those of an experiment.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Only those with this tag. Repeatable.")
@click.option("--where", metavar="CONDITION", help="Only those for which this is true: 'cost > 0.5'.")
@click.option(
    "--text", metavar="WORDS", help="Only those with these words in names, errors, labels or values."
)
@click.option(
    "--sort",
    type=_Names(),
    default="-started",
    show_default=True,
    help="Sort by these columns; -NAME is descending.",
)
@click.option(
    "--columns", type=_Names(), help="Columns to show, such as id,cost,config.temperature,metric.accuracy."
)
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="Show at most N. Default: 50 on a terminal."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@json_option
def command(
    what: str,
    sort: tuple[str, ...],
    columns: tuple[str, ...] | None,
    limit: int | None,
    as_csv: bool,
    as_json: bool,
    **filters: Any,  # noqa: ANN401 - as click has them
) -> int:
    """List runs and sessions, newest first, of all stores on this machine, archived ones included.

    Any value of a configuration, label, metric or score can be a column, a filter or the sort key: config.NAME, label.NAME,
    metric.NAME, score.NAME. Conditions compare columns with values by = != < <= > >= and ~ (contains), joined by and, or, not
    and parentheses. On a terminal the table fits its width; otherwise nothing is cut.

    Exit codes: 0 done, 2 a store could not be looked at, the catalog could not be brought up to date, or one id has several contents.
    """
    from runcard.catalog.searching import Filters  # noqa: PLC0415
    from runcard.operations.catalog.list_records import list_records  # noqa: PLC0415

    is_table = not as_csv and not as_json
    if limit is None and is_table and sys.stdout.isatty():
        limit = _MOST_ON_A_TERMINAL
    found = list_records(what, Filters(**filters), columns=columns, sort=sort, limit=limit)
    if as_json:
        say_json(found.to_dict())
    elif as_csv:
        _print_csv(found)
    elif found.rows:
        _print_table(found, is_default=columns is None)
    else:
        say_empty("nothing found")
    for store in found.unreachable:
        complain("Warning", f"{store} cannot be reached: its records are listed as they were")
    for own in found.conflicts:
        complain(
            "Warning",
            f"{own} has several contents",
            hint=f"see: runcard ls --where 'id = {own}' --columns path,sha256",
        )
    if found.warning is not None:
        complain("Warning", found.warning)
    has_warnings = found.unreachable or found.conflicts or found.warning is not None
    return ExitCode.WARNINGS if has_warnings else ExitCode.OK


def _print_csv(found: "RecordList") -> None:
    from runcard.views.costs_table import csv_text  # noqa: PLC0415

    names = [column.name for column in found.columns]
    say_text(csv_text(names, [[row[name] for name in names] for row in found.rows]))


def _print_table(found: "RecordList", *, is_default: bool) -> None:
    from runcard.views.record_table import record_lines, with_values  # noqa: PLC0415

    columns = with_values(found.columns, found.rows) if is_default else found.columns
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    lines = record_lines(columns, found.rows, width)
    if len(found.rows) < found.total:
        lines.append(f"… {found.total - len(found.rows):,} more: pass --limit {found.total}")
    say_text("\n".join(lines))
