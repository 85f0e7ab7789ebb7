r"""The contents of a SHA256SUMS file as a value, with its writer and its reader.

The format is that of coreutils: `<hex>  <relative path>` on a line for each file, here sorted by the bytes of the path. A
name with a backslash, a newline or a carriage return is written `\\`, `\n`, `\r`, and its line begins with a backslash.
The name `-` is written `./-`, since `sha256sum -c` would read `-` as standard input.

Reading is strict, because a listing decides what is trusted. Besides the writer's own format the reader accepts ` *`
before the name (binary mode), a leading `./`, any order, and CRLF when every line ends with it, as when a text tool has
converted the whole file. A carriage return anywhere else is refused, since it may belong to a name or to a line end.

Invariant: `read(listing.to_bytes()) == listing`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Self

from runcard.digests import Digest, sha256_bytes
from runcard.errors import EncodingError
from runcard.files import check_relative, decode_name, encode_name, printable

_LINE = re.compile(r"(\\?)([0-9a-f]{64}) [ *]([^\r\0]+)")
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", "\r": r"\r"})
_ESCAPED = re.compile(r"\\(.?)")
_UNESCAPES = {"\\": "\\", "n": "\n", "r": "\r"}


class Listing(Mapping[str, Digest]):
    """The digest of each file by its path, in the order of the bytes of the paths. Immutable."""

    # Digests are stored as hex strings: an object for each of a million files would cost more than hashing them.
    __slots__ = ("_hexes",)

    def __init__(self, digests: Mapping[str, Digest]) -> None:
        self._hexes = _sorted({path: digest.hex for path, digest in digests.items()})

    @classmethod
    def from_hex(cls, hexes: Mapping[str, str]) -> Self:
        """A listing of digests that were just computed or already checked."""
        listing = cls({})
        listing._hexes = _sorted(hexes)
        return listing

    def __getitem__(self, path: str) -> Digest:
        return Digest("sha256", self._hexes[path])

    def __iter__(self) -> Iterator[str]:
        return iter(self._hexes)

    def __len__(self) -> int:
        return len(self._hexes)

    def __contains__(self, path: object) -> bool:
        return path in self._hexes

    def __repr__(self) -> str:
        return f"<Listing of {len(self)} files>"

    def differing(self, other: "Listing") -> list[str]:
        """The paths that both have, with different digests."""
        theirs = other._hexes  # noqa: SLF001 - of the same class
        return [path for path, digits in self._hexes.items() if theirs.get(path, digits) != digits]

    def to_bytes(self) -> bytes:
        """The output of `sha256sum` for these files in this order."""
        names = "".join(self._hexes)
        if "-" in self._hexes or "\\" in names or "\n" in names or "\r" in names:
            lines = [_line(path, digits) for path, digits in self._hexes.items()]
        else:  # no name needs escaping
            lines = [f"{digits}  {path}\n" for path, digits in self._hexes.items()]
        return encode_name("".join(lines))

    @property
    def digest(self) -> Digest:
        """The digest of `to_bytes()`. A file that was read can differ from that byte for byte: hash its own bytes."""
        return sha256_bytes(self.to_bytes())


def read(data: bytes) -> Listing:
    """Parse a SHA256SUMS file; raises EncodingError with the number of the wrong line."""
    hexes: dict[str, str] = {}
    for number, line in enumerate(_lines(data), start=1):
        path, digits = _parse(line, number)
        if path in hexes:
            raise EncodingError(
                "checksums.duplicate",
                f"{printable(path)} is listed twice",
                line=number,
                hint="remove one of the two lines, or create the listing again",
            )
        hexes[path] = digits
    return Listing.from_hex(hexes)


def _sorted(hexes: Mapping[str, str]) -> dict[str, str]:
    if "".join(hexes).isascii():  # then sorting text and sorting bytes agree, and text is faster
        return {path: hexes[path] for path in sorted(hexes)}
    return {path: hexes[path] for path in sorted(hexes, key=encode_name)}


def _line(path: str, digits: str) -> str:
    if path == "-":
        path = "./-"
    escaped = path.translate(_ESCAPES)
    return f"{digits}  {path}\n" if escaped == path else f"\\{digits}  {escaped}\n"


def _lines(data: bytes) -> list[str]:
    *lines, rest = decode_name(data).split("\n")
    if rest:
        raise _malformed("the last line has no newline: the file is truncated", len(lines) + 1)
    if all(line.endswith("\r") for line in lines):
        return [line[:-1] for line in lines]
    return lines


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
