"""Masking of bytes as they come: `feed` what there is, `flush` at the end.

A piece is masked line by line; the last line waits for its end, or until it is long. A block of a private key waits
for its END line. So a secret that lies across the border of two pieces is found, and what is held back stays small.

Invariant: the pieces do not matter. Any cutting of the same bytes gives the same bytes and the same counts.
"""

import re
from collections.abc import Iterator

from runcard.redaction.addresses import find_in_addresses
from runcard.redaction.assignments import find_assigned
from runcard.redaction.found import AHEAD, BEHIND, Found
from runcard.redaction.headers import find_bearer
from runcard.redaction.keyblocks import find_blocks
from runcard.redaction.marks import Masked, mark
from runcard.redaction.options import find_options
from runcard.redaction.prefixes import find_prefixed
from runcard.redaction.rules import RULES

_BLOCK = 128 * 1024  # so much is searched at once: it fits into the processor's cache
_PATIENCE = 4 * AHEAD  # an unfinished line is searched when it has grown by this much
_RANK = {rule: rank for rank, rule in enumerate(RULES)}


class Masker:
    """Masks a stream of bytes, in memory that does not grow with it."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._text = b""  # what is held back, behind up to `BEHIND` bytes that are out already
        self._done = 0  # so much of `_text` is out
        self._inside: re.Pattern[bytes] | None = None  # the rest of a secret that goes on in the next piece

    def feed(self, data: bytes) -> bytes:
        """Take `data`; give back what is certain by now."""
        view = memoryview(data)
        return b"".join(self._advance(bytes(view[at : at + _BLOCK])) for at in range(0, len(data), _BLOCK))

    def flush(self) -> bytes:
        """Give back the rest; what is fed afterwards is a new text."""
        rest = self._advance(b"", final=True)
        self._text, self._done, self._inside = b"", 0, None
        return rest

    def _advance(self, data: bytes, *, final: bool = False) -> bytes:
        self._text += data
        self._skip(final=final)
        ready = self._ready(final=final)
        if self._inside or ready <= self._done:
            return b""
        found, ready = self._search(ready, final=final)
        pieces = list(self._masked(found, ready, final=final))
        keep = max(0, self._done - BEHIND)
        self._text, self._done = self._text[keep:], self._done - keep
        return b"".join(pieces)

    def _skip(self, *, final: bool) -> None:
        """Pass over the rest of the secret that the last piece ended in."""
        if self._inside:
            self._done = _end(self._inside, self._text, self._done)
            if final or not self._may_go_on():
                self._inside = None

    def _may_go_on(self) -> bool:
        """Whether the next piece may begin with more of the secret that ends here, or with half an escape."""
        return self._text[self._done :] in {b"", b"\\"}

    def _ready(self, *, final: bool) -> int:
        """How far the text can be searched: to the end of a line, or so far that enough is known of what follows."""
        if final:
            return len(self._text)
        line = max(self._text.rfind(b"\n", self._done), self._text.rfind(b"\r", self._done)) + 1
        long = len(self._text) - AHEAD
        return long if long - max(line, self._done) >= _PATIENCE else line

    def _search(self, ready: int, *, final: bool) -> tuple[list[Found], int]:
        """What is found up to `ready`, or to a place before it that nothing found lies across."""
        blocks = find_blocks(self._text, self._done, final=final)
        if blocks.waiting is not None:
            ready = min(ready, blocks.waiting)
        if ready <= self._done:
            return [], self._done
        found = [one for one in (*blocks.found, *_find(self._text, self._done)) if one.anchor >= self._done]
        for one in sorted(found, key=lambda one: one.anchor, reverse=True):
            if one.anchor < ready <= one.start:
                ready = one.anchor
        return _resolved(self._text, [one for one in found if one.anchor < ready]), ready

    def _masked(self, found: list[Found], ready: int, *, final: bool) -> Iterator[bytes]:
        for one in found:
            if one.start < self._done:
                continue
            yield self._text[self._done : one.start]
            yield mark(one.rule).encode("ascii")
            self.counts[one.rule] = self.counts.get(one.rule, 0) + 1
            self._done = _end(one.more, self._text, one.end)
            if one.more and not final and self._may_go_on():
                self._inside = one.more
        if self._done < ready:
            yield self._text[self._done : ready]
            self._done = ready


def mask_bytes(data: bytes) -> Masked[bytes]:
    """`data` without its secrets. Bytes that are not UTF-8 stay as they are."""
    masker = Masker()
    return Masked(masker.feed(data) + masker.flush(), masker.counts)


def mask_text(text: str) -> Masked[str]:
    """`text` without its secrets."""
    masker = Masker()
    raw = text.encode("utf-8", "surrogatepass")
    masked = masker.feed(raw) + masker.flush()
    return Masked(masked.decode("utf-8", "surrogatepass") if masker.counts else text, masker.counts)


def _find(text: bytes, begin: int) -> Iterator[Found]:
    lowered = text.lower()
    yield from find_prefixed(text, begin)
    yield from find_in_addresses(text, begin)
    yield from find_assigned(text, lowered, begin)
    yield from find_bearer(text, lowered, begin)
    yield from find_options(text, lowered, begin)


def _resolved(text: bytes, found: list[Found]) -> list[Found]:
    """In order; where several begin at the same place, the upper rule's name and the longest reach."""
    resolved: list[Found] = []
    for one in sorted(found, key=lambda found: (found.start, _RANK[found.rule])):
        if not resolved or resolved[-1].start != one.start:
            resolved.append(one)
        elif _end(one.more, text, one.end) >= _end(resolved[-1].more, text, resolved[-1].end):
            resolved[-1] = one._replace(rule=resolved[-1].rule)
    return resolved


def _end(more: re.Pattern[bytes] | None, text: bytes, end: int) -> int:
    match = more.match(text, end) if more else None
    return match.end() if match else end
