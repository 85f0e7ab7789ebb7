"""Tar headers, written and read.

`tarfile` takes longer for a header than everything else takes for a small file. Written is the form of POSIX (ustar), with
GNU's records for names and links that are too long for it, which keep every byte; read is also what other programs write.
Nothing here belongs to a machine: owners are 0 and nameless, and times are whole seconds.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple
from zlib import adler32

from runcard.errors import StoreError

BLOCK = 512
END = bytes(2 * BLOCK)

FILE, SYMLINK, DIRECTORY = b"0", b"2", b"5"
_LONG_NAME, _LONG_LINK = b"L", b"K"
_EXTRA = {_LONG_NAME, _LONG_LINK, b"x", b"g"}  # the last two as POSIX has them (pax)
_FILES = {b"0", b"\0", b"7"}
_LARGEST_EXTRA = 1 << 20  # bytes of a long name, or of a record of pax
_LATEST = 1 << 40  # seconds; a time beyond it, before or after 1970, is not a time that a file could have

_FIELDS = struct.Struct("100s8s16x12s12s8s1s100s8s80x155s12x")  # those that say something
_NOBODIES = b"0000000\0" * 2  # neither an owner nor a group; and no device
_USTAR = b"ustar\x0000"
_LONG = b"././@LongLink"


class TarError(StoreError):
    """The data is not a tar archive."""


class TarMember(NamedTuple):
    """One entry of a tar file."""

    kind: bytes
    path: bytes
    size: int
    mode: int
    mtime: int
    target: bytes  # of a link


def padding(size: int) -> int:
    return -size % BLOCK


def header(member: TarMember) -> bytes:
    """The header of a member, with what must come before it."""
    kind, path, size, mode, mtime, target = member
    extra = b""
    name, prefix = (path, b"") if len(path) <= 100 else _split(path)
    if len(name) > 100:
        extra, name = _long(_LONG_NAME, path), path[:100]
    if len(target) > 100:
        extra += _long(_LONG_LINK, target)
    return extra + _plain(kind, name, size, mode, mtime, target[:100], prefix)


def _plain(
    kind: bytes, name: bytes, size: int, mode: int, mtime: int, target: bytes = b"", prefix: bytes = b""
) -> bytes:
    """The two halves of a header, and its checksum between them: the sum of both, and of blanks in its own place."""
    first = b"%b%07o\0%b%b%b" % (name.ljust(100, b"\0"), mode, _NOBODIES, _number(size), _number(mtime))
    second, total = _REST[kind] if not target and not prefix else _rest(kind, target, prefix)
    # adler32 begins with a sum as well, modulo 65,521, which so few bytes do not reach; and takes a tenth of the time.
    total += (adler32(first) & 0xFFFF) - 1
    return b"%b%06o\0 %b" % (first, total, second)


def _rest(kind: bytes, target: bytes = b"", prefix: bytes = b"") -> tuple[bytes, int]:
    """What comes after the checksum, and its part of that."""
    fields = (
        kind,
        target.ljust(100, b"\0"),
        _USTAR,
        bytes(64),
        _NOBODIES,
        prefix.ljust(155, b"\0"),
        bytes(12),
    )
    rest = b"".join(fields)
    return rest, sum(rest) + 8 * ord(" ")


_REST = {kind: _rest(kind) for kind in (FILE, SYMLINK, DIRECTORY, _LONG_NAME, _LONG_LINK)}


def _split(path: bytes) -> tuple[bytes, bytes]:
    """A long path as name and prefix; the whole of it as the name where it cannot be split."""
    cut = path.find(b"/", len(path) - 101)
    if 0 < cut <= 155 and cut < len(path) - 1:
        return path[cut + 1 :], path[:cut]
    return path, b""


def _long(kind: bytes, text: bytes) -> bytes:
    return _plain(kind, _LONG, len(text) + 1, 0, 0) + text + bytes(1 + padding(len(text) + 1))


def _number(value: int) -> bytes:
    """Octal digits; where they do not suffice, GNU's binary form."""
    if 0 <= value < 1 << 33:
        return b"%011o\0" % value
    return (value & (1 << 95) - 1 | 1 << 95).to_bytes(12, "big")


def _read_number(field: bytes) -> int:
    if field[0] & 0x80:
        value = int.from_bytes(field, "big") & (1 << 95) - 1
        return value - (1 << 95) if field[0] & 0x40 else value
    return int(field.rstrip(b"\0 ") or b"0", 8)


class ExtraFields(NamedTuple):
    """Fields of a member that extra headers before its own state."""

    path: bytes | None = None
    target: bytes | None = None
    size: int | None = None


def parse(raw: bytes | memoryview) -> TarMember | None:
    """Parse a header; None for the empty one that ends an archive. Raises TarError if it is not a header."""
    if not raw[0] and bytes(raw).count(0) == BLOCK:
        return None
    name, mode, size, mtime, checksum, kind, target, magic, prefix = _FIELDS.unpack(raw)
    try:
        if (_read_number(checksum) + sum(checksum) - 256 + 1) % 65521 != adler32(raw) & 0xFFFF:
            raise TarError("a header in it is damaged")
        length, permissions, time = _read_number(size), _read_number(mode) & 0o7777, _read_number(mtime)
    except ValueError:
        raise TarError("a header in it is damaged") from None
    if length < 0:
        raise TarError("a header in it has a size below zero")
    path = name.partition(b"\0")[0]
    if prefix[0] and magic == _USTAR:
        path = b"%b/%b" % (prefix.partition(b"\0")[0], path)
    if abs(time) > _LATEST:
        raise TarError("a header in it has a time that no file can have")
    leads_to = target.partition(b"\0")[0] if target[0] else b""
    return TarMember(FILE if kind in _FILES else kind, path, length, permissions, time, leads_to)


def is_extra(member: TarMember) -> bool:
    """Whether a member says something about the next one."""
    if member.kind in _EXTRA and member.size > _LARGEST_EXTRA:
        raise TarError("a header in it claims to be enormous")
    return member.kind in _EXTRA


def parse_extra(member: TarMember, data: bytes, extra: ExtraFields) -> ExtraFields:
    """The fields of the next member after an extra header; those of earlier ones stay."""
    if member.kind == _LONG_NAME:
        return extra._replace(path=data.rstrip(b"\0"))
    if member.kind == _LONG_LINK:
        return extra._replace(target=data.rstrip(b"\0"))
    records = dict(_records(data))
    if any(key.startswith(b"GNU.sparse") for key in records):
        raise TarError("it holds a file with holes, which cannot be distinguished from a hostile one")
    size = records.get(b"size")
    if size is not None and not size.isdigit():
        raise TarError("a header in it has an invalid size")
    return ExtraFields(
        records.get(b"path", extra.path),
        records.get(b"linkpath", extra.target),
        extra.size if size is None else int(size[:20]),
    )


def completed(member: TarMember, extra: ExtraFields) -> TarMember:
    """A member with the fields of its extra headers."""
    return member._replace(
        path=member.path if extra.path is None else extra.path,
        target=member.target if extra.target is None else extra.target,
        size=member.size if extra.size is None else extra.size,
    )


def _records(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The records of pax: `<length> <key>=<value>` and a newline."""
    at = 0
    while at < len(data):
        length, blank, _ = data[at : at + 20].partition(b" ")
        end = at + int(length) if length.isdigit() and blank else 0
        key, equals, value = data[at + len(length) + 1 : end - 1].partition(b"=")
        if end <= at or end > len(data) or not equals:
            raise TarError("a header in it is damaged")
        yield key, value
        at = end
