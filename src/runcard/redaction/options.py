"""Options of command lines that stand in a text: `--api-key VALUE`, `curl -u user:VALUE`.

`--name=value` is an assignment like any other. A command line that is known as a list of arguments is masked by
`command.py`, which sees more.

Invariant: an option without a telling name, and `-u` of other programs than curl, is left alone.
"""

import re
from collections.abc import Iterator
from functools import cache

from runcard.redaction import spans
from runcard.redaction.found import Found
from runcard.redaction.values import Place, is_placeholder, verdict

_LINE_BEFORE = 200  # so far back `curl` is looked for


def find_options(text: bytes, lowered: bytes, begin: int) -> Iterator[Found]:
    for match in _pattern().finditer(lowered, begin):
        named = match["name"] is not None
        start = match.start("value" if named else "password")
        quote = match["quote" if named else "mark"]
        span = (spans.quoted(text, start, quote) if quote else None) or spans.bare(text, start, spans.SHELL)
        value = text[start : min(span.end, start + spans.WINDOW)].decode("latin-1")
        if named:
            rule = verdict(match["name"].decode("ascii"), value, Place.SURE)
        else:
            rule = None if is_placeholder(value) or not _is_curl(text, match.start()) else "basic-auth"
        if rule:
            yield Found(match.start(), start, span.end, rule, span.more)


def _is_curl(text: bytes, at: int) -> bool:
    line = text[max(0, at - _LINE_BEFORE) : at]
    return b"curl" in line[line.rfind(b"\n") + 1 :]


@cache
def _pattern() -> re.Pattern[bytes]:
    outside = rb"[^\s\"'`(\[,=]"
    return re.compile(
        rb"-(?:(?<=--)(?<!" + outside + rb"--)"
        rb"(?=(?P<name>[a-z][a-z0-9_\-]{1,40}+)(?:[\"'],)?[ \t]{1,4}(?P<quote>\\{0,7}[\"'])?(?P<value>[^\s\"'\\-]))"
        rb"|(?<!" + outside + rb"-)(?=(?:u|-user|-proxy-user)(?:[\"'],)?[ =]{0,2}(?P<mark>\\{0,7}[\"'])?"
        rb"[^\s:\"'\\]{1,64}:(?P<password>[^\s\"'\\])))"
    )
