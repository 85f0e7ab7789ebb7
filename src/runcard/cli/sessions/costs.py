"""runcard costs"""

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import PATH, SINCE, json_option, progress_option
from runcard.cli.printing import complain, say_json, say_text
from runcard.cli.verbosity import is_quiet
from runcard.errors import UsageError

if TYPE_CHECKING:
    from runcard.operations.sessions.call_costs import CostTotals
    from runcard.operations.sessions.costs import CostReport
    from runcard.views.costs_table import CostRow

_TOOLS = ("claude-code", "codex", "gemini", "opencode", "all")  # a test compares them with the operation's
_DIMENSIONS = ("day", "week", "month", "tool", "model", "project", "agent", "branch", "session")
_MOST_NAMED = 10  # unread places in a warning


class _Dimensions(click.ParamType[tuple[str, ...]]):
    """Names with commas between them: `day,model`."""

    name = "NAMES"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        names = tuple(dict.fromkeys(name.strip() for name in str(value).split(",") if name.strip()))
        for name in names:
            if name not in _DIMENSIONS:
                self.fail(f"'{name}' is not one of {', '.join(_DIMENSIONS)}", param, ctx)
        return names


@click.command("costs")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=PATH)
@click.option(
    "--source",
    type=click.Choice(_TOOLS),
    required=True,
    help="The tool whose sessions to read, or all tools.",
)
@click.option(
    "--by",
    type=_Dimensions(),
    default="day",
    show_default=True,
    help=f"Group by these, with commas between them: {', '.join(_DIMENSIONS)}.",
)
@click.option(
    "--since", type=SINCE, help="Count only calls since then: 7d, 12h, 2026-11-01 (local midnight)."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print the groups as CSV.")
@progress_option
@json_option
def command(
    paths: tuple[str, ...],
    source: str,
    by: tuple[str, ...],
    since: datetime | None,
    as_csv: bool,
    shows_progress: bool,
    as_json: bool,
) -> int:
    """Add up what agents cost, from the session files of their tools.

    Reads the sessions in the tools' own folders, or those at PATH (files or folders), and changes nothing. Each call counts
    once, at the prices of its day. Days, weeks (from Monday) and months are those of your time zone.

    Totals are marked with ≥: tools do not write all calls to their files.

    Exit codes: 0 done, 1 no sessions found, 2 warnings: something has no price or could not be read.
    """
    from runcard.cli.progress import ByteProgress  # noqa: PLC0415
    from runcard.operations.sessions.costs import costs  # noqa: PLC0415
    from runcard.settings.apply import configured_prices  # noqa: PLC0415

    if as_csv and as_json:
        raise UsageError("--csv contradicts --json", hint="pass one of them")
    total = 0
    bar = ByteProgress(lambda: total, everywhere=shows_progress)

    def expect(size: int) -> Any:  # noqa: ANN401 - the method of the bar
        nonlocal total
        total = size
        return bar.advance

    prices = configured_prices()
    (report,) = list(
        bar.over(costs(source, paths, by=by, since=since, prices=prices, progress=expect) for _ in range(1))
    )
    if as_json:
        say_json(report.to_dict())
    elif as_csv:
        _print_csv(report, by)
    else:
        _print_table(report, by, since)
    sys.stdout.flush()
    return _warn(report, since)


def _print_table(report: "CostReport", by: tuple[str, ...], since: datetime | None) -> None:
    from runcard.views.costs_table import costs_table, price_lines  # noqa: PLC0415
    from runcard.views.formats import counted  # noqa: PLC0415

    if not report.totals.calls:
        start = f" since {since:%Y-%m-%d %H:%M}" if since else ""
        say_text(f"no calls{start} in {counted(report.files, 'file')}")
        return
    rows = [_row(tuple(group.key.values()), group.totals) for group in report.groups] if by else []
    lines = costs_table(by, rows, _row((), report.totals), _columns())
    if not is_quiet():
        lines += ["", *_wrapped(_notes(report))]
        if report.price_rows:
            lines += ["", *price_lines(report.price_rows)]
    say_text("\n".join(lines))


def _notes(report: "CostReport") -> list[str]:
    """How sure the figures are."""
    from runcard.views.formats import counted  # noqa: PLC0415

    totals = report.totals
    sources = [f"{totals.sources['reported']:,} with the vendor's final usage"]
    if totals.sources["partial"]:
        sources.append(f"{totals.sources['partial']:,} cut off: a part of the output is not counted")
    if totals.sources[None]:
        sources.append(f"{totals.sources[None]:,} without token counts")
    lines = [f"{counted(totals.calls, 'call')} in {counted(report.files, 'file')}: {'; '.join(sources)}."]
    lines += [
        f"≥ because {title} does not write: {', '.join(kinds)}."
        for title, kinds in report.not_written.items()
    ]
    return lines


def _wrapped(lines: list[str]) -> list[str]:
    """Lines that fit a terminal; elsewhere as they are."""
    from textwrap import wrap  # noqa: PLC0415

    width = _columns()
    if width is None:
        return lines
    return [part for line in lines for part in wrap(line, max(width, 20), subsequent_indent="  ")]


def _row(key: tuple[str | None, ...], totals: "CostTotals") -> "CostRow":
    known = dict(zip(totals.tokens, totals.known_tokens, strict=True))
    tokens = {name: (count, known[name]) for name, count in totals.tokens.items()}
    return key, totals.calls, tokens, totals.cost, totals.known_cost


def _print_csv(report: "CostReport", by: tuple[str, ...]) -> None:
    from runcard.views.costs_table import csv_text  # noqa: PLC0415

    names = ["calls", *report.totals.tokens, "cost_usd", "known_cost_usd", "at_least", "token_source"]
    rows = []
    for group in report.groups:
        data = group.totals.to_dict()
        rows.append(
            [
                *group.key.values(),
                data["calls"],
                *group.totals.tokens.values(),
                data["cost_usd"],
                data["known_cost_usd"],
                "true",
                data["token_source"],
            ]
        )
    say_text(csv_text([*by, *names], rows))


def _warn(report: "CostReport", since: datetime | None) -> ExitCode:
    """Name what the figures lack; the exit code."""
    from runcard.files import printable  # noqa: PLC0415
    from runcard.views.formats import counted  # noqa: PLC0415

    if report.unpriced:
        complain(
            "Warning",
            f"no price, or not for all parts: {', '.join(report.unpriced)}",
            hint="add prices of your own: let the setting `prices`, or RUNCARD_PRICES, name a price file",
        )
    if report.unread:
        places = [
            f"{printable(path)}{'' if line is None else f':{line}'}: {reason}"
            for path, line, reason in report.unread[:_MOST_NAMED]
        ]
        more = len(report.unread) - len(places)
        details = [*places, *([f"and {more:,} more: see --json"] if more else [])]
        complain("Warning", f"{counted(len(report.unread), 'place')} could not be read", details=details)
    if report.unknown_types:
        names = ", ".join(f"{printable(name)} ({count:,})" for name, count in report.unknown_types.items())
        complain(
            "Warning",
            f"unknown types of records, whose calls are not counted: {names}",
            hint="use a newer version of runcard"
            if report.totals.calls
            else "if these are files of another tool, pass --source with its name or `all`",
        )
    if report.undated and since is not None:
        complain("Warning", f"{counted(report.undated, 'call')} without a time left out, because of --since")
    is_incomplete = report.unpriced or report.unread or report.unknown_types or (report.undated and since)
    return ExitCode.WARNINGS if is_incomplete else ExitCode.OK


def _columns() -> int | None:
    """The width of the terminal; None where the output is not a terminal."""
    from shutil import get_terminal_size  # noqa: PLC0415

    return get_terminal_size().columns if sys.stdout.isatty() else None
