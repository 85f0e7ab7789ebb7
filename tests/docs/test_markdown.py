"""Tables and lists are rendered as they are meant: no blank line breaks them apart."""

import itertools
import re
from pathlib import Path

import pytest

from docs.pages import PAGES, name, prose

_DELIMITER = re.compile(r"\|( *:?-+:? *\|)+")
_ITEM = re.compile(r"^(?:[*-]|\d+\.) ", re.MULTILINE)


def broken_tables(text: str) -> list[str]:
    """The first lines of all blocks of table rows that have no header."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        lines = block.splitlines()
        if len(lines) < 2 or not _DELIMITER.fullmatch(lines[1]):
            found.append(lines[0])
    return found


def split_lists(text: str) -> list[str]:
    """The first lines of all list items after a blank line, where other items of the list have none before them."""
    blocks = text.split("\n\n")
    return [
        block.splitlines()[0]
        for before, block in itertools.pairwise(blocks)
        if _ITEM.match(before) and _ITEM.match(block) and len(_ITEM.findall(before + "\n" + block)) > 2
    ]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_table_and_no_list_is_broken_by_a_blank_line(page: Path) -> None:
    assert broken_tables(prose(page)) == []
    assert split_lists(prose(page)) == []


def test_a_break_is_found() -> None:
    assert broken_tables("| a | b |\n|---|---|\n| 1 | 2 |\n\n| 3 | 4 |\n") == ["| 3 | 4 |"]
    assert split_lists("* one\n  and more\n* two\n\n* three\n") == ["* three"]
    assert split_lists("* one\n\n* two\n\n* three\n") == []
