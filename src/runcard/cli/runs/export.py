"""runcard export"""

import os
import sys
from typing import Any

import click

from runcard.cli.catalog.filter_options import filter_options
from runcard.cli.cluster_options import cluster_options
from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import PATH, RECORD, TEXT, json_option, output_option, progress_option
from runcard.cli.printing import complain, say, say_done, say_json
from runcard.errors import UsageError
from runcard.parallel.current_cluster import current_cluster

_BUNDLE, _PARQUET = "bundle", "parquet"
_TABLES = ("csv", "jsonl", _PARQUET)  # a test compares these, and those of records, with the operations'
_CRATE = "ro-crate"
_RECORDS = ("in-toto", _CRATE, "otlp", "cyclonedx", "citation")
_MANY = ("in-toto", "otlp")  # of many records
_HTML = "html"
_FORMS = (_BUNDLE, *_TABLES, *_RECORDS, _HTML)


@click.command("export")
@click.argument("what", metavar="[RECORD|TABLE]...", type=RECORD, nargs=-1)
@click.option("--to", "form", type=click.Choice(_FORMS), default=_BUNDLE, help="Format. Default: bundle.")
@output_option(
    "FILE",
    "File to write, or folder or URL of a Parquet dataset. A bundle needs a new one; default: RUN.tar.gz in the current directory. A table replaces "
    "the file; default: stdout, except for Parquet. A format of other tools needs a new file; default: stdout. "
    "An RO-Crate is a new folder; default: NAME-crate.",
)
@click.option(
    "--with",
    "including",
    metavar="PATH",
    type=PATH,
    multiple=True,
    help="Also pack this file or folder into the bundle, if the run names it. Repeatable.",
)
@click.option(
    "--license",
    metavar="TEXT",
    type=TEXT,
    help="License in an RO-Crate or a citation: an SPDX id, or a URL. Default: the setting export.license.",
)
@click.option(
    "--author",
    "authors",
    metavar="NAME",
    type=TEXT,
    multiple=True,
    help="Author in an RO-Crate or a citation. Repeatable. Default: the setting export.author.",
)
@filter_options
@progress_option
@json_option
@cluster_options
def command(
    what: tuple[str, ...],
    form: str,
    output: str | None,
    including: tuple[str, ...],
    license: str | None,  # noqa: A002 - the name of the option
    authors: tuple[str, ...],
    shows_progress: bool,
    as_json: bool,
    **filters: Any,  # noqa: ANN401 - as click has them
) -> int:
    """Pack a run into a bundle that others can run again, write many records as a table, or write records for other tools.

    RECORD is a path, an id, a prefix of an id, a name, or @latest (@latest~1 is the one before).

    A bundle is a .tar.gz file with the run, its inputs and the programs that its command names. Call this command from
    the directory in which the run was recorded. Left out, with a warning: inputs that changed or are gone, inputs
    outside the current directory, and the programs of a run that you did not record on this machine. --with packs the
    latter two.

    With --to csv, jsonl or parquet, TABLE is runs (the default), sessions, instances, usage, counted_usage, calls, values, files or relations, of all stores on
    this machine, oldest first. The other options choose records, as in `runcard ls`. Parquet needs `runcard[arrow]`.

    With --to parquet and a folder (an existing one, or a name that ends with /) or a URL such as s3://bucket/prefix, the tables runs,
    sessions, instances, calls and metrics are a dataset with a file for each month, and only months that changed are written.

    For other tools: in-toto (a statement about the record, and SLSA provenance), ro-crate (a folder with a copy of the record), otlp
    (OpenTelemetry spans), cyclonedx (a bill of materials), citation (CITATION.cff; BibTeX if FILE ends in .bib, both if it is a
    folder).

    in-toto, otlp and BibTeX take several records.

    For people: html, the page that `runcard serve` shows of a run, a session or a test plan (a path that ends in .yml), as one file
    that opens from disk. It needs `runcard[web]`.

    Exit codes: 0 done, 1 a record fails verification or the file cannot be written, 2 done with warnings.
    """
    _check_options(form, filters, including, license, authors, shows_progress)
    if form == _HTML:
        return _export_page(what, output, as_json)
    if form in _RECORDS:
        return _export_records(what, form, output, license, authors, as_json)
    if form == _PARQUET and (dataset := _dataset(what, output)) is not None:
        return _export_dataset(*dataset, filters, shows_progress, as_json)
    if len(what) > 1:
        raise UsageError(f"--to {form} takes one argument", hint=f"several records: --to {_RECORDS[0]}, otlp")
    name = what[0] if what else None
    if form != _BUNDLE:
        return _export_table(name or "runs", form, output, filters, shows_progress, as_json)
    if name is None:
        raise UsageError(
            "Missing argument 'RUN'.", hint="name a run, such as @latest; for a table pass --to csv"
        )
    _check_no_table(name)
    return _export_bundle(name, form, output, including, as_json)


