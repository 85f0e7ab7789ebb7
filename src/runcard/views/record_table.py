"""The cells of a list of records."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from runcard.encoding import JsonObject
from runcard.files import printable, shell_word
from runcard.views.formats import money, money_at_least, short_duration
from runcard.views.screen_parts import columns_of
from runcard.views.table import least_width, table_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runcard.catalog.columns import Column

_BEFORE = 40  # characters that are shown before a match
_FIGURES = frozenset({"calls", "tokens", "input", "output", "cache_read", "cache_write", "reasoning"})
_IDS = frozenset({"id", "session", "run"})
_LEFT_OUT = (
    "title",
    "kind",
    "role",
    "duration",
    "instances",
    "experiment",
    "valid",
    "path",
)  # of a table that is too wide, in this order


def record_lines(
    columns: "Sequence[Column]", rows: "Sequence[JsonObject]", width: int | None = None
) -> list[str]:
    """The lines of a table of records; see `table_lines`."""
    cells = [record_cells(row, columns) for row in rows]
    numbers = [_is_number(column, rows) for column in columns]
    texts = zip(*cells, strict=True)
    least = [_least_width(column, own) for column, own in zip(columns, texts, strict=True)]
    return table_lines([column.name for column in columns], cells, numbers, width, least)


def short_table(
    columns: "Sequence[Column]", rows: "Sequence[JsonObject]", width: int | None = None
) -> list[str]:
    """The lines of a table of records; where it is wider than `width`, without some of its columns."""
    lines = record_lines(columns, rows, width)
    for name in _LEFT_OUT:
        if width is None or max(map(columns_of, lines)) <= width:
            break
        columns = [column for column in columns if column.name != name]
        lines = record_lines(columns, rows, width)
    return lines


def _least_width(column: "Column", texts: "Sequence[str]") -> int:
    return max(map(len, texts)) if column.type == "time" else least_width(texts, is_id=column.name in _IDS)


def with_values(columns: "Sequence[Column]", rows: "Sequence[JsonObject]") -> "list[Column]":
    """The columns in which a record has a value."""
    return [column for column in columns if any(_cell(row, column.name, column.type) for row in rows)]


def experiment_runs(
    name: str,
    columns: "Sequence[Column]",
    values: "Sequence[Column]",
    rows: "Sequence[JsonObject]",
    total: int,
    width: int | None = None,
) -> list[str]:
    """The last runs of an experiment, with the values by which they differ: with a width, those that fit into it."""
    if not rows:
        return []
    columns, shown = with_values(columns, rows), len(values)
    lines = record_lines([*columns, *values], rows, width)
    while width is not None and shown and max(map(columns_of, lines)) > width:
        shown -= 1
        lines = (record_lines if shown else short_table)([*columns, *values[:shown]], rows, width)
    if len(rows) < total:
        lines.append(
            f"… and {total - len(rows):,} more: list them: runcard ls runs --experiment {shell_word(name)}"
        )
    if left_out := [column.name for column in values[shown:]]:
        lines.append(f"They also differ in {', '.join(map(printable, left_out))}")
    return lines


def around(text: str, place: int) -> str:
    """A text that begins shortly before a place, for a screen that shows the beginning of it."""
    return text.lstrip() if place <= _BEFORE else "…" + text[place - _BEFORE // 2 :]


def _is_number(column: "Column", rows: "Sequence[JsonObject]") -> bool:
    if column.type in {"text", "time", "flag"}:
        return False
    return not any(isinstance(row[column.name], str) for row in rows)


def record_cells(row: JsonObject, columns: "Sequence[Column]") -> list[str]:
    """The cells of one record."""
    return [_cell(row, column.name, column.type) for column in columns]


def _cell(row: JsonObject, name: str, kind: str) -> str:
    value: Any = row[name]
    if name == "cost":
        return cost_cell(row)
    if name == "status" and row.get("problem"):
        return "unreadable"
    if name == "tokens" and value is None and row.get("known_tokens"):
        return f"≥ {row['known_tokens']:,}"
    if value is None:
        return ""
    if kind == "cost":
        return money(value)
    if kind == "time":
        return local_time(value)
    if kind == "seconds":
        return short_duration(int(value)) if value >= 1 else "<1s"
    if kind == "count":
        return f"≥ {value:,}" if name in _FIGURES and row.get("incomplete") else f"{value:,}"
    if kind == "flag":
        return "yes" if value else ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def cost_cell(row: JsonObject) -> str:
    """A cost; "at least" where a part of it is unknown."""
    cost, known = row.get("cost"), row.get("known_cost")
    if cost is not None and not row.get("at_least"):
        return money(cost)
    amount = cost if cost is not None else known
    if amount is None:
        return "unknown" if row.get("calls") or row.get("tokens") else ""
    return "unknown" if cost is None and not amount else money_at_least(amount)


def local_time(text: str) -> str:
    """A time to the minute, in the local time zone."""
    try:
        return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError):
        return text
