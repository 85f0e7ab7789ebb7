"""The costs of calls as a table for people, and as CSV for a spreadsheet.

With a width the table fits into it: numbers are shortened first, then names. Without one nothing is cut.
"""

import csv
import io
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import NamedTuple

from runcard.accounting import PriceRow, json_number
from runcard.files import printable
from runcard.views.formats import money, money_at_least
from runcard.views.screen_parts import columns_of, fit

UNATTRIBUTED = "unattributed"
_NAMES = {"cache_read": "cache read", "cache_write": "cache write"}
_SHOWN = ("input", "output", "cache_read", "cache_write")
_FORMULA = (
    *("=", "+", "-", "@", "\t", "\r"),  # how a text begins that a spreadsheet would run
    *("\uff1d", "\uff0b", "\uff0d", "\uff20"),  # the same in full width
)
_NARROWEST = 8  # columns of a name that is cut
_SHORTEST_BAR, _LONGEST_BAR = 4, 20
_BAR, _EIGHTHS = "█", ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
_GAP = "  "
_RATES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")

TokenCount = tuple[int | None, int]  # all of them, if known, and the known part


class CostRow(NamedTuple):
    """The calls with the same key, and what they cost."""

    key: Sequence[str | None]
    calls: TokenCount
    tokens: dict[str, TokenCount]
    cost: Decimal | None  # None: a part is unknown
    known_cost: Decimal
    is_at_least: bool  # it may have cost more
    has_more: bool = False  # there may be more calls


def costs_table(by: Sequence[str], rows: Sequence[CostRow], total: CostRow, width: int | None) -> list[str]:
    """A line for each row, under a heading, and one for the total. A terminal with room left has a bar for each cost."""
    heading = [*by, "calls", *(_NAMES.get(name, name) for name in _SHOWN), "cost"]
    lines: list[list[str]] = []
    for count_text in (_full, _short):
        lines = [heading, *(_cells(row, count_text) for row in rows)]
        if by:
            key = [*("total" if not n else "" for n in range(len(by)))]
            lines.append(_cells(total._replace(key=key), count_text))
        elif not rows:
            lines.append(_cells(total, count_text))
        if width is None or _width(lines) <= width:
            break
    aligned = _aligned(lines, len(by), width)
    room = 0 if width is None else min(_LONGEST_BAR, width - max(map(columns_of, aligned)) - len(_GAP))
    return aligned if room < _SHORTEST_BAR or not by else _with_bars(aligned, rows, room)


def _with_bars(lines: list[str], rows: Sequence[CostRow], room: int) -> list[str]:
    """Lines with a bar for each cost that is known; the largest takes all of the room."""
    largest = max((row.known_cost for row in rows), default=Decimal(0))
    if not largest:
        return lines
    heading, *rest = lines
    parts = [int(row.known_cost * room * len(_EIGHTHS) / largest) for row in rows]
    bars = [_BAR * (part // len(_EIGHTHS)) + _EIGHTHS[part % len(_EIGHTHS)] for part in parts]
    barred = [f"{line}{_GAP}{bar}".rstrip() for line, bar in zip(rest, bars, strict=False)]
    return [heading, *barred, *rest[len(barred) :]]


def _cells(row: CostRow, count_text: Callable[[int], str]) -> list[str]:
    counts = [
        _count(count, count_text, at_least=row.has_more)
        for count in (row.calls, *(row.tokens[name] for name in _SHOWN))
    ]
    names = [UNATTRIBUTED if value is None else printable(value) for value in row.key]
    return [*names, *counts, _cost(row)]


def _count(count: TokenCount, count_text: Callable[[int], str], *, at_least: bool) -> str:
    all_of_it, known = count
    if all_of_it is not None:
        return f"{'≥ ' if at_least else ''}{count_text(all_of_it)}"
    return f"≥ {count_text(known)}" if known else "unknown"


def _cost(row: CostRow) -> str:
    """What the calls cost; at least, where a part is unknown, or further calls are in no file."""
    if row.cost is None and not row.known_cost:
        return "unknown"
    text = money_at_least if row.is_at_least or row.cost is None else money
    return text(float(row.known_cost))


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
