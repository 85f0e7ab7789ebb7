"""Pack a run into a bundle, write many records as a table, or records for other tools: `runcard export`."""

import os
from collections.abc import Sequence
from typing import Literal, Unpack, overload

from runcard.errors import UsageError
from runcard.operations.catalog.catalog import CatalogFilters, to_filters
from runcard.operations.catalog.export_table import TableExport, export_table
from runcard.operations.export.export_records import RECORD_FORMS, ExportFacts, RecordExport, export_records
from runcard.operations.runs.export_bundle import export_bundle
from runcard.store.archives.bundles.result import BundleResult

RecordForm = Literal["in-toto", "ro-crate", "otlp", "cyclonedx", "citation"]
Form = Literal["bundle", "csv", "jsonl", "parquet"] | RecordForm
StrPath = str | os.PathLike[str]


@overload
def export(
    what: str | os.PathLike[str],
    to: Literal["bundle"] = "bundle",
    output: str | os.PathLike[str] | None = None,
    *,
    including: Sequence[str] = (),
) -> BundleResult: ...
@overload
def export(
    what: str,
    to: Literal["csv", "jsonl", "parquet"],
    output: str | os.PathLike[str],
    **filters: Unpack[CatalogFilters],
) -> TableExport: ...
@overload
def export(
    what: StrPath | Sequence[StrPath],
    to: RecordForm,
    output: StrPath | None = None,
    *,
    license: str | None = None,
    authors: Sequence[str] = (),
) -> RecordExport: ...
def export(
    what: StrPath | Sequence[StrPath],
    to: Form = "bundle",
    output: str | os.PathLike[str] | None = None,
    *,
    including: Sequence[str] = (),
    license: str | None = None,  # noqa: A002 - the name of the option
    authors: Sequence[str] = (),
    **filters: Unpack[CatalogFilters],
) -> BundleResult | TableExport | RecordExport:
    """Pack a run with its inputs and programs into a new `.tar.gz` file; or write a table, such as `runs`, to a file; or
    write records to a new file for other tools: `in-toto`, `ro-crate` (a folder), `otlp`, `cyclonedx`, `citation`.

    `including` names files and folders that may be packed although they are elsewhere. `filters` are those of `Catalog`,
    without `columns`, `sort` and `limit`, and choose the rows of a table. `license` and `authors` are for crates and citations;
    by default they are those of the settings.
    """
    file = None if output is None else os.fspath(output)
    if to in RECORD_FORMS:
        if filters or including:
            raise UsageError(f"{to!r} takes neither filters nor `including`", hint="leave them out")
        records = [what] if isinstance(what, str | os.PathLike) else list(what)
        return export_records(records, to, file, ExportFacts(license, tuple(authors)))
    if license is not None or authors:
        raise UsageError("`license` and `authors` are for 'ro-crate' and 'citation'", hint="leave them out")
    if not isinstance(what, str | os.PathLike):
        raise UsageError(f"{to!r} takes one record or table", hint="name one")
    if to == "bundle":
        if filters:
            raise UsageError("filters are for tables", hint="leave them out, or pass to='csv'")
        return export_bundle(what, file, including=including)
    if file is None or including:
        problem = "a table needs a file" if file is None else "`including` is for bundles"
        raise UsageError(problem, hint="for example: export('runs', 'csv', 'runs.csv')")
    if unused := filters.keys() & {"columns", "sort", "limit"}:
        raise UsageError(f"a table is written as a whole: {min(unused)!r} is not used", hint="leave it out")
    return export_table(os.fspath(what), to, file, to_filters(filters))
