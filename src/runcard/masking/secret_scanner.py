"""Whether a text holds a secret that is certain by its form: a private key, or a key with a vendor's prefix.

It names the first one and masks nothing. Secrets that only a name beside them gives away, such as `password=…`, do not
count here: whoever leaves out a whole file wants no false alarms. Which forms there are is said in `rules.py` and
`keyblocks.py`; the keys that documentations show as examples are not secrets.

Invariant: the pieces do not matter. Any cutting of the same bytes gives the same answer.
"""

import re
from collections.abc import Callable
from functools import cache

from runcard.masking import prefix_search, private_keys
from runcard.masking.lazy_patterns import bytes_pattern
from runcard.masking.matches import AHEAD, BEHIND, REACH, SecretCandidate

# AWS's own examples end with EXAMPLE; `ghp_xxxxxxxxxxxx…`, `sk-ant-your-key-here`.
_SHOWN = rb"(?i:example|x{12}|your[-_])"


@cache
def scan_patterns() -> tuple[re.Pattern[bytes], ...]:
    """Patterns of which at least one is found in every text that has a secret: a fast first look."""
    return (*prefix_search.patterns(), *private_keys.patterns())


def is_suspect(text: bytes) -> bool:
    """Whether a secret may be in `text`."""
    return any(clue.search(text) for clue in scan_patterns())


class SecretScanner:
    """Searches a text that comes in pieces, in memory that does not grow with it.

    `is_suspect` takes the first look at each piece; it may be given by whoever can do that elsewhere.
    """

    def __init__(self, is_suspect: Callable[[bytes], bool] = is_suspect) -> None:
        self._is_suspect = is_suspect
        self._text = b""  # what is not decided yet, behind up to `BEHIND` bytes that are
        self._searched = 0  # what begins before this is decided

    def feed(self, data: bytes) -> str | None:
        """Take `data`; the rule of the first secret that is certain by now."""
        return self._search(data, final=False)

    def flush(self) -> str | None:
        """The rule of the first secret in the rest."""
        return self._search(b"", final=True)

    def _search(self, data: bytes, *, final: bool) -> str | None:
        self._text += data
        decided = len(self._text) if final else max(self._searched, len(self._text) - AHEAD)
        if self._is_suspect(self._text):
            begin = max(0, self._searched - REACH)
            blocks = private_keys.find_blocks(self._text, self._searched, final=final)
            for clue in (*blocks.clues, *prefix_search.find_prefixed(self._text, begin)):
                if self._searched <= clue.start < decided and (rule := self._judged(clue)):
                    return rule
            decided = decided if blocks.waiting is None else min(decided, blocks.waiting)
        self._forget(decided)
        return None

    def _judged(self, clue: SecretCandidate) -> str | None:
        found = clue.judge()
        if found is None:
            return None
        more = found.more.match(self._text, found.end, found.start + AHEAD) if found.more else None
        secret = self._text[found.start : more.end() if more else found.end]
        return None if bytes_pattern(_SHOWN).search(secret) else found.rule

    def _forget(self, decided: int) -> None:
        keep = max(0, decided - BEHIND)
        self._text, self._searched = self._text[keep:], decided - keep


def secret_in(data: bytes) -> str | None:
    """The rule of the first secret in `data`, or None."""
    scanner = SecretScanner()
    return scanner.feed(data) or scanner.flush()
