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

_FIELDS = struct.Struct("100s8s8s8s12s12s8s1s100s8s32s32s8s8s155s12x")
_BLANKS = b" " * 8
_NOBODY = b"0000000\0"
_USTAR = b"ustar\x0000"
_LONG = b"././@LongLink"


class TarError(StoreError):
    """What stands there is no tar."""


class Member(NamedTuple):
    """One entry of a tar file."""

    kind: bytes
    path: bytes
    size: int
    mode: int
    mtime: int
    target: bytes  # of a link


def padding(size: int) -> int:
    return -size % BLOCK


def header(member: Member) -> bytes:
    """The header of a member, with what must come before it."""
    kind, path, size, mode, mtime, target = member
    before = b""
    name, prefix = (path, b"") if len(path) <= 100 else _split(path)
    if len(name) > 100:
        before, name = _long(_LONG_NAME, path), path[:100]
    if len(target) > 100:
        before += _long(_LONG_LINK, target)
    return before + _plain(kind, name, size, mode, mtime, target[:100], prefix)


def _plain(
    kind: bytes, name: bytes, size: int, mode: int, mtime: int, target: bytes = b"", prefix: bytes = b""
) -> bytes:
    facts = (name, b"%07o\0" % mode, _NOBODY, _NOBODY, _number(size), _number(mtime), _BLANKS, kind, target)
    raw = _FIELDS.pack(*facts, _USTAR, b"", b"", _NOBODY, _NOBODY, prefix)
    # adler32 begins with a sum as well, modulo 65,521, which no header of plain text reaches; and takes a tenth of the time.
    plain = name.isascii() and target.isascii() and prefix.isascii()
    total = (adler32(raw) & 0xFFFF) - 1 if plain else sum(raw)
    return b"%b%06o\0 %b" % (raw[:148], total, raw[156:])


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


class Before(NamedTuple):
    """What stands before a header and is about the same file."""

    path: bytes | None = None
    target: bytes | None = None
    size: int | None = None


def parse(raw: bytes) -> Member | None:
    """What a header says; None for the empty one that ends an archive. Raises TarError for what is none."""
    if raw.count(0) == BLOCK:
        return None
    name, mode, _, _, size, mtime, checksum, kind, target, magic, *_, prefix = _FIELDS.unpack(raw)
    try:
        if (_read_number(checksum) + sum(checksum) - 256 + 1) % 65521 != adler32(raw) & 0xFFFF:
            raise TarError("a header in it is damaged")
        facts = (_read_number(size), _read_number(mode) & 0o7777, _read_number(mtime))
    except ValueError:
        raise TarError("a header in it is damaged") from None
    if facts[0] < 0:
        raise TarError("a header in it has a size below zero")
    path = name.partition(b"\0")[0]
    prefix = prefix.partition(b"\0")[0] if magic == _USTAR else b""
    path = b"%b/%b" % (prefix, path) if prefix else path
    return Member(FILE if kind in _FILES else kind, path, *facts, target.partition(b"\0")[0])


def is_extra(member: Member) -> bool:
    """Whether a member says something about the next one."""
    if member.kind in _EXTRA and member.size > _LARGEST_EXTRA:
        raise TarError("a header in it claims to be enormous")
    return member.kind in _EXTRA


def noted(member: Member, data: bytes, before: Before) -> Before:
    """What is known of the next member after such a record."""
    if member.kind == _LONG_NAME:
        return before._replace(path=data.rstrip(b"\0"))
    if member.kind == _LONG_LINK:
        return before._replace(target=data.rstrip(b"\0"))
    records = dict(_records(data))
    if any(key.startswith(b"GNU.sparse") for key in records):
        raise TarError("it holds a file with holes, which cannot be told from a hostile one")
    size = records.get(b"size")
    if size is not None and not size.isdigit():
        raise TarError("a header in it has no good size")
    return Before(
        records.get(b"path", before.path),
        records.get(b"linkpath", before.target),
        before.size if size is None else int(size[:20]),
    )


def completed(member: Member, before: Before) -> Member:
    """A member with what stood before it."""
    if before == Before():
        return member
    return member._replace(
        path=member.path if before.path is None else before.path,
        target=member.target if before.target is None else before.target,
        size=member.size if before.size is None else before.size,
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
