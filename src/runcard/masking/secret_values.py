"""Whether a value under a secret name is a secret, a placeholder, a label or an ordinary value.

In a loose context, `password: something` in a text, a secret must look random. In a strict one, a string in quotes, any value
under a strong name is a secret unless it is a placeholder. In a sure one, a variable or an option, the same holds for any
secret name. Sentences, paths and URLs are never secrets. Labels name a secret for people: `Passwort`, `API key`.

Invariants: a masked value is a placeholder; a text with a digit is not a label.
"""

import re
from enum import IntEnum
from functools import cache

from runcard.masking.lazy_patterns import bytes_pattern, text_pattern
from runcard.masking.marks import MARK
from runcard.masking.secret_names import NameHint, Strength, name_hint, word_set

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
_MIN_LENGTH = {Strength.HARD: 6, Strength.SOFT: 10}  # where a value must look random
_LONG_WORD = 10  # from this length on, mixed case alone looks random


_PLACEHOLDER = (
    r"|[xX*.•·_?#-]+|…+"  # empty, or one repeated character
    r"|<[A-Za-z][\w .:/-]*(>.*)?|<%=.*|\?[a-z]*|\[[A-Za-z _-]+\]?|\{[^{}]*\}?|\{\{.*|[$#@]\{.*|\$\(.*|`.*"  # to be filled in
    r"|\$[A-Z_][A-Z0-9_]*|\$[a-z_]+|\*[a-z_]+[0-9]?|%\(\w+\)s|%[A-Za-z_]+%|.*%s.*|.*\{([a-z_][\w.!:]*|[0-9]?)\}.*|!(env|secret|vault|Ref|Sub|GetAtt)\b.*"  # a variable
    r"|[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|(KEY|NAME|PASSWORD|SECRET|STR|STRING|TEXT|TOKEN|VALUE)\]?"  # the name of a variable
    r"|(env|vault|op|ssm|arn|file|keyring|keychain|secretmanager|aws-sm|gcp-sm|sops)[:/].*"  # the location of a secret
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
_MUTE = r"[b-df-hj-np-tv-xzB-DF-HJ-NP-TV-XZ]{8}"  # so many consonants in a row are not in a word
_PATH = r"(?:~|\.{1,2})?(?:(?:/[A-Z]?[a-z0-9._@-]+)+/?|/.*\.[a-z]{2,6})|[A-Za-z]:\\.*"
_STRUCTURED = (
    r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/@\s]*:[^/@\s]*@|[^@]*$)"  # a URL with a password, or without a user
    r"|[A-Za-z][\w .-]*=[^;]*;.*=|-----BEGIN "
)
# With a digit before the first slash, and no `+` at the start: neither a placeholder, a path or an expression, nor anything
# else that is ordinary.
_BASE64 = rb"(?!\+)[A-Za-z+=]*+[0-9][A-Za-z0-9+/=]*+"
# Letters between digits: not words, not a number, unless they are its exponent, and not a name.
_MIXED = rb"[0-9](?![eE][0-9])[A-Za-z]+[0-9]"
# Texts that name a secret for people, in translations: `"password": "Contraseña"`.
_LABEL_WORDS = word_set(
    "passwort kennwort geheimnis schlüssel contraseña contrasena clave secreto llave passe clé jeton senha chave parola "
    "segreto chiave wachtwoord geheim sleutel lösenord hemlighet nyckel passord adgangskode kodeord nøgle nøkkel salasana "
    "avain hasło klucz heslo klíč jelszó kulcs parolă şifre anahtar пароль ключ секрет токен лозинка κωδικός κλειδί סיסמה "
    "パスワード シークレット トークン キー 密码 密碼 密钥 密鑰 口令 令牌 비밀번호 암호 키 khẩu sandi รหัสผ่าน"
)
_LABEL_ENDINGS = ("passwort", "kennwort", "schlüssel", "wachtwoord", "lösenord")  # of compounds
_ENGLISH_LABELS = word_set(
    "password passphrase passcode secret token key credentials"
)  # alone, only with a capital

_ALL_LABELS = _LABEL_WORDS | _ENGLISH_LABELS


