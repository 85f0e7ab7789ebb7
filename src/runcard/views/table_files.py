"""A table as the blocks of a file: CSV, JSON Lines or Parquet.

Blocks are made as batches of rows come, so the size of the table does not matter. Costs are exact in all of them, times are
UTC, and unknown values are null; in CSV they are empty.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from json.encoder import encode_basestring, encode_basestring_ascii
from math import isfinite
from typing import TYPE_CHECKING, Any

from runcard.documents.times import format_time_ms
from runcard.errors import MachineError, StoreError
from runcard.extras import missing_package
from runcard.views.costs_table import csv_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runcard.catalog.columns import ColumnType
    from runcard.catalog.export import RowBatch, TypedColumn

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ROW_GROUP = 100_000  # rows of a Parquet file that are read together
_COST_DIGITS = (19, 10)  # of all numbers of 64 bits, and those after the point


class NoArrowError(MachineError):
    """pyarrow is not installed."""


def _time(milliseconds: int) -> str | None:
    try:
        return format_time_ms(_EPOCH + timedelta(milliseconds=milliseconds))
    except OverflowError:
        return None


def _dollars(units: int) -> str:
    return f"{Decimal(units).scaleb(-10).normalize():f}"


def _flag(value: int) -> str:
    return "true" if value else "false"


def csv_blocks(columns: "Sequence[TypedColumn]", batches: "Iterable[RowBatch]") -> Iterator[bytes]:
    """CSV for spreadsheets and databases; texts are as in every CSV of runcard."""
    writers: dict[ColumnType, Callable[[Any], object]] = {
        "text": csv_cell,
        "cost": _dollars,
        "time": _time,
        "flag": _flag,
    }
    yield _csv_lines([[column.name for column in columns]])
    for batch in batches:
        yield _csv_lines(_written(columns, batch, writers, None))


def _csv_lines(rows: Iterable[Iterable[object]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


def json_blocks(columns: "Sequence[TypedColumn]", batches: "Iterable[RowBatch]") -> Iterator[bytes]:
    """JSON Lines: an object for each row, with all columns."""
    writers: dict[ColumnType, Callable[[Any], object]] = {
        "text": _json_text,
        "cost": _dollars,
        "time": lambda value: "null" if (text := _time(value)) is None else f'"{text}"',
        "flag": _flag,
        "seconds": _json_number,
        "number": _json_number,
    }
    template = "{{" + ",".join(f'"{column.name}":{{}}' for column in columns) + "}}\n"
    for batch in batches:
        lines = (template.format(*row) for row in _written(columns, batch, writers, "null"))
        yield "".join(lines).encode()


def _json_text(text: str) -> str:
    """A text in quotes; escaped where a terminal could act on a character, or hide it."""
    return encode_basestring(text) if text.isprintable() else encode_basestring_ascii(text)


def _json_number(value: float) -> object:
    return value if isfinite(value) else "null"


def _written(
    columns: "Sequence[TypedColumn]",
    batch: "RowBatch",
    writers: "dict[ColumnType, Callable[[Any], object]]",
    null: str | None,
) -> Iterator[tuple[object, ...]]:
    """The rows of a batch with each value as its column's type is written."""
    changed = []
    for column, values in zip(columns, zip(*batch, strict=True), strict=True):
        write = writers.get(column.type)
        if write is None:
            changed.append([null if value is None else value for value in values])
        else:
            changed.append([null if value is None else write(value) for value in values])
    return zip(*changed, strict=True)


def parquet_blocks(columns: "Sequence[TypedColumn]", batches: "Iterable[RowBatch]") -> Iterator[bytes]:
    """Parquet, with decimals for costs and times of UTC; raises NoArrowError at once without pyarrow."""
    try:
        import pyarrow  # noqa: ICN001, F401, PLC0415 - an extra, and heavy
    except ImportError as error:
        raise missing_package("Parquet needs", "pyarrow", "arrow", NoArrowError) from error
    return _parquet_blocks(columns, batches)


def _parquet_blocks(columns: "Sequence[TypedColumn]", batches: "Iterable[RowBatch]") -> Iterator[bytes]:
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow.parquet import ParquetWriter  # noqa: PLC0415

    schema = pa.schema([(column.name, _arrow_type(column.type)) for column in columns])
    sink = _Sink()
    with ParquetWriter(sink, schema, compression="zstd") as writer:
        waiting: list[Any] = []
        for batch in batches:
            waiting.append(_record_batch(columns, batch, schema))
            if sum(map(len, waiting)) >= _ROW_GROUP:
                writer.write_table(pa.Table.from_batches(waiting, schema), row_group_size=_ROW_GROUP)
                waiting.clear()
            yield from sink.take()
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting, schema), row_group_size=_ROW_GROUP)
    yield from sink.take()


def _arrow_type(kind: "ColumnType") -> Any:  # noqa: ANN401 - pyarrow has no types
    import pyarrow as pa  # noqa: PLC0415

    if kind == "time":
        return pa.timestamp("ms", tz="UTC")
    if kind == "cost":
        return pa.decimal128(*_COST_DIGITS)
    return {"text": pa.string(), "count": pa.int64(), "flag": pa.bool_()}.get(kind, pa.float64())


def _record_batch(columns: "Sequence[TypedColumn]", batch: "RowBatch", schema: Any) -> Any:  # noqa: ANN401
    import pyarrow as pa  # noqa: PLC0415

    arrays = []
    for column, values in zip(columns, zip(*batch, strict=True), strict=True):
        try:
            arrays.append(_arrow_array(column.type, values))
        except (pa.ArrowException, OverflowError, TypeError) as error:
            raise StoreError(
                f"the catalog has a wrong value in {column.name}: {error}",
                hint="run: runcard index --rebuild",
            ) from error
    return pa.record_batch(arrays, schema=schema)


def _arrow_array(kind: "ColumnType", values: tuple[Any, ...]) -> Any:  # noqa: ANN401
    import pyarrow as pa  # noqa: PLC0415

    if kind == "cost":  # the same digits, with a point
        digits, places = _COST_DIGITS
        whole = pa.array(values, pa.int64()).cast(pa.decimal128(digits, 0))
        return whole.view(pa.decimal128(digits, places))
    if kind == "flag":
        return pa.array([None if value is None else bool(value) for value in values], pa.bool_())
    return pa.array(values, _arrow_type(kind))


class _Sink:
    """The file that pyarrow writes to: it keeps the blocks until they are taken."""

    closed = False

    def __init__(self) -> None:
        self._blocks: list[bytes] = []
        self._at = 0

    def write(self, data: bytes) -> int:
        self._blocks.append(bytes(data))
        self._at += len(data)
        return len(data)

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        self.closed = True

    def take(self) -> list[bytes]:
        """The blocks since the last call."""
        taken, self._blocks = self._blocks, []
        return taken
