"""Masking of bytes as they come: `feed` what there is, `flush` at the end.

A piece is masked line by line; the last line waits for its end, or until it is long. A block of a private key waits
for its END line. So a secret that lies across the border of two pieces is found, and what is held back stays small.

Invariant: the pieces do not matter. Any cutting of the same bytes gives the same bytes and the same counts.
"""

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from itertools import groupby
from operator import itemgetter

from runcard.masking import (
    assignments,
    command_text,
    http_headers,
    prefix_search,
    private_keys,
    url_passwords,
    user_patterns,
)
from runcard.masking.marks import Masked, mark
from runcard.masking.matches import AHEAD, BEHIND, REACH, SecretCandidate, SecretMatch
from runcard.masking.rules import RULES

_BLOCK = 128 * 1024  # so much is searched at once: it fits into the processor's cache
_PATIENCE = 4 * AHEAD  # an unfinished line is searched when it has grown by this much
_SHORT = 1024  # a text that is shorter costs less to look at than to mask
_DENSE = 64  # clues that are so near to each other are compared with the last ones
_REMEMBERED = 4
_start = itemgetter(0)  # of a clue
_RANK = {rule: rank for rank, rule in enumerate(RULES)}


class Masker:
    """Masks a stream of bytes, in memory that does not grow with it; with `only`, what these rules find and no more."""

    def __init__(self, only: Collection[str] | None = None) -> None:
        self.counts: dict[str, int] = {}
        self._own = user_patterns.active_patterns()
        self._only = user_patterns.rule_names() if only is None else only
        self._text = b""  # what is held back, behind up to `BEHIND` bytes that are dealt with
        self._searched = 0  # what begins before this is dealt with
        self._done = 0  # what lies before this is out; a secret may reach beyond what is searched
        self._inside: re.Pattern[bytes] | None = None  # the rest of a secret that goes on in the next piece
        self._judged_at = -_DENSE  # where a clue was judged last
        self._recent: deque[tuple[tuple[int, bytes], int, SecretMatch | None]] = deque(maxlen=_REMEMBERED)

    def feed(self, data: bytes) -> bytes:
        """Take `data`; give back what is certain by now."""
        view = memoryview(data)
        return b"".join(self._advance(bytes(view[at : at + _BLOCK])) for at in range(0, len(data), _BLOCK))

    def flush(self) -> bytes:
        """Give back the rest; what is fed afterwards is a new text."""
        rest = self._advance(b"", final=True)
        self._text, self._searched, self._done, self._inside, self._judged_at = b"", 0, 0, None, -_DENSE
        self._recent.clear()
        return rest

    def _advance(self, data: bytes, *, final: bool = False) -> bytes:
        self._text += data
        self._skip(final=final)
        ready = self._ready(final=final)
        if ready <= self._searched:
            return b""
        blocks = private_keys.find_blocks(self._text, self._searched, final=final)
        ready = min(ready, len(self._text) if blocks.waiting is None else blocks.waiting)
        if ready <= self._searched:
            return b""
        pieces = list(self._masked(self._clues(ready, blocks.clues), ready, final=final))
        keep = max(0, ready - BEHIND)
        self._text, self._searched, self._done = self._text[keep:], ready - keep, self._done - keep
        self._judged_at -= keep
        return b"".join(pieces)

    def _skip(self, *, final: bool) -> None:
        """Pass over the rest of the secret that the last piece ended in."""
        if self._inside:
            self._done = _end(self._inside, self._text, self._done)
            if final or not self._may_go_on():
                self._inside = None

    def _may_go_on(self) -> bool:
        """Whether the next piece may begin with more of the secret that ends here, or with half an escape."""
        return len(self._text) - self._done <= 1 and self._text[self._done :] in {b"", b"\\"}

    def _ready(self, *, final: bool) -> int:
        """How far the text can be searched: to the end of a line, or so far that enough is known of what follows."""
        if final:
            return len(self._text)
        line = max(self._text.rfind(b"\n", self._searched), self._text.rfind(b"\r", self._searched)) + 1
        long = len(self._text) - AHEAD
        return long if long - max(line, self._searched) >= _PATIENCE else line

    def _clues(self, ready: int, blocks: list[SecretCandidate]) -> list[SecretCandidate]:
        """The clues to what begins before `ready` and was not searched before, in order."""
        open_from = max(self._searched, self._done)
        clues = [*blocks, *_find(self._text, max(0, open_from - REACH))]
        clues += user_patterns.find_user_secrets(self._own, self._text, open_from)
        searched = self._searched
        return sorted([clue for clue in clues if searched <= clue[0] < ready], key=_start)

    def _masked(self, clues: list[SecretCandidate], ready: int, *, final: bool) -> Iterator[bytes]:
        for start, group in groupby(clues, _start):
            found = self._judged_once(start, group) if start >= self._done else None
            if found is None or found.rule not in self._only:
                continue
            yield self._text[self._done : found.start]
            yield _mark(found.rule)
            self.counts[found.rule] = self.counts.get(found.rule, 0) + 1
            self._done = _end(found.more, self._text, found.end)
            if found.more and self._done + 1 >= len(self._text) and not final and self._may_go_on():
                self._inside = found.more
        if self._done < ready:
            yield self._text[self._done : ready]
            self._done = ready

    def _judged_once(self, start: int, clues: Iterable[SecretCandidate]) -> SecretMatch | None:
        """What clues lead to; where the same bytes come again and again, they are judged once."""
        is_dense, self._judged_at = start - self._judged_at < _DENSE, start
        if not is_dense:
            return self._judged(clues)
        begin = start - BEHIND if start > BEHIND else 0
        around = (start - begin, self._text[begin : start + AHEAD])
        for known, first, found in self._recent:
            if known == around:
                moved = start - first
                return found and SecretMatch(found[0] + moved, found[1] + moved, found[2], found[3])
        found = self._judged(clues)
        self._recent.append((around, start, found))
        return found

    def _judged(self, clues: Iterable[SecretCandidate]) -> SecretMatch | None:
        """What clues to the same place lead to: the name of the upper rule, and the longest reach."""
        found = [one for one in (clue.judge() for clue in clues) if one]
        if len(found) < 2:
            return found[0] if found else None
        in_address = next(
            (one for one in found if one.rule == "url-password"), None
        )  # it knows best where it ends
        longest = in_address or max(found, key=self._reach)
        return longest._replace(rule=min(found, key=_rank).rule)

    def _reach(self, found: SecretMatch) -> tuple[int, int]:
        """How far a secret goes, and, where the text ends before it, how far it may go on."""
        return _end(found.more, self._text, found.end), _width(found.more)


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

    Patterns take long to compile, and most texts have nothing of what they begin with: so that is looked for first.
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
        if _has_any(searched, hints) and any(pattern.search(searched) for pattern in patterns()):
            return True
    return False


def _has_any(text: bytes, hints: Iterable[bytes]) -> bool:
    for hint in hints:  # noqa: SIM110 - it is asked for every text, and `any` takes three times as long
        if hint in text:
            return True
    return False


def _find(text: bytes, begin: int) -> Iterator[SecretCandidate]:
    lowered = text.lower()
    yield from prefix_search.find_prefixed(text, begin)
    yield from url_passwords.find_in_addresses(text, begin)
    yield from assignments.find_assigned(text, lowered, begin)
    yield from http_headers.find_bearer(text, lowered, begin)
    yield from command_text.find_options(text, lowered, begin)


def _rank(found: SecretMatch) -> int:
    return _RANK.get(found.rule, -1)  # the user's own come first


@cache
def _mark(rule: str) -> bytes:
    return mark(rule).encode("ascii")


@cache
def _width(more: re.Pattern[bytes] | None) -> int:
    return sum(1 for byte in range(256) if more and more.fullmatch(bytes([byte])))


def _end(more: re.Pattern[bytes] | None, text: bytes, end: int) -> int:
    match = more.match(text, end) if more else None
    return match.end() if match else end