class ValueContext(IntEnum):
    """Where a value is found: it decides how strictly the value is checked."""

    LOOSE = 1  # in a text
    STRICT = 2  # in quotes, or in data
    SURE = 3  # of a variable or an option


_STRICT, _SURE, _HARD = ValueContext.STRICT, ValueContext.SURE, Strength.HARD  # faster than attributes


def secret_rule(name: str, value: str, context: ValueContext) -> str | None:
    """The rule that masks `value` because of its name; None when it is not a secret."""
    hint = name_hint(name)
    if hint is None or value == name:
        return None
    certain = is_enough(hint, context)
    if not certain and len(value) < least_length(hint):
        return None
    if not _has_letters_and_digits(value) and _is_ordinary(name, value, context):
        return None
    return hint.rule if certain or looks_random(value) else None


def is_enough(hint: NameHint, context: ValueContext) -> bool:
    """Whether any value is a secret that is not ordinary; or it must look random."""
    return context is _SURE or (context is _STRICT and hint.strength is _HARD)


def least_length(hint: NameHint) -> int:
    """Of a value that must look random."""
    return _MIN_LENGTH[hint.strength]


def is_random_base64(value: bytes, certain: bool) -> bool:  # noqa: FBT001 - called for every secret, and a keyword takes longer
    """Whether it is certain that a value is not ordinary and, unless the name is `certain`, that it looks random.

    True for most keys: letters and digits, perhaps in base64. A short cut: False means nothing.
    """
    if value.isalnum():
        has_digit = not value.isalpha()
    else:
        has_digit = bytes_pattern(_BASE64).fullmatch(value) is not None
    return has_digit and (certain or bytes_pattern(_MIXED).search(value) is not None)


def _has_letters_and_digits(value: str) -> bool:
    """Whether it has nothing else, and a digit: then it is neither a placeholder nor anything else that is ordinary."""
    return value.isalnum() and value.isascii() and not value.isalpha()


def _is_ordinary(name: str, value: str, context: ValueContext) -> bool:
    """Whether a value is a placeholder, prose, a path or a label, or has a rule of its own."""
    if is_placeholder(value) or _is_sentence(value) or _has_own_rule(value):
        return True
    if text_pattern(_PATH).fullmatch(value) or (
        name.lower().endswith("pwd") and value.startswith(("/", "~"))
    ):
        return True
    return context is not _SURE and is_label(value)


def is_placeholder(value: str) -> bool:
    bare = value.strip()
    return MARK in value or bare.lower() in _PLACEHOLDERS or bool(text_pattern(_PLACEHOLDER).fullmatch(bare))


def looks_random(value: str) -> bool:
    """Whether `value` is not words, a number, a path, a name or an expression."""
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
    has_humps = "_" in last or last[1:] != last[1:].lower() or bool(modules)
    is_readable = len(last) >= 3.5 * len(words) and not text_pattern(_MUTE).search(last)
    return has_humps and is_readable and all(text_pattern(_MODULE).fullmatch(part) for part in modules)


def _is_sentence(value: str) -> bool:
    """Whether it is prose: a passphrase of random words has neither a full stop nor function words."""
    words = value.split()
    if len(words) < 3:
        return False
    function_words = sum(word.lower() in _FUNCTION_WORDS for word in words)
    return len(words) >= 9 or function_words >= 2 or words[-1][-1] in ".!?:…"


def _has_own_rule(value: str) -> bool:
    """Whether another rule masks the secret part of `value`: a URL, a connection string, a private key."""
    return bool(text_pattern(_STRUCTURED).match(value))


def is_label(value: str) -> bool:
    """Whether `value` is the word for a secret in some language, and not a secret."""
    text = value if value.isascii() else _as_utf8(value)
    words = _words_pattern().findall(text)
    if not words or any(map(str.isdigit, text)):
        return False
    known = _ALL_LABELS if len(words) > 1 or words[0][:1].isupper() else _LABEL_WORDS
    return any(word.lower() in known or word.lower().endswith(_LABEL_ENDINGS) for word in words)


@cache
def _words_pattern() -> re.Pattern[str]:
    return re.compile(r"[^\W\d_]+")


def _as_utf8(value: str) -> str:
    """Values from a text are decoded as Latin-1, one character per byte; decode them as UTF-8."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except ValueError:
        return value
