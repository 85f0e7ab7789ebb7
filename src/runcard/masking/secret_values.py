"""What a value looks like: a secret, a placeholder for one, or something ordinary.

Only values under secret names are judged here. In a loose place, `password: something` in a text, a value must look
made up by a machine or a careful person; in a strict one, a string in quotes, it is enough that it is no placeholder
when its name is strong; in a sure one, a variable or an option, any secret name is. Sentences, paths and addresses
stay in all of them.

Invariant: what has been masked is a placeholder.
"""

from enum import IntEnum

from runcard.masking.labels import is_label
from runcard.masking.lazy_patterns import text_pattern
from runcard.masking.marks import MARK
from runcard.masking.secret_names import Strength, name_hint, word_set

_PLACEHOLDERS = word_set(
    "any auto basic bearer bool boolean changeit changeme disabled empty enabled env environment "
    "false fixme hidden include inherit int keychain keyring masked missing n/a na nil no none null off "
    "omit omitted on optional placeholder prompt redacted removed required same-origin str string tbd todo true "
    "undefined unknown unset withheld yes"
)
_FUNCTION_WORDS = word_set(
    "a an and are as at be by can can't cannot contain do does enter for from has have here if in is least may more must "
    "need not of on or please required should than that the this to too use was with your"
)
_LEAST = {Strength.HARD: 6, Strength.SOFT: 10}  # characters, where a value must look random
_LONG_WORD = 10  # from here on mixed case alone looks random


_PLACEHOLDER = (
    r"|[xX*.•·_?#-]+|…+"  # nothing, or one character for many
    r"|<[A-Za-z][\w .:/-]*(>.*)?|\[[A-Za-z _-]+\]?|\{[^{}]*\}?|\{\{.*|[$#@]\{.*|\$\(.*|`.*"  # something to be filled in
    r"|\$[A-Z_][A-Z0-9_]*|\$[a-z_]+|%\(\w+\)s|%[A-Za-z_]+%|.*%s.*|.*\{([a-z_][\w.!:]*|[0-9]?)\}.*|!(env|secret|vault|Ref|Sub|GetAtt)\b.*"  # a variable
    r"|[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|(KEY|NAME|PASSWORD|SECRET|STR|STRING|TEXT|TOKEN|VALUE)\]?"  # the name of one
    r"|(env|vault|op|ssm|arn|file|keyring|keychain|secretmanager|aws-sm|gcp-sm|sops)[:/].*"  # the place where it lies
    r"|(?i:your|insert|enter)[-_ ].*|(?i:put|paste|add|password|key|token|secret)[-_ ](?i:.*[-_ ])?(?i:here)|(?i:string|str|text)[!?;,\]]+|(?i:your(api)?(key|token|password|secret))"
    r"|(?i:change|replace|fill)[-_ ]?(?i:me|it|this|in)[!.]*"
    r"|.{0,16}(\.{3}|…).{0,8}"  # shortened already
)
_EXPRESSION = r"[\s(){}\[\]<>…]|\.{3}"
_QUANTITY = (
    r"[-+]?[0-9][0-9_.,:/]*([eE][-+]?[0-9]+)?([mµn]?s|[hdx%]|[kKMGT]i?[bB]?)?"  # a number, a time, an amount
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}.*|v?[0-9]+(\.[0-9]+)+.*"  # a date, a version
)
_WORD = r"(?:[A-Za-z][a-z]*|[A-Z]+|[0-9]{1,8}|v?[0-9]{1,4}[a-z]?)"
_WORDS = rf"[-_./:@+ ]*{_WORD}(?:[-_./:@+ ]{_WORD}?)*"  # my-secret-name, gpt-4o-mini-2024, config/prod.yaml
_LETTER = r"[^\x00-@\[-`{-\x7f]"
_HUMP = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
_MODULE = r"_*[A-Za-z][a-z_]*(?:[A-Z][a-z_]+)*[0-9]{0,5}"
_MUTE = r"[b-df-hj-np-tv-xzB-DF-HJ-NP-TV-XZ]{8}"  # so many consonants in a row are in no word
_PATH = r"(?:~|\.{1,2})?(?:(?:/[A-Z]?[a-z0-9._@-]+)+/?|/.*\.[a-z]{2,6})|[A-Za-z]:\\.*"
_STRUCTURED = (
    r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/@\s]*:[^/@\s]*@|[^@]*$)"  # an address with a password, or without a user
    r"|[A-Za-z][\w .-]*=[^;]*;.*=|-----BEGIN "
)


class ValueContext(IntEnum):
    """How much the place of a value adds to what its name says."""

    LOOSE = 1
    STRICT = 2
    SURE = 3


def secret_rule(name: str, value: str, place: ValueContext) -> str | None:
    """The rule by which `value` is to be masked because of its name; None when it is to stay."""
    said = name_hint(name)
    if (
        said is None
        or value == name
        or is_placeholder(value)
        or _is_sentence(value)
        or _speaks_for_itself(value)
    ):
        return None
    if text_pattern(_PATH).fullmatch(value) or (
        name.lower().endswith("pwd") and value.startswith(("/", "~"))
    ):
        return None
    if place is not ValueContext.SURE and is_label(value):
        return None
    if place is ValueContext.SURE or (place is ValueContext.STRICT and said.strength is Strength.HARD):
        return said.rule
    return said.rule if len(value) >= _LEAST[said.strength] and looks_random(value) else None


def is_placeholder(value: str) -> bool:
    bare = value.strip()
    return MARK in value or bare.lower() in _PLACEHOLDERS or bool(text_pattern(_PLACEHOLDER).fullmatch(bare))


def looks_random(value: str) -> bool:
    """Whether nobody would write `value` as words, a number, a path, a name or an expression."""
    if not text_pattern(_LETTER).search(value) or text_pattern(_EXPRESSION).search(value):
        return False
    if text_pattern(_WORDS).fullmatch(value) or text_pattern(_QUANTITY).fullmatch(value) or _is_name(value):
        return False
    return not value.isalpha() or len(value) >= _LONG_WORD


def _is_name(value: str) -> bool:
    """Whether programs have such names: `_TokenType`, `OAuth2Token`, `x25519.X25519PrivateKey`."""
    *modules, last = value.split(".")
    words = text_pattern(_HUMP).findall(last)
    if not last.isidentifier() or sum(map(str.isdigit, words)) > 1 or last[-1].isdigit():
        return False
    humps = "_" in last or last[1:] != last[1:].lower() or bool(modules)
    spoken = len(last) >= 3.5 * len(words) and not text_pattern(_MUTE).search(last)
    return humps and spoken and all(text_pattern(_MODULE).fullmatch(part) for part in modules)


def _is_sentence(value: str) -> bool:
    """Whether somebody says something: a passphrase of random words has neither a full stop nor function words."""
    words = value.split()
    if len(words) < 3:
        return False
    spoken = sum(word.lower() in _FUNCTION_WORDS for word in words)
    return len(words) >= 9 or spoken >= 2 or words[-1][-1] in ".!?:…"


def _speaks_for_itself(value: str) -> bool:
    """Whether other rules know better which part of `value` is secret: an address, a connection string, a key block."""
    return bool(text_pattern(_STRUCTURED).match(value))
