r"""Searching a text for secret names with their values: `API_KEY=…`, `"token": "…"`, `password: …`, `<password>…</`.

A fast pattern finds the words of secret names, with what must follow them; then the whole name is checked (`secret_names`),
and the value (`secret_values`). What is between and around the two decides how strictly.

Invariant: a value is replaced from its first character to its last, and its quotes stay.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import NamedTuple

from runcard.masking import http_headers, value_spans
from runcard.masking.lazy_patterns import LiteralFilter, bytes_pattern
from runcard.masking.marks import MARK
from runcard.masking.matches import FoundSecret, LateCheck, SecretMatch, ValueCheck
from runcard.masking.secret_names import (
    Strength,
    WordBefore,
    name_hint,
    strengthens_name,
    word_before,
)
from runcard.masking.secret_values import ValueContext
from runcard.masking.value_checks import Assignment, check_of_bare_key, check_of_value

_NAME_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
_LONGEST_NAME = 64  # before the secret word
_LONGEST_REST = 40  # after the secret word
_BEFORE = 16  # bytes before a name that are checked
_UNDECIDED = frozenset(
    {b" ", b"\n", b"\r", b"\t", b"\v", b"\f", b"<"}
)  # before a name: the byte before it decides
_DECIDING = frozenset(b";P?")  # such a byte
_MOST_PLACES = 4096  # that are remembered
_MOST_CHECKS = 1024
_EDGE = b"\n"
_EDGES = bytes(byte if byte in _NAME_BYTES else ord(_EDGE) for byte in range(256))

# The words of secret names; and what cannot be their value, because it is a name and a sign again, which is found on its own.
# A cookie may start with any name.
_SIGN_AGAIN = rb"(?:[=:|>'\"]|[ \t](?:[=:|]|is[ \t]))"


class _Words(NamedTuple):
    """Words of secret names that begin with the same byte, and what cannot be their value."""

    pattern: bytes
    hints: tuple[bytes, ...]  # one of these, in lower case, is in every text that the pattern matches
    again: bytes


_WORDS = (
    _Words(
        rb"k(?:ey(?:(?<=[a-z0-9_\-. ?&\n]key)|(?<=\Akey))|en(?!s|=token=)(?<=token)|ie(?<=cookie))",
        (b"key", b"token", b"cookie"),
        rb"[?&]key=",
    ),
    _Words(
        rb"p(?:ass|wd|w(?![a-z0-9])|at(?<=_pat)(?![a-z0-9]))",
        (b"pass", b"pw", b"_pat"),
        rb"passw(?:or)?d" + _SIGN_AGAIN + rb"|define\(",
    ),
    _Words(rb"c(?:ret(?<=secret)|red)", (b"secret", b"cred"), rb"secret" + _SIGN_AGAIN),
    _Words(rb"u(?:th(?<=auth))", (b"auth",), rb"authorization:"),
)
HINTS = tuple(hint for words in _WORDS for hint in words.hints)
# `(?:…|)` is the same as `(?:…)?`, and faster in `re`.
_COLOUR = rb"(?:\x1b\[[0-9;]{0,12}m|)"
_CLOSED = rb"(?:[\"']|\\{1,7}[\"']|)\]?"
_SIGNS = (  # each starts with a fixed character, so that `re` is fast
    rb":[ \t]{0,2}&?(?:'static )?(?:string|str)[ \t]{0,2}=",  # a type before the value: const key: string = …
    rb"=>|:=|={1,3}|:|%3d|\|",
    rb"value=",  # <add key="ApiKey" value="…"/>
    rb"</key><string>|>(?!<)|type=\"[^\"<>\r\n]{0,60}\">",  # <password>…</password>, with an attribute or without
    *(
        verb + rb"(?:[ \t]?:)?(?=[ \t])"
        for verb in (
            rb"ist?",
            rb"lautet",
            rb"changed to",
            rb"set to",
            rb"was (?:changed|reset|set) to",
            rb"has been (?:changed|reset|set) to",
        )
    ),
)
# A value without quotes must look random, so it has 6 characters or more; but not after a lone `=` or `>`, and not if it may be
# a cookie. (A name that is short, and has `cookie` in it, is also found by that word.)
_MAY_BE_COOKIE = rb"(?<=cookie)|(?=[a-z0-9_.\-]{10})|(?<=[a-z0-9_.\-]{30})"
_LONG = rb"(?:(?<=[^=:]=)|(?<=>)|(?(cookie)|(?![^\s\"'`\\,;&)}\]>|<=]{1,5}+[,;&)}\]>|<\r\n])))"
_VALUE = (
    rb"(?>(?P<cookie>"
    + _MAY_BE_COOKIE
    + rb")|)(?=(?P<rest>[a-z0-9_.\-]{0,40}+)"
    + _CLOSED
    + _COLOUR
    + rb"(?:"
    rb"[ \t]{0,16}+(?P<sign>" + b"|".join(_SIGNS) + rb")[ \t]{0,16}+" + _COLOUR + rb"|"
    rb"(?P<weak>,[ \t]{0,16}(?=[\"'])|[ \t](?=[\"'])|[ \t](?=[a-z0-9+/=_\-]{20})))"
    rb"(?:[bfru]{0,2}(?P<quote>\\{0,7}[\"'`])"
    rb"|(?=[^\s\"'`]{3})(?![0-9.]{1,20}+[^A-Za-z0-9_./+-])" + _LONG + rb")"  # a bare number is not a secret
    rb"(?!%b)(?P<value>[^\s\"'`\\:=,;)}\]][^\r\n\"'`]{2}))"
)
_REST, _SIGN, _WEAK, _QUOTE, _VALUE_START = range(2, 7)  # the groups; by number they are faster
_LOOSE, _STRICT, _SURE = ValueContext.LOOSE, ValueContext.STRICT, ValueContext.SURE  # and so are these
_MARK = MARK.encode("ascii")
_SPACE, _BACKSLASH = b" \\"
_BEFORE_ESCAPE = frozenset(b"\\[;")
_HEADERS = frozenset({"authorization", "cookie"})


_AssignmentCheck = Callable[[bytes, int], SecretMatch | LateCheck | None]  # like ValueCheck


class _NamePlace(NamedTuple):
    """What a name, the byte before it, its sign and its quote say about the value. In a text, few of these are different."""

    check: _AssignmentCheck | None  # None when no value is a secret
    depends_on_word: bool = False  # a word before the name may make it another name


_FAR = _NamePlace(None)  # what is further away counts too


class AssignmentSearch:
    """Finds secrets by their names, and remembers what names and signs say."""

    def __init__(self) -> None:
        self._places: dict[bytes, _NamePlace] = {}
        self._words: dict[bytes, bool] = {}  # before names: whether a word makes a name a stronger hint
        self._check_of = lru_cache(maxsize=_MOST_CHECKS)(_check_of)

    def find(self, text: bytes, lowered: bytes, begin: int) -> list[FoundSecret]:
        """A word before the name may make it a secret name, and `key` alone is checked by its value."""
        found: list[FoundSecret] = []
        checked: dict[
            int, object
        ] = {}  # by the start of the value: `SECRET_KEY` has two words, and is one name
        known_place, edge_before = self._places.get, lowered.translate(_EDGES).rfind
        searched = [_pattern(words) for words in _WORDS if _filter(words).may_match(lowered)]
        for pattern in searched:
            for match in pattern.finditer(lowered, begin):
                word, start = match.start(), match.start(_VALUE_START)
                before = edge_before(_EDGE, word - _LONGEST_NAME if word > _LONGEST_NAME else 0, word)
                if before < 1 or start - word > _LONGEST_REST or text[before - 1] in _DECIDING:
                    place = _FAR
                else:
                    place = known_place(text[before:start]) or self._add(text[before:start], text, match)
                check, depends_on_word = place
                if place is _FAR or (depends_on_word and self._has_strong_word(text, before, edge_before)):
                    secret = self._check_far(text, match)
                elif check is None or checked.get(start) is check:
                    continue
                else:
                    checked[start] = check
                    secret = check(text, start)
                if secret is not None:
                    found.append((start, secret))
        return found

    def _add(self, around: bytes, text: bytes, match: re.Match[bytes]) -> _NamePlace:
        if len(self._places) >= _MOST_PLACES:
            self._places.clear()
        place = self._places[around] = self._place(text, match)
        return place

    def _has_strong_word(self, text: bytes, end: int, edge_before: Callable[[bytes, int, int], int]) -> bool:
        """Whether the word that ends at `end` might make the name after it a stronger hint."""
        edge = edge_before(_EDGE, end - _LONGEST_NAME if end > _LONGEST_NAME else 0, end)
        if edge < 0:
            return strengthens_name(_name(text, end, end)[0])
        word = text[edge:end]
        if word not in self._words:
            if len(self._words) >= _MOST_PLACES:
                self._words.clear()
            self._words[word] = strengthens_name(_name(text, end, end)[0])
        return self._words[word]

    def _place(self, text: bytes, match: re.Match[bytes]) -> _NamePlace:
        name, at = _name(text, match.start(), match.end(_REST))
        before, sign = text[at - 2 : at], match[_SIGN]
        if not sign or sign == b"|" or sign.startswith(b"</") or before.endswith(b":"):
            return _FAR
        assignment = _by_sign(name, before, match)
        if assignment is None:
            return _NamePlace(None)
        effect = word_before(name) if before.endswith(b" ") else WordBefore.NO_EFFECT
        if effect is WordBefore.ANY_WORD:
            return _FAR
        check = self._check_of(assignment, match[_QUOTE], is_after_colon=sign == b":")
        return _NamePlace(check, effect is WordBefore.SECRET_WORD)

    def _check_far(self, text: bytes, match: re.Match[bytes]) -> SecretMatch | LateCheck | None:
        """The secret of a match for which the text further away counts."""
        name, at = _name(text, match.start(), match.end(_REST))
        before = text[at - _BEFORE if at > _BEFORE else 0 : at]
        if before.endswith(_MARK):
            return None
        sign = match[_SIGN]
        assignment = _by_sign(name, before, match) if sign else _without_sign(name, before, match)
        if assignment is None:
            return None
        if before.endswith(b" "):
            assignment = assignment._replace(name=_with_word_before(text, at, name))
        check = self._check_of(assignment, match[_QUOTE], is_after_colon=sign == b":")
        return check(text, match.start(_VALUE_START)) if check else None


def _check_of(
    assignment: Assignment, quote: bytes | None, *, is_after_colon: bool
) -> _AssignmentCheck | None:
    """The check of the value of an assignment; None when no value is a secret."""
    hint = name_hint(assignment.name)
    if hint is None:
        return check_of_bare_key(assignment, quote) if _is_bare_key(assignment.name) else None
    check = check_of_value(assignment, quote)
    if hint.rule not in _HEADERS:
        return check
    ends = value_spans.HEADER if is_after_colon else assignment.ends
    late = LateCheck(partial(_check_header, assignment, quote, ends, hint.rule, check))
    return lambda _text, _start: late


def patterns() -> list[re.Pattern[bytes]]:
    return [_pattern(words) for words in _WORDS]


@cache
def _pattern(words: _Words) -> re.Pattern[bytes]:
    return re.compile(words.pattern + _VALUE.replace(b"(?!%b)", b"(?!" + words.again + b")"))


@cache
def _filter(words: _Words) -> LiteralFilter:
    return LiteralFilter(words.hints)


def _check_header(
    assignment: Assignment,
    quote: bytes | None,
    ends: bytes,
    rule: str,
    check: ValueCheck,
    text: bytes,
    start: int,
) -> SecretMatch | None:
    """The secret in an `Authorization` or `Cookie` header; `check` is for a value that does not look like one."""
    if rule == "cookie" and not http_headers.may_have_cookies(text, start):
        return check(text, start)
    span = value_spans.at(text, start, quote, ends)
    if rule == "authorization":
        return http_headers.authorization(text, start, span)
    if http_headers.has_cookies(text, start, span):
        return http_headers.cookie(text, start, span, is_set=assignment.name.lower().startswith("set"))
    return check(text, start)


def _by_sign(name: str, before: bytes, match: re.Match[bytes]) -> Assignment | None:
    """The assignment by the sign between name and value; `before` is the text before the name."""
    sign, has_quote = match[_SIGN], match.start(_QUOTE) >= 0
    if sign.endswith(b">") and sign != b"=>":
        return (
            None
            if has_quote or not _is_markup(sign, before)
            else Assignment(name, _STRICT, value_spans.MARKUP)
        )
    if sign == b"=" and _is_tight(match.regs):
        if before.endswith((b"?", b"&")):
            return Assignment(name, _STRICT, value_spans.QUERY)
        if name.isupper() or name.startswith("--"):
            return Assignment(name, _SURE, value_spans.SHELL)
        if before[-2:].rstrip().endswith(b";"):  # Server=db;Password=…
            return Assignment(name, _STRICT, value_spans.LOOSE)
    if sign == b"|" and not before.rstrip(b" `*").endswith(b"|"):
        return None  # a pipe, and not a table
    if sign == b":" and before.endswith(b":"):
        return None  # part of a longer name: arn:aws:secretsmanager:eu:1:secret:name
    return Assignment(name, _STRICT if has_quote else _LOOSE, value_spans.LOOSE)


def _is_tight(groups: tuple[tuple[int, int], ...]) -> bool:
    """Whether there is nothing but the sign between name and value."""
    (_, rest), (sign, end), _, (quote, _), (value, _) = groups[_REST:]
    return rest == sign and end == (value if quote < 0 else quote)


def _is_markup(sign: bytes, before: bytes) -> bool:
    """Whether a name is an element, and not a group in a regular expression: (?P<password>…)."""
    if sign.startswith(b"</"):
        return before.endswith(b"<key>")
    return before.endswith((b"<", b":")) and not before.endswith((b"P<", b"?<"))


def _without_sign(name: str, before: bytes, match: re.Match[bytes]) -> Assignment | None:
    """No sign, but `('NAME', 'value')` of a call, `PASSWORD 'value'` of SQL, or `api_key` and a long random word."""
    hint, quote = name_hint(name), match[_QUOTE]
    if hint is None or hint.strength is not Strength.HARD:
        return None
    if match[_WEAK].startswith(b","):
        call = before.replace(b" ", b"")[:-1]
        context = _STRICT if call.endswith(b"define(") else _LOOSE
        return Assignment(name, context, value_spans.LOOSE) if call.endswith(b"(") else None
    closed = match.end(_REST) != match.start(_WEAK)
    if closed or (quote and hint.rule != "password"):
        return None
    in_sql = quote is not None and name == "PASSWORD"
    return Assignment(name, _STRICT if in_sql else _LOOSE, value_spans.LOOSE)


def _is_bare_key(name: str) -> bool:
    return name.lower().lstrip("-") == "key"


def _name(text: bytes, at: int, end: int) -> tuple[str, int]:
    """The name around `at`, and where it starts: without an escape's letter, without a terminal colour."""
    head = text[at - _LONGEST_NAME if at > _LONGEST_NAME else 0 : at]
    start = at - len(head) + len(head.rstrip(_NAME_BYTES))
    if start and text[start - 1] in _BEFORE_ESCAPE:
        start += _escape_length(text[start - 1], text[start:end])
    return text[start:end].decode("ascii"), start


def _escape_length(before: int, name: bytes) -> int:
    """How many characters of a name belong to an escape sequence that begins before it."""
    if before == _BACKSLASH:
        return int(name[:1] in {b"n", b"r", b"t"})
    colour = bytes_pattern(rb"[0-9]+m").match(name)
    return colour.end() if colour else 0


def _with_word_before(text: bytes, start: int, name: str) -> str:
    """`api key` when `api` and a space precede `key`, if that is a stronger hint."""
    word, _ = _name(text, start - 1, start - 1)
    joined = f"{word}_{name}"
    more, less = name_hint(joined), name_hint(name)
    return joined if more and (not less or more.strength > less.strength) else name
