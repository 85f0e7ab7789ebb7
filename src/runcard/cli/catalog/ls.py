"""runcard ls"""

import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from runcard.cli.catalog.filter_options import filter_options
from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import json_option
from runcard.cli.printing import complain, say_json, say_note, say_text

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from runcard.catalog.columns import Column
    from runcard.encoding import JsonObject
    from runcard.operations.catalog.list_records import RecordList
    from runcard.operations.catalog.search_transcripts import TranscriptHits

_WHATS = (
    "records",
    "runs",
    "sessions",
    "instances",
    "calls",
    "plans",
    "experiments",
)  # a test compares them with the operation's
_MOST_ON_A_TERMINAL = 50
_COST_COLUMNS = ("known_cost", "at_least")  # in CSV, for what a table says with "≥" and "unknown"


_EMPTY = {  # what makes the first one
    "records": "no records yet; to make one: runcard run -- echo hello; for a tour: runcard demo",
    "runs": "no runs yet; to make one: runcard run -- echo hello",
    "sessions": "no sessions yet; to keep those of Claude Code: runcard import claude-code --all",
    "plans": "no plans yet; how to make one: runcard plan pipeline --help",
    "experiments": "no experiments yet; to make one: runcard experiment create personas",
}


class _What(click.Choice[str]):
    """What to list. Whoever names something else probably means a record, or a store."""

    def convert(self, value: str, *_: object) -> str:
        if value in self.choices:
            return value
        from difflib import get_close_matches  # noqa: PLC0415 - only for this message

        from runcard.errors import UsageError  # noqa: PLC0415
        from runcard.files import printable, shell_word  # noqa: PLC0415

        near = get_close_matches(value[:100], self.choices, 1)
        show = f"to show one record: runcard show {shell_word(value)}"
        raise UsageError(
            f"cannot list {printable(value)!r}: use one of {', '.join(self.choices)}",
            hint=f"did you mean {near[0]}?" if near else show,
        )


