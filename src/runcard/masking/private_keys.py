r"""Private key blocks: the only secrets that go over many lines.

A block is taken whole, from its BEGIN line to its END line, whatever stands before the lines (a `+`, a `>`, quotes);
without an END line, as far as lines of base64 go. Line breaks may be real or written `\n`. Certificates and public
keys are no secrets, and a BEGIN line without a key behind it (documentation, code) stays.

Invariant: what is decided depends on the `WINDOW` bytes after a BEGIN line and on nothing else.
"""

import re
from functools import partial

from runcard.masking import key_files
from runcard.masking.key_files import RULE, WINDOW  # the longest keys in use take half of the window
from runcard.masking.lazy_patterns import bytes_pattern
from runcard.masking.matches import BlockMatches, SecretCandidate, SecretMatch

_LONGEST_LINE = 160  # from the dashes of an END line so much is looked at
_KIND = rb" (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
BEGIN = rb"-----BEGIN" + _KIND
_END = rb"-----END" + _KIND
_KEY = rb"[A-Za-z0-9+/]{32}"
_STRUCTURE = rb"[\[\]{}]|\"\s{0,8}:"
_NAME = rb"[^\"\r\n]{0,64}\"\s{0,8}:"  # the rest of a name in JSON
_BREAK = rb"(?:\s|\\+[nr])"
_CUT_OFF = (
    rb"(?:" + _BREAK + rb"{1,8}(?:Proc-Type|DEK-Info)[^\n\\]{0,80}){0,2}"
    rb"(?:"
    + _BREAK
    + rb"{1,8}+(?:[A-Za-z0-9+/=]{16,}+|[A-Za-z0-9+/]++(?="
    + _BREAK
    + rb"{1,8}+[A-Za-z0-9+/]{40})))+"
)

HINTS = (
    b"-----BEGIN",
    b"PuTTY-User-Key",
    b"LS0tLS1CRUdJTi",
)  # what stands in every text in which `patterns` find something


def patterns() -> list[re.Pattern[bytes]]:
    return [bytes_pattern(BEGIN), bytes_pattern(key_files.PUTTY), bytes_pattern(key_files.BASE64)]


def find_blocks(text: bytes, begin: int, *, final: bool) -> BlockMatches:
    """Private keys of all forms."""
    found = [
        find(text, begin, final=final) for find in (_find_pem, key_files.find_putty, key_files.find_in_base64)
    ]
    waiting = [one.waiting for one in found if one.waiting is not None]
    return BlockMatches([clue for one in found for clue in one.clues], min(waiting, default=None))


def _find_pem(text: bytes, begin: int, *, final: bool) -> BlockMatches:
    clues: list[SecretCandidate] = []
    done = begin
    for header in bytes_pattern(BEGIN).finditer(text, begin) if text.find(b"-----BEGIN ", begin) >= 0 else ():
        start, after = header.span()
        if start < done:
            continue
        if not final and _needs_more(text, after):
            return BlockMatches(clues, start)
        if end := _end(text, after):
            clues.append(SecretCandidate(start, partial(SecretMatch, start, end, RULE)))
            done = end
    return BlockMatches(clues, None)


def _needs_more(text: bytes, after: int) -> bool:
    dashes = text.find(b"-----", after, after + WINDOW)
    if dashes < 0:
        return len(text) < after + WINDOW
    is_plain = bytes_pattern(_END).match(text, dashes) and b'"' not in text[after:dashes]
    return not is_plain and len(text) < dashes + _LONGEST_LINE


def _end(text: bytes, after: int) -> int | None:
    """Where the block ends whose BEGIN line ends at `after`; None when it is no block."""
    dashes = text.find(b"-----", after, after + WINDOW)
    last = bytes_pattern(_END).match(text, dashes) if dashes >= 0 else None
    if (
        last
        and bytes_pattern(_KEY).search(text, after, dashes)
        and not _breaks_json(text, after, dashes, last.end())
    ):
        return last.end()
    cut_off = bytes_pattern(_CUT_OFF).match(text, after, min(len(text), after + WINDOW))
    return cut_off.end() if cut_off else None


def _breaks_json(text: bytes, after: int, dashes: int, end: int) -> bool:
    """Whether more than the lines of a key would go: brackets and braces, or the border of a value and a name."""
    body = text[after:dashes]
    if bytes_pattern(_STRUCTURE).search(body):
        return True
    return b'"' in body and bytes_pattern(_NAME).match(text, end) is not None
