"""Secrets in a text.

Invariant: whether there is a secret depends on the bytes from `BEHIND` before its start to `AHEAD` after it, or to the end of
the line; only the end of a secret may be further away. So a text can be read in pieces.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

REACH = 192  # the start of a secret is at most so many bytes before what was searched
BEHIND = 512
AHEAD = 4096


class SecretMatch(NamedTuple):
    """One secret, from `start` to `end`, and then as far as `more` matches."""

    start: int
    end: int
    rule: str
    more: re.Pattern[bytes] | None = None


ValueCheck = Callable[[bytes, int], SecretMatch | None]  # of a text, and where a value starts in it


class LateCheck(NamedTuple):
    """A check that takes long, and so is made only if no secret before it covers the value.

    A header's value goes to the end of its line: a hostile line has thousands of them, and all but the first are in it.
    """

    check: ValueCheck


# A secret and its place: its start, or the start of the value that it is a part of. The first place in a text counts first.
FoundSecret = tuple[int, SecretMatch | LateCheck]


class BlockMatches(NamedTuple):
    """Secrets over many lines, and where one starts that needs more text to be checked."""

    secrets: list[SecretMatch]
    incomplete: int | None
