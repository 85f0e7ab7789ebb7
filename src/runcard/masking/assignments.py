r"""Searching a text for secret names with their values: `API_KEY=…`, `"token": "…"`, `password: …`, `<password>…</`.

A fast pattern finds the words of secret names, with what must follow them; then the whole name is checked (`secret_names`),
and the value (`secret_values`). What is between and around the two decides how strictly.

Invariant: a value is replaced from its first character to its last, and its quotes stay.
"""

import re
from collections.abc import Iterator
from functools import cache, partial
from typing import NamedTuple

from runcard.masking import http_headers, value_spans
from runcard.masking.marks import MARK
from runcard.masking.matches import SecretCandidate, SecretMatch
from runcard.masking.secret_names import Strength, name_hint
from runcard.masking.secret_values import ValueContext, is_placeholder, looks_random, secret_rule

_NAME_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
_LONGEST_NAME = 64  # before the secret word
_LONGEST_JOINED = 24  # a name in a program; a key in base64 is longer
_MIN_VALUE = 3  # a shorter value is not a secret in a text
_MIN_WEAK_VALUE = 16  # under a name that is a weak hint
_BEFORE = 16  # bytes before a name that are checked

# The words of secret names; and what cannot be their value, because it is a name and a sign again, which is found on its own.
# A cookie may start with any name.
_SIGN_AGAIN = rb"(?:[=:|>'\"]|[ \t](?:[=:|]|is[ \t]))"
_WORDS = {
    rb"k(?:ey(?:(?<=[a-z0-9_\-. ?&\n]key)|(?<=\Akey))|en(?!s|=token=)(?<=token)|ie(?<=cookie))": rb"[?&]key=",
    rb"p(?:ass|wd|w(?![a-z0-9])|at(?<=_pat)(?![a-z0-9]))": rb"passw(?:or)?d" + _SIGN_AGAIN + rb"|define\(",
    rb"c(?:ret(?<=secret)|red)": rb"secret" + _SIGN_AGAIN,
    rb"u(?:th(?<=auth))": rb"authorization:",
}
# One of these, in lower case, is in every text that `patterns` match.
HINTS = (b"key", b"token", b"cookie", b"pass", b"pw", b"_pat", b"secret", b"cred", b"auth")
_COLOUR = rb"(?:\x1b\[[0-9;]{0,12}m)?"
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
_VALUE = (
    rb"(?=(?P<rest>[a-z0-9_.\-]{0,40}+)(?:\\{0,7}[\"'])?\]?" + _COLOUR + rb"(?:"
    rb"[ \t]{0,16}+(?P<sign>" + b"|".join(_SIGNS) + rb")[ \t]{0,16}+" + _COLOUR + rb"|"
    rb"(?P<weak>,[ \t]{0,16}(?=[\"'])|[ \t](?=[\"'])|[ \t](?=[a-z0-9+/=_\-]{20})))"
    rb"(?:[bfru]{0,2}(?P<quote>\\{0,7}[\"'`])|(?=[^\s\"'`]{3})(?![0-9.]{1,20}+[^A-Za-z0-9_./+-]))"  # a bare number is not a secret
    rb"(?!%b)(?P<value>[^\s\"'`\\:=,;)}\]][^\r\n\"'`]{2}))"
)
_REST, _SIGN, _WEAK, _QUOTE, _VALUE_START = range(1, 6)  # the groups; by number they are faster
_LOOSE, _STRICT, _SURE = ValueContext.LOOSE, ValueContext.STRICT, ValueContext.SURE  # and so are these
_MARK = MARK.encode("ascii")
_SPACE, _BACKSLASH = b" \\"
_BEFORE_ESCAPE = frozenset(b"\\[;")
_HEADERS = frozenset({"authorization", "cookie"})


class _Assignment(NamedTuple):
    """A name, the context of its value, and what ends a value without quotes."""

    name: str
    context: ValueContext
    ends: bytes


def find_assigned(text: bytes, lowered: bytes, begin: int) -> Iterator[SecretCandidate]:
    """Candidates under secret names. A word before the name may make it one, and `key` alone is checked by its value."""
    known: dict[
        int, tuple[object, ...]
    ] = {}  # by the start of the value: `SECRET_KEY` has two words, and is one name
    for pattern in patterns():
        for match in pattern.finditer(lowered, begin):
            regs = match.regs
            name, at = _name(text, regs[0][0], regs[_REST][1])
            is_after_space = at > 0 and text[at - 1] == _SPACE
            if name_hint(name) is None and not is_after_space and name.lower().lstrip("-") != "key":
                continue
            start, place = regs[_VALUE_START][0], (at, regs[_REST][1], regs[_SIGN:])
            if known.get(start) != place:
                known[start] = place
                yield SecretCandidate(start, partial(_check, text, match, name, at))


@cache
def patterns() -> list[re.Pattern[bytes]]:
    return [
        re.compile(word + _VALUE.replace(b"(?!%b)", b"(?!" + again + b")")) for word, again in _WORDS.items()
    ]


def _check(text: bytes, match: re.Match[bytes], name: str, at: int) -> SecretMatch | None:
    before = text[at - _BEFORE if at > _BEFORE else 0 : at]
    if before.endswith(_MARK):
        return None
    assignment = _by_sign(name, before, match) if match[_SIGN] else _without_sign(name, before, match)
    if assignment and before.endswith(b" "):
        assignment = _Assignment(_with_word_before(text, at, name), assignment.context, assignment.ends)
    hint = name_hint(assignment.name) if assignment else None
    if assignment and hint is None and assignment.name.lower().lstrip("-") == "key":
        return _check_bare_key(text, match, assignment)
    if assignment is None or hint is None:
        return None
    if hint.rule in _HEADERS and (header := _check_header(text, match, assignment, hint.rule)):
        return header.secret
    return _check_value(text, match, assignment)


