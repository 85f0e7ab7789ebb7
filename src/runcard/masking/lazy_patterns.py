"""Patterns that are compiled when they are first used: importing this package costs next to nothing."""

import re
from functools import cache


@cache
def bytes_pattern(source: bytes) -> re.Pattern[bytes]:
    return re.compile(source)


@cache
def text_pattern(source: str) -> re.Pattern[str]:
    """White space, digits and letters in classes are those of ASCII; a dot is any character."""
    return re.compile(source, re.ASCII | re.DOTALL)
