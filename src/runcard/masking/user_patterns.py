"""The user's own patterns of secrets, from the settings.

They apply to everything that this process masks from then on. `pattern_safety` checks which patterns are allowed.

Invariants: a user's pattern never masks a mark, and never matches beyond a line. A built-in rule cannot be replaced.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from runcard.masking.marks import MARK
from runcard.masking.matches import SecretMatch
from runcard.masking.rules import RULES

_MAX_MARK = 128  # bytes

_patterns: tuple["UserPattern", ...] = ()


class UserPattern(NamedTuple):
    """The name of a rule, and a pattern that `safe_pattern` allows."""

    name: str
    pattern: str


def use_patterns(patterns: Iterable[UserPattern]) -> None:
    """Also mask what these patterns match, instead of those used before."""
    global _patterns  # noqa: PLW0603 - secrets are masked in many places, and all must use them
    _patterns = tuple(patterns)


def active_patterns() -> tuple[UserPattern, ...]:
    return _patterns


def rule_names() -> tuple[str, ...]:
    """The names of all rules, including the user's."""
    return (*RULES, *(pattern.name for pattern in _patterns))


def find_user_secrets(patterns: Iterable[UserPattern], text: bytes, begin: int) -> Iterator[SecretMatch]:
    for name, pattern in patterns:
        compiled, at = _compiled(pattern), begin
        while match := compiled.search(text, at):
            at = match.start() + 1
            if not _touches_mark(text, match.start(), match.end()):
                yield SecretMatch(match.start(), match.end(), name)


def may_need_masking(text: bytes) -> bool:
    """Whether a user's pattern might mask anything in `text`."""
    return any(_compiled(pattern.pattern).search(text) for pattern in _patterns)


@cache
def _compiled(pattern: str) -> re.Pattern[bytes]:
    from runcard.masking.pattern_safety import safe_pattern  # noqa: PLC0415 - few users have own patterns

    return re.compile(safe_pattern(pattern).encode("ascii"))


def _touches_mark(text: bytes, start: int, end: int) -> bool:
    mark = text.rfind(MARK.encode("ascii"), max(0, start - _MAX_MARK), end + len(MARK) - 1)
    return mark >= 0 and text.find(b"]", mark) >= start