class _Header(NamedTuple):
    """The value of a header, and the secret in it, if any."""

    secret: SecretMatch | None


def _check_header(text: bytes, match: re.Match[bytes], assignment: _Assignment, rule: str) -> _Header | None:
    """The secret in an `Authorization` or `Cookie` header; None when the value does not look like one."""
    start = match.start(_VALUE_START)
    span = value_spans.at(
        text, start, match[_QUOTE], value_spans.HEADER if match[_SIGN] == b":" else assignment.ends
    )
    if rule == "authorization":
        return _Header(http_headers.authorization(text, start, span))
    if http_headers.has_cookies(text, start, span):
        return _Header(
            http_headers.cookie(text, start, span, is_set=assignment.name.lower().startswith("set"))
        )
    return None


def _by_sign(name: str, before: bytes, match: re.Match[bytes]) -> _Assignment | None:
    """The assignment by the sign between name and value; `before` is the text before the name."""
    sign, has_quote = match[_SIGN], match.start(_QUOTE) >= 0
    if sign.endswith(b">") and sign != b"=>":
        return (
            None
            if has_quote or not _is_markup(sign, before)
            else _Assignment(name, _STRICT, value_spans.MARKUP)
        )
    if sign == b"=" and _is_tight(match.regs):
        if before.endswith((b"?", b"&")):
            return _Assignment(name, _STRICT, value_spans.QUERY)
        if name.isupper() or name.startswith("--"):
            return _Assignment(name, _SURE, value_spans.SHELL)
        if before[-2:].rstrip().endswith(b";"):  # Server=db;Password=…
            return _Assignment(name, _STRICT, value_spans.LOOSE)
    if sign == b"|" and not before.rstrip(b" `*").endswith(b"|"):
        return None  # a pipe, and not a table
    if sign == b":" and before.endswith(b":"):
        return None  # part of a longer name: arn:aws:secretsmanager:eu:1:secret:name
    return _Assignment(name, _STRICT if has_quote else _LOOSE, value_spans.LOOSE)


def _is_tight(groups: tuple[tuple[int, int], ...]) -> bool:
    """Whether there is nothing but the sign between name and value."""
    _, (_, rest), (sign, end), _, (quote, _), (value, _) = groups
    return rest == sign and end == (value if quote < 0 else quote)


def _is_markup(sign: bytes, before: bytes) -> bool:
    """Whether a name is an element, and not a group in a regular expression: (?P<password>…)."""
    if sign.startswith(b"</"):
        return before.endswith(b"<key>")
    return before.endswith((b"<", b":")) and not before.endswith((b"P<", b"?<"))


def _without_sign(name: str, before: bytes, match: re.Match[bytes]) -> _Assignment | None:
    """No sign, but `('NAME', 'value')` of a call, `PASSWORD 'value'` of SQL, or `api_key` and a long random word."""
    hint, quote = name_hint(name), match[_QUOTE]
    if hint is None or hint.strength is not Strength.HARD:
        return None
    if match[_WEAK].startswith(b","):
        call = before.replace(b" ", b"")[:-1]
        context = _STRICT if call.endswith(b"define(") else _LOOSE
        return _Assignment(name, context, value_spans.LOOSE) if call.endswith(b"(") else None
    closed = match.end(_REST) != match.start(_WEAK)
    if closed or (quote and hint.rule != "password"):
        return None
    in_sql = quote is not None and name == "PASSWORD"
    return _Assignment(name, _STRICT if in_sql else _LOOSE, value_spans.LOOSE)


def _check_value(text: bytes, match: re.Match[bytes], assignment: _Assignment) -> SecretMatch | None:
    start = match.start(_VALUE_START)
    span = value_spans.at(text, start, match[_QUOTE], assignment.ends)
    value = value_spans.value(text, start, span)
    if assignment.ends == value_spans.MARKUP and text[span.end : span.end + 2] != b"</":
        return None
    is_bare_pass = assignment.context is _LOOSE and assignment.name == "pass"  # a word that means many things
    if len(value) < (_MIN_WEAK_VALUE if is_bare_pass else _MIN_VALUE) or (
        match[_QUOTE] and _is_joined(value)
    ):
        return None
    rule = secret_rule(assignment.name, value, assignment.context)
    return SecretMatch(start, span.end, rule, span.more) if rule else None


def _check_bare_key(text: bytes, match: re.Match[bytes], assignment: _Assignment) -> SecretMatch | None:
    """`KEY=…`, `--key=…`, `?key=…`: the name alone is a weak hint, so the value must be long and random."""
    start = match.start(_VALUE_START)
    span = value_spans.at(text, start, match[_QUOTE], assignment.ends)
    value = value_spans.value(text, start, span)
    if (
        assignment.ends not in {value_spans.SHELL, value_spans.QUERY}
        or len(value) < _MIN_WEAK_VALUE
        or is_placeholder(value)
    ):
        return None
    return SecretMatch(start, span.end, "named-secret", span.more) if looks_random(value) else None


def _is_joined(value: str) -> bool:
    """Whether the quote before `value` closes a string of a program: `"password=" + name`."""
    return value.startswith("+") and len(value) <= _LONGEST_JOINED and value.strip("+").isidentifier()


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
    colour = re.match(rb"[0-9]+m", name)
    return colour.end() if colour else 0


def _with_word_before(text: bytes, start: int, name: str) -> str:
    """`api key` when `api` and a space precede `key`, if that is a stronger hint."""
    word, _ = _name(text, start - 1, start - 1)
    joined = f"{word}_{name}"
    more, less = name_hint(joined), name_hint(name)
    return joined if more and (not less or more.strength > less.strength) else name
