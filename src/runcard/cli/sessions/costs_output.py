"""The output of `runcard costs`: a table, CSV, and warnings about what the figures lack."""

import sys
from datetime import datetime
from typing import TYPE_CHECKING

from runcard.cli.exit_codes import ExitCode
from runcard.cli.printing import complain, say_note, say_text
from runcard.cli.verbosity import is_quiet
from runcard.files import printable
from runcard.operations.sessions.costs import CostReport
from runcard.views.costs_table import CostRow, costs_table, csv_text, price_lines
from runcard.views.formats import counted, money_part

if TYPE_CHECKING:
    from runcard.operations.catalog.costs import RecordCosts
    from runcard.operations.sessions.call_costs import CostTotals

_MOST_NAMED = 10  # unread places in a warning
_UNREPORTED = {"estimated": "estimated token counts", "given": "figures given by the caller"}


def print_table(report: "CostReport | RecordCosts", by: tuple[str, ...], since: datetime | None) -> None:
    """The groups and the total; below them how sure they are, and the prices of calls in files."""
    records, files = _parts(report)
    if not report.totals.has_usage:
        when = f" since {since:%Y-%m-%d %H:%M}" if since else ""
        among = "" if records is None else "records and "
        say_text(
            f"no model calls recorded{when}"
            if files is None
            else f"no calls{when} in {among}{counted(files.files, 'file')}"
        )
        if files is None:
            say_note("to add up the session files of agent tools: runcard costs --source all")
        return
    rows = [_row(tuple(group.key.values()), group.totals) for group in report.groups] if by else []
    lines = costs_table(by, rows, _row((), report.totals), _columns())
    if not is_quiet():
        notes = [
            *(
                [f"{counted(report.more_groups, 'more group')}, which the total includes."]
                if report.more_groups
                else []
            ),
            *([] if records is None else _record_notes(records)),
            *([] if files is None else _file_notes(files)),
        ]
        lines += ["", *_wrapped(notes)]
        if files is not None and files.price_rows:
            lines += ["", *price_lines(files.price_rows)]
    say_text("\n".join(lines))


def _parts(report: "CostReport | RecordCosts") -> "tuple[RecordCosts | None, CostReport | None]":
    return (None, report) if isinstance(report, CostReport) else (report, report.transcripts)


def _file_notes(report: CostReport) -> list[str]:
    """How sure the figures of session files are."""
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


def _record_notes(report: "RecordCosts") -> list[str]:
    """How sure the figures of records are."""
    facts, costs = report.facts, report.totals.costs_by_source
    lines = [f"{counted(facts.records, 'record')} with model calls."]
    if facts.without_cost:
        lines.append(f"{counted(facts.without_cost, 'record')} with an unknown cost, in whole or in part.")
    for source, counts in _UNREPORTED.items():
        if cost := costs.get(source):
            part = money_part(float(cost), of_at_least=report.totals.at_least)
            lines.append(f"{part} is based on {counts}.")
    if copies := report.counted.copies:
        lines.append(f"{counted(copies, 'record')} not counted: {'a copy' if copies == 1 else 'copies'}.")
    if partly := report.counted.partly:
        lines.append(
            f"{counted(partly, 'record')} with calls that other records have as well: each counts once."
        )
    if report.in_both:
        lines.append(f"{counted(report.in_both, 'session')} imported and in session files: counted once.")
    return lines


def _wrapped(lines: list[str]) -> list[str]:
    """Lines that fit a terminal; elsewhere as they are."""
    from textwrap import wrap  # noqa: PLC0415

    width = _columns()
    if width is None:
        return lines
    return [part for line in lines for part in wrap(line, max(width, 20), subsequent_indent="  ")]


def _row(key: tuple[str | None, ...], totals: "CostTotals") -> CostRow:
    known = dict(zip(totals.tokens, totals.known_tokens, strict=True))
    tokens = {name: (count, known[name]) for name, count in totals.tokens.items()}
    calls = (totals.calls if totals.has_all_calls else None, totals.calls)
    return CostRow(key, calls, tokens, totals.cost, totals.known_cost, totals.at_least, totals.has_more)


def print_csv(report: "CostReport | RecordCosts", by: tuple[str, ...]) -> None:
    """The groups as CSV."""
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
                "true" if data["at_least"] else "false",
                data["token_source"],
            ]
        )
    say_text(csv_text([*by, *names], rows))


def _unpriced(report: "CostReport | RecordCosts", files: "CostReport | None") -> list[str]:
    """The models without a price, with the providers that session files name: a price is that of a provider."""
    providers = {} if files is None else files.unpriced_providers
    return [
        f"{model} of {' and '.join(map(printable, providers[model]))}" if model in providers else model
        for model in report.unpriced
    ]


def warn(report: "CostReport | RecordCosts", since: datetime | None) -> ExitCode:
    """Name what the figures lack; the exit code."""
    records, files = _parts(report)
    is_incomplete = False
    if report.unpriced:
        is_incomplete = True
        complain(
            "Warning",
            f"the price is unknown, or known only in part: {', '.join(_unpriced(report, files))}",
            hint="add prices of your own: let the setting `prices`, or RUNCARD_PRICES, name a price file",
        )
    unread = [] if records is None else [(path, None, reason) for path, reason in records.unread]
    is_incomplete |= _warn_of_unread([*unread, *([] if files is None else files.unread)])
    if files is not None:
        is_incomplete |= _warn_of_files(files, since)
    if records is not None:
        is_incomplete |= _warn_of_records(records)
    return ExitCode.WARNINGS if is_incomplete else ExitCode.OK


def _warn_of_unread(unread: list[tuple[str, int | None, str]]) -> bool:
    if not unread:
        return False
    places = [
        f"{printable(path)}{'' if line is None else f':{line}'}: {reason}"
        for path, line, reason in unread[:_MOST_NAMED]
    ]
    more = len(unread) - len(places)
    details = [*places, *([f"and {more:,} more: see --json"] if more else [])]
    complain("Warning", f"{counted(len(unread), 'place')} could not be read", details=details)
    return True


def _warn_of_files(report: CostReport, since: datetime | None) -> bool:
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
    return bool(report.unknown_types or (report.undated and since))


def _warn_of_records(report: "RecordCosts") -> bool:
    conflicts = report.counted.conflicts
    if conflicts:
        names = ", ".join(map(printable, conflicts[:_MOST_NAMED]))
        complain(
            "Warning",
            f"copies of a record differ; the one with most calls counts: {names}{', …' if len(conflicts) > _MOST_NAMED else ''}",
            hint=f"see them: runcard ls --where 'id = {printable(conflicts[0])}' --columns path,calls,cost",
        )
    if report.facts.undated:
        complain(
            "Warning",
            f"{counted(report.facts.undated, 'record')} without a time left out, because of --since",
        )
    if report.warning is not None:
        complain("Warning", report.warning)
    return bool(conflicts or report.facts.undated or report.warning)


def _columns() -> int | None:
    """The width of the terminal; None where the output is not a terminal."""
    from shutil import get_terminal_size  # noqa: PLC0415

    return get_terminal_size().columns if sys.stdout.isatty() else None
