"""Secrets in a text: candidates, and matches.

A candidate is cheap. It is checked only when the text before it is finished: most candidates are in text that is masked
already.

Invariant: the check of a candidate depends on the bytes from `BEHIND` before its start to `AHEAD` after it, or to the end of
the line; only the end of a secret may be further away. So a text can be read in pieces.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

REACH = 192  # the start of a candidate is at most so many bytes before what was searched
BEHIND = 512
AHEAD = 4096


class SecretMatch(NamedTuple):
    """One secret, from `start` to `end`, and then as far as `more` matches."""

    start: int
    end: int
    rule: str
    more: re.Pattern[bytes] | None = None


class SecretCandidate(NamedTuple):
    """A position where a secret may start, and the check whether there is one."""

    start: int
    check: Callable[[], SecretMatch | None]


class BlockMatches(NamedTuple):
    """Secrets over many lines, and where one starts that needs more text to be checked."""

    candidates: list[SecretCandidate]
    incomplete: int | None
