r"""Telling names in a text, with their values: `API_KEY=…`, `"token": "…"`, `password: …`, `<password>…<`.

The words that make a name telling are found fast, together with what must follow them; then the whole name is taken
apart (`names.py`) and the value is judged (`values.py`). A value in quotes, after `NAME=` in capitals, after `--name=`
or in a connection string stands in a strict place, any other in a loose one.

Invariant: a value is replaced from its first character to its last, and its quotes stay.
"""

import re
from collections.abc import Iterator
from functools import cache, partial
from typing import NamedTuple

from runcard.redaction import headers, spans
from runcard.redaction.found import Clue, Found
from runcard.redaction.marks import MARK
from runcard.redaction.names import telling
from runcard.redaction.values import Place, verdict

_NAME_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
_LONGEST_NAME = 64  # before the telling word
_LONGEST_JOINED = 24  # a name in a program; a key in base64 is longer
_SHORTEST = 3  # a value that is shorter is no secret in a text

_COLOUR = rb"(?:\x1b\[[0-9;]{0,12}m)?"
_VALUE = (
    rb"(?=([a-z0-9_.\-]{0,40}+)"  # 1: the rest of the name
    rb"(?:\\{0,7}[\"'])?\]?" + _COLOUR + rb"[ \t]{0,16}+"
    rb"(=>|:=|={1,3}|:|>)"  # 2: what stands between name and value
    rb"[ \t]{0,16}+" + _COLOUR + rb"(?:[bfru]{0,2}(\\{0,7}[\"'`])"  # 3: the quote
    rb"|(?![0-9.]{1,20}+[^A-Za-z0-9_./+-]))"  # a bare number is no secret
    rb"([^\s\"'`\\:=,;)}\]][^\r\n\"'`]{2}))"  # 4: the value
)


class _Spot(NamedTuple):
    name: str
    place: Place
    ends: bytes  # what ends a bare value here


def find_assigned(text: bytes, lowered: bytes, begin: int) -> Iterator[Clue]:
    for pattern in patterns():
        for match in pattern.finditer(lowered, begin):
            yield Clue(match.start(4), partial(_judge, text, match))


@cache
def patterns() -> list[re.Pattern[bytes]]:
    words = (
        rb"k(?:ey(?<=[a-z0-9_\-. ]key)|en(?!s)(?<=token)|ie(?<=cookie))",
        rb"p(?:ass|wd)",
        rb"c(?:ret(?<=secret)|red)",
        rb"u(?:th(?<=auth))",
    )
    return [re.compile(word + _VALUE) for word in words]


def _judge(text: bytes, match: re.Match[bytes]) -> Found | None:
    spot = _spot(text, match)
    said = telling(spot.name) if spot else None
    if spot is None or said is None:
        return None
    if said.rule in {"authorization", "cookie"} and (found := _judge_header(text, match, spot, said.rule)):
        return found
    start = match.start(4)
    span = spans.at(text, start, match[3], spot.ends)
    value = spans.value(text, start, span)
    if spot.ends == spans.MARKUP and text[span.end : span.end + 2] != b"</":
        return None
    if (
        len(value) < _SHORTEST
        or (match[3] and _is_joined(value))
        or (said.rule == "authorization" and " " in value)
    ):
        return None
    rule = verdict(spot.name, value, spot.place)
    return Found(start, span.end, rule, span.more) if rule else None


def _is_joined(value: str) -> bool:
    """Whether the quote before `value` closes a string of a program and no secret follows: `"password=" + name`."""
    return value.startswith("+") and len(value) <= _LONGEST_JOINED and value.strip("+").isidentifier()


def _judge_header(text: bytes, match: re.Match[bytes], spot: _Spot, rule: str) -> Found | None:
    start = match.start(4)
    span = spans.at(text, start, match[3], spans.HEADER if match[2] == b":" else spot.ends)
    if rule == "authorization":
        return headers.authorization(text, start, span)
    return headers.cookie(text, start, span, is_set=spot.name.lower().startswith("set"))


def _spot(text: bytes, match: re.Match[bytes]) -> _Spot | None:
    """The name that the telling word belongs to, and what kind of place its value has."""
    name, start = _name(text, match.start(), match.end(1))
    before, sign = text[max(0, start - len(MARK)) : start], match[2]
    if before == MARK.encode("ascii"):
        return None
    if sign == b">":
        in_markup = (
            before.endswith(b"<") and not before.endswith((b"P<", b"?<")) and not match[3]
        )  # (?P<password>...)
        return _Spot(name, Place.STRICT, spans.MARKUP) if in_markup else None
    tight = (
        sign == b"=" and match.end(1) == match.start(2) and match.end(2) == match.start(3 if match[3] else 4)
    )
    in_query = tight and before.endswith((b"?", b"&"))
    if tight and not in_query and (name.isupper() or name.startswith("--")):
        return _Spot(name, Place.SURE, spans.SHELL)
    if in_query:
        return _Spot(name, Place.STRICT, spans.QUERY)
    if before.endswith(b":") and sign == b":":
        return None  # a part of something long: arn:aws:secretsmanager:eu:1:secret:name
    in_list = tight and before[-2:].rstrip().endswith(b";")
    strict = in_list or match[3] is not None
    return _Spot(_with_word_before(text, start, name), Place.STRICT if strict else Place.LOOSE, spans.LOOSE)


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
    """`api key` when `api` and a space stand before `key`, if that is more telling."""
    if text[max(0, start - 1) : start] != b" ":
        return name
    word, _ = _name(text, start - 1, start - 1)
    joined = f"{word}_{name}"
    more, less = telling(joined), telling(name)
    return joined if more and (not less or more.strength > less.strength) else name
