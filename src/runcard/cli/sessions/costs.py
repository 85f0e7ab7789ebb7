"""runcard costs"""

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from runcard.cli.cluster_options import cluster_options
from runcard.cli.exit_codes import ExitCode, worst
from runcard.cli.options import PATH, SINCE, json_option, progress_option
from runcard.cli.printing import complain, say_json, say_text
from runcard.cli.verbosity import is_quiet
from runcard.errors import UsageError

if TYPE_CHECKING:
    from decimal import Decimal

    from runcard.operations.catalog.budget import Budget
    from runcard.operations.catalog.costs import RecordCosts
    from runcard.operations.sessions.costs import CostReport

_TOOLS = ("claude-code", "codex", "gemini", "opencode", "all")  # a test compares them with the operation's
_TIMES = ("day", "week", "month")
_OF_FILES = (*_TIMES, "tool", "model", "project", "agent", "branch", "session")
_OF_RECORDS = (
    *_TIMES,
    *("model", "provider", "experiment", "role", "agent", "branch", "tool", "project", "host", "session"),
)
_FACTS = ("config", "label", "metric", "score", "tag")


class _Dimensions(click.ParamType[tuple[str, ...]]):
    """Names with commas between them: `day,model`."""

    name = "NAMES"

    def convert(self, value: object, *_: object) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        return tuple(dict.fromkeys(name.strip() for name in str(value).split(",") if name.strip()))


class CostOptions(NamedTuple):
    """What was asked for."""

    paths: tuple[str, ...]
    source: str | None
    with_records: bool
    by: tuple[str, ...]
    since: datetime | None
    budget: "Decimal | None"
    limit: int | None


