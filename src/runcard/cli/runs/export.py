"""runcard export"""

import os
import sys
from typing import Any

import click

from runcard.cli.catalog.filter_options import filter_options
from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import PATH, RECORD, json_option, output_option, progress_option
from runcard.cli.printing import complain, say, say_done, say_json
from runcard.errors import UsageError

_BUNDLE, _PARQUET = "bundle", "parquet"
_FORMS = (_BUNDLE, "csv", "jsonl", _PARQUET)  # a test compares them with the operation's


@click.command("export")
@click.argument("what", metavar="[RUN|TABLE]", type=RECORD, required=False)
@click.option("--to", "form", type=click.Choice(_FORMS), default=_BUNDLE, help="Format. Default: bundle.")
@output_option(
    "FILE",
    "File to write. A bundle needs a new one; default: RUN.tar.gz in the current directory. A table replaces "
    "the file; default: stdout, except for Parquet.",
)
@click.option(
    "--with",
    "including",
    metavar="PATH",
    type=PATH,
    multiple=True,
    help="Also pack this file or folder into the bundle, if the run names it. Repeatable.",
)
@filter_options
@progress_option
@json_option
def command(
    what: str | None,
    form: str,
    output: str | None,
    including: tuple[str, ...],
    shows_progress: bool,
    as_json: bool,
    **filters: Any,  # noqa: ANN401 - as click has them
) -> int:
    """Pack RUN into a bundle that others can run again, or write many records as a table: CSV, JSON Lines or Parquet.

    RUN is a path, an id, a prefix of an id, a name, or @latest (@latest~1 is the one before).

    A bundle is a .tar.gz file with the run, its inputs and the programs that its command names. Call this command from
    the directory in which the run was recorded. Left out, with a warning: inputs that changed or are gone, inputs
    outside the current directory, and the programs of a run that you did not record on this machine. --with packs the
    latter two.

    With --to csv, jsonl or parquet, TABLE is runs (the default), sessions, instances, usage, counted_usage, calls, values, files or relations, of all stores on
    this machine, oldest first. The other options choose records, as in `runcard ls`. Parquet needs `runcard[arrow]`.

    Exit codes: 0 done, 1 the run fails verification or the file cannot be written, 2 done with warnings.
    """
    if form != _BUNDLE:
        if including:
            raise UsageError("--with is for bundles", hint="leave it out, or pass --to bundle")
        return _export_table(what or "runs", form, output, filters, shows_progress, as_json)
    given = [name for name, value in filters.items() if value not in {None, ()}] + [
        "progress"
    ] * shows_progress
    if given:
        name = given[0].replace("tags", "tag")
        raise UsageError(f"--{name} is for tables", hint="pass --to csv, jsonl or parquet")
    if what is None:
        raise UsageError(
            "Missing argument 'RUN'.", hint="name a run, such as @latest; for a table pass --to csv"
        )
    _check_no_table(what)
    return _export_bundle(what, form, output, including, as_json)


def _check_no_table(name: str) -> None:
    """Raise an error for a table without a format, which is not a run."""
    from runcard.catalog.export import TABLE_NAMES  # noqa: PLC0415

    if name in TABLE_NAMES and not os.path.lexists(name):
        raise UsageError(
            f"{name} is a table, not a run", hint=f"pass a format: runcard export {name} --to csv"
        )


def _export_bundle(run: str, form: str, output: str | None, including: tuple[str, ...], as_json: bool) -> int:
    from runcard.operations.runs.export_bundle import export_bundle  # noqa: PLC0415

    path, warnings = export_bundle(run, output, including=including)
    if as_json:
        say_json({"path": path, "form": form, "warnings": warnings})
    else:
        say(path)
    for warning in warnings:
        complain("Warning", warning)
    return ExitCode.WARNINGS if warnings else ExitCode.OK


def _export_table(
    table: str, form: str, output: str | None, filters: dict[str, Any], shows_progress: bool, as_json: bool
) -> int:
    from runcard.catalog.searching import Filters  # noqa: PLC0415
    from runcard.cli.progress import RowProgress  # noqa: PLC0415
    from runcard.operations.catalog.export_table import export_table  # noqa: PLC0415
    from runcard.views.formats import counted  # noqa: PLC0415

    is_to_stdout = output in {None, "-"}
    if is_to_stdout and form == _PARQUET:
        raise UsageError("Parquet is not written to stdout", hint="pass -o FILE")
    if is_to_stdout and as_json:
        raise UsageError("--json and the table cannot both go to stdout", hint="pass -o FILE")
    line = RowProgress(everywhere=shows_progress)
    line.begin()
    target = sys.stdout.buffer if output is None or output == "-" else output
    try:
        done = export_table(table, form, target, Filters(**filters), progress=line.advance)
    finally:
        line.wipe()
    if as_json:
        say_json(done.to_dict())
    elif done.path is not None:
        say_done(f"{done.path}: {counted(done.rows, 'row')}")
    for store in done.unreachable:
        complain("Warning", f"{store} cannot be reached: its records are exported as they were")
    if done.warning is not None:
        complain("Warning", done.warning)
    return ExitCode.WARNINGS if done.unreachable or done.warning is not None else ExitCode.OK
