"""A place in a text where a secret may lie, and the secret that was found there.

A clue is cheap; it is judged only when the text before it is done with, for most clues lie in what is masked already.

Invariant: what comes of a clue is decided by the bytes from `BEHIND` before its start to `AHEAD` after it, or to the
end of the line; only where a secret ends may lie further on. So a text can be read in pieces.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

REACH = 192  # at most so far behind the bytes that give a clue lies its start
BEHIND = 512
AHEAD = 4096


class SecretMatch(NamedTuple):
    """One secret, from `start` to `end`, and on as far as `more` goes."""

    start: int
    end: int
    rule: str
    more: re.Pattern[bytes] | None = None


class SecretCandidate(NamedTuple):
    """A place before which the secret does not begin, and how to find out whether there is one."""

    start: int
    judge: Callable[[], SecretMatch | None]


class BlockMatches(NamedTuple):
    """Secrets over many lines, and where one begins that cannot be judged before more of the text is there."""

    clues: list[SecretCandidate]
    waiting: int | None
