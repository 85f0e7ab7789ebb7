"""Digests as values with their algorithm, and hashing of bytes and streams.

SHA-256 is the only algorithm. What is hashed, and where a digest is stored, is decided by the callers.

Invariant: every `Digest` is well formed, and `Digest.parse(str(digest)) == digest`.
"""

import re
from collections.abc import Callable
from hashlib import blake2b, sha256
from typing import NamedTuple, Protocol, Self

_BLOCK = 256 * 1024  # large enough for fast reading, small enough for the processor's cache
_HEX = re.compile("[0-9a-f]{64}")


class Readable(Protocol):
    """A binary stream that can be hashed."""

    def readinto(self, buffer: memoryview, /) -> int | None: ...


class _DigestFields(NamedTuple):
    algorithm: str
    hex: str


class Digest(_DigestFields):
    """A SHA-256 digest; as text `sha256:` and 64 lower-case hex digits."""

    __slots__ = ()

    def __new__(cls, algorithm: str, hex: str) -> Self:  # noqa: A002 - the usual name
        if algorithm != "sha256":
            raise ValueError(f"the algorithm of a digest is sha256, not {algorithm!r}")
        if _HEX.fullmatch(hex) is None:
            raise ValueError(f"a SHA-256 digest is 64 lower-case hex digits, not {hex!r}")
        return super().__new__(cls, algorithm, hex)

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.hex}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a digest; raises ValueError unless it is exactly `sha256:` and 64 hex digits."""
        algorithm, colon, hexadecimal = text.partition(":")
        if not colon:
            raise ValueError(f"a digest is written sha256:<64 hex digits>, not {text!r}")
        return cls(algorithm, hexadecimal)


def sha256_bytes(data: bytes) -> Digest:
    return _DigestFields.__new__(Digest, "sha256", sha256(data).hexdigest())  # well formed, so not checked


def sha256_stream(stream: Readable, *, on_block: Callable[[int], object] | None = None) -> Digest:
    """Hash the rest of a blocking stream; `on_block` gets the size of each block, and may raise to stop."""
    hasher = sha256()
    buffer = memoryview(bytearray(_BLOCK))
    while count := stream.readinto(buffer):
        hasher.update(buffer[:count])
        if on_block is not None:
            on_block(count)
    return Digest("sha256", hasher.hexdigest())


def sha256_descriptor(descriptor: int, *, on_block: Callable[[int], object] | None = None) -> Digest:
    """Hash an open file from its current position to its end.

    It does not map the file into memory: if a mapped file is truncated, the process is killed.
    """
    with open(descriptor, "rb", buffering=0, closefd=False) as stream:
        return sha256_stream(stream, on_block=on_block)


def short_digest(text: str) -> bytes:
    """8 bytes that stand for a text, such as an id, wherever it is met again: in another process, on another machine."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
