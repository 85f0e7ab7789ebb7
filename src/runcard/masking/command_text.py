"""Searching a text for options of command lines: `--api-key VALUE`, `curl -u user:VALUE`, `mysql -pVALUE`.

`--name=value` is an assignment like any other. `command_line` masks a list of arguments.

Invariant: an option without a secret name, and a short option of a program that is not listed here, is left alone.
"""

import re
from collections.abc import Iterator
from functools import cache

from runcard.masking import value_spans
from runcard.masking.lazy_patterns import bytes_pattern
from runcard.masking.marks import MARK
from runcard.masking.matches import SecretMatch
from runcard.masking.secret_names import name_hint, word_set
from runcard.masking.secret_values import ValueContext, is_placeholder, secret_rule
from runcard.masking.value_spans import ValueSpan

# Words that follow an option in prose.
_PROSE = word_set(
    "and argument arguments are as can comes flag flags for from has if in instead is may must of on option options or"
    " parameter parameters set should that the to value was when which will with"
)
_LINE_BEFORE = 200  # bytes that are searched for the program
# Short options that take a password, by program: in the next argument, or in the same one.
_USER = rb"\b(?:curl|smbclient|rpcclient)\b"
_PROGRAMS = {b"p": rb"\bsshpass\b", b"a": rb"\bredis-cli\b"}
_ATTACHED = {b"p": rb"\b(?:sshpass|mysql|mysqldump|mysqladmin|mariadb)\b"}

# One of these is in every text that `patterns` match.
HINTS = (b"--", b"-u", b"-p", b"-a", b"pass")


def find_options(text: bytes, lowered: bytes, begin: int) -> Iterator[SecretMatch]:
    for pattern in patterns():
        for match in pattern.finditer(lowered, begin):
            check = (
                _check_named if match["name"] else _check_short if match["short"] is not None else _check_user
            )
            if secret := check(text, match):
                yield secret


def _check_named(text: bytes, match: re.Match[bytes]) -> SecretMatch | None:
    name = match["name"].decode("ascii")
    if not name_hint(name):
        return None
    start, span = _value(text, match)
    value = value_spans.value(text, start, span)
    rule = None if value in _PROSE else secret_rule(name, value, ValueContext.SURE)
    return SecretMatch(start, span.end, rule, span.more) if rule else None


def _check_user(text: bytes, match: re.Match[bytes]) -> SecretMatch | None:
    return _check_of(_USER, "basic-auth", text, match)


def _check_short(text: bytes, match: re.Match[bytes]) -> SecretMatch | None:
    if match["short"]:  # -passin, -storepass: a name that says enough
        return _check_of(b"", "password", text, match)
    programs = (_PROGRAMS if match["gap"] else _ATTACHED).get(text[match.start() + 1 : match.end()])
    return _check_of(programs, "password", text, match) if programs else None


def _check_of(programs: bytes, rule: str, text: bytes, match: re.Match[bytes]) -> SecretMatch | None:
    """The secret of an option, if one of the programs is before it on its line."""
    line = text[max(0, match.start() - _LINE_BEFORE) : match.start()]
    line = line[line.rfind(b"\n") + 1 :]
    # A mark is shorter than the secret that it replaced: the program was further away.
    is_masked = MARK.encode("ascii") in line
    if is_masked or not bytes_pattern(programs).search(line):
        return None
    start, span = _value(text, match)
    is_placeholder_value = is_placeholder(value_spans.value(text, start, span))
    return None if is_placeholder_value else SecretMatch(start, span.end, rule, span.more)


def _value(text: bytes, match: re.Match[bytes]) -> tuple[int, ValueSpan]:
    """The last group is the value's first character, the one before it the quote, if any."""
    group = match.lastindex or 0
    start = match.start(group)
    return start, value_spans.at(text, start, match[group - 1], value_spans.SHELL)


@cache
def patterns() -> list[re.Pattern[bytes]]:
    outside = rb"[^\s\"'`(\[,=]"
    space = rb"(?:[\"'],[ \t]{1,4}(?=\\{0,7}[\"'])|[ \t]{1,4})"  # a space, or the comma of a printed list
    value = rb"(\\{0,7}[\"'])?([^\s\"'\\:=,;)}\]-])"
    password = rb"(?:=|" + space + rb")(\\{0,7}[\"'])?[^\s:%\[\"'\\]{1,64}[:%]([^\s\"'\\,;)}\]])"
    short = rb"ass(?:in|out)?(?=[ \t]pass:)|torepass|eypass|(?:rc|est)(?:store|key)pass|(?<=-[pa])"  # without its first letter
    whole = (
        rb"-(?:-(?<!" + outside + rb"--)(?:(?=(?:proxy-)?user" + password + rb")"
        rb"|(?=(?P<name>[a-z][a-z0-9_\-]{1,40}+)" + space + value + rb"))"
        rb"|u(?<!" + outside + rb"-u)(?=" + password + rb")"
        rb"|[adkps](?<!" + outside + rb"-[adkps])"
        rb"(?=(?P<short>" + short + rb")(?P<gap>" + space + rb")?(?:pass:)?" + value + rb"))"
    )
    return [re.compile(whole)]
