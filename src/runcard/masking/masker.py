"""Masking of text, and of a stream of bytes: `feed` each piece, `flush` at the end.

A piece is masked line by line; the last line waits for its end, or until it is long. The block of a private key waits for its
END line. So a secret across two pieces is match, and the buffer stays small.

Invariant: the result does not depend on how the bytes are cut into pieces.
"""

import re
from collections.abc import Collection, Iterable
from functools import cache
from operator import itemgetter

from runcard.masking import (
    assignments,
    command_text,
    configurations,
    http_headers,
    prefix_search,
    private_keys,
    url_passwords,
    user_patterns,
)
from runcard.masking.lazy_patterns import has_any
from runcard.masking.marks import Masked, mark
from runcard.masking.matches import AHEAD, BEHIND, REACH, FoundSecret, LateCheck, SecretMatch
from runcard.masking.rules import RULES

_BLOCK = 128 * 1024  # bytes that are searched at once: they fit into the processor's cache
_LONG_LINE = 4 * AHEAD  # an unfinished line is searched when it has grown by this much
_SHORT = 1024  # for a shorter text, a first check is cheaper than masking
_place = itemgetter(0)  # of a secret that was found
_RANK = {rule: rank for rank, rule in enumerate(RULES)}


class Masker:
    """Masks a stream of bytes, in bounded memory; with `only`, only the secrets of these rules.

    `file_name` is that of a configuration file: its format decides where values are, and they are checked more strictly.
    """

    def __init__(self, only: Collection[str] | None = None, *, file_name: str = "") -> None:
        self._in_file = configurations.finder(file_name)
        self.counts: dict[str, int] = {}
        self._own = user_patterns.active_patterns()
        self._only = frozenset(user_patterns.rule_names() if only is None else only)
        self._text = b""  # up to `BEHIND` bytes that are finished, then the buffer
        self._searched = 0  # everything that starts before this is finished
        self._done = 0  # everything before this was returned; a secret may reach beyond `_searched`
        self._inside: re.Pattern[bytes] | None = (
            None  # matches the rest of a secret that continues in the next piece
        )
        self._assignments = assignments.AssignmentSearch()

    def feed(self, data: bytes) -> bytes:
        """Add `data`; return what is masked so far."""
        view = memoryview(data)
        return b"".join(self._advance(bytes(view[at : at + _BLOCK])) for at in range(0, len(data), _BLOCK))

    def flush(self) -> bytes:
        """Return the rest; what is fed afterwards is a new text."""
        rest = self._advance(b"", final=True)
        self._text, self._searched, self._done, self._inside = b"", 0, 0, None
        return rest

    def _advance(self, data: bytes, *, final: bool = False) -> bytes:
        self._text += data
        self._skip(final=final)
        ready = self._ready(final=final)
        if ready <= self._searched:
            return b""
        blocks = private_keys.find_blocks(self._text, self._searched, final=final)
        ready = min(ready, len(self._text) if blocks.incomplete is None else blocks.incomplete)
        if self._in_file is not None and not final:
            ready = configurations.open_pair(self._text, ready)
        if ready <= self._searched:
            return b""
        pieces = self._masked(self._find_secrets(ready, blocks.secrets), ready, final=final)
        keep = max(0, ready - BEHIND)
        self._text, self._searched, self._done = self._text[keep:], ready - keep, self._done - keep
        return b"".join(pieces)

    def _skip(self, *, final: bool) -> None:
        """Skip the rest of the secret in which the last piece ended."""
        if self._inside:
            self._done = _end(self._inside, self._text, self._done)
            if final or not self._may_go_on(self._done):
                self._inside = None

    def _may_go_on(self, done: int) -> bool:
        """Whether the next piece may start with more of the secret that ends here, or with half an escape."""
        return len(self._text) - done <= 1 and self._text[done:] in {b"", b"\\"}

    def _ready(self, *, final: bool) -> int:
        """How far the text can be searched: to the end of a line, or so far that enough text follows."""
        if final:
            return len(self._text)
        line = max(self._text.rfind(b"\n", self._searched), self._text.rfind(b"\r", self._searched)) + 1
        long = len(self._text) - AHEAD
        return long if long - max(line, self._searched) >= _LONG_LINE else line

    def _find_secrets(self, ready: int, blocks: list[SecretMatch]) -> list[FoundSecret]:
        """The secrets that were found before `ready` and were not searched yet, in order."""
        open_from = max(self._searched, self._done)
        text, lowered, begin = self._text, self._text.lower(), max(0, open_from - REACH)
        found = _at_start(
            blocks, prefix_search.find_prefixed(text, begin), url_passwords.find_in_urls(text, begin)
        )
        found += self._assignments.find(text, lowered, begin)
        found += _at_start(
            http_headers.find_bearer(text, lowered, begin),
            command_text.find_options(text, lowered, begin),
            user_patterns.find_user_secrets(self._own, text, open_from),
        )
        if self._in_file is not None:
            found += _at_start(self._in_file(text, max(0, open_from - configurations.REACH)))
        searched = self._searched
        return sorted([secret for secret in found if searched <= secret[0] < ready], key=_place)

    def _masked(self, found: list[FoundSecret], ready: int, *, final: bool) -> list[bytes]:
        text, done = self._text, self._done
        pieces: list[bytes] = []
        for index, (place, match) in enumerate(found):
            if place < done or (index and found[index - 1][0] == place):
                continue  # in a secret, or at the same place as the one before
            is_alone = index + 1 == len(found) or found[index + 1][0] != place
            secret = match if is_alone and isinstance(match, SecretMatch) else self._best(found, index)
            if secret is None:
                continue
            start, end, rule, more = secret
            if rule not in self._only:
                continue
            pieces += (text[done:start], _mark(rule))
            self.counts[rule] = self.counts.get(rule, 0) + 1
            done = _end(more, text, end)
            if more and done + 1 >= len(text) and not final and self._may_go_on(done):
                self._inside = more
        if done < ready:
            pieces.append(text[done:ready])
            done = ready
        self._done = done
        return pieces

    def _best(self, found: list[FoundSecret], first: int) -> SecretMatch | None:
        """Of the matches at the place of the first: with the upper rule, and the longest reach; None without a match."""
        place, end = found[first][0], first + 1
        while end < len(found) and found[end][0] == place:
            end += 1
        matches = [match for secret in found[first:end] if (match := self._checked(*secret)) is not None]
        if len(matches) < 2:
            return matches[0] if matches else None
        # The end of a password in a URL is certain.
        in_url = next((match for match in matches if match.rule == "url-password"), None)
        longest = in_url or max(matches, key=self._reach)
        return longest._replace(rule=min(matches, key=_rank).rule)

    def _checked(self, place: int, match: SecretMatch | LateCheck) -> SecretMatch | None:
        return match.check(self._text, place) if isinstance(match, LateCheck) else match

    def _reach(self, match: SecretMatch) -> tuple[int, int]:
        """Where a secret ends, and, where the text ends before it, how far it may go on."""
        return _end(match.more, self._text, match.end), _width(match.more)


