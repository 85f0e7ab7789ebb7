"""The user's own patterns, by name: what the settings add to the rules.

They count for everything that this process masks from then on. `safe_patterns.py` says which patterns are allowed.

Invariants: an own pattern never masks a mark, and never looks beyond a line. A built-in rule cannot be replaced.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import NamedTuple

from runcard.masking.marks import MARK
from runcard.masking.matches import SecretCandidate, SecretMatch
from runcard.masking.rules import RULES

_LONGEST_MARK = 128  # names of rules are not longer

_patterns: tuple["UserPattern", ...] = ()


class UserPattern(NamedTuple):
    """A name, which becomes that of a rule, and a pattern that `safe_patterns.safe` allows."""

    name: str
    pattern: str


def use_patterns(patterns: Iterable[UserPattern]) -> None:
    """Mask what these patterns match too, in place of those that were used before."""
    global _patterns  # noqa: PLW0603 - secrets are masked in many places, and none may forget to ask
    _patterns = tuple(patterns)


def active_patterns() -> tuple[UserPattern, ...]:
    return _patterns


def rule_names() -> tuple[str, ...]:
    """The names of all rules that count now."""
    return (*RULES, *(own.name for own in _patterns))


def find_user_secrets(patterns: Iterable[UserPattern], text: bytes, begin: int) -> Iterator[SecretCandidate]:
    for name, pattern in patterns:
        compiled, at = _compiled(pattern), begin
        while match := compiled.search(text, at):
            at = match.start() + 1
            if not _touches_mark(text, match.start(), match.end()):
                yield SecretCandidate(match.start(), partial(SecretMatch, match.start(), match.end(), name))


def may_need_masking(text: bytes) -> bool:
    """Whether an own pattern might mask anything in `text`."""
    return any(_compiled(own.pattern).search(text) for own in _patterns)


@cache
def _compiled(pattern: str) -> re.Pattern[bytes]:
    from runcard.masking.pattern_safety import safe  # noqa: PLC0415 - few have patterns of their own

    return re.compile(safe(pattern).encode("ascii"))


def _touches_mark(text: bytes, start: int, end: int) -> bool:
    mark = text.rfind(MARK.encode("ascii"), max(0, start - _LONGEST_MARK), end + len(MARK) - 1)
    return mark >= 0 and text.find(b"]", mark) >= start
