r"""Private keys in other forms than a PEM block: PuTTY's own files, and a PEM block as a whole in base64.

Both may go over many lines. A PuTTY file is taken from its first line to its MAC; a block in base64 as far as its lines go,
which are of equal length but for the last. Line breaks may be real or written `\n`.

Invariant: what is decided depends on the `WINDOW` bytes after the beginning and on nothing else.
"""

from functools import partial

from runcard.masking.lazy_patterns import bytes_pattern
from runcard.masking.matches import BlockMatches, SecretCandidate, SecretMatch

WINDOW = 32 * 1024
RULE = "private-key"
PUTTY = rb"PuTTY-User-Key-File-[0-9]: "
_PUTTY_BEGIN = b"PuTTY-User-Key-File-"
_PUTTY_END = rb"Private-(?:MAC|Hash): ?[0-9a-f]{40,64}"
_STRUCTURE = rb"[\[\]{}]|\"\s{0,8}:"

# `-----BEGIN … PRIVATE KEY` in base64, for each kind of key that there is.
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
_WRAPPED = frozenset({64, 76})  # how long lines of base64 are


def find_putty(text: bytes, begin: int, *, final: bool) -> BlockMatches:
    """PuTTY's files: from each end back to the nearest beginning, so that beginnings without end cost nothing."""
    clues: list[SecretCandidate] = []
    if text.find(_PUTTY_BEGIN, begin) < 0:
        return BlockMatches(clues, None)
    done = begin
    for last in bytes_pattern(_PUTTY_END).finditer(text, begin):
        start = text.rfind(_PUTTY_BEGIN, max(done, last.end() - WINDOW), last.start())
        if last.end() == len(text) and not final:
            break  # more digits may follow
        done = last.end()
        if start >= 0 and _is_putty(text, start, last.start()):
            clues.append(SecretCandidate(start, partial(SecretMatch, start, done, RULE)))
    waiting = text.rfind(_PUTTY_BEGIN, done)
    if final or waiting < 0 or len(text) >= waiting + WINDOW or not bytes_pattern(PUTTY).match(text, waiting):
        return BlockMatches(clues, None)
    return BlockMatches(clues, waiting)


def _is_putty(text: bytes, start: int, end: int) -> bool:
    return bool(bytes_pattern(PUTTY).match(text, start)) and not bytes_pattern(_STRUCTURE).search(
        text, start, end
    )


def find_in_base64(text: bytes, begin: int, *, final: bool) -> BlockMatches:
    clues: list[SecretCandidate] = []
    if text.find(_BASE64_BEGIN, begin) < 0:
        return BlockMatches(clues, None)
    done = begin
    for match in bytes_pattern(BASE64).finditer(text, begin):
        start = match.start()
        if start < done:
            continue
        done = _base64_end(text, start)
        if not final and done == len(text) and done < start + WINDOW:
            return BlockMatches(clues, start)
        clues.append(SecretCandidate(start, partial(SecretMatch, start, done, RULE, bytes_pattern(_RUN))))
    return BlockMatches(clues, None)


def _base64_end(text: bytes, start: int) -> int:
    """Where the base64 ends that begins at `start`; the end of the text when it may go on there."""
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
    """Whether a run is one more line of base64, and not a word that happens to begin the next line."""
    is_whole = (end - start) % 4 == 0 and end > start
    return end == len(text) or (is_whole and text[end : end + 1] in _LINE_ENDS)


def _run_end(text: bytes, start: int, stop: int) -> int:
    match = bytes_pattern(_RUN).match(text, start, stop)
    return match.end() if match else start
