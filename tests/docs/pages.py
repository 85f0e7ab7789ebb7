"""The pages of the documentation as data: their blocks, tables, headings and links.

It reads as much Markdown as our pages use: fenced blocks that begin in the first column, and tables with a header.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

_FENCE = re.compile(r"^```(\w*) *(.*)\n((?:.*\n)*?)^```$", re.MULTILINE)
_CELL = re.compile(r"(?<!\\)\|")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)

Row = dict[str, str]


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the words after it, its text, and the line in the page where the text begins."""

    language: str
    words: tuple[str, ...]
    text: str
    line: int


def name(page: Path) -> str:
    """How a page is called in the name of a test."""
    return str(page.relative_to(ROOT))


def blocks(page: Path, *languages: str) -> list[Block]:
    text = page.read_text("utf-8")
    found = [
        Block(match[1], tuple(match[2].split()), match[3], text.count("\n", 0, match.start()) + 2)
        for match in _FENCE.finditer(text)
    ]
    return [block for block in found if not languages or block.language in languages]


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return _FENCE.sub("", page.read_text("utf-8"))


def rows(page: Path, *header: str) -> list[Row]:
    """The rows of all tables whose header begins with these words, in the order of the page."""
    found: list[Row] = []
    columns: list[str] = []
    for line in prose(page).splitlines():
        if not line.startswith("|"):
            columns = []
            continue
        cells = [cell.strip().replace("\\|", "|") for cell in _CELL.split(line)[1:-1]]
        if not columns:
            columns = cells
        elif tuple(columns[: len(header)]) == header and not set(line) <= set("|-: "):
            found.append(dict(zip(columns, cells, strict=True)))
    return found


def code(cell: str) -> str:
    """The text of a cell that is one code span."""
    match = re.fullmatch(r"`` ?(.+?) ?``|`([^`]+)`", cell)
    assert match is not None, f"not a code span: {cell}"
    return str(match[1] or match[2])


def headings(page: Path) -> list[str]:
    return [match[1] for match in _HEADING.finditer(prose(page))]


def anchors(page: Path) -> set[str]:
    """The fragments that links to this page may have, made as GitHub makes them."""
    found: set[str] = set()
    for heading in headings(page):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number = 1
        anchor = slug
        while anchor in found:
            anchor = f"{slug}-{number}"
            number += 1
        found.add(anchor)
    return found


def links(page: Path) -> list[str]:
    """The targets of all links in the text, code spans left out."""
    return _LINK.findall(re.sub(r"`[^`\n]*`", "", prose(page)))
