"""Pack a run into a bundle, or write many records as a table: `runcard export`."""

import os
from collections.abc import Sequence
from typing import Literal, Unpack, overload

from runcard.errors import UsageError
from runcard.operations.catalog.catalog import CatalogFilters, to_filters
from runcard.operations.catalog.export_table import TableExport, export_table
from runcard.operations.runs.export_bundle import export_bundle
from runcard.store.archives.bundles.result import BundleResult

Form = Literal["bundle", "csv", "jsonl", "parquet"]


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
def export(
    what: str | os.PathLike[str],
    to: Form = "bundle",
    output: str | os.PathLike[str] | None = None,
    *,
    including: Sequence[str] = (),
    **filters: Unpack[CatalogFilters],
) -> BundleResult | TableExport:
    """Pack a run with its inputs and programs into a new `.tar.gz` file; or write a table, such as `runs`, to a file.

    `including` names files and folders that may be packed although they are elsewhere. `filters` are those of `Catalog`,
    without `columns`, `sort` and `limit`, and choose the rows of a table.
    """
    file = None if output is None else os.fspath(output)
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
