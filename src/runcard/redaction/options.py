"""Options of command lines that stand in a text: `--api-key VALUE`, `curl -u user:VALUE`.

`--name=value` is an assignment like any other. A command line that is known as a list of arguments is masked by
`command.py`, which sees more.

Invariant: an option without a telling name, and `-u` of other programs than curl, is left alone.
"""

import re
from collections.abc import Iterator
from functools import cache, partial

from runcard.redaction import spans
from runcard.redaction.found import Clue, Found
from runcard.redaction.names import telling
from runcard.redaction.values import Place, is_placeholder, verdict

_LINE_BEFORE = 200  # so far back `curl` is looked for


def find_options(text: bytes, lowered: bytes, begin: int) -> Iterator[Clue]:
    for match in _pattern().finditer(lowered, begin):
        yield Clue(match.start(3), partial(_judge, text, match))


def _judge(text: bytes, match: re.Match[bytes]) -> Found | None:
    name, start = match[1].lstrip(b"-").decode("ascii"), match.start(3)
    with_user = name in {"u", "user", "proxy-user"}
    if not (_is_curl(text, match.start()) if with_user else telling(name)):
        return None
    span = spans.at(text, start, match[2], spans.SHELL)
    value = spans.value(text, start, span)
    if not with_user:
        rule = verdict(name, value, Place.SURE)
        return Found(start, span.end, rule, span.more) if rule else None
    user, _, password = value.partition(":")
    known = not password or is_placeholder(password)
    return None if known else Found(start + len(user) + 1, span.end, "basic-auth", span.more)


def _is_curl(text: bytes, at: int) -> bool:
    line = text[max(0, at - _LINE_BEFORE) : at]
    return b"curl" in line[line.rfind(b"\n") + 1 :]


@cache
def _pattern() -> re.Pattern[bytes]:
    before = rb"[^\s\"'`(\[,=]"
    return re.compile(
        rb"-(?=(-(?<!" + before + rb"--)[a-z][a-z0-9_\-]{1,40}+|u(?<!" + before + rb"-u))"  # 1: the name
        rb"(?:[\"'],[ \t]{1,4}(?=\\{0,7}[\"'])|[ \t]{1,4})"  # a space, or the comma of a list that was printed
        rb"(\\{0,7}[\"'])?([^\s\"'\\-]))"  # 2: the quote, 3: the value
    )
