"""Passwords in addresses: `postgres://user:…@host/db`. The user and the host stay readable.

A name without a password (`https://user@host`) is no secret here; a token that stands in its place is found by its
prefix.

Invariant: what lies between the scheme and the `@` has no white space, no quote and no slash.
"""

import re
from collections.abc import Iterator
from functools import cache, partial

from runcard.masking.matches import SecretCandidate, SecretMatch
from runcard.masking.secret_values import is_placeholder

HINTS = (b"@",)  # what stands in every text in which `patterns` find something


def find_in_addresses(text: bytes, begin: int) -> Iterator[SecretCandidate]:
    for pattern in patterns():
        for match in pattern.finditer(text, begin):
            yield SecretCandidate(match.start(1), partial(_judge, match))


def _judge(match: re.Match[bytes]) -> SecretMatch | None:
    known = is_placeholder(match[1].decode("latin-1"))
    return None if known else SecretMatch(match.start(1), match.end(1), "url-password")


@cache
def patterns() -> list[re.Pattern[bytes]]:
    return [re.compile(rb":\\?/\\?/(?=[^\s:/?#@\[\"'<>\\`]{0,128}+:([^\s/?#\"'<>\\`]{1,1024})@)")]
