"""Passwords in addresses: `postgres://user:…@host/db`. The user and the host stay readable.

A name without a password (`https://user@host`) is no secret here; a token that stands in its place is found by its
prefix.

Invariant: what lies between the scheme and the `@` has no white space, no quote and no slash.
"""

import re
from collections.abc import Iterator
from functools import cache

from runcard.redaction.found import Found
from runcard.redaction.values import is_placeholder


def find_in_addresses(text: bytes, begin: int) -> Iterator[Found]:
    for match in _pattern().finditer(text, begin):
        if not is_placeholder(match[1].decode("latin-1")):
            yield Found(match.start(), match.start(1), match.end(1), "url-password")


@cache
def _pattern() -> re.Pattern[bytes]:
    return re.compile(
        rb":(?<=[A-Za-z0-9]:)(?=\\?/\\?/[^\s:/?#@\"'<>\\`]{0,128}+:([^\s/?#\"'<>\\`]{1,1024})@)",
    )
