r"""The contents of a SHA256SUMS file as a value, with its writer and its reader.

The format is that of coreutils: `<hex>  <relative path>` on a line for each file, here sorted by the bytes of the path. A
name with a backslash, a newline or a carriage return is written `\\`, `\n`, `\r`, and its line begins with a backslash.
The name `-` is written `./-`, since `sha256sum -c` would read `-` as standard input.

Reading is strict, because a listing decides what is trusted. Besides the writer's own format the reader accepts ` *`
before the name (binary mode), a leading `./`, any order, and CRLF when every line ends with it, as when a text tool has
converted the whole file. A carriage return anywhere else is refused, since it may belong to a name or to a line end.

Invariant: `read(listing.to_bytes()) == listing`.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from io import BytesIO
from itertools import islice
from typing import BinaryIO, Self

from runcard.digests import Digest
from runcard.errors import EncodingError
from runcard.files import PathTable, check_relative, decode_name, encode_name, printable

_LINE = re.compile(r"(\\?)([0-9a-f]{64}) [ *]([^\r\0]+)")
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", "\r": r"\r"})
_ESCAPED = re.compile(r"\\(.?)")
_LINES_IN_BLOCK = 1024  # when it is written
_BLOCK = 1 << 16  # bytes, when it is read
_UNESCAPES = {"\\": "\\", "n": "\n", "r": "\r"}


class Listing(Mapping[str, Digest]):
    """The digest of each file by its path, in the order of the bytes of the paths. Immutable.

    A listing of many files is on disk, see PathTable. Looking up paths in order is fast, in any other order it is not.
    """

    # Digests are stored as hex strings: an object for each of a million files would cost more than hashing them.
    __slots__ = ("_hexes",)

    def __init__(self, digests: Mapping[str, Digest]) -> None:
        self._hexes: PathTable[str] = PathTable()
        self._hexes.update({path: digest.hex for path, digest in digests.items()})

    @classmethod
    def from_hex(cls, hexes: Mapping[str, str] | PathTable[str]) -> Self:
        """A listing of digests that were just computed or already checked; a table belongs to the listing from now on."""
        listing = cls({})
        if isinstance(hexes, PathTable):
            listing._hexes = hexes
        else:
            listing._hexes.update(hexes)
        return listing

    def __getitem__(self, path: str) -> Digest:
        digits = self._hexes.get(path)
        if digits is None:
            raise KeyError(path)
        return Digest("sha256", digits)

    def __iter__(self) -> Iterator[str]:
        return (path for path, _ in self._hexes)

    def __len__(self) -> int:
        return len(self._hexes)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and path in self._hexes

    def __repr__(self) -> str:
        return f"<Listing of {len(self)} files>"

    def with_digests(self, digests: Mapping[str, Digest]) -> "Listing":
        """A listing with some digests added or replaced."""
        hexes: PathTable[str] = PathTable()
        entries = iter(self._hexes)
        while some := dict(islice(entries, _LINES_IN_BLOCK)):
            hexes.update(some)
        hexes.update({path: digest.hex for path, digest in digests.items()})
        return Listing.from_hex(hexes)

    def hex_items(self) -> Iterator[tuple[str, str]]:
        """Each path with the hex digits of its digest."""
        return iter(self._hexes)

    def blocks(self) -> Iterator[bytes]:
        """The output of `sha256sum` for these files in this order, in blocks of whole lines."""
        return listing_blocks(iter(self._hexes))

    def to_bytes(self) -> bytes:
        """The output of `sha256sum` for these files in this order."""
        return b"".join(self.blocks())

    @property
    def digest(self) -> Digest:
        """The digest of `to_bytes()`. A file that was read can differ from that byte for byte: hash its own bytes."""
        return listing_digest(iter(self._hexes))


def listing_digest(entries: Iterator[tuple[str, str]]) -> Digest:
    """The digest of a listing of these paths and digests in hex, which are sorted."""
    hasher = sha256()
    for block in listing_blocks(entries):
        hasher.update(block)
    return Digest("sha256", hasher.hexdigest())


def read(data: bytes) -> Listing:
    """Parse a SHA256SUMS file; raises EncodingError with the number of the wrong line."""
    return read_file(BytesIO(data))


def read_file(file: BinaryIO, on_block: Callable[[bytes], object] | None = None) -> Listing:
    """The same for an open file, in bounded memory if its lines are sorted.

    `on_block` is called with each block of the file, up to its end even if a line is wrong.
    """
    blocks = _blocks(file, on_block)
    try:
        return Listing.from_hex(_parse_blocks(blocks, is_crlf=_ends_lines_with_crlf(file)))
    except EncodingError:
        for _ in blocks:
            pass
        raise


def _blocks(file: BinaryIO, on_block: Callable[[bytes], object] | None = None) -> Iterator[bytes]:
    """The bytes of a file in blocks of whole lines."""
    file.seek(0)
    while block := file.read(_BLOCK):
        block += file.readline()
        if on_block is not None:
            on_block(block)
        yield block


def _ends_lines_with_crlf(file: BinaryIO) -> bool:
    """Whether every line ends with CRLF; raises EncodingError when the last line has no end."""
    file.seek(0)
    is_crlf = file.readline().endswith(b"\r\n")
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 1, 0))
    if file.read(1) not in {b"", b"\n"}:
        number = sum(block.count(b"\n") for block in _blocks(file)) + 1
        raise _malformed("the last line has no newline: the file is truncated", number)
    return is_crlf and all(block.count(b"\r\n") == block.count(b"\n") for block in _blocks(file))


def _parse_blocks(blocks: Iterable[bytes], *, is_crlf: bool) -> PathTable[str]:
    hexes: PathTable[str] = PathTable()
    number, last = 0, ""  # of the line; the path before it
    seen: set[str] | None = None  # all paths so far, from the first line that is not in order
    for block in blocks:
        some: dict[str, str] = {}
        for line in decode_name(block.replace(b"\r\n", b"\n") if is_crlf else block).split("\n")[:-1]:
            number += 1
            path, digits = _parse(line, number)
            if seen is None and not _is_before(last, path):
                seen = {path for path, _ in hexes} | some.keys()
            if seen is not None:
                if path in seen:
                    raise _duplicate(path, number)
                seen.add(path)
            some[path] = digits
            last = path
        hexes.update(some)
    return hexes


def _is_before(path: str, other: str) -> bool:
    if path.isascii() and other.isascii():
        return path < other
    return encode_name(path) < encode_name(other)


def _duplicate(path: str, number: int) -> EncodingError:
    return EncodingError(
        "checksums.duplicate",
        f"{printable(path)} is listed twice",
        line=number,
        hint="remove one of the two lines, or create the listing again",
    )


def listing_blocks(entries: Iterator[tuple[str, str]]) -> Iterator[bytes]:
    """A listing of these paths and digests in hex, which are sorted, in blocks of whole lines."""
    while some := list(islice(entries, _LINES_IN_BLOCK)):
        paths = [path for path, _ in some]
        names = "".join(paths)
        if "-" in paths or "\\" in names or "\n" in names or "\r" in names:
            lines = [_line(path, digits) for path, digits in some]
        else:  # no name needs escaping
            lines = [f"{digits}  {path}\n" for path, digits in some]
        yield encode_name("".join(lines))


def _line(path: str, digits: str) -> str:
    if path == "-":
        path = "./-"
    escaped = path.translate(_ESCAPES)
    return f"{digits}  {path}\n" if escaped == path else f"\\{digits}  {escaped}\n"


def _parse(line: str, number: int) -> tuple[str, str]:
    match = _LINE.fullmatch(line)
    if match is None:
        raise _malformed("expected 64 lower-case hex digits, two spaces and a path", number)
    escaped, digits, path = match.groups()
    if escaped:
        path = _unescape(path, number)
    path = path.removeprefix("./")
    if reason := check_relative(path):
        raise EncodingError(
            "checksums.path",
            f"the path {printable(path)!r} is refused: {reason}",
            line=number,
            hint="a listing contains only files below its own directory",
        )
    return path, digits


def _unescape(path: str, number: int) -> str:
    try:
        return _ESCAPED.sub(lambda match: _UNESCAPES[match[1]], path)
    except KeyError:
        raise _malformed("a backslash must be followed by \\, n or r", number) from None


def _malformed(message: str, number: int) -> EncodingError:
    return EncodingError(
        "checksums.line",
        message,
        line=number,
        hint="restore the file from a backup, or create the listing again",
    )
