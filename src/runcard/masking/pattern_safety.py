"""Which regular expressions are allowed as secret patterns: those that no text can make slow.

Python's `re` backtracks over all ways to match. So a pattern is measured before it is used: in how many ways it can match at
one position (`ways`), and how long a match can be. What cannot be measured is not supported: backreferences, lookaround, and
repetition of what can already match in several ways, `(a+)+`.

Invariant: a pattern that passes matches at least `MIN_LENGTH` and at most `MAX_LENGTH` characters of one line.
"""

import re
from math import prod
from typing import NamedTuple

MAX_PATTERN = 500  # characters of the pattern itself
MIN_LENGTH = 4  # a shorter match would mask half of every text
MAX_LENGTH = 2048
MAX_WAYS = 2048
_UNBOUNDED = 1024  # the most repetitions of `+`, `*` and `{3,}`

_ITEM = r"(?s)\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?:|\(\?i\)|\(\?.|[()|]|[*+?]|\{[0-9]*(?:,[0-9]*)?\}|."
_QUANTIFIER = r"[*+?]|\{[0-9]+(?:,[0-9]*)?\}|\{,[0-9]+\}"
_SIMPLE = {".": r"[^\r\n]", r"\s": r"[ \t]", r"\W": r"[^\w\r\n]", r"\D": r"[^\d\r\n]"}
_ESCAPES = r"\\(?:[dSwb]|[^A-Za-z0-9])"


class UnsafePatternError(ValueError):
    """A pattern that is not allowed, with the reason."""


class _RegexPart(NamedTuple):
    """A part of a pattern as it is compiled, and its measures."""

    text: str
    ways: int = 1
    shortest: int = 1
    longest: int = 1


def safe_pattern(pattern: str) -> str:
    """The pattern to compile; raises UnsafePatternError for one that is not allowed."""
    if len(pattern) > MAX_PATTERN:
        raise UnsafePatternError(f"it is longer than {MAX_PATTERN} characters")
    if not pattern.isascii() or not pattern.isprintable():
        raise UnsafePatternError("only printable ASCII characters are allowed")
    try:
        re.compile(pattern.encode("ascii"))
    except re.error as error:
        raise UnsafePatternError(f"it is not a regular expression: {error}") from None
    ignores_case = pattern.startswith("(?i)")
    part = _Parser(re.findall(_ITEM, pattern.removeprefix("(?i)"))).whole()
    if part.shortest < MIN_LENGTH:
        raise UnsafePatternError(f"it can match fewer than {MIN_LENGTH} characters")
    if part.longest > MAX_LENGTH or part.ways > MAX_WAYS:
        raise UnsafePatternError("it is too open: use lengths, such as {20} or {20,40}, instead of + and *")
    return f"(?i:{part.text})" if ignores_case else part.text


class _Parser:
    """Parses a pattern."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens[::-1]  # the next one is last

    def whole(self) -> _RegexPart:
        return self._alternatives()  # `re` has checked that the parentheses are balanced

    def _alternatives(self) -> _RegexPart:
        branches = [self._sequence()]
        while self._tokens and self._tokens[-1] == "|":
            self._tokens.pop()
            branches.append(self._sequence())
        return _RegexPart(
            "|".join(branch.text for branch in branches),
            sum(branch.ways for branch in branches),
            min(branch.shortest for branch in branches),
            max(branch.longest for branch in branches),
        )

    def _sequence(self) -> _RegexPart:
        parts: list[_RegexPart] = []
        while self._tokens and self._tokens[-1] not in {"|", ")"}:
            parts.append(self._repeated(self._atom()))
        return _RegexPart(
            "".join(part.text for part in parts),
            prod(part.ways for part in parts),
            sum(part.shortest for part in parts),
            sum(part.longest for part in parts),
        )

    def _atom(self) -> _RegexPart:
        token = self._tokens.pop()
        if token in {"(", "(?:"}:
            inside = self._alternatives()
            self._tokens.pop()
            return inside._replace(text=f"(?:{inside.text})")
        if token.startswith("[") and len(token) > 1:
            return _RegexPart(_class(token))
        if token in _SIMPLE:
            return _RegexPart(_SIMPLE[token])
        if (
            token in {"^", "$", "{", "{}", "{,}"}
            or token.startswith("(?")
            or (token[0] == "\\" and not re.fullmatch(_ESCAPES, token))
        ):
            raise UnsafePatternError(f"{token} is not supported")
        return _RegexPart(token, shortest=0, longest=0) if token == r"\b" else _RegexPart(token)  # noqa: S105

    def _repeated(self, part: _RegexPart) -> _RegexPart:
        if not self._tokens or not re.fullmatch(_QUANTIFIER, self._tokens[-1]):
            return part
        low, high = _limits(self._tokens.pop())
        if self._tokens and self._tokens[-1] in {"?", "+"}:
            raise UnsafePatternError("lazy and possessive quantifiers are not supported")
        if part.ways > 1 and high > 1:
            raise UnsafePatternError(
                "it repeats something that can match in several ways, such as (a+)+ or (a|b)*"
            )
        ways = part.ways * (high - low + 1)
        return _RegexPart(f"{part.text}{{{low},{high}}}", ways, part.shortest * low, part.longest * high)


def _limits(quantifier: str) -> tuple[int, int]:
    if quantifier in {"*", "+", "?"}:
        return {"*": (0, _UNBOUNDED), "+": (1, _UNBOUNDED), "?": (0, 1)}[quantifier]
    low, comma, high = quantifier.strip("{}").partition(",")
    least = int(low or 0)
    return least, int(high) if high else (least + _UNBOUNDED if comma else least)


def _class(token: str) -> str:
    """A character class without line breaks."""
    if re.search(r"\\[nrWDAZB0-9afvxuU]", token):
        raise UnsafePatternError(f"{token} is not supported")
    token = token.replace(r"\s", r" \t")
    return token.replace("[^", r"[^\r\n", 1) if token.startswith("[^") else token