def _check_options(
    form: str,
    filters: dict[str, Any],
    including: tuple[str, ...],
    license: str | None,  # noqa: A002
    authors: tuple[str, ...],
    shows_progress: bool,
) -> None:
    """Raise an error for an option of another format."""
    if current_cluster() is not None and form not in {*_TABLES, *_MANY}:
        raise UsageError(
            "--workers and --cluster are for tables, in-toto and otlp", hint="leave the option out"
        )
    if including and form != _BUNDLE:
        raise UsageError("--with is for bundles", hint="leave it out, or pass --to bundle")
    given = [name for name, value in filters.items() if value not in {None, ()}] + [
        "progress"
    ] * shows_progress
    if given and form not in _TABLES:
        name = given[0].replace("tags", "tag")
        raise UsageError(f"--{name} is for tables", hint="pass --to csv, jsonl or parquet")
    if (license is not None or authors) and form not in {_CRATE, "citation"}:
        name = "license" if license is not None else "author"
        raise UsageError(f"--{name} is for ro-crate and citation", hint="leave it out")


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


def _export_records(
    records: tuple[str, ...],
    form: str,
    output: str | None,
    license: str | None,  # noqa: A002
    authors: tuple[str, ...],
    as_json: bool,
) -> int:
    from runcard.operations.export.export_records import ExportFacts, export_records  # noqa: PLC0415

    if not records:
        raise UsageError("Missing argument 'RECORD'.", hint="name a record, such as @latest")
    is_to_stdout = output == "-" or (output is None and form != _CRATE)
    if is_to_stdout and as_json:
        raise UsageError("--json and the export cannot both go to stdout", hint="pass -o FILE")
    target = sys.stdout.buffer if is_to_stdout else output
    done = export_records(records, form, target, ExportFacts(license, authors))
    if as_json:
        say_json(done.to_dict())
    else:
        for path in done.paths:
            say(path)
    for warning in done.warnings:
        complain("Warning", warning)
    return ExitCode.WARNINGS if done.warnings else ExitCode.OK


def _export_page(records: tuple[str, ...], output: str | None, as_json: bool) -> int:
    from runcard.cli.serve import check_installed  # noqa: PLC0415

    if len(records) != 1:
        raise UsageError("--to html takes one record", hint="name a record, such as @latest, or a plan")
    is_to_stdout = output in {None, "-"}
    if is_to_stdout and as_json:
        raise UsageError("--json and the export cannot both go to stdout", hint="pass -o FILE")
    check_installed()
    from runcard.operations.export.export_records import write_export  # noqa: PLC0415
    from runcard.web.static_file import static_page  # noqa: PLC0415

    page = static_page(records[0])
    paths = write_export(page.data, sys.stdout.buffer if is_to_stdout else output)
    if as_json:
        say_json({"form": _HTML, "records": [page.id], "paths": list(paths), "warnings": []})
    else:
        for path in paths:
            say(path)
    return ExitCode.OK


def _dataset(what: tuple[str, ...], output: str | None) -> tuple[tuple[str, ...], str] | None:
    """The tables and the target of a dataset, which may be the last argument; None: a file is to be written."""
    from runcard.catalog.months import MONTH_TABLES  # noqa: PLC0415
    from runcard.operations.catalog.dataset_files import is_dataset  # noqa: PLC0415

    if output is None and what and what[-1] not in MONTH_TABLES and is_dataset(what[-1]):
        what, output = what[:-1], what[-1]
    return None if output is None or not is_dataset(output) else (what or MONTH_TABLES, output)


def _export_dataset(
    tables: tuple[str, ...], target: str, filters: dict[str, Any], shows_progress: bool, as_json: bool
) -> int:
    from runcard.cli.progress import RowProgress  # noqa: PLC0415
    from runcard.operations.catalog.export_dataset import export_dataset  # noqa: PLC0415
    from runcard.views.formats import counted  # noqa: PLC0415

    if any(value not in {None, ()} for value in filters.values()):
        raise UsageError("a dataset has all records", hint="leave out the filters, or name a file with -o")
    line = RowProgress(everywhere=shows_progress)
    line.begin()
    try:
        done = export_dataset(target, tables, progress=line.advance)
    finally:
        line.wipe()
    if as_json:
        say_json(done.to_dict())
    else:
        removed = f", {counted(len(done.removed), 'file')} removed" if done.removed else ""
        written = f"{counted(done.files, 'file')} with {counted(done.rows, 'row')} written"
        say_done(f"{done.path}: {counted(done.months, 'month')}, {written}{removed}")
    return _warn_of_stores(done.unreachable, done.warning)


def _warn_of_stores(unreachable: tuple[str, ...], warning: str | None) -> int:
    for store in unreachable:
        complain("Warning", f"{store} cannot be reached: its records are exported as they were")
    if warning is not None:
        complain("Warning", warning)
    return ExitCode.WARNINGS if unreachable or warning is not None else ExitCode.OK


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
    return _warn_of_stores(done.unreachable, done.warning)
