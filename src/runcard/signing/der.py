"""DER, the encoding of certificates and time-stamps: as much as time-stamps need.

Lengths are checked before anything is cut out, and nothing recurses: bad bytes give an error.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from runcard.errors import DocumentError

BOOLEAN, INTEGER, BIT_STRING, OCTET_STRING, OBJECT_ID = 0x01, 0x02, 0x03, 0x04, 0x06
TIME, SEQUENCE, SET = 0x18, 0x30, 0x31
CONTEXT: Final = 0xA0  # a constructed element with a number of its own

_MOST_LENGTH_BYTES = 4
_LONGEST_INTEGER = 64  # bytes: serial numbers and nonces have 20 at most


class DerError(DocumentError):
    """Bytes that are not DER, or not what was expected."""


class Element(NamedTuple):
    """One element: what it is, its content, and both as they stand there."""

    tag: int
    content: bytes
    raw: bytes

    def expect(self, tag: int) -> "Element":
        """The element itself; raises DerError if it is of another type."""
        if self.tag != tag:
            raise DerError(f"expected an element of type {tag:#04x}, found {self.tag:#04x}")
        return self

    def parts(self) -> "Parts":
        """The elements in it."""
        return Parts(self.content)

    def integer(self) -> int:
        self.expect(INTEGER)
        if not 1 <= len(self.content) <= _LONGEST_INTEGER:
            raise DerError("an integer is empty or too long")
        return int.from_bytes(self.content, "big", signed=True)

    def object_id(self) -> str:
        self.expect(OBJECT_ID)
        numbers: list[int] = []
        number = 0
        for byte in self.content[:64]:
            number = number << 7 | byte & 0x7F
            if not byte & 0x80:
                numbers.append(number)
                number = 0
        if not numbers or self.content[-1] & 0x80 or len(self.content) > 64:
            raise DerError("an object identifier is cut")
        first = min(numbers[0] // 40, 2)
        return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))

    def time(self) -> datetime:
        """A time in UTC, perhaps with parts of a second."""
        text = self.expect(TIME).content.decode("ascii", "replace")
        whole, _, fraction = text.removesuffix("Z").partition(".")
        digits = whole + fraction
        if not (text.endswith("Z") and digits.isascii() and digits.isdigit()) or len(fraction) > 9:
            raise DerError("a time is not of the form YYYYMMDDhhmmss[.f]Z")
        try:
            moment = datetime.strptime(whole, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        except ValueError:
            raise DerError("a time is not of the form YYYYMMDDhhmmss[.f]Z") from None
        return moment + timedelta(microseconds=int(fraction.ljust(6, "0")[:6] or 0))


class Parts:
    """Elements one after the other, read in their order."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __iter__(self) -> Iterator[Element]:
        while self.has_more:
            yield self.next()

    @property
    def has_more(self) -> bool:
        return self._at < len(self._data)

    def next(self, tag: int | None = None) -> Element:
        """The next element; raises DerError without one, or if it is of another type than expected."""
        element = _element(self._data, self._at)
        self._at += len(element.raw)
        return element if tag is None else element.expect(tag)

    def optional(self, tag: int) -> Element | None:
        """The next element if it is of this type; None leaves it where it is."""
        if self.has_more and self._data[self._at] == tag:
            return self.next()
        return None


def _element(data: bytes, at: int) -> Element:
    if at + 2 > len(data):
        raise DerError("the data is cut")
    tag, length, start = data[at], data[at + 1], at + 2
    if tag & 0x1F == 0x1F:
        raise DerError("an element has a type of several bytes")
    if length & 0x80:
        size = length & 0x7F
        if not 1 <= size <= _MOST_LENGTH_BYTES:
            raise DerError("an element has no length, or one of too many bytes")
        length, start = int.from_bytes(data[start : start + size], "big"), start + size
    end = start + length
    if end > len(data):
        raise DerError("the data is cut")
    return Element(tag, data[start:end], data[at:end])


def read_element(data: bytes) -> Element:
    """The one element that the data is; raises DerError if it is anything else."""
    element = _element(data, 0)
    if len(element.raw) != len(data):
        raise DerError("there is more data behind the end")
    return element


def encode(tag: int, *contents: bytes) -> bytes:
    """An element with these contents."""
    content = b"".join(contents)
    length = len(content)
    if length < 0x80:
        return bytes((tag, length)) + content
    size = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(size))) + size + content


def encode_integer(value: int) -> bytes:
    return encode(INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def encode_object_id(text: str) -> bytes:
    first, second, *rest = map(int, text.split("."))
    content = bytearray()
    for number in (40 * first + second, *rest):
        digits = [number & 0x7F]
        while number := number >> 7:
            digits.append(number & 0x7F | 0x80)
        content += bytes(reversed(digits))
    return encode(OBJECT_ID, bytes(content))
