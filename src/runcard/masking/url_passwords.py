"""Searching a text for passwords in URLs: `postgres://user:…@host/db`. The user and the host stay readable.

A user without a password (`https://user@host`) is not a secret here; a token in its place is found by its prefix.

Invariant: there is no white space, quote or slash between the scheme and the `@`.
"""

import re
from collections.abc import Iterator
from functools import cache

from runcard.masking.matches import SecretMatch
from runcard.masking.secret_values import is_placeholder

HINTS = (b"@",)  # in every text that `patterns` match


def find_in_urls(text: bytes, begin: int) -> Iterator[SecretMatch]:
    for pattern in patterns():
        for match in pattern.finditer(text, begin):
            if not is_placeholder(match[1].decode("latin-1")):
                yield SecretMatch(match.start(1), match.end(1), "url-password")


@cache
def patterns() -> list[re.Pattern[bytes]]:
    return [re.compile(rb":\\?/\\?/(?=[^\s:/?#@\[\"'<>\\`]{0,128}+:([^\s/?#\"'<>\\`]{1,1024})@)")]
