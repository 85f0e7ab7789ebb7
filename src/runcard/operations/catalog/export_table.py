"""Write many records as a table into one file: `runcard export --to csv|jsonl|parquet`."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from runcard.catalog.export import TABLE_NAMES, RowBatch, table_batches, table_columns
from runcard.catalog.searching import Filters, unreachable_stores
from runcard.encoding import JsonObject
from runcard.errors import StoreError, UsageError
from runcard.files import failure, printable, write_atomic
from runcard.operations.catalog.open import open_catalog
from runcard.views.table_files import csv_blocks, json_blocks, parquet_blocks

FORMATS = {"csv": csv_blocks, "jsonl": json_blocks, "parquet": parquet_blocks}


@dataclass(frozen=True)
class TableExport:
    """A table that was written."""

    path: str | None  # None: to a stream
    form: str
    table: str
    rows: int
    unreachable: tuple[str, ...]  # stores that could not be looked at
    warning: str | None  # why the catalog is not up to date

    def to_dict(self) -> JsonObject:
        return {
            "path": self.path,
            "form": self.form,
            "table": self.table,
            "rows": self.rows,
            "unreachable_stores": list(self.unreachable),
        }


def export_table(
    table: str,
    form: str,
    output: str | BinaryIO,
    filters: Filters | None = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> TableExport:
    """Write the rows of a table that pass the filters to a file, or to a stream, oldest first.

    A file is replaced as a whole when everything is written: until then, and after an error, the old one is there.
    `progress` is called with the number of rows so far.
    """
    if table not in TABLE_NAMES:
        raise UsageError(
            f"there is no table {table!r}",
            hint=f"use {', '.join(TABLE_NAMES)}; to choose records, pass --where",
        )
    if isinstance(output, str):
        _check_target(output)
    counter = _Counter(progress)
    with open_catalog() as database:
        columns = table_columns(database, table)
        batches = counter.over(table_batches(database, table, filters or Filters()))
        _write(FORMATS[form](columns, batches), output)
        missing, warning = tuple(unreachable_stores(database)), database.warning
    path = output if isinstance(output, str) else None
    return TableExport(path, form, table, counter.rows, missing, warning)


class _Counter:
    def __init__(self, progress: Callable[[int], None] | None) -> None:
        self.rows = 0
        self._progress = progress

    def over(self, batches: Iterable[RowBatch]) -> Iterator[RowBatch]:
        for batch in batches:
            yield batch
            self.rows += len(batch)
            if self._progress is not None:
                self._progress(self.rows)


def _check_target(path: str) -> None:
    """Refuse early what cannot be replaced by a file."""
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise StoreError(f"{printable(folder)} is not a folder", hint="create it, or name another file")
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        raise StoreError(f"{printable(path)} is not a regular file", hint="name a regular file, or a new one")


def _write(blocks: Iterable[bytes], output: str | BinaryIO) -> None:
    if isinstance(output, str):
        try:
            write_atomic(output, blocks)
        except OSError as error:
            raise failure(error, output, "write") from error
        return
    for block in blocks:
        output.write(block)
    output.flush()
