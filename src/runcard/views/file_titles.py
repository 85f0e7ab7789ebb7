"""The title of a text file, from its first bytes: the heading of a document, the docstring or first comment of a program.

The text comes from other programs and can be hostile: only a bounded part of it is looked at, and no pattern takes longer
than in proportion to it. The title is one line without markup; who prints it must still escape it.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from html import unescape
from itertools import pairwise

from runcard.files import file_type

HEAD_BYTES = 8192  # of a file are looked at
_LONGEST_LINE = 300  # characters
_LONGEST_TITLE = 100

_ATX = re.compile(r" {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*")
_PARAGRAPH = re.compile(r" {0,3}[^\s>|=*+-]")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_RST_LINE = re.compile(r"([=\-`:'\"~^_*+#<>.])\1{2,}[ \t]*")
_ADOC = re.compile(r"={1,6} +(.+)")
_HTML_TITLE = re.compile(r"<title[^<>]*>([^<]*)", re.IGNORECASE)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_TRIPLE_QUOTED = re.compile(r"[rRuU]{0,2}(\"\"\"|''')(.*?)(?:\1|\Z)", re.DOTALL)
_QUOTED = re.compile(r"[rRuU]{0,2}(?:\"([^\"\\\n]*)\"|'([^'\\\n]*)')[ \t]*(?:\n|\Z)")
_JS_BLOCK = re.compile(r"\s*/\*+(.*?)(?:\*/|\Z)", re.DOTALL)
_JS_DIRECTIVE = re.compile(r"\s*(?:#![^\n]*\n|['\"]use \w+['\"];?)")
_JS_TAG = re.compile(r"@(?:file|fileoverview|overview|module|description)\b\s*")

# Comments for programs and lawyers. A block with a line about rights is left out as a whole.
_DIRECTIVE = re.compile(
    r"!|-\*-|(?:vim?|ex|emacs):|(?:file)?(?:en)?coding[:=]|frozen_string_literal|typed:|@ts-|@flow|<reference"
    r"|(?:es|ts|js|py)lint|jshint|prettier|rubocop|shellcheck|flake8|ruff|noqa|mypy|type:|global |istanbul|@|:",
    re.IGNORECASE,
)
_RIGHTS = re.compile(r"copyright|\(c\)|©|spdx-|licen[sc]e|all rights reserved", re.IGNORECASE)


def title_of(path: str, head: bytes) -> str | None:
    """The title of a file, given its first bytes; None if it has none, or is not text."""
    find = _TITLES.get(file_type(path))
    if find is None or b"\0" in head:
        return None
    text = head[:HEAD_BYTES].decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    title = find(text)
    if title is None:
        return None
    title = " ".join(title[:_LONGEST_LINE].split()).strip()
    if not any(character.isalnum() for character in title):
        return None
    return title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1] + "…"


def _lines(text: str) -> list[str]:
    return [line[:_LONGEST_LINE] for line in text.split("\n")]


def _markdown(text: str) -> str | None:
    lines = _lines(_without_front_matter(text))
    fence = None
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if (mark := _FENCE.match(line)) and fence in {None, mark[1]}:
            fence = mark[1] if fence is None else None
        elif fence is None and (match := _ATX.fullmatch(line)):
            return _without_markup(match[1])
        elif fence is None and _PARAGRAPH.match(line) and _SETEXT.fullmatch(below):
            return _without_markup(line)
    return None


def _without_front_matter(text: str) -> str:
    if not text.startswith("---\n"):
        return text
    _, end, rest = text[4:].partition("\n---\n")
    return rest if end else ""


def _without_markup(text: str) -> str:
    return re.sub(r"[*`~]+", "", _LINK.sub(r"\1", text))


def _restructured_text(text: str) -> str | None:
    lines = [line.rstrip() for line in _lines(text)]
    for line, below in pairwise(lines):
        if line.strip() and not _RST_LINE.fullmatch(line) and _RST_LINE.fullmatch(below):
            return line
    return None


def _asciidoc(text: str) -> str | None:
    return next((match[1] for line in _lines(text) if (match := _ADOC.fullmatch(line))), None)


def _html(text: str) -> str | None:
    match = _HTML_TITLE.search(text)
    return unescape(match[1]) if match else None


def _python(text: str) -> str | None:
    code = text
    while (line := code.partition("\n")[0]) != code and (not line.strip() or line.startswith("#")):
        code = code[len(line) + 1 :]
    if match := _TRIPLE_QUOTED.match(code):
        return next((line.strip() for line in match[2].split("\n") if line.strip()), None)
    if match := _QUOTED.match(code):
        return match[1] or match[2]
    return _hash_comment(text)


def _hash_comment(text: str) -> str | None:
    return _first_sentence(_blocks(_lines(text), "#"))


def _javascript(text: str) -> str | None:
    while match := _JS_DIRECTIVE.match(text):
        text = text[match.end() :]
    while match := _JS_BLOCK.match(text):
        lines = [_JS_TAG.sub("", line.strip().lstrip("*").strip()) for line in _lines(match[1])]
        if (title := _first_sentence([lines])) is not None:
            return title
        text = text[match.end() :]
    return _first_sentence(_blocks(_lines(text), "//"))


def _blocks(lines: Iterable[str], mark: str) -> Iterator[list[str]]:
    """The comments before the first line of code, without their marks: lines without a gap are one block."""
    block: list[str] = []
    for line in lines:
        text = line.strip()
        if text.startswith(mark):
            block.append(text.removeprefix(mark).lstrip(mark[0]).strip() if text[:2] != "#!" else "!")
            continue
        yield block
        block = []
        if text:
            return
    yield block


def _first_sentence(blocks: Iterable[list[str]]) -> str | None:
    for block in blocks:
        if not any(_RIGHTS.search(line) for line in block):
            for line in block:
                if line and not _DIRECTIVE.match(line):
                    return line
    return None


_TITLES: dict[str, Callable[[str], str | None]] = {
    ".md": _markdown,
    ".rst": _restructured_text,
    ".adoc": _asciidoc,
    ".html": _html,
    ".py": _python,
    ".rb": _hash_comment,
    ".sh": _hash_comment,
    ".js": _javascript,
    ".ts": _javascript,
}
