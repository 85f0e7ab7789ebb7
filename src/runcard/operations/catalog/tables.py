"""Answers of the catalog as sequences of typed rows, and as tables of other libraries, which are imported on first use."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from runcard.errors import MachineError
from runcard.extras import missing_package, pip_command

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from runcard.catalog.columns import ColumnType

T = TypeVar("T")


class CatalogTable(Sequence[T], Generic[T]):
    """Rows, in their order."""

    def __init__(
        self,
        rows: Iterable[T],
        columns: "Sequence[tuple[str, ColumnType]]",
        values: Sequence[Sequence[Any]],
        total: int,
        unreachable: Sequence[str] = (),
        warning: str | None = None,
    ) -> None:
        self._rows, self._columns, self._values = tuple(rows), tuple(columns), values
        self.total = total  # rows without the limit
        self.unreachable_stores = tuple(unreachable)  # whose records are listed as they were
        self.warning = warning  # why the catalog is not up to date

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[T]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._rows):,} row{'' if len(self._rows) == 1 else 's'}>"

    def to_arrow(self) -> "pa.Table":
        """A table of pyarrow: costs are decimals, times are in UTC, unknown is null."""
        arrow = _load("pyarrow", "arrow")
        types = {
            "count": arrow.int64(),
            "cost": arrow.decimal128(38, 10),
            "time": arrow.timestamp("ms", tz="UTC"),
            "seconds": arrow.float64(),
            "flag": arrow.bool_(),
        }
        names = [name for name, _ in self._columns]
        arrays = []
        for (_, kind), cells in zip(self._columns, self._by_column(), strict=True):
            is_number = kind == "number" and not any(isinstance(cell, str) for cell in cells)
            own = types.get(kind, arrow.float64() if is_number else arrow.string())
            texts = kind == "text" or (kind == "number" and not is_number)
            arrays.append(arrow.array([_text(cell) for cell in cells] if texts else cells, own))
        return arrow.Table.from_arrays(arrays, names=names)

    def to_pandas(self) -> "pd.DataFrame":
        """A data frame of pandas: costs are floats, times are in UTC, unknown is NA, NaN or NaT."""
        pandas = _load("pandas")
        types = {"count": "Int64", "cost": "float64", "seconds": "float64", "flag": "boolean"}
        columns = {}
        for (name, kind), cells in zip(self._columns, self._by_column(), strict=True):
            if kind == "time":
                columns[name] = pandas.Series(pandas.to_datetime(cells, utc=True))
            elif kind in types:
                plain = [float(cell) if isinstance(cell, Decimal) else cell for cell in cells]
                columns[name] = pandas.Series(plain, dtype=types[kind])
            elif kind == "number" and not any(isinstance(cell, str) for cell in cells):
                columns[name] = pandas.Series(cells, dtype="float64")
            else:
                columns[name] = pandas.Series([_text(cell) for cell in cells], dtype="string")
        return pandas.DataFrame(columns)

    def _by_column(self) -> list[list[Any]]:
        return [[row[number] for row in self._values] for number in range(len(self._columns))]


def _text(value: object) -> str | None:
    return None if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _load(module: str, extra: str | None = None) -> Any:  # noqa: ANN401 - a module without types
    try:
        return import_module(module)
    except ImportError as error:
        if extra:
            raise missing_package("this table needs", module, extra) from error
        raise MachineError(f"{module} is not installed", hint=f"install it: {pip_command(module)}") from error
