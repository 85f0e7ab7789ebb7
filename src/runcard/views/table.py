"""A table for people: numbers on the right, texts on the left. With a width it fits into it; without one nothing is cut."""

from collections.abc import Sequence

from runcard.files import printable
from runcard.views.screen_parts import columns_of, fit

_GAP = "  "
_NARROWEST = 8  # columns of a text that is cut


def table_lines(
    heading: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Sequence[bool],
    width: int | None,
    least: Sequence[int] = (),
) -> list[str]:
    """The lines of a table; `numbers` says which columns are numbers. Texts are cut first where they are longest, but
    not to fewer columns than `least` says of each.
    """
    lines = [list(heading), *([printable(cell) for cell in row] for row in rows)]
    widths = [max(map(columns_of, cells)) for cells in zip(*lines, strict=True)]
    while width is not None and sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        texts = [number for number, is_number in enumerate(numbers) if not is_number]
        cuttable = [number for number in texts if widths[number] > (least[number] if least else _NARROWEST)]
        longest = max(cuttable, key=lambda number: widths[number], default=None)
        if longest is None:
            break
        widths[longest] -= 1
    return [_GAP.join(map(_cell, line, widths, numbers)).rstrip() for line in lines]


def least_width(cells: Sequence[str], *, is_id: bool) -> int:
    """How far a column of texts can be cut. Ids stay different, so that what is left of one still names it."""
    distinct = set(cells)
    longest = max(map(len, cells), default=0)
    width = _NARROWEST
    while is_id and width < longest and len({cell[: width - 1] for cell in distinct}) < len(distinct):
        width += 1
    return width


def _cell(text: str, width: int, is_number: bool) -> str:  # noqa: FBT001 - mapped over columns
    return " " * (width - columns_of(text)) + text if is_number else fit(text, width)