class _Names(click.ParamType[tuple[str, ...]]):
    """Names with commas between them: `id,cost`."""

    name = "NAMES"

    def convert(self, value: object, *_: object) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        names = tuple(dict.fromkeys(name.strip() for name in str(value).split(",") if name.strip()))
        if not names:
            self.fail("a name is missing")
        return names

    def shell_complete(
        self, ctx: click.Context, _: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only for completion

        from runcard.catalog.columns import COLUMNS, RECORDS  # noqa: PLC0415

        before, comma, last = incomplete.rpartition(",")
        minus = "-" if last.startswith("-") else ""  # --sort -cost
        columns = COLUMNS.get(ctx.params.get("what") or RECORDS, COLUMNS[RECORDS])
        return [
            CompletionItem(f"{before}{comma}{minus}{name}")
            for name in columns
            if name.startswith(last.removeprefix("-"))
        ]


@click.command("ls")
@click.argument("what", type=_What(_WHATS), default="records", metavar=f"[{'|'.join(_WHATS)}]")
@filter_options
@click.option(
    "--transcripts",
    is_flag=True,
    help="Search with --text in the output of commands and agents: list the lines with these words.",
)
@click.option(
    "--sort",
    type=_Names(),
    help="Sort by these columns; -NAME is descending. Default: -started; of plans: project,source,method.",
)
@click.option(
    "--columns",
    type=_Names(),
    help="Columns to show, such as id,command,cost,config.temperature,metric.accuracy.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000_000),
    metavar="N",
    help="Show at most N. Default: 50 on a terminal.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@json_option
def command(
    what: str,
    sort: tuple[str, ...] | None,
    columns: tuple[str, ...] | None,
    limit: int | None,
    transcripts: bool,
    as_csv: bool,
    as_json: bool,
    **filters: Any,  # noqa: ANN401 - as click has them
) -> int:
    """List runs and sessions, newest first, of all stores on this machine, archived ones included; or the agents of
    sessions (instances), the model calls of runs (calls), the test plans of all projects (plans), or experiments.

    Any value of a configuration, label, metric or score can be a column, a filter or the sort key: config.NAME, label.NAME,
    metric.NAME, score.NAME. Conditions compare columns with values by = != < <= > >= and ~ (contains), joined by and, or, not
    and parentheses. On a terminal the table fits its width, and may have fewer columns; otherwise nothing is cut.

    With --text WORDS --transcripts it lists lines instead: those with all words, in the output of the runs and agents that the other
    options allow. The first such search builds an index, which later ones only bring up to date.

    Exit codes: 0 done, 2 a store, a project or a record could not be looked at, the catalog could not be brought up to date, one id has
    several contents, or no record has a value or a status that was named, or a tag or an experiment is probably misspelt.
    """
    from shlex import quote  # noqa: PLC0415

    from runcard.catalog.searching import Filters  # noqa: PLC0415
    from runcard.operations.catalog.list_records import NEWEST_FIRST, list_records  # noqa: PLC0415
    from runcard.views.formats import counted  # noqa: PLC0415

    is_table = not as_csv and not as_json
    if limit is None and is_table and sys.stdout.isatty():
        limit = _MOST_ON_A_TERMINAL
    if transcripts:
        hits = _search(what, filters, columns=columns, sort=sort or NEWEST_FIRST, limit=limit)
        return _print_hits(hits, as_json=as_json, as_csv=as_csv)
    hidden = _hidden_columns(what, columns) if is_table else ()
    asked = columns and (*columns, *hidden)
    found = list_records(what, Filters(**filters), columns=asked, sort=sort, limit=limit)
    del found.columns[len(found.columns) - len(hidden) :]
    if as_json:
        say_json(found.to_dict())
    elif as_csv:
        _print_csv(found.columns, found.rows, () if columns is not None else _COST_COLUMNS)
    elif found.rows:
        _print_table(found, is_default=columns is None)
    else:
        is_everything = not any(filters.values())
        say_note(_EMPTY.get(what, "nothing found") if is_everything else "nothing found")
    if found.plans and not as_json:
        say_note(
            f"{counted(found.plans, 'plan')} found, too: runcard ls plans --text {quote(filters['text'])}"
        )
    return _warn(found)


def _hidden_columns(what: str, columns: tuple[str, ...] | None) -> tuple[str, ...]:
    """What a table needs to tell an unknown cost from that of a record without calls, and does not show."""
    if columns is None or "cost" not in columns:
        return ()
    name = "tokens" if what == "calls" else "calls"
    return () if name in columns else (name,)


def _warn(found: "RecordList") -> int:
    """Say what could not be looked at, or is probably misspelt; the exit code."""
    noun = "plans" if found.are_plans else "records"
    for store in found.unreachable:
        complain("Warning", f"{store} cannot be reached: its {noun} are listed as they were")
    for own in found.conflicts:
        complain(
            "Warning",
            f"{own} has several contents",
            hint=f"see: runcard ls --where 'id = {own}' --columns path,sha256",
        )
    for message, hint in found.unknown:
        complain("Warning", message, hint=hint)
    if found.warning is not None:
        complain("Warning", found.warning)
    has_warnings = found.unreachable or found.conflicts or found.unknown or found.warning is not None
    return ExitCode.WARNINGS if has_warnings else ExitCode.OK


def _search(what: str, filters: dict[str, Any], **options: Any) -> "TranscriptHits":  # noqa: ANN401 - see above
    from runcard.catalog.searching import Filters  # noqa: PLC0415
    from runcard.cli.progress import Progress  # noqa: PLC0415
    from runcard.errors import UsageError  # noqa: PLC0415
    from runcard.operations.catalog.search_transcripts import search_transcripts  # noqa: PLC0415

    text = filters.pop("text")
    if text is None:
        raise UsageError("--transcripts needs words", hint="pass --text WORDS, too")
    progress = Progress("transcripts read for the index")
    return search_transcripts(text, what, Filters(**filters), **options, with_progress=progress.over)


def _print_hits(hits: "TranscriptHits", *, as_json: bool, as_csv: bool) -> int:
    from runcard.views.record_table import around, record_lines, with_values  # noqa: PLC0415

    if as_json:
        say_json(hits.to_dict())
    elif as_csv:
        _print_csv(hits.columns, hits.rows)
    elif hits.rows:
        is_terminal = sys.stdout.isatty()
        rows = hits.rows
        if is_terminal:
            rows = [
                row | {"text": around(row["text"], match)}
                for row, match in zip(rows, hits.matches, strict=True)
            ]
        width = shutil.get_terminal_size().columns if is_terminal else None
        lines = record_lines(with_values(hits.columns, rows), rows, width)
        say_text("\n".join([*lines, "… there are more: pass a larger --limit"] if hits.has_more else lines))
    else:
        say_note("nothing found")
    for path, reason in hits.unread:
        complain("Warning", f"{path} was not searched: {reason}", hint=f"see: runcard verify {path}")
    for store in hits.unreachable:
        complain("Warning", f"{store} cannot be reached: its transcripts were not searched")
    if hits.warning is not None:
        complain("Warning", hits.warning)
    has_warnings = hits.unreachable or hits.unread or hits.warning is not None
    return ExitCode.WARNINGS if has_warnings else ExitCode.OK


def _print_csv(columns: "list[Column]", rows: "list[JsonObject]", more: tuple[str, ...] = ()) -> None:
    """`more` are columns that are added where the rows have them."""
    from runcard.views.costs_table import csv_text  # noqa: PLC0415

    names = [*(column.name for column in columns), *(name for name in more if rows and name in rows[0])]
    say_text(csv_text(names, [[_csv_cell(row[name]) for name in names] for row in rows]))


def _csv_cell(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


def _print_table(found: "RecordList", *, is_default: bool) -> None:
    from runcard.views.record_table import record_lines, short_table, with_values  # noqa: PLC0415

    columns = with_values(found.columns, found.rows) if is_default else found.columns
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    lines = (short_table if is_default else record_lines)(columns, found.rows, width)
    if len(found.rows) < found.total:
        lines.append(f"… {found.total - len(found.rows):,} more: pass --limit {found.total}")
    say_text("\n".join(lines))
