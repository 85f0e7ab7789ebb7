"""A JSON text of any size in little memory.

Up to a limit it is kept as it is. A larger one loses what makes it large: long strings become empty, long lists of numbers keep
their last ones. It stays a JSON text with all its fields, so that the usage at its end can be read.
"""

import re

LIMIT = 8 << 20  # bytes of a text that is kept as it is, and of what is left of a larger one
_LONGEST_STRING = 4096
_LONGEST_RUN = 1024  # bytes between two strings
_NUMBERS = re.compile(rb"[-+0-9.eE,\s]{256,}")
# The inside of a string, as far as it is complete; a backslash at the end is not part of it.
_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_QUOTE = ord('"')


class LongText:
    """A text that arrives in pieces."""

    def __init__(self) -> None:
        self.is_shortened = False
        self._pieces: list[bytes] = []
        self._size = 0  # of the pieces
        self._shortener: _Shortener | None = None

    def add(self, piece: bytes) -> None:
        if not piece or self._size > LIMIT:
            return
        if self._shortener is None and self._size + len(piece) > LIMIT:
            self._shortener, self.is_shortened = _Shortener(), True
            pieces, self._pieces, self._size = self._pieces, [], 0
            for earlier in pieces:
                self._keep(self._shortener.feed(earlier))
        self._keep(piece if self._shortener is None else self._shortener.feed(piece))

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= LIMIT:
            self._pieces.append(piece)
        else:
            self._pieces.clear()

    def take(self) -> bytes | None:
        """The text so far, and nothing is left; None when it is too large even without long strings."""
        if self._shortener is not None:
            self._keep(self._shortener.end())
        text = b"".join(self._pieces) if self._size <= LIMIT else None
        self._pieces, self._size, self._shortener = [], 0, None
        return text


class _Shortener:
    """Leaves out long strings and lists of numbers."""

    def __init__(self) -> None:
        self._in_string = False
        self._string = b""  # the beginning of the current string
        self._is_long = False
        self._run = b""  # what stands since the last string
        self._escape = StringEnd()

    def feed(self, piece: bytes) -> bytes:
        out = bytearray()
        at = 0
        while at < len(piece):
            if self._in_string:
                end = self._escape.find(piece, at)
                self._add_string(piece[at : None if end < 0 else end])
                if end < 0:
                    break
                out += b'"' if self._is_long else self._string + b'"'
                self._in_string, self._run = False, b""
                at = end + 1
                continue
            quote = piece.find(b'"', at)
            self._run += piece[at : None if quote < 0 else quote]
            if len(self._run) > _LONGEST_RUN:
                self._run = _NUMBERS.sub(_last_number, self._run)
            if quote < 0:
                break
            out += self._run + b'"'
            self._in_string, self._string, self._is_long = True, b"", False
            at = quote + 1
        if not self._in_string and len(self._run) > 2 * _LONGEST_RUN:  # not numbers
            out += self._run[:-_LONGEST_RUN]
            self._run = self._run[-_LONGEST_RUN:]
        return bytes(out)

    def _add_string(self, piece: bytes) -> None:
        if not self._is_long and len(self._string) + len(piece) <= _LONGEST_STRING:
            self._string += piece
        else:
            self._string, self._is_long = b"", True

    def end(self) -> bytes:
        return self._string if self._in_string else self._run


def _last_number(numbers: re.Match[bytes]) -> bytes:
    """The last of many numbers, which may go on in the next piece."""
    text = numbers[0]
    return (b"," if text.lstrip().startswith(b",") else b"") + text[text.rfind(b",") + 1 :].lstrip()


class StringEnd:
    """Finds the end of a JSON string that arrives in pieces."""

    def __init__(self) -> None:
        self._is_escaped = False  # whether the next byte follows a backslash

    def find(self, piece: bytes, at: int) -> int:
        """The place of the quote that ends the string; -1: it is not in this piece."""
        start = at + self._is_escaped
        end = piece.find(b'"', start)
        if piece.find(b"\\", start, end if end >= 0 else len(piece)) < 0:  # nearly always
            self._is_escaped = False
            return end
        match = _STRING.match(piece, start)
        end = len(piece) if match is None else match.end()
        if end < len(piece) and piece[end] == _QUOTE:
            self._is_escaped = False
            return end
        self._is_escaped = end < len(piece)
        return -1
