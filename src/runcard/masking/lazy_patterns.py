"""Patterns that are compiled on first use, so that importing this package is cheap."""

import re
from collections.abc import Iterable
from functools import cache

_FILTERED = 64 * 1024  # bytes: searching these for literals takes less time than compiling


@cache
def bytes_pattern(source: bytes) -> re.Pattern[bytes]:
    return re.compile(source)


@cache
def text_pattern(source: str) -> re.Pattern[str]:
    """Character classes match ASCII only; a dot matches any character."""
    return re.compile(source, re.ASCII | re.DOTALL)


class LiteralFilter:
    """Whether a text has one of the literals without which a pattern cannot match, so that the pattern need not be compiled.

    Most programs print little. After some text the answer is always yes: the compiled pattern is the faster search.
    """

    def __init__(self, literals: Iterable[bytes]) -> None:
        self._literals = tuple(literals)
        self._left = _FILTERED

    def may_match(self, text: bytes) -> bool:
        if self._left <= 0:
            return True
        self._left -= len(text)
        if self._left <= 0 or has_any(text, self._literals):
            self._left = 0
            return True
        return False


def has_any(text: bytes, literals: Iterable[bytes]) -> bool:
    for literal in literals:  # noqa: SIM110 - called for every text, and `any` takes three times as long
        if literal in text:
            return True
    return False
