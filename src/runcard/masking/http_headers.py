"""HTTP headers with secrets: `Authorization`, `Cookie`, `Set-Cookie`; and bearer tokens anywhere.

Their values have their own format: a scheme and a credential, or pairs of names and values. The scheme, and the name of a
cookie that is set, stay readable. Other headers (`X-Api-Key`) are names like any other.

Invariant: a match starts within the given value.
"""

import re
from collections.abc import Iterator

from runcard.masking import value_spans
from runcard.masking.lazy_patterns import bytes_pattern
from runcard.masking.matches import SecretMatch
from runcard.masking.secret_names import word_set
from runcard.masking.secret_values import is_placeholder, looks_random
from runcard.masking.value_spans import ValueSpan

_SINGLE_TOKEN = frozenset({b"bearer", b"basic", b"token", b"bot", b"apikey", b"api-key", b"key", b"oauth"})
_PROSE = word_set("auth authentication authorization credentials error header realm scheme token tokens")
_SCHEME = (
    rb"(?i:(bearer|basic|token|bot|api-?key|key|oauth|digest|negotiate|ntlm|hawk|aws4-hmac-sha256|sharedkey(?:lite)?))"
    rb"[ \t]+"
)
_OTHER_SCHEME = rb"[A-Za-z][A-Za-z-]{1,20}[ \t]+"
_PARAMETER = rb"[A-Za-z-]{1,32}=(?:\"[^\"\r\n\\,:]{1,512}\"|[^\s\",]{1,512})"
_PARAMETERS = _PARAMETER + rb"(?:,[ \t]*" + _PARAMETER + rb"){1,16}"  # username="bob", response="…"
_MIN_LENGTH = 16  # of a credential with an unknown scheme
_PAIR = rb"[^\s=;\"'\\\[]{1,64}=(?=[^\s;\"'\\])"
BEARER = rb"b(?<![a-z0-9_]b)(?=earer[ \t]{1,4}([a-z0-9._~+/=-]{16}))"

HINTS = (b"bearer",)  # in lower case, in every text that `patterns` match


def patterns() -> list[re.Pattern[bytes]]:
    return [bytes_pattern(BEARER)]


def authorization(text: bytes, start: int, span: ValueSpan) -> SecretMatch | None:
    """The secret in the value of an `Authorization` header that starts at `start`."""
    scheme = bytes_pattern(_SCHEME).match(text, start, span.end)
    at, name = (scheme.end(), scheme[1].lower()) if scheme else (start, b"")
    if scheme and name not in _SINGLE_TOKEN:
        is_known = is_placeholder(value_spans.value(text, at, span))
        return None if is_known else _whole(text, at, span)
    if scheme is None and (other := bytes_pattern(_OTHER_SCHEME).match(text, start, span.end)):
        return _of_other_scheme(text, other.end(), span)
    word = value_spans.bare(text, at, value_spans.LOOSE)
    word = word._replace(end=min(word.end, span.end))
    rule = {b"bearer": "bearer-token", b"basic": "basic-auth"}.get(name, "authorization")
    return (
        SecretMatch(at, word.end, rule, word.more)
        if _is_credential(name, value_spans.value(text, at, word))
        else None
    )


def _whole(text: bytes, at: int, span: ValueSpan) -> SecretMatch:
    """A credential up to the end of the value, including quoted parameters."""
    parameters = bytes_pattern(_PARAMETERS).match(text, at)
    if parameters and parameters.end() > span.end:
        return SecretMatch(at, parameters.end(), "authorization")
    return SecretMatch(at, span.end, "authorization", span.more)


def _of_other_scheme(text: bytes, at: int, span: ValueSpan) -> SecretMatch | None:
    """`Authorization: SSWS …`: an unknown scheme, and then a long random value."""
    word = value_spans.bare(text, at, value_spans.LOOSE)
    word = word._replace(end=min(word.end, span.end))
    value = value_spans.value(text, at, word)
    is_secret = len(value) >= _MIN_LENGTH and looks_random(value) and not is_placeholder(value)
    return SecretMatch(at, word.end, "authorization", word.more) if is_secret else None


def may_have_cookies(text: bytes, start: int) -> bool:
    """Whether a value that starts here may look like a cookie header, wherever it ends."""
    return bytes_pattern(_PAIR).match(text, start) is not None


def has_cookies(text: bytes, start: int, span: ValueSpan) -> bool:
    """Whether a value looks like a cookie header: a name, `=`, a value."""
    return bytes_pattern(_PAIR).match(text, start, span.end) is not None


def cookie(text: bytes, start: int, span: ValueSpan, *, is_set: bool) -> SecretMatch | None:
    """The secret in the value of a `Cookie` or `Set-Cookie` header."""
    pair = bytes_pattern(_PAIR).match(text, start, span.end)
    if pair is None:
        return None
    if is_set:
        start, word = pair.end(), value_spans.bare(text, pair.end(), value_spans.SHELL)
        span = word._replace(end=min(word.end, span.end))
    is_known = is_placeholder(value_spans.value(text, start, span))
    return None if is_known else SecretMatch(start, span.end, "cookie", span.more)


def find_bearer(text: bytes, lowered: bytes, begin: int) -> Iterator[SecretMatch]:
    """Bearer tokens outside a header: only random ones."""
    for match in bytes_pattern(BEARER).finditer(lowered, begin):
        if secret := _check_bearer(text, match.start(1)):
            yield secret


def _check_bearer(text: bytes, start: int) -> SecretMatch | None:
    span = value_spans.bare(text, start, value_spans.LOOSE)
    value = value_spans.value(text, start, span)
    random = looks_random(value) and not is_placeholder(value)
    return SecretMatch(start, span.end, "bearer-token", span.more) if random else None


def _is_credential(scheme: bytes, value: str) -> bool:
    if len(value) < 3 or is_placeholder(value) or value.lower() in _PROSE:
        return False
    if not scheme:
        return len(value) >= 6 and looks_random(value)
    return scheme != b"basic" or looks_random(value) or b":" in _decoded(value)


def _decoded(value: str) -> bytes:
    from binascii import a2b_base64  # noqa: PLC0415 - rarely needed

    try:
        return a2b_base64(value, strict_mode=True)
    except ValueError:
        return b""
