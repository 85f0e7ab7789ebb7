"""Which words a part of a transcript may have: a Bloom filter, which says "no" for sure, and is less than a tenth of the size of the text.

The beginnings of words are in it, too, so that the beginning of a word can be looked for.
"""

from collections.abc import Iterable
from hashlib import blake2b

_BITS = 10  # for each word or beginning: then one of a hundred others seems to be there
_MARKS = 5  # bits that a word sets
_BEGINNINGS = (6, 4, 2)  # characters
_MASK = (1 << 32) - 1


def make_filter(words: Iterable[str]) -> bytes:
    """The filter of these words; bits are counted as PostgreSQL counts them, from the lowest of the first byte."""
    entries = {word[:length] for word in set(words) for length in (*_BEGINNINGS, len(word))}
    size = max(8, -(-len(entries) * _BITS // 8))
    bits = bytearray(size)
    for entry in entries:
        for mark in marks(entry):
            place = mark % (size * 8)
            bits[place >> 3] |= 1 << (place & 7)
    return bytes(bits)


def marks(word: str) -> list[int]:
    """The numbers whose remainders, by the number of bits, are the bits of a word."""
    number = int.from_bytes(blake2b(word.encode(), digest_size=8).digest())
    first, second = number >> 32, number & _MASK | 1
    return [first + count * second for count in range(_MARKS)]


def longest_beginning(word: str) -> str | None:
    """What a filter has of a word that may go on; None if it is too short."""
    return next((word[:length] for length in _BEGINNINGS if len(word) >= length), None)