def mask_bytes(data: bytes) -> Masked[bytes]:
    """`data` without its secrets. Bytes that are not UTF-8 stay as they are."""
    masker = Masker()
    return Masked(masker.feed(data) + masker.flush(), masker.counts)


def mask_text(text: str) -> Masked[str]:
    """`text` without its secrets."""
    if len(text) < _SHORT and not may_need_masking(text):
        return Masked(text, {})
    masker = Masker()
    raw = text.encode("utf-8", "surrogatepass")
    masked = masker.feed(raw) + masker.flush()
    return Masked(masked.decode("utf-8", "surrogatepass") if masker.counts else text, masker.counts)


def may_need_masking(text: str) -> bool:
    """Whether `mask_text` might mask anything in `text`, or in any line or lines of it on their own.

    Patterns take long to compile, and most texts contain none of their fixed parts: these are searched first.
    """
    raw = text.encode("utf-8", "surrogatepass")
    if prefix_search.may_need_masking(raw) or user_patterns.may_need_masking(raw):
        return True
    lowered = raw.lower()
    for hints, patterns, searched in (
        (url_passwords.HINTS, url_passwords.patterns, raw),
        (private_keys.HINTS, private_keys.patterns, raw),
        (assignments.HINTS, assignments.patterns, lowered),
        (http_headers.HINTS, http_headers.patterns, lowered),
        (command_text.HINTS, command_text.patterns, lowered),
    ):
        if has_any(searched, hints) and any(pattern.search(searched) for pattern in patterns()):
            return True
    return False


def _at_start(*searches: Iterable[SecretMatch]) -> list[FoundSecret]:
    return [(match[0], match) for search in searches for match in search]


def _rank(match: SecretMatch) -> int:
    return _RANK.get(match.rule, -1)  # the user's own come first


@cache
def _mark(rule: str) -> bytes:
    return mark(rule).encode("ascii")


@cache
def _width(more: re.Pattern[bytes] | None) -> int:
    return sum(1 for byte in range(256) if more and more.fullmatch(bytes([byte])))


def _end(more: re.Pattern[bytes] | None, text: bytes, end: int) -> int:
    match = more.match(text, end) if more else None
    return match.end() if match else end
