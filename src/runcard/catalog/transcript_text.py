"""The text of a transcript, in parts, and the words that are looked for in it. Nothing here knows the catalog.

A part is a number of whole lines. A line that is longer than a part is cut, between two words if there are any.
"""

import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

from runcard.errors import UsageError

PART = 1 << 16  # bytes: larger parts make a smaller index, and a hit needs more reading
_MOST_WORDS = 50
_TERMINAL_CODES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\))")  # colors, titles
_LETTER = r"[^\W_]"


class TranscriptPart(NamedTuple):
    """Some lines of a transcript."""

    start: int  # bytes before it
    line: int  # the number of its first line
    data: bytes

    @property
    def text(self) -> str:
        """The text as people see it on a terminal: without the codes of colors."""
        text = self.data.decode("utf-8", "replace")
        return _TERMINAL_CODES.sub("", text) if "\x1b" in text else text


class FoundLine(NamedTuple):
    """A line in which all words occur."""

    number: int
    text: str
    match: int  # where the first of the words begins


def parts_of(file: BinaryIO) -> Iterator[TranscriptPart]:
    """All parts of a transcript, from where the file stands."""
    start, line, rest = 0, 1, b""
    while block := rest + file.read(PART - len(rest)):
        end = _end(block)
        yield TranscriptPart(start, line, block[:end])
        start, line, rest = start + end, line + block.count(b"\n", 0, end), block[end:]


def parts_at(file: BinaryIO, places: Iterable[tuple[int, int]]) -> Iterator[TranscriptPart]:
    """Some parts of a transcript: where they start, in order, and the numbers of their first lines."""
    at, rest = 0, b""  # what was read last, and where it starts
    for start, line in places:
        while at + len(rest) < start and file.seekable():
            at, rest = file.seek(start), b""
        while at + len(rest) < start:  # in an archive
            at += len(rest)
            if not (rest := file.read(min(PART, start - at))):
                return
        rest = rest[start - at :]
        at, rest = start, rest + file.read(PART - len(rest))
        yield TranscriptPart(start, line, rest[: _end(rest)])


def _end(block: bytes) -> int:
    """Where the part ends that begins with these bytes."""
    if len(block) < PART:
        return len(block)
    return block.rfind(b"\n") + 1 or block.rfind(b" ") + 1 or len(block)


class WordsToFind:
    """Words that must all occur in a line, as they are written, whatever the case of letters; the last may go on."""

    def __init__(self, text: str) -> None:
        self.words = text.split()[:_MOST_WORDS]
        if not any(character.isalnum() for character in text):
            raise UsageError("there is nothing to search for", hint="write one or more words")
        lowered = [_lower(word) for word in self.words]
        self._longest = max(lowered, key=len)
        self._patterns = [
            re.compile(_pattern(word, is_last=number == len(lowered)))
            for number, word in enumerate(lowered, 1)
        ]

    def lines(self, part: TranscriptPart) -> Iterator[FoundLine]:
        """The lines of a part that have all words."""
        text = part.text
        lowered = _lower(text)
        start, number = 0, part.line  # of the line that is looked at next
        while (place := lowered.find(self._longest, start)) >= 0:
            number += lowered.count("\n", start, place)
            start = max(start, lowered.rfind("\n", start, place) + 1)
            end = lowered.find("\n", place)
            end = len(text) if end < 0 else end
            found = [pattern.search(lowered, start, end) for pattern in self._patterns]
            if all(found):
                first = min(match.start() for match in found if match)
                yield FoundLine(number, text[start:end].rstrip("\r"), first - start)
            start, number = end + 1, number + 1


def _lower(text: str) -> str:
    """A text in lower case, character for character."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(lower if len(lower := character.lower()) == 1 else character for character in text)


def _pattern(word: str, *, is_last: bool) -> str:
    before = rf"(?<!{_LETTER})" if word[0].isalnum() else ""
    after = rf"(?!{_LETTER})" if word[-1].isalnum() and not is_last else ""
    return before + re.escape(word) + after
