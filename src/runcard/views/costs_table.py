"""The costs of calls as a table for people, and as CSV for a spreadsheet.

With a width the table fits into it: numbers are shortened first, then names. Without one nothing is cut.
"""

import csv
import io
from collections.abc import Callable, Sequence
from decimal import Decimal

from runcard.accounting import PriceRow, json_number
from runcard.files import printable
from runcard.views.formats import money, money_at_least
from runcard.views.screen_parts import columns_of, fit

UNATTRIBUTED = "unattributed"
_NAMES = {"cache_read": "cache read", "cache_write": "cache write"}
_SHOWN = ("input", "output", "cache_read", "cache_write")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a text begins that a spreadsheet would run
_NARROWEST = 8  # columns of a name that is cut
_GAP = "  "
_RATES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")

TokenCount = tuple[int | None, int]  # all of them, if known, and the known part
CostRow = tuple[Sequence[str | None], int, dict[str, TokenCount], Decimal | None, Decimal]


def costs_table(by: Sequence[str], rows: Sequence[CostRow], total: CostRow, width: int | None) -> list[str]:
    """A line for each row, under a heading, and one for the total."""
    heading = [*by, "calls", *(_NAMES.get(name, name) for name in _SHOWN), "cost"]
    lines: list[list[str]] = []
    for count_text in (_full, _short):
        lines = [heading, *(_cells(row, count_text) for row in rows)]
        if by:
            lines.append(
                _cells(((*("total" if not n else "" for n in range(len(by))),), *total[1:]), count_text)
            )
        elif not rows:
            lines.append(_cells(total, count_text))
        if width is None or _width(lines) <= width:
            break
    return _aligned(lines, len(by), width)


def _cells(row: CostRow, count_text: Callable[[int], str]) -> list[str]:
    key, calls, tokens, cost, known = row
    counts = [_count(tokens[name], count_text) for name in _SHOWN]
    names = [UNATTRIBUTED if value is None else printable(value) for value in key]
    return [*names, count_text(calls), *counts, _cost(cost, known)]


def _count(count: TokenCount, count_text: Callable[[int], str]) -> str:
    all_of_it, known = count
    if all_of_it is not None:
        return count_text(all_of_it)
    return f"≥ {count_text(known)}" if known else "unknown"


def _cost(cost: Decimal | None, known: Decimal) -> str:
    """What the calls cost at least: others are in no session file."""
    if known:
        return money_at_least(float(known))
    return "unknown" if cost is None else money(0)


def _full(count: int) -> str:
    return f"{count:,}"


def _short(count: int) -> str:
    """`12.3M`, rounded down."""
    for size, unit in ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count * 10 // size / 10:g}{unit}"
    return str(count)


def _width(lines: list[list[str]]) -> int:
    return sum(_widths(lines)) + len(_GAP) * (len(lines[0]) - 1)


def _widths(lines: list[list[str]]) -> list[int]:
    return [max(map(columns_of, cells)) for cells in zip(*lines, strict=True)]


def _aligned(lines: list[list[str]], names: int, width: int | None) -> list[str]:
    widths = _widths(lines)
    while width is not None and sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        longest = max(range(names), key=lambda column: widths[column], default=0)
        if not names or widths[longest] <= _NARROWEST:
            break
        widths[longest] -= 1
    aligned = []
    for cells in lines:
        texts = [
            _left(cell, size) if column < names else " " * (size - columns_of(cell)) + cell
            for column, (cell, size) in enumerate(zip(cells, widths, strict=True))
        ]
        aligned.append(_GAP.join(texts).rstrip())
    return aligned


def _left(cell: str, size: int) -> str:
    """A name; a path that is too long keeps its end."""
    if columns_of(cell) <= size or "/" not in cell:
        return fit(cell, size)
    end = cell
    while columns_of(end) > size - 1:
        end = end[1:]
    return fit(f"…{end}", size)


def price_lines(rows: Sequence[PriceRow]) -> list[str]:
    """The price rows that were used: a line for each source, and one for each row."""
    lines: list[str] = []
    for source in sorted({(row.source, row.as_of) for row in rows}):
        own = [row for row in rows if (row.source, row.as_of) == source]
        lines.append(f"Prices of {printable(source[0])}, {source[1]}, in US dollars for a million tokens:")
        table = [["", *(name.replace("_", " ") for name in _RATES)]]
        table += [[f"  {_row_name(row)}", *(_rate(row, name) for name in _RATES)] for row in own]
        lines += _aligned(table, 1, None)
    return lines


def _row_name(row: PriceRow) -> str:
    tier = f" ({row.service_tier})" if row.service_tier else ""
    size = f" above {row.tier.above_input_tokens:,} input tokens" if row.tier else ""
    return printable(f"{row.model}{tier}{size}")


def _rate(row: PriceRow, name: str) -> str:
    rate = getattr(row.rates, name)
    return "–" if rate is None else f"{json_number(rate):g}"


def csv_text(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """CSV for a spreadsheet. A text that it would take for a formula begins with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([[csv_cell(value) for value in row] for row in rows])
    return out.getvalue()


def csv_cell(value: object) -> object:
    """A value as `csv_text` writes it."""
    if isinstance(value, str):
        text = printable(value)
        return f"'{text}" if text.startswith(_FORMULA) else text
    return "" if value is None else value
