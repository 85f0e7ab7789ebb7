r"""Secret names in a text, with their values: `API_KEY=…`, `"token": "…"`, `password: …`, `<password>…</`.

The words that make a name a secret name are found fast, together with what must follow them; then the whole name is taken
apart (`names.py`) and the value is judged (`values.py`). What stands between and around the two decides how strictly.

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
_SHORTEST = 3  # a value that is shorter is no secret in a text
_LONG = 16  # a value that is a secret under a name that says little
_BEFORE = 16  # bytes before a name that say what it is

# The words that make a name a secret name; and what is no value of them, for it is a name and a sign again, which the search
# finds as well. A cookie may begin with any name.
_SIGN_AGAIN = rb"(?:[=:|>'\"]|[ \t](?:[=:|]|is[ \t]))"
_WORDS = {
    rb"k(?:ey(?:(?<=[a-z0-9_\-. ?&\n]key)|(?<=\Akey))|en(?!s|=token=)(?<=token)|ie(?<=cookie))": rb"[?&]key=",
    rb"p(?:ass|wd|w(?![a-z0-9])|at(?<=_pat)(?![a-z0-9]))": rb"passw(?:or)?d" + _SIGN_AGAIN + rb"|define\(",
    rb"c(?:ret(?<=secret)|red)": rb"secret" + _SIGN_AGAIN,
    rb"u(?:th(?<=auth))": rb"authorization:",
}
# What stands in every text, in lower case, in which `patterns` find something.
HINTS = (b"key", b"token", b"cookie", b"pass", b"pw", b"_pat", b"secret", b"cred", b"auth")
_COLOUR = rb"(?:\x1b\[[0-9;]{0,12}m)?"
_SIGNS = (  # each begins with a fixed character, so that `re` passes over it fast
    rb":[ \t]{0,2}&?(?:'static )?(?:string|str)[ \t]{0,2}=",  # a type and then the value: const key: string = …
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
    rb"(?:[bfru]{0,2}(?P<quote>\\{0,7}[\"'`])|(?=[^\s\"'`]{3})(?![0-9.]{1,20}+[^A-Za-z0-9_./+-]))"  # a bare number is no secret
    rb"(?!%b)(?P<value>[^\s\"'`\\:=,;)}\]][^\r\n\"'`]{2}))"
)


class _Spot(NamedTuple):
    """A name, what kind of place its value has, and what ends the value if it has no quotes."""

    name: str
    place: ValueContext
    ends: bytes


def find_assigned(text: bytes, lowered: bytes, begin: int) -> Iterator[SecretCandidate]:
    for pattern in patterns():
        for match in pattern.finditer(lowered, begin):
            yield SecretCandidate(match.start("value"), partial(_judge, text, match))


@cache
def patterns() -> list[re.Pattern[bytes]]:
    return [
        re.compile(word + _VALUE.replace(b"(?!%b)", b"(?!" + again + b")")) for word, again in _WORDS.items()
    ]


def _judge(text: bytes, match: re.Match[bytes]) -> SecretMatch | None:
    name, at = _name(text, match.start(), match.end("rest"))
    before = text[max(0, at - _BEFORE) : at]
    if before.endswith(MARK.encode("ascii")):
        return None
    spot = _spot(name, before, match) if match["sign"] else _weak_spot(name, before, match)
    if spot and before.endswith(b" "):
        spot = spot._replace(name=_with_word_before(text, at, name))
    said = name_hint(spot.name) if spot else None
    if spot and said is None and spot.name.lower().lstrip("-") == "key":
        return _judge_bare_key(text, match, spot)
    if spot is None or said is None:
        return None
    if said.rule in {"authorization", "cookie"} and (header := _judge_header(text, match, spot, said.rule)):
        return header.found
    return _judge_value(text, match, spot)


class _Header(NamedTuple):
    """The value of a header, and what is secret in it, if anything."""

    found: SecretMatch | None


def _judge_header(text: bytes, match: re.Match[bytes], spot: _Spot, rule: str) -> _Header | None:
    """What is secret in an `Authorization` or `Cookie` header; None when the value has not the form of one."""
    start = match.start("value")
    span = value_spans.at(
        text, start, match["quote"], value_spans.HEADER if match["sign"] == b":" else spot.ends
    )
    if rule == "authorization":
        return _Header(http_headers.authorization(text, start, span))
    if http_headers.has_cookies(text, start, span):
        return _Header(http_headers.cookie(text, start, span, is_set=spot.name.lower().startswith("set")))
    return None


def _spot(name: str, before: bytes, match: re.Match[bytes]) -> _Spot | None:
    """What a sign between name and value makes of the place; `before` is what stands before the name."""
    sign, quote = match["sign"], match["quote"]
    if sign.endswith(b">") and sign != b"=>":
        return (
            None
            if quote or not _is_markup(sign, before)
            else _Spot(name, ValueContext.STRICT, value_spans.MARKUP)
        )
    tight = (
        sign == b"=" and match.end("rest") == match.start("sign") and match.end("sign") == _beginning(match)
    )
    if tight and before.endswith((b"?", b"&")):
        return _Spot(name, ValueContext.STRICT, value_spans.QUERY)
    if tight and (name.isupper() or name.startswith("--")):
        return _Spot(name, ValueContext.SURE, value_spans.SHELL)
    if sign == b"|" and not before.rstrip(b" `*").endswith(b"|"):
        return None  # a pipe, and not a table
    if sign == b":" and before.endswith(b":"):
        return None  # a part of something long: arn:aws:secretsmanager:eu:1:secret:name
    in_list = tight and before[-2:].rstrip().endswith(b";")  # Server=db;Password=…
    return _Spot(name, ValueContext.STRICT if quote or in_list else ValueContext.LOOSE, value_spans.LOOSE)


def _is_markup(sign: bytes, before: bytes) -> bool:
    """Whether a name is that of an element, and not of a group in a pattern: (?P<password>…)."""
    if sign.startswith(b"</"):
        return before.endswith(b"<key>")
    return before.endswith((b"<", b":")) and not before.endswith((b"P<", b"?<"))


def _weak_spot(name: str, before: bytes, match: re.Match[bytes]) -> _Spot | None:
    """No sign, but `('NAME', 'value')` of a call, `PASSWORD 'value'` of SQL, or `api_key` and a long random word."""
    said, quote = name_hint(name), match["quote"]
    if said is None or said.strength is not Strength.HARD:
        return None
    if match["weak"].startswith(b","):
        call = before.replace(b" ", b"")[:-1]
        place = ValueContext.STRICT if call.endswith(b"define(") else ValueContext.LOOSE
        return _Spot(name, place, value_spans.LOOSE) if call.endswith(b"(") else None
    closed = match.end("rest") != match.start("weak")
    if closed or (quote and said.rule != "password"):
        return None
    in_sql = quote is not None and name == "PASSWORD"
    return _Spot(name, ValueContext.STRICT if in_sql else ValueContext.LOOSE, value_spans.LOOSE)


def _beginning(match: re.Match[bytes]) -> int:
    return match.start("quote" if match["quote"] else "value")


def _judge_value(text: bytes, match: re.Match[bytes], spot: _Spot) -> SecretMatch | None:
    start = match.start("value")
    span = value_spans.at(text, start, match["quote"], spot.ends)
    value = value_spans.value(text, start, span)
    if spot.ends == value_spans.MARKUP and text[span.end : span.end + 2] != b"</":
        return None
    is_bare_pass = spot.place is ValueContext.LOOSE and spot.name == "pass"  # a word that means many things
    if len(value) < (_LONG if is_bare_pass else _SHORTEST) or (match["quote"] and _is_joined(value)):
        return None
    rule = secret_rule(spot.name, value, spot.place)
    return SecretMatch(start, span.end, rule, span.more) if rule else None


def _judge_bare_key(text: bytes, match: re.Match[bytes], spot: _Spot) -> SecretMatch | None:
    """`KEY=…`, `--key=…`, `?key=…`: the name alone says little, so the value must be long and random."""
    start = match.start("value")
    span = value_spans.at(text, start, match["quote"], spot.ends)
    value = value_spans.value(text, start, span)
    if spot.ends not in {value_spans.SHELL, value_spans.QUERY} or len(value) < _LONG or is_placeholder(value):
        return None
    return SecretMatch(start, span.end, "named-secret", span.more) if looks_random(value) else None


def _is_joined(value: str) -> bool:
    """Whether the quote before `value` closes a string of a program and no secret follows: `"password=" + name`."""
    return value.startswith("+") and len(value) <= _LONGEST_JOINED and value.strip("+").isidentifier()


def _name(text: bytes, at: int, end: int) -> tuple[str, int]:
    """The name around `at`, and where it starts: without the letter of an escape, without a terminal's colour."""
    head = text[max(0, at - _LONGEST_NAME) : at]
    start = at - len(head) + len(head.rstrip(_NAME_BYTES))
    name, before = text[start:end], text[max(0, start - 1) : start]
    if before == b"\\" and name[:1] in {b"n", b"r", b"t"}:
        start += 1
    elif before in {b"[", b";"} and (colour := re.match(rb"[0-9]+m", name)):
        start += colour.end()
    return text[start:end].decode("ascii"), start


def _with_word_before(text: bytes, start: int, name: str) -> str:
    """`api key` when `api` and a space stand before `key`, if that is a stronger hint."""
    word, _ = _name(text, start - 1, start - 1)
    joined = f"{word}_{name}"
    more, less = name_hint(joined), name_hint(name)
    return joined if more and (not less or more.strength > less.strength) else name
