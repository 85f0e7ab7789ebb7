"""Sections that many documents repeat word for word: parsed and written once, then copied.

The plans of a project all list the same factories, which are most of their text. The text of such a section, or its data, is
looked up among the last few; only the rest of the document is parsed or written.

A section is a top-level key of a document in block style, with its value on indented lines. To parse the rest, a marker
takes the place of that value. If the marker is then the value of the top-level key, the parser was at the start of a
member of the root when it met the section, so the lines of the section mean what they mean in a document of their own.

Invariant: the data and the bytes are the same as without a section. Two results never share a list or map.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from runcard.encoding.json.types import JsonObject

_MARKER = "runcard-repeated-section"  # as a value: a text in one word
SIZES = range(500, 1_000_000)  # characters: shorter ones are not worth it, longer ones not worth the memory
_CACHED = 4  # sections
# The start of a document in block style: its first key is at the start of a line.
_BLOCK_STYLE = re.compile(r"(?:---\n)?(?:#[\t -~]*\n|\n)*[A-Za-z_]")
_NEXT_MEMBER = re.compile(r"\n(?=[^ \n])")


class SectionText(NamedTuple):
    """A section of a document: its text, and the text of the document with a marker for its value."""

    key: str
    text: str
    rest: str

    def join(self, rest: object, section: object) -> JsonObject | None:
        """The data of the document from those of its parts; None if it must be parsed as a whole."""
        if not isinstance(rest, dict) or rest.get(self.key) != _MARKER:
            return None
        if not isinstance(section, dict) or list(section) != [self.key]:
            return None
        rest[self.key] = section[self.key]
        return rest


def find_section(text: str, key: str) -> SectionText | None:
    """The section of a document; None if it is absent, or not worth a separate look."""
    start = text.find(f"\n{key}:\n") + 1
    if not start or _MARKER in text or not _BLOCK_STYLE.match(text):
        return None
    following = _NEXT_MEMBER.search(text, start + len(key))
    end = following.end() if following else len(text)
    if end - start not in SIZES:
        return None
    return SectionText(key, text[start:end], f"{text[:start]}{key}: {_MARKER}\n{text[end:]}")


cached = lru_cache(maxsize=_CACHED)
