r"""Searching a text for private keys, the only secrets of many lines: PEM blocks, PuTTY's files, and PEM blocks in base64.

A PEM block is masked from its BEGIN line to its END line, whatever precedes the lines (a `+`, a `>`, quotes); without an END
line, as far as lines of base64 go. A PuTTY file is masked from its first line to its MAC, a block in base64 as far as its
lines go, which have equal lengths except for the last. Line breaks may be real or written `\n`. Certificates and public keys
are not secrets, and a BEGIN line without a key (documentation, code) stays.

Invariant: a decision depends only on the `WINDOW` bytes after the beginning.
"""

import re

from runcard.masking.lazy_patterns import bytes_pattern
from runcard.masking.matches import BlockMatches, SecretMatch

WINDOW = 32 * 1024  # bytes; the longest keys in use take half of it
RULE = "private-key"
_MAX_LINE = 160  # bytes from the dashes of an END line
_KIND = rb" (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
PEM_BEGIN = rb"-----BEGIN" + _KIND
_PEM_END = rb"-----END" + _KIND
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

PUTTY = rb"PuTTY-User-Key-File-[0-9]: "
_PUTTY_BEGIN = b"PuTTY-User-Key-File-"
_PUTTY_END = rb"Private-(?:MAC|Hash): ?[0-9a-f]{40,64}"

# `-----BEGIN … PRIVATE KEY` in base64, for each kind of key.
_KINDS = (
    rb"QUklWQVRFIEtF",  # PRIVATE KEY
    rb"SU0EgUFJJVkFU",  # RSA
    rb"FQyBQUklWQVRF",  # EC
    rb"EU0EgUFJJVkFU",  # DSA
    rb"PUEVOU1NIIFBS",  # OPENSSH
    rb"FTkNSWVBURUQg",  # ENCRYPTED
    rb"QR1AgUFJJVkFU",  # PGP
)
_BASE64_BEGIN = b"LS0tLS1CRUdJTiB"
BASE64 = _BASE64_BEGIN + rb"(?:" + b"|".join(_KINDS) + rb")"
_RUN = rb"[A-Za-z0-9+/]*+={0,2}+"
_NEXT_LINE = rb"(?:\r?\n|\\r\\n|\\n)[ \t]{0,64}"
_LINE_ENDS = frozenset(bytes([byte]) for byte in b"\r\n\\\"' ")
_WRAPPED = frozenset({64, 76})  # lengths of lines of base64

# One of these is in every text that `patterns` match.
HINTS = (b"-----BEGIN", b"PuTTY-User-Key", b"LS0tLS1CRUdJTi")


def patterns() -> list[re.Pattern[bytes]]:
    return [bytes_pattern(PEM_BEGIN), bytes_pattern(PUTTY), bytes_pattern(BASE64)]


def find_blocks(text: bytes, begin: int, *, final: bool) -> BlockMatches:
    """Private keys of all formats."""
    searches = [find(text, begin, final=final) for find in (_find_pem, _find_putty, _find_in_base64)]
    incomplete = [search.incomplete for search in searches if search.incomplete is not None]
    secrets = [secret for search in searches for secret in search.secrets]
    return BlockMatches(secrets, min(incomplete, default=None))


def _find_pem(text: bytes, begin: int, *, final: bool) -> BlockMatches:
    secrets: list[SecretMatch] = []
    done = begin
    for header in (
        bytes_pattern(PEM_BEGIN).finditer(text, begin) if text.find(b"-----BEGIN ", begin) >= 0 else ()
    ):
        start, after = header.span()
        if start < done:
            continue
        if not final and _needs_more(text, after):
            return BlockMatches(secrets, start)
        if end := _pem_end(text, after):
            secrets.append(SecretMatch(start, end, RULE))
            done = end
    return BlockMatches(secrets, None)


def _needs_more(text: bytes, after: int) -> bool:
    dashes = text.find(b"-----", after, after + WINDOW)
    if dashes < 0:
        return len(text) < after + WINDOW
    is_plain = bytes_pattern(_PEM_END).match(text, dashes) and b'"' not in text[after:dashes]
    return not is_plain and len(text) < dashes + _MAX_LINE


