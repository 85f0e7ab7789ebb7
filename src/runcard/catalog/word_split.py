"""Texts as the words that search finds, split as SQLite does it, so that both databases find the same.

A word is a run of letters and digits, in lower case and without accents. ASCII texts are split here; for all others SQLite is asked.
"""

import re
from functools import lru_cache
from sqlite3 import Connection, connect

from runcard.catalog.engine import words_of

_ASCII_WORD = re.compile(r"[a-z0-9]+")


def split_words(text: str) -> list[str]:
    """The words of a text, in their order."""
    return _ASCII_WORD.findall(text.lower()) if text.isascii() else _split_by_sqlite(text)


def phrases_to_find(text: str) -> list[list[str]]:
    """What is searched for: the words of each part between spaces, which must follow each other. The last may go on."""
    return [split_words(part) for part in words_of(text)]


def _split_by_sqlite(text: str) -> list[str]:
    database = _splitter()
    database.execute("DELETE FROM asked")
    database.execute("INSERT INTO asked (rowid, text) VALUES (1, ?)", (text,))
    return [term for (term,) in database.execute("SELECT term FROM asked_terms ORDER BY offset")]


@lru_cache(maxsize=1)
def _splitter() -> Connection:
    database = connect(":memory:", isolation_level=None, check_same_thread=False)
    database.execute("CREATE VIRTUAL TABLE asked USING fts5(text)")
    database.execute("CREATE VIRTUAL TABLE asked_terms USING fts5vocab('asked', 'instance')")
    return database
