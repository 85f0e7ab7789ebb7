"""Finding secrets by their prefixes, fast.

`re` looks for a pattern that begins with one literal byte with a bare loop, ten times as fast as for one of many. So
each prefix is found by the rarest byte it has, and the prefixes that share this byte share a pattern: `k`, and then
whether `-ant-` follows and `s` stands before it. Which prefixes there are is said in `rules.py`.

Invariant: a pattern takes no more than the rest of its prefix, so no secret hides another, and no text makes it slow.
"""

import re
from collections.abc import Iterator
from functools import cache, partial

from runcard.redaction.found import Clue, Found
from runcard.redaction.rules import PREFIXES, RULES, Prefix

_RAREST_FIRST = (
    "AxkvyGpfg8"  # in logs, code, prose and JSON; the fewer there are, the fewer passes over the text
)

# Prefixes that are in many words, with what their bodies begin with.
_COMMON = {
    "gh": ("p_", "o_", "u_", "s_", "r_"),
    "gl": ("pat-", "dt-", "rt-", "cbt-", "ptt-"),
}


_Sweep = tuple[re.Pattern[bytes], list[Prefix]]  # with a prefix for each group of the pattern


def find_prefixed(text: bytes, begin: int) -> Iterator[Clue]:
    for pattern, prefixes in sweeps():
        for match in pattern.finditer(text, begin):
            group = match.lastindex or 0
            prefix, end = prefixes[group - 1], match.end(group)
            start = match.end() - len(prefix.literal) + prefix.keep
            yield Clue(start, partial(Found, start, end, prefix.rule, _more(prefix.more)))


@cache
def hints() -> tuple[bytes, ...]:
    """What stands in every text in which `patterns` find something."""
    return tuple(
        (prefix.literal + more).encode("ascii")
        for prefix in PREFIXES
        for more in _COMMON.get(prefix.literal, ("",))
    )


def patterns() -> list[re.Pattern[bytes]]:
    return [pattern for pattern, _ in sweeps()]


@cache
def sweeps() -> list[_Sweep]:
    by_byte: dict[str, list[Prefix]] = {}
    for prefix in PREFIXES:
        by_byte.setdefault(_rarest(prefix.literal), []).append(prefix)
    return [_sweep(byte, prefixes) for byte, prefixes in by_byte.items()]


def _rarest(literal: str) -> str:
    return next(byte for byte in _RAREST_FIRST if byte in literal)


def _sweep(byte: str, prefixes: list[Prefix]) -> _Sweep:
    """One pattern for all prefixes with this byte, branching at the next: `k(?:-(?:ant-…|or-…)|_(?:…))`."""
    by_next: dict[str, list[Prefix]] = {}
    for prefix in prefixes:
        by_next.setdefault(prefix.literal.partition(byte)[2][0], []).append(prefix)
    branches = [
        f"{re.escape(after)}(?:{'|'.join(_rest(byte + after, prefix) for prefix in group)})"
        for after, group in by_next.items()
    ]
    pattern = re.compile(f"{byte}(?:{'|'.join(branches)})".encode("ascii"))
    return pattern, [prefix for group in by_next.values() for prefix in group]


def _rest(begun: str, prefix: Prefix) -> str:
    """The rest of the prefix, then what must stand before all of it, and in a group the body."""
    literal, rest = re.escape(prefix.literal), re.escape(prefix.literal.partition(begun)[2])
    others = [
        f"(?<=\\\\[nrt]{literal})",  # the end of a line in a JSON string
        f"(?<=%[0-9A-Fa-f][0-9A-Fa-f]{literal})",  # a character of an address
        f"(?<=[0-9\\[]m{literal})",  # a colour of the terminal
    ]
    marks = "|".join(sorted({rule[-3:] for rule in RULES}))  # right behind a mark nothing begins
    edge = f"(?:(?<![{prefix.edge}]{literal})(?<!(?:{marks})\\]{literal})|(?<=[0-9A-Fa-fmnrt]{literal})(?:{'|'.join(others)}))"
    return f"{rest}(?<={literal}){edge}(?=({prefix.body}))"


@cache
def _more(characters: str) -> re.Pattern[bytes] | None:
    return re.compile(f"[{characters}]*+".encode("ascii")) if characters else None