@click.command("costs")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=PATH)
@click.option(
    "--source",
    type=click.Choice(_TOOLS),
    help="Read the session files of this tool, or of all tools, instead of records.",
)
@click.option("--with-records", is_flag=True, help="With --source: count records as well, each call once.")
@click.option(
    "--by",
    type=_Dimensions(),
    help=f"Group by these, with commas between them: {', '.join(_OF_RECORDS)}, label.NAME, config.NAME. "
    "Default: month; with --source day.",
)
@click.option(
    "--since",
    type=SINCE,
    help="Count only calls since then: 7d, 12h, 2026-11-01 (local midnight).",
)
@click.option(
    "--budget",
    "amount",
    metavar="DOLLARS",
    help="Warn if 80 % of this was spent since --since, by default in this month; fail if it is exceeded.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="List only the N most expensive groups. The total is that of all.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print the groups as CSV.")
@progress_option
@json_option
@cluster_options
def command(
    as_csv: bool,
    shows_progress: bool,
    as_json: bool,
    **asked: Any,  # noqa: ANN401 - as click has them
) -> int:
    """Add up what model calls cost: of all runs and sessions on this machine, or with --source of agents' session files.

    Records are those of all known stores, archived and open ones included. Each call counts once, whichever records have
    it. With --source, the sessions in the tools' own folders are read, or those at PATH (files or folders), and nothing is
    changed; each call counts at the prices of its day. Days, weeks (from Monday) and months are those of your time zone.

    Figures with ≥ are lower bounds: a part is unknown, not written down by its tool, or a record is still open.

    Exit codes: 0 done, 1 no sessions found or over the budget, 2 warnings: something has no price or could not be read, or
    80 % of the budget is spent.
    """
    from runcard.cli.sessions.costs_output import print_csv, print_table, warn  # noqa: PLC0415

    if as_csv and as_json:
        raise UsageError("--csv contradicts --json", hint="pass one of them")
    options = _options(**asked)
    report = _report(options, shows_progress=shows_progress)
    budget = _budget(options, report)
    if as_json:
        say_json(report.to_dict() | ({} if budget is None else {"budget": budget.to_dict()}))
    elif as_csv:
        print_csv(report, options.by)
    else:
        print_table(report, options.by, options.since)
    sys.stdout.flush()
    return worst([warn(report, options.since), _warn_of_budget(budget, is_table=not as_csv and not as_json)])


def _options(
    *,
    paths: tuple[str, ...],
    source: str | None,
    with_records: bool,
    by: tuple[str, ...] | None,
    since: datetime | None,
    amount: str | None,
    limit: int | None,
) -> CostOptions:
    if source is None and (paths or with_records):
        what = "--with-records" if with_records else "PATH"
        raise UsageError(f"{what} needs --source", hint="name a tool, or pass --source all")
    is_of_files = source is not None and not with_records
    names = by if by is not None else ("day",) if is_of_files else ("month",)
    known = _OF_FILES if is_of_files else _OF_RECORDS
    for name in names:
        fact, dot, rest = name.partition(".")
        if name not in known and (is_of_files or fact not in _FACTS or not dot or not rest):
            more = "" if is_of_files else ", label.NAME, config.NAME"
            near = (
                ""
                if is_of_files or "." in name or not name
                else f"; for a configuration value: config.{name}"
            )
            raise click.BadParameter(
                f"'{name}' is not one of {', '.join(known)}{more}{near}", param_hint="'--by'"
            )
    budget = None
    if amount is not None:
        from runcard.operations.catalog.budget import parse_amount, start_of_month  # noqa: PLC0415

        budget = parse_amount(amount)
        since = since or start_of_month(datetime.now().astimezone())
    return CostOptions(paths, source, with_records, names, since, budget, limit)


def _report(options: CostOptions, *, shows_progress: bool) -> "CostReport | RecordCosts":
    if options.source is None:
        from runcard.operations.catalog.costs import record_costs  # noqa: PLC0415

        return record_costs(options.by, since=options.since, limit=options.limit)
    from runcard.cli.progress import ByteProgress  # noqa: PLC0415
    from runcard.settings.apply import configured_prices  # noqa: PLC0415

    if options.with_records:
        from runcard.operations.catalog.costs import all_costs as add_up  # noqa: PLC0415
    else:
        from runcard.operations.sessions.costs import costs as add_up  # type: ignore[assignment]  # noqa: PLC0415
    total = 0
    bar = ByteProgress(lambda: total, everywhere=shows_progress)

    def expect(size: int) -> Any:  # noqa: ANN401 - the method of the bar
        nonlocal total
        total = size
        return bar.advance

    settings: Any = {
        "by": options.by,
        "since": options.since,
        "prices": configured_prices(),
        "progress": expect,
        "limit": options.limit,
    }
    (report,) = list(bar.over(add_up(options.source or "", options.paths, **settings) for _ in range(1)))
    return report


def _budget(options: CostOptions, report: "CostReport | RecordCosts") -> "Budget | None":
    if options.budget is None or options.since is None:
        return None
    from runcard.operations.catalog.budget import budget  # noqa: PLC0415

    return budget(options.budget, report.totals, options.since)


def _warn_of_budget(budget: "Budget | None", *, is_table: bool) -> ExitCode:
    """Say how much of the budget was spent; the exit code."""
    from runcard.views.formats import money, money_at_least  # noqa: PLC0415

    if budget is None:
        return ExitCode.OK
    spent = (money_at_least if budget.is_at_least else money)(float(budget.spent))
    share = "" if budget.percent is None else f" ({budget.percent:,} %)"
    text = f"{spent} of {money(float(budget.amount))} spent since {budget.since:%Y-%m-%d %H:%M}{share}"
    if budget.state == "within":
        if is_table and not is_quiet():
            say_text(f"Budget: {text}")
        return ExitCode.OK
    if budget.state == "near":
        complain("Warning", f"the budget is nearly spent: {text}")
        return ExitCode.WARNINGS
    complain("Error", f"the budget is exceeded: {text}")
    return ExitCode.FAILED