def _pem_end(text: bytes, after: int) -> int | None:
    """Where the block ends whose BEGIN line ends at `after`; None when it is not a block."""
    dashes = text.find(b"-----", after, after + WINDOW)
    last = bytes_pattern(_PEM_END).match(text, dashes) if dashes >= 0 else None
    if (
        last
        and bytes_pattern(_KEY).search(text, after, dashes)
        and not _breaks_json(text, after, dashes, last.end())
    ):
        return last.end()
    cut_off = bytes_pattern(_CUT_OFF).match(text, after, min(len(text), after + WINDOW))
    return cut_off.end() if cut_off else None


def _breaks_json(text: bytes, after: int, dashes: int, end: int) -> bool:
    """Whether more than the lines of a key would be masked: brackets, braces, or the end of a value and a name."""
    body = text[after:dashes]
    if bytes_pattern(_STRUCTURE).search(body):
        return True
    return b'"' in body and bytes_pattern(_NAME).match(text, end) is not None


def _find_putty(text: bytes, begin: int, *, final: bool) -> BlockMatches:
    """PuTTY's files: from each end back to the nearest beginning, so that beginnings without end are cheap."""
    secrets: list[SecretMatch] = []
    if text.find(_PUTTY_BEGIN, begin) < 0:
        return BlockMatches(secrets, None)
    done = begin
    for last in bytes_pattern(_PUTTY_END).finditer(text, begin):
        start = text.rfind(_PUTTY_BEGIN, max(done, last.end() - WINDOW), last.start())
        if last.end() == len(text) and not final:
            break  # more digits may follow
        done = last.end()
        if start >= 0 and _is_putty(text, start, last.start()):
            secrets.append(SecretMatch(start, done, RULE))
    incomplete = text.rfind(_PUTTY_BEGIN, done)
    if (
        final
        or incomplete < 0
        or len(text) >= incomplete + WINDOW
        or not bytes_pattern(PUTTY).match(text, incomplete)
    ):
        return BlockMatches(secrets, None)
    return BlockMatches(secrets, incomplete)


def _is_putty(text: bytes, start: int, end: int) -> bool:
    return bool(bytes_pattern(PUTTY).match(text, start)) and not bytes_pattern(_STRUCTURE).search(
        text, start, end
    )


def _find_in_base64(text: bytes, begin: int, *, final: bool) -> BlockMatches:
    secrets: list[SecretMatch] = []
    if text.find(_BASE64_BEGIN, begin) < 0:
        return BlockMatches(secrets, None)
    done = begin
    for match in bytes_pattern(BASE64).finditer(text, begin):
        start = match.start()
        if start < done:
            continue
        done = _base64_end(text, start)
        if not final and done == len(text) and done < start + WINDOW:
            return BlockMatches(secrets, start)
        secrets.append(SecretMatch(start, done, RULE, bytes_pattern(_RUN)))
    return BlockMatches(secrets, None)


def _base64_end(text: bytes, start: int) -> int:
    """Where the base64 that starts at `start` ends; the end of the text when it may go on there."""
    stop = min(len(text), start + WINDOW)
    end = _run_end(text, start, stop)
    length = end - start
    while length in _WRAPPED and text[end - 1 : end] != b"=":
        if len(text) - end < 4:
            return len(text)  # half a line break
        line = bytes_pattern(_NEXT_LINE).match(text, end, stop)
        following = _run_end(text, line.end(), stop) if line else end
        if line is None or not _is_line(text, line.end(), following):
            break
        end, length = following, following - line.end()
    return end


def _is_line(text: bytes, start: int, end: int) -> bool:
    """Whether a run is another line of base64, and not a word at the start of the next line."""
    is_whole = (end - start) % 4 == 0 and end > start
    return end == len(text) or (is_whole and text[end : end + 1] in _LINE_ENDS)


def _run_end(text: bytes, start: int, stop: int) -> int:
    match = bytes_pattern(_RUN).match(text, start, stop)
    return match.end() if match else start
