"""Write all records as a dataset of Parquet files, one for each table and month: `runcard export --to parquet DIR/|URL`.

    DIR/runs/month=2026-11/part-0.parquet
    DIR/_runcard.json          what was written, to write only what changed

Invariants: a file is replaced as a whole, so a reader sees the month before or after. The state names a file before it is
written, and has its version after each month: whatever stops an export, the next one goes on from there. A file that is not
as the state says, since it was removed or another export wrote it at the same time, is written again. Files with other names
are never touched.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from runcard.catalog.database import CatalogDatabase
from runcard.catalog.export import RowBatch
from runcard.catalog.months import MONTH_TABLES, CatalogMonth, month_batches, month_columns, months
from runcard.catalog.searching import unreachable_stores
from runcard.encoding import JsonObject, decode_json, encode_json
from runcard.errors import RuncardError, StoreError, UsageError
from runcard.files import printable
from runcard.operations.catalog.dataset_files import DatasetFiles, open_dataset
from runcard.operations.catalog.open import catalog_path, open_catalog
from runcard.settings.value_types import is_server_url
from runcard.store.ledger import host_name
from runcard.views.table_files import parquet_blocks

FORMAT = 1
STATE = "_runcard.json"  # readers of datasets skip names that begin with an underscore
_UNKNOWN = "__HIVE_DEFAULT_PARTITION__"  # the month of a record whose start is not known: null, for readers


@dataclass(frozen=True)
class DatasetExport:
    """What an export wrote."""

    path: str
    months: int
    written: dict[str, dict[str, int]]  # the rows that were written, by table and month
    removed: tuple[str, ...]  # files
    unreachable: tuple[str, ...]  # stores that could not be looked at
    warning: str | None  # why the catalog is not up to date

    @property
    def files(self) -> int:
        return sum(map(len, self.written.values()))

    @property
    def rows(self) -> int:
        return sum(sum(of_table.values()) for of_table in self.written.values())

    def to_dict(self) -> JsonObject:
        return {
            "path": self.path,
            "form": "parquet",
            "months": self.months,
            "written": self.written,
            "removed": list(self.removed),
            "unreachable_stores": list(self.unreachable),
        }


def export_dataset(
    target: str, tables: Sequence[str] = MONTH_TABLES, *, progress: Callable[[int], None] | None = None
) -> DatasetExport:
    """Write the months of these tables that changed since the last export to this folder or URL.

    `progress` is called with the number of rows so far.
    """
    if unknown := [table for table in tables if table not in MONTH_TABLES]:
        raise UsageError(
            f"there is no table {unknown[0]!r} in a dataset", hint=f"use {', '.join(MONTH_TABLES)}"
        )
    files = open_dataset(target)
    state = _State(files, target)
    with open_catalog() as database:
        writer = _MonthWriter(database, files, state, progress)
        known = list(months(database))
        for month in known:
            writer.write(month, tables)
        writer.remove_others({_partition(month) for month in known}, tables)
        missing, warning = tuple(unreachable_stores(database)), database.warning
    return DatasetExport(target, len(known), writer.written, tuple(writer.removed), missing, warning)


def _partition(month: CatalogMonth) -> str:
    return month.name or _UNKNOWN


def _file(table: str, partition: str) -> str:
    return f"{table}/month={partition}/part-0.parquet"


class _MonthWriter:
    """Writes the files of months, and notes what it did."""

    def __init__(
        self,
        database: CatalogDatabase,
        files: DatasetFiles,
        state: "_State",
        progress: Callable[[int], None] | None,
    ) -> None:
        self._database, self._files, self._state, self._progress = database, files, state, progress
        self._rows = 0
        self.written: dict[str, dict[str, int]] = {}
        self.removed: list[str] = []

    def write(self, month: CatalogMonth, tables: Sequence[str]) -> None:
        """Write the tables of a month that are not as they were."""
        partition = _partition(month)
        changed = [table for table in tables if not self._state.is_current(table, partition, month.digest)]
        for table in changed:
            before, version = self._rows, None
            batches = self._counted(month_batches(self._database, table, month))
            first = next(batches, None)
            if first is None:
                self._remove(table, partition)
            else:
                columns = month_columns(self._database, table)
                self._state.begin(table, partition)
                blocks = parquet_blocks(columns, chain([first], batches))
                version = self._files.write(_file(table, partition), blocks)
                self.written.setdefault(table, {})[partition] = self._rows - before
            self._state.set(table, partition, month.digest, self._rows - before, version)
        if changed:
            self._state.save()

    def remove_others(self, partitions: set[str], tables: Iterable[str]) -> None:
        """Remove months that have no records any more."""
        gone = [(table, old) for table in tables for old in self._state.partitions(table) - partitions]
        for table, partition in sorted(gone):
            self._remove(table, partition)
            self._state.forget(table, partition)
        if gone:
            self._state.save()

    def _remove(self, table: str, partition: str) -> None:
        if self._state.rows(table, partition):
            self._files.remove(_file(table, partition))
            self.removed.append(_file(table, partition))

    def _counted(self, batches: Iterator[RowBatch]) -> Iterator[RowBatch]:
        for batch in batches:
            self._rows += len(batch)
            yield batch
            if self._progress is not None:
                self._progress(self._rows)


class _State:
    """Which months are in a dataset, and from what they were made."""

    def __init__(self, files: DatasetFiles, target: str) -> None:
        self._files = files
        path = catalog_path()
        self._catalog = path.rpartition("@")[2] if is_server_url(path) else f"{host_name()}:{path}"
        self._tables = self._read(target)
        self._versions = files.versions() if self._tables else {}

    def _read(self, target: str) -> dict[str, dict[str, JsonObject]]:
        data = self._files.read(STATE)
        if data is None:
            return {}
        try:
            state = decode_json(data)
            if state["format"] != FORMAT:
                raise StoreError(f"{printable(target)} was written by another version of runcard")
            owner, tables = state["catalog"], state["tables"]
            _check_tables(tables)
        except (RuncardError, LookupError, TypeError, AttributeError, ValueError) as error:
            raise StoreError(
                f"{printable(target)} has a {STATE} that cannot be used",
                hint="export to another folder; or delete this one, and export again",
            ) from error
        if owner != self._catalog:
            raise StoreError(
                f"{printable(target)} is the dataset of another catalog: {printable(str(owner))}",
                hint="export to a folder of its own, or share one catalog on PostgreSQL",
            )
        return tables  # type: ignore[no-any-return]

    def is_current(self, table: str, partition: str, digest: str) -> bool:
        """Whether a month was written from this, and its file is the one that was written."""
        facts = self._tables.get(table, {}).get(partition, {})
        if facts.get("digest") != digest:
            return False
        return not facts["rows"] or facts.get("version") == self._versions.get(_file(table, partition), "")

    def begin(self, table: str, partition: str) -> None:
        """Note a new file before it is written, so that it is replaced or removed also if this is stopped."""
        if not self.rows(table, partition):
            self.set(table, partition, "", 1, None)
            self.save()

    def rows(self, table: str, partition: str) -> int:
        return int(self._tables.get(table, {}).get(partition, {}).get("rows", 0))

    def partitions(self, table: str) -> set[str]:
        return {*self._tables.get(table, {})}

    def set(self, table: str, partition: str, digest: str, rows: int, version: str | None) -> None:
        facts = {"digest": digest, "rows": rows, "version": version}
        self._tables.setdefault(table, {})[partition] = facts

    def forget(self, table: str, partition: str) -> None:
        del self._tables[table][partition]

    def save(self) -> None:
        state = {"format": FORMAT, "catalog": self._catalog, "tables": self._tables}
        self._files.write(STATE, [encode_json(state)])


def _check_tables(tables: dict[str, dict[str, JsonObject]]) -> None:
    """Raise an error for a state that another program changed: its names become paths."""
    for table, of_table in tables.items():
        for partition, facts in of_table.items():
            is_month = partition.replace("-", "").isascii() and partition.replace("-", "").isdigit()
            if table not in MONTH_TABLES or not (is_month or partition == _UNKNOWN):
                raise ValueError(partition)
            int(facts["rows"])
