"""Searching a text for the prefixes of vendors' keys, fast.

`re` searches a pattern that starts with one literal byte ten times as fast as one that starts with alternatives. So each
prefix is found by its rarest byte, and the prefixes that share this byte share a pattern: `k`, and then whether `-ant-`
follows and `s` precedes it. `vendor_keys` has the prefixes.

Invariant: a pattern consumes no more than the rest of its prefix, so no secret hides another, and no text makes it slow.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from runcard.masking.lazy_patterns import LiteralFilter, bytes_pattern, has_any
from runcard.masking.marks import MARK
from runcard.masking.matches import SecretMatch
from runcard.masking.rules import KEY_PREFIXES, KeyPrefix

# Bytes by how rare they are in logs, code, prose and JSON. Each one used costs a pass over the text.
_RAREST_FIRST = "AxkvyGRQpfg/_."

# What must follow `_` and `.` at the end of a literal, because they are common: a long run, and not a lower-case word.
_GUARDS = {
    "_": "(?=[a-z]{0,24}+[A-Z0-9])(?=[A-Za-z0-9+/_-]{24})",
    ".": "(?=[A-Za-z0-9_-]{6}[.A-Za-z0-9_-]{20})",
}
_LONGEST_MARK = 128
_LONGEST_BEFORE = 64
_OUTSIDE = "(?<![A-Za-z0-9_.~-])"
# A line break in a JSON string, an escape in a URL, a terminal colour.
_BEHIND_ESCAPE = r"(?:\\[nrt]|[0-9A-Fa-f]{2}|[0-9\[]m)"
_ESCAPE = rb"\\[nrt]\Z|%[0-9A-Fa-f]{2}\Z|[0-9\[]m\Z"

_BRACKET = ord("]")  # the end of a mark


class _Row(NamedTuple):
    """A prefix with what each match needs, prepared once."""

    prefix: KeyPrefix
    size: int  # of the literal
    edge: frozenset[int]
    more: re.Pattern[bytes] | None


_Search = tuple[re.Pattern[bytes], list[_Row]]  # one row per group of the pattern


def find_prefixed(text: bytes, begin: int) -> Iterator[SecretMatch]:
    for byte in by_byte():
        if not _filter(byte).may_match(text):
            continue
        pattern, rows = _search(byte)
        for match in pattern.finditer(text, begin):
            group = match.lastindex or 0
            prefix, size, edge, more = rows[group - 1]
            start: int | None = match.end() - size
            if prefix.before or (start and text[start - 1] in edge):
                start = _start(text, match.end() - size, prefix)
            if start is not None and not (
                start and text[start - 1] == _BRACKET and _is_after_mark(text, start)
            ):
                start += prefix.keep
                yield SecretMatch(start, match.end(group), prefix.rule, more)


def patterns() -> list[re.Pattern[bytes]]:
    """The patterns that `find_prefixed` searches for."""
    return [_search(byte)[0] for byte in by_byte()]


def may_need_masking(text: bytes) -> bool:
    """Whether `find_prefixed` might match; only the patterns that may match are compiled."""
    for byte, code, pairs, literals in _steps():
        # From cheap to expensive: most texts stop at the first or second.
        if (
            code in text
            and has_any(text, pairs)
            and has_any(text, literals)
            and _search(byte)[0].search(text)
        ):
            return True
    return False


class _Step(NamedTuple):
    """What a text must have to have one of the prefixes that are found by the same byte."""

    byte: str
    code: int
    pairs: tuple[bytes, ...]  # this byte with its neighbour, in each literal: far fewer than literals
    literals: list[bytes]


@cache
def _steps() -> tuple[_Step, ...]:
    steps = []
    for byte in by_byte():
        literals = _literals(byte)
        pairs = dict.fromkeys(_pair(literal, byte.encode("ascii")) for literal in literals)
        steps.append(_Step(byte, ord(byte), tuple(pairs), literals))
    return tuple(steps)


def _pair(literal: bytes, byte: bytes) -> bytes:
    at = literal.index(byte)
    return literal[at : at + 2] if literal[at + 1 :] else literal[max(0, at - 1) :]


@cache
def _filter(byte: str) -> LiteralFilter:
    return LiteralFilter(_literals(byte))


@cache
def _literals(byte: str) -> list[bytes]:
    return [prefix.literal.encode("ascii") for prefix in by_byte()[byte]]


@cache
def by_byte() -> dict[str, list[KeyPrefix]]:
    """All prefixes, by the byte that is searched."""
    grouped: dict[str, list[KeyPrefix]] = {}
    for prefix in KEY_PREFIXES:
        grouped.setdefault(_rarest(prefix.literal), []).append(prefix)
    return grouped


def _rarest(literal: str) -> str:
    return next(byte for byte in _RAREST_FIRST if byte in literal)


@cache
def _search(byte: str) -> _Search:
    """One pattern for all prefixes with this byte, branching at the next: `k(?:-(?:ant-…|or-…)|_(?:…))`."""
    by_next: dict[str, list[KeyPrefix]] = {}
    for prefix in by_byte()[byte]:
        by_next.setdefault(prefix.literal.partition(byte)[2][:1], []).append(prefix)
    for group in by_next.values():
        group.sort(key=lambda prefix: -len(prefix.literal))  # `csk-` before `sk-`
    branches = [
        f"{re.escape(after) or _GUARDS[byte]}(?:{'|'.join(_rest(byte + after, prefix) for prefix in group)})"
        for after, group in by_next.items()
    ]
    pattern = re.compile(f"{re.escape(byte)}(?:{'|'.join(branches)})".encode("ascii"))
    return pattern, [_row(prefix) for group in by_next.values() for prefix in group]


def _row(prefix: KeyPrefix) -> _Row:
    edge = frozenset(b"".join(re.findall(f"[{prefix.edge}]".encode("ascii"), bytes(range(256)))))
    more = bytes_pattern(f"[{prefix.more}]*+".encode("ascii")) if prefix.more else None
    return _Row(prefix, len(prefix.literal), edge, more)


def _rest(matched: str, prefix: KeyPrefix) -> str:
    """The rest of the literal, what must precede it (roughly: `_start` checks it), and the body as a group."""
    literal, rest = re.escape(prefix.literal), re.escape(prefix.literal.partition(matched)[2])
    if prefix.before:
        edge = "|".join(f"(?<={_OUTSIDE}{before}{literal})" for before in prefix.before)
    else:
        edge = f"(?<![{prefix.edge}]{literal})|(?<={_BEHIND_ESCAPE}{literal})"
    return f"{rest}(?<={literal})(?:{edge})(?=({prefix.body}))"


def _start(text: bytes, literal: int, prefix: KeyPrefix) -> int | None:
    """Where the secret with this literal starts; None when the text before it excludes a secret."""
    if prefix.before:
        match = _before(prefix.before).search(text, max(0, literal - _LONGEST_BEFORE), literal)
        return match.start() if match else None
    return literal if bytes_pattern(_ESCAPE).search(text, max(0, literal - 3), literal) else None


def _is_after_mark(text: bytes, start: int) -> bool:
    """Whether the bracket before `start` ends a mark: what follows a masked secret is not another one."""
    before = text[max(0, start - _LONGEST_MARK) : start - 1]
    return b"]" not in before[before.rfind(MARK.encode("ascii")) :] and MARK.encode("ascii") in before


@cache
def _before(patterns: tuple[str, ...]) -> re.Pattern[bytes]:
    return re.compile(f"{_OUTSIDE}(?:{'|'.join(patterns)})\\Z".encode("ascii"))
