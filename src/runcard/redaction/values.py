"""What a value looks like: a secret, a placeholder for one, or something ordinary.

Only values under telling names are judged here. In a loose place, `password: something` in a text, a value must look
made up by a machine or a careful person; in a strict one, a string in quotes, it is enough that it is no placeholder
when its name is strong; in a sure one, a variable or an option, any telling name is. Sentences, paths and addresses
stay in all of them.

Invariant: what has been masked is a placeholder.
"""

import re
from enum import IntEnum
from functools import cache
from typing import NamedTuple

from runcard.redaction.marks import MARK
from runcard.redaction.names import Strength, telling, words_of

_PLACEHOLDERS = words_of(
    "any auto basic bearer bool boolean changeit changeme default disabled dummy empty enabled env environment "
    "example false fixme hidden include inherit int keychain keyring masked missing n/a na nil no none null off "
    "omit omitted on optional placeholder prompt redacted removed required same-origin str string tbd todo true "
    "undefined unknown unset withheld yes"
)
_LEAST = {Strength.HARD: 6, Strength.SOFT: 10}  # characters, where a value must look random
_LONG = 16  # from here on mixed case alone looks random


class Place(IntEnum):
    """How much the place of a value adds to what its name says."""

    LOOSE = 1
    STRICT = 2
    SURE = 3


class _Patterns(NamedTuple):
    placeholder: re.Pattern[str]
    expression: re.Pattern[str]
    ordinary: re.Pattern[str]
    letter: re.Pattern[str]
    words: re.Pattern[str]
    path: re.Pattern[str]
    structured: re.Pattern[str]


def verdict(name: str, value: str, place: Place) -> str | None:
    """The rule by which `value` is to be masked because of its name; None when it is to stay."""
    said = telling(name)
    if said is None or is_placeholder(value) or _is_sentence(value) or _speaks_for_itself(value):
        return None
    if _patterns().path.fullmatch(value) or (name.lower().endswith("pwd") and value.startswith(("/", "~"))):
        return None
    if place is Place.SURE or (place is Place.STRICT and said.strength is Strength.HARD):
        return said.rule
    return said.rule if len(value) >= _LEAST[said.strength] and looks_random(value) else None


def is_placeholder(value: str) -> bool:
    bare = value.strip()
    return MARK in value or bare.lower() in _PLACEHOLDERS or bool(_patterns().placeholder.fullmatch(bare))


def looks_random(value: str) -> bool:
    """Whether nobody would write `value` as words, a number, a path or an expression."""
    patterns = _patterns()
    if value.isalpha():
        share = sum(map(str.isupper, value)) / len(value)
        return len(value) >= _LONG and 0.25 <= share <= 0.75
    if not patterns.letter.search(value) or patterns.expression.search(value):
        return False
    return not patterns.words.fullmatch(value) and not patterns.ordinary.fullmatch(value)


def _is_sentence(value: str) -> bool:
    return len(value.split()) >= 3 and value.rstrip()[-1] in ".!?:…"


def _speaks_for_itself(value: str) -> bool:
    """Whether other rules know better which part of `value` is secret: an address, a connection string, a key block."""
    return bool(_patterns().structured.match(value))


@cache
def _patterns() -> _Patterns:
    word = r"(?:[A-Za-z][a-z]*|[A-Z]+|[0-9]{1,8}|v?[0-9]{1,4}[a-z]?)"
    return _Patterns(
        re.compile(
            r"|[xX*.•·_?#-]+|…+"  # nothing, or one character for many
            r"|<.*|\$\{.*|\$\(.*|`.*|\$[A-Za-z_]\w*|\{.*|\[[A-Za-z _-]+\]?|%\(\w+\)s|%[A-Za-z_]+%?|[#@]\{.*|!\w+( .*)?"  # a variable
            r"|[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|(KEY|NAME|PASSWORD|SECRET|STR|STRING|TEXT|TOKEN|VALUE)\]?"  # the name of one
            r"|(env|vault|op|ssm|arn|file|keyring|keychain|secretmanager|aws-sm|gcp-sm|sops)[:/].*"  # where it lies
            r"|(?i:your|insert|enter)[-_ ].*|(?i:your(api)?(key|token|password|secret))"
            r"|(?i:change|replace|fill)[-_ ]?(?i:me|it|this|in)[!.]*"
            r"|.{0,16}(\.{3}|…).{0,8}",  # shortened already
            re.DOTALL | re.ASCII,
        ),
        re.compile(r"[\s(){}\[\]<>…]|\.{3}"),
        re.compile(
            r"[-+]?[0-9][0-9_.,:/]*([eE][-+]?[0-9]+)?([mµn]?s|[hdx%]|[kKMGT]i?[bB]?)?"  # a number, a time, an amount
            r"|[0-9]{4}-[0-9]{2}-[0-9]{2}.*|v?[0-9]+(\.[0-9]+)+.*"  # a date, a version
            r"|[A-Za-z_]+[0-9]{0,2}(\.[A-Za-z_]+[0-9]{0,2})+",  # a name with dots
            re.DOTALL | re.ASCII,
        ),
        re.compile(r"[^\W\d_]"),
        re.compile(rf"[-_./:@+ ]*{word}(?:[-_./:@+ ]{word}?)*"),  # my-secret-name, gpt-4o-mini-2024, config/prod.yaml
        re.compile(r"(?:~|\.{1,2})?(?:(?:/[A-Z]?[a-z0-9._@-]+)+/?|/.*\.[a-z]{2,6})|[A-Za-z]:\\.*", re.DOTALL),
        re.compile(
            r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/@\s]*:[^/@\s]*@|[^@]*$)"  # an address with a password, or without a user
            r"|[A-Za-z][\w .-]*=[^;]*;.*=|-----BEGIN "
        ),
    )
