r"""Private keys in other forms than a PEM block: PuTTY's own files, and a PEM block as a whole in base64.

Both may go over many lines. A PuTTY file is taken from its first line to its MAC; a block in base64 as far as its lines go,
which are of equal length but for the last. Line breaks may be real or written `\n`.

Invariant: what is decided depends on the `WINDOW` bytes after the beginning and on nothing else.
"""

import re
from functools import partial

from runcard.redaction.found import Blocks, Clue, Found
from runcard.redaction.patterns import in_bytes

WINDOW = 32 * 1024
RULE = "private-key"
PUTTY = rb"PuTTY-User-Key-File-[0-9]: "
_PUTTY_BEGIN = b"PuTTY-User-Key-File-"
_PUTTY_END = rb"Private-(?:MAC|Hash): ?[0-9a-f]{40,64}"
_STRUCTURE = rb"[\[\]{}]|\"\s{0,8}:"
_LONGEST_END = 100  # from `Private-` so much is looked at

# `-----BEGIN ` in base64, and what its first line says when it is decoded.
BASE64 = rb"LS0tLS1CRUdJTiB[A-Za-z0-9+/]{24}"
_BASE64_BEGIN = b"LS0tLS1CRUdJTiB"
_PRIVATE = rb"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY"
_HEAD = 76  # so many characters are decoded, a multiple of four
_RUN = rb"[A-Za-z0-9+/]*+={0,2}+"
_NEXT_LINE = rb"(?:\r?\n|\\r\\n|\\n)[ \t]{0,64}"
_WRAPPED = frozenset({64, 76})  # how long lines of base64 are


def find_putty(text: bytes, begin: int, *, final: bool) -> Blocks:
    clues: list[Clue] = []
    start = text.find(_PUTTY_BEGIN, begin)
    while start >= 0:
        after = start + len(_PUTTY_BEGIN)
        following = text.find(_PUTTY_BEGIN, after, after + WINDOW)
        stop = min(len(text), after + WINDOW) if following < 0 else following
        last = in_bytes(_PUTTY_END).search(text, after, stop) if in_bytes(PUTTY).match(text, start) else None
        if not final and stop == len(text) and (last is None or last.end() > stop - _LONGEST_END):
            return Blocks(clues, start if in_bytes(PUTTY).match(text, start) else None)
        if last and not in_bytes(_STRUCTURE).search(text, after, last.start()):
            clues.append(Clue(start, partial(Found, start, last.end(), RULE)))
        start = following if following >= 0 else text.find(_PUTTY_BEGIN, stop)
    return Blocks(clues, None)


def find_in_base64(text: bytes, begin: int, *, final: bool) -> Blocks:
    clues: list[Clue] = []
    start = text.find(_BASE64_BEGIN, begin)
    while start >= 0:
        end = _base64_end(text, start)
        if not final and end == len(text) and end < start + WINDOW:
            return Blocks(clues, start)
        if _is_private(text[start : start + _HEAD]):
            clues.append(Clue(start, partial(Found, start, end, RULE, in_bytes(_RUN))))
        start = text.find(_BASE64_BEGIN, max(end, start + 1))
    return Blocks(clues, None)


def _base64_end(text: bytes, start: int) -> int:
    """Where the base64 ends that begins at `start`; the end of the text when it may go on there."""
    stop = min(len(text), start + WINDOW)
    end = _end(_RUN, text, start, stop)
    length = end - start
    while length in _WRAPPED:
        if len(text) - end < 3:
            return len(text)  # half a line break
        line = in_bytes(_NEXT_LINE).match(text, end, stop)
        if line is None or _end(_RUN, text, line.end(), stop) == line.end():
            break
        end = _end(_RUN, text, line.end(), stop)
        length = end - line.end()
    return end


def _end(pattern: bytes, text: bytes, start: int, stop: int) -> int:
    match = in_bytes(pattern).match(text, start, stop)
    return match.end() if match else start


def _is_private(head: bytes) -> bool:
    from binascii import Error, a2b_base64  # noqa: PLC0415 - hardly any text has such a block

    run = head[: _end(_RUN, head, 0, len(head))]
    try:
        decoded = a2b_base64(run[: len(run) // 4 * 4])
    except Error:
        return False
    return re.match(_PRIVATE, decoded) is not None
