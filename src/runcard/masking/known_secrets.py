"""Mask the secrets of a configuration wherever they occur.

A value under a secret name, such as `password`, has no form by which it could be found in a log. But a program that gets
the configuration may print the value, so it is masked like the user's own patterns. Values that no such pattern can
express, and short ones, which may be ordinary words, are left out.
"""

import re
from typing import Any

from runcard.masking.data import mask_data
from runcard.masking.marks import MARK
from runcard.masking.pattern_safety import MAX_PATTERN
from runcard.masking.user_patterns import UserPattern, active_patterns, use_patterns

_SHORTEST = 8  # characters
_MOST = 100  # values: each takes time wherever something is masked


def use_secrets_of(data: Any) -> None:  # noqa: ANN401
    """Also mask the texts that are masked as a whole in `data`, wherever they occur from now on."""
    masked = mask_data(data)
    if masked.counts:
        found = dict.fromkeys(_patterns(data, masked.value))
        use_patterns([*active_patterns(), *list(found)[:_MOST]])


def _patterns(data: Any, masked: Any) -> list[UserPattern]:  # noqa: ANN401
    patterns: list[UserPattern] = []
    pending = [(data, masked)]
    while pending:
        value, mark = pending.pop()
        if isinstance(value, dict):
            pending += zip(value.values(), mark.values(), strict=True)
        elif isinstance(value, list):
            pending += zip(value, mark, strict=True)
        elif isinstance(value, str) and value != mark and mark.startswith(MARK) and mark.endswith("]"):
            pattern, rule = re.escape(value), mark.removeprefix(MARK).removesuffix("]")
            is_one_mark = "[" not in rule
            is_expressible = value.isascii() and value.isprintable() and len(pattern) <= MAX_PATTERN
            if is_one_mark and is_expressible and len(value) >= _SHORTEST:
                patterns.append(UserPattern(rule, pattern))
    return patterns
