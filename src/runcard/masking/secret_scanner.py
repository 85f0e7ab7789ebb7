"""Whether a text holds a certain secret: a private key, or a key with a vendor's prefix.

The scanner names the first one and masks nothing. Secrets that are found by a name, such as `password=…`, do not count: a
false alarm would leave out a whole file. Keys that are examples in documentation do not count either.

Invariant: the result does not depend on how the bytes are cut into pieces.
"""

import re
from collections.abc import Callable
from functools import cache

from runcard.masking import prefix_search, private_keys
from runcard.masking.lazy_patterns import bytes_pattern
from runcard.masking.matches import AHEAD, BEHIND, REACH, SecretMatch

# Examples: AWS's end with EXAMPLE; `ghp_xxxxxxxxxxxx…`, `sk-ant-your-key-here`.
_EXAMPLE = rb"(?i:example|x{12}|your[-_])"


@cache
def scan_patterns() -> tuple[re.Pattern[bytes], ...]:
    """Patterns of which at least one matches every text with a secret: a fast first check."""
    return (*prefix_search.patterns(), *private_keys.patterns())


def is_suspect(text: bytes) -> bool:
    """Whether a secret may be in `text`."""
    return any(pattern.search(text) for pattern in scan_patterns())


class SecretScanner:
    """Searches a text that comes in pieces, in bounded memory.

    `is_suspect` is the first check of each piece; another function can be passed that runs elsewhere.
    """

    def __init__(self, is_suspect: Callable[[bytes], bool] = is_suspect) -> None:
        self._is_suspect = is_suspect
        self._text = b""  # up to `BEHIND` bytes that were searched, then the rest
        self._searched = 0  # everything that starts before this was searched

    def feed(self, data: bytes) -> str | None:
        """Add `data`; the rule of the first secret so far, or None."""
        return self._search(data, final=False)

    def flush(self) -> str | None:
        """The rule of the first secret in the rest, or None."""
        return self._search(b"", final=True)

    def _search(self, data: bytes, *, final: bool) -> str | None:
        self._text += data
        decided = len(self._text) if final else max(self._searched, len(self._text) - AHEAD)
        if self._is_suspect(self._text):
            begin = max(0, self._searched - REACH)
            blocks = private_keys.find_blocks(self._text, self._searched, final=final)
            for match in (*blocks.secrets, *prefix_search.find_prefixed(self._text, begin)):
                if self._searched <= match.start < decided and (rule := self._rule(match)):
                    return rule
            decided = decided if blocks.incomplete is None else min(decided, blocks.incomplete)
        self._forget(decided)
        return None

    def _rule(self, match: SecretMatch) -> str | None:
        more = match.more.match(self._text, match.end, match.start + AHEAD) if match.more else None
        secret = self._text[match.start : more.end() if more else match.end]
        return None if bytes_pattern(_EXAMPLE).search(secret) else match.rule

    def _forget(self, decided: int) -> None:
        keep = max(0, decided - BEHIND)
        self._text, self._searched = self._text[keep:], decided - keep


def secret_in(data: bytes) -> str | None:
    """The rule of the first secret in `data`, or None."""
    scanner = SecretScanner()
    return scanner.feed(data) or scanner.flush()
