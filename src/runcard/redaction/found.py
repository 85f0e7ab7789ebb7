"""A secret that was found in a text: where it was noticed, where it lies, and which rule knows it.

Invariant: whether something is found, and where it begins, is decided by the bytes from `BEHIND` before its anchor to
`AHEAD` after it, or to the end of the line; only its end may lie further on. So a text can be read in pieces.
"""

import re
from typing import NamedTuple

BEHIND = 256
AHEAD = 4096


class Found(NamedTuple):
    """One secret, from `start` to `end`, and on as far as `more` goes."""

    anchor: int  # where it was noticed, never after `start`
    start: int
    end: int
    rule: str
    more: re.Pattern[bytes] | None = None
