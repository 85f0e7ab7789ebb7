"""Patterns that are compiled on first use, so that importing this package is cheap."""

import re
from functools import cache


@cache
def bytes_pattern(source: bytes) -> re.Pattern[bytes]:
    return re.compile(source)


@cache
def text_pattern(source: str) -> re.Pattern[str]:
    """Character classes match ASCII only; a dot matches any character."""
    return re.compile(source, re.ASCII | re.DOTALL)
