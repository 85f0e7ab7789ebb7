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
from runcard.redaction.marks import MARK
from runcard.redaction.names import telling, words_of
from runcard.redaction.spans import Span
from runcard.redaction.values import Place, is_placeholder, verdict

# What follows an option that is only spoken of.
_WORDS_ABOUT = words_of(
    "and argument arguments are as can comes flag flags for from has if in instead is may must of on option options or"
    " parameter parameters set should that the to value was when which will with"
)
_LINE_BEFORE = 200  # so far back `curl` is looked for

HINTS = (b"--", b"-u")  # what stands in every text in which `patterns` find something


def find_options(text: bytes, lowered: bytes, begin: int) -> Iterator[Clue]:
    for pattern in patterns():
        for match in pattern.finditer(lowered, begin):
            judge = _judge_named if match["name"] else _judge_password
            yield Clue(match.start(match.lastindex or 0), partial(judge, text, match))


def _judge_named(text: bytes, match: re.Match[bytes]) -> Found | None:
    name = match["name"].decode("ascii")
    if not telling(name):
        return None
    start, span = _value(text, match)
    value = spans.value(text, start, span)
    rule = None if value in _WORDS_ABOUT else verdict(name, value, Place.SURE)
    return Found(start, span.end, rule, span.more) if rule else None


def _judge_password(text: bytes, match: re.Match[bytes]) -> Found | None:
    line = text[max(0, match.start() - _LINE_BEFORE) : match.start()]
    line = line[line.rfind(b"\n") + 1 :]
    if b"curl" not in line or MARK.encode("ascii") in line:  # a mark is shorter than what it stands for
        return None
    start, span = _value(text, match)
    known = is_placeholder(spans.value(text, start, span))
    return None if known else Found(start, span.end, "basic-auth", span.more)


def _value(text: bytes, match: re.Match[bytes]) -> tuple[int, Span]:
    """The last group that matched is the value's first character, the one before it the quote, if any."""
    group = match.lastindex or 0
    start = match.start(group)
    return start, spans.at(text, start, match[group - 1], spans.SHELL)


@cache
def patterns() -> list[re.Pattern[bytes]]:
    outside = rb"[^\s\"'`(\[,=]"
    space = rb"(?:[\"'],[ \t]{1,4}(?=\\{0,7}[\"'])|[ \t]{1,4})"  # a space, or the comma of a list that was printed
    password = rb"(?:=|" + space + rb")(\\{0,7}[\"'])?[^\s:\[\"'\\]{1,64}:([^\s\"'\\,;)}\]])"
    whole = (
        rb"-(?:-(?<!" + outside + rb"--)(?:(?=(?:proxy-)?user" + password + rb")"
        rb"|(?=(?P<name>[a-z][a-z0-9_\-]{1,40}+)" + space + rb"(\\{0,7}[\"'])?([^\s\"'\\:=,;)}\]-])))"
        rb"|u(?<!" + outside + rb"-u)(?=" + password + rb"))"
    )
    return [re.compile(whole)]
