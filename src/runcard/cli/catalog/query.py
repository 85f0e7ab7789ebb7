"""runcard query"""

import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import json_option
from runcard.cli.printing import complain, say_json, say_text
from runcard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runcard.catalog.engine import SqlRows


@click.command("query")
@click.argument("sql", metavar="[SQL]", required=False)
@click.option(
    "--views", "lists_views", is_flag=True, help="List the views and their columns, and do nothing else."
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=10_000, show_default=True, metavar="N", help="Most rows."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Longest time.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@json_option
def command(
    sql: str | None, lists_views: bool, limit: int, timeout: float, as_csv: bool, as_json: bool
) -> int:
    """Query the catalog with SQL: one SELECT over its views (--views lists them). It cannot change anything.

    The dialect is that of SQLite, or of PostgreSQL for a catalog on a server. Views have a version in their name and keep their columns. Costs are dollars, times are
    texts in UTC.

    Exit codes: 0 done, 2 there are more rows than the limit, or the catalog could not be brought up to date, 64 not a SELECT, too slow or too large.
    """
    from runcard.operations.catalog.query import query, views  # noqa: PLC0415

    if lists_views:
        known = views()
        if as_json:
            say_json({"views": known})
        else:
            for name, columns in known.items():
                _say_view(name, columns)
        return ExitCode.OK
    if sql is None:
        raise UsageError(
            "missing SQL",
            hint="for example: runcard query 'SELECT model, sum(cost_usd) FROM v1_counted_usage GROUP BY model'",
        )
    found = query(sql, limit=limit, timeout=timeout, on_overrun=lambda: _end(timeout))
    if as_json:
        say_json(
            {
                "columns": found.columns,
                "rows": [[_plain(value) for value in row] for row in found.rows],
                "more": found.is_cut,
            }
        )
    elif as_csv:
        from runcard.views.costs_table import csv_text  # noqa: PLC0415

        say_text(csv_text(found.columns, [[_plain(value) for value in row] for row in found.rows]))
    else:
        _print_table(found)
    if found.is_cut:
        complain("Warning", f"there are more than {limit:,} rows", hint="pass --limit for more")
    if found.warning is not None:
        complain("Warning", found.warning)
    return ExitCode.WARNINGS if found.is_cut or found.warning is not None else ExitCode.OK


def _end(timeout: float) -> None:
    """End the process: the database is at work on one row, and cannot be interrupted. It only reads."""
    complain("Error", f"the query took longer than {timeout:g} s", hint="ask for less, or pass --timeout")
    sys.stderr.flush()
    os._exit(ExitCode.USAGE)


def _say_view(name: str, columns: "Iterable[str]") -> None:
    """One line, which a terminal gets wrapped between columns."""
    line = f"{name}: {', '.join(columns)}"
    if sys.stdout.isatty():
        import textwrap  # noqa: PLC0415 - only for people

        width = shutil.get_terminal_size().columns
        line = textwrap.fill(line, width, subsequent_indent="    ", break_long_words=False)
    say_text(line)


def _print_table(found: "SqlRows") -> None:
    from runcard.views.table import table_lines  # noqa: PLC0415

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    rows = [["" if value is None else _shown(value) for value in row] for row in found.rows]
    is_number = [
        any(isinstance(row[number], int | float) for row in found.rows)
        for number in range(len(found.columns))
    ]
    say_text("\n".join(table_lines(found.columns, rows, is_number, width)))


def _shown(value: Any) -> str:  # noqa: ANN401 - any type of the database
    return f"{value:.10g}" if isinstance(value, float) else str(_plain(value))


def _plain(value: Any) -> Any:  # noqa: ANN401
    return value.hex() if isinstance(value, bytes) else value
