"""Where a value ends: in quotes, or bare.

Quotes may be escaped, once or more often, like in JSON within JSON. The context decides what ends a bare value; a backslash
belongs to it unless it escapes a quote or a line break, so no escape sequence is cut in two.

Invariant: a span never goes beyond its line.
"""

import re
from functools import cache
from typing import NamedTuple

WINDOW = 2048  # bytes within which a quote must close
CHECKED = 256  # bytes of a value that are checked; the rest belongs to it all the same


class ValueSpan(NamedTuple):
    """A value up to `end`, and then as far as `more` matches."""

    end: int
    more: re.Pattern[bytes] | None = None


# What ends a bare value, beside white space, quotes and escape characters.
LOOSE = rb",;&)}\]>|<"
QUERY = LOOSE + rb"#"
SHELL = rb";"
MARKUP = rb"<"
HEADER = rb"\r\n"  # a header's value goes to the end of its line


def bare(text: bytes, start: int, ends: bytes) -> ValueSpan:
    pattern = bare_pattern(ends)
    match = pattern.match(text, start, start + CHECKED)
    return ValueSpan(match.end() if match else start, pattern)


def quoted(text: bytes, start: int, quote: bytes) -> ValueSpan | None:
    """The value after `quote`, a quote with its backslashes; None when it is not closed on its line."""
    escapes, mark = len(quote) - 1, quote[-1:]
    stop = _line_end(text, start)
    for match in _quotes(mark).finditer(text, start, stop):
        slashes = len(match[1])
        if match[2] != mark:
            if slashes == 0 and _ends_json(text, match.end()):
                return None  # these quotes would close after the end of a JSON string
        elif slashes < escapes or (slashes - escapes) % (2 * (escapes + 1)) == 0:
            return ValueSpan(match.start(2) - min(slashes, escapes))
    if stop < start + WINDOW:
        return None
    pattern = _unclosed(mark, escaped=escapes > 0)
    return ValueSpan(_end(pattern, text, start), pattern)


def at(text: bytes, start: int, quote: bytes | None, ends: bytes) -> ValueSpan:
    """The value that starts at `start`, after `quote` if there is one."""
    closed = quoted(text, start, quote) if quote else None
    return closed or bare(text, start, ends)


def value(text: bytes, start: int, span: ValueSpan) -> str:
    """The part of a value that is checked."""
    return text[start : min(span.end, start + CHECKED)].decode("latin-1")


def _end(pattern: re.Pattern[bytes], text: bytes, start: int) -> int:
    match = pattern.match(text, start, start + CHECKED)
    return match.end() if match else start


def _line_end(text: bytes, start: int) -> int:
    end = text.find(b"\n", start, start + WINDOW)
    return min(start + WINDOW, len(text)) if end < 0 else end


def _ends_json(text: bytes, after: int) -> bool:
    return text[after : after + 16].lstrip(b" \t")[:1] in {b"", b",", b":", b"}", b"]", b"\n", b"\r"}


@cache
def bare_pattern(ends: bytes) -> re.Pattern[bytes]:
    """What matches a bare value, all of it."""
    if ends == HEADER:
        return _run(rb"[^\r\n\"'`\\\x1b]", rb"[^nr\"'`\r\n]")
    return _run(rb"[^\s\"'`\\\x1b" + ends + rb"]", rb"[^nrt\"'`\s]")


@cache
def _unclosed(mark: bytes, *, escaped: bool) -> re.Pattern[bytes]:
    return _run(rb"[^\r\n\\" + mark + rb"]", rb"[^\r\n\"'`]" if escaped else rb"[^\r\n]")


def _run(plain: bytes, escaped: bytes) -> re.Pattern[bytes]:
    """Characters and escapes, in a form that is fast in `re`."""
    return re.compile(plain + rb"*+(?:\\" + escaped + plain + rb"*+)*+")


@cache
def _quotes(mark: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(\\*+)(" + mark + rb"|\")")
