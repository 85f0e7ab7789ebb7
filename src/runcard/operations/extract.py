"""Taking one file or folder out of an archive, without unpacking the rest."""

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator

from runcard.checksums import Listing
from runcard.checksums import read as read_listing
from runcard.digests import sha256_bytes
from runcard.encoding import decode_json
from runcard.errors import EncodingError, StoreError, UsageError
from runcard.files import (
    Kind,
    check_relative,
    decode_name,
    failure,
    json_name,
    printable,
    write_all,
    write_atomic,
)
from runcard.operations.archives import FoundArchive, check_link, find_archive
from runcard.store import layout
from runcard.store.amendments import parse_amendments
from runcard.store.archive.contents import scan
from runcard.store.archive.extract import Item, items, read_file
from runcard.store.archive.places import Places, encode_places, read_places
from runcard.store.archive.stream import LostError

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


def extract(
    archive: str | os.PathLike[str], paths: Iterable[str], output: str | os.PathLike[str] = "."
) -> Iterator[str]:
    """Write files and folders of an archived record below a directory; yields the path of each file as it is there.

    Every file is compared with the listing of the record; one that differs is removed again, and an error.
    """
    found = find_archive(archive)
    places = _places(found)
    expected = _Expected(found, places)
    try:
        descriptor = os.open(found.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            for path in paths:
                extraction = _Extraction(found, os.fspath(output), expected)
                yield from extraction.take(items(descriptor, places, _checked(path)), path)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise failure(error, os.fsdecode(error.filename or found.path), "extract") from error


def _places(found: FoundArchive) -> Places:
    """Where files lie in an archive; read from the archive itself when that was not written down, or is not to be trusted."""
    file = layout.places_of(found.path)
    digest = found.index_sha256
    if (places := read_places(found.path, digest)) is not None:
        return places
    data = encode_places(contents := scan(found.path))
    if contents.places and (digest is None or sha256_bytes(data).hex == digest):
        with contextlib.suppress(OSError):  # nobody may write there: the next one reads the archive again
            write_atomic(file, data, mode=os.stat(found.path).st_mode & 0o777)
    return Places.of(contents)


class _Expected:
    """The digests that the files of a record should have."""

    def __init__(self, found: FoundArchive, places: Places) -> None:
        self._listing = _listing(found, places)
        self._amendments = parse_amendments(read_file(found.path, places, layout.AMENDMENTS))

    def of(self, path: str) -> str | None:
        """None for a file that is not listed, such as the listing itself."""
        if path not in self._listing:
            return None
        sealed = self._listing[path].hex
        return self._amendments.accepted(json_name(path).text, sealed)[0]


def _listing(found: FoundArchive, places: Places) -> Listing:
    """The listing of the record, when it is the one that the metadata document fixes."""
    data = read_file(found.path, places, layout.CHECKSUMS)
    if data is None:
        return Listing({})
    try:
        document = decode_json(read_file(found.path, places, layout.METADATA) or b"")
        stated = (document.get("checksums") or {}) if isinstance(document, dict) else {}
        fixed = stated.get("session") or stated.get("output")
        if fixed is not None and fixed != str(sha256_bytes(data)):
            raise _damaged(found.path, layout.CHECKSUMS)
        return read_listing(data)
    except EncodingError as error:
        raise _damaged(found.path, layout.CHECKSUMS) from error


def _checked(path: str) -> str:
    wanted = path.rstrip("/")
    if reason := check_relative(wanted):
        raise UsageError(
            f"the path {printable(path)!r} is refused: {reason}",
            hint="name it as `tar tzf` does, without the record's name",
        )
    return wanted


class _Extraction:
    """Files and folders on their way out of an archive."""

    def __init__(self, found: FoundArchive, output: str, expected: _Expected) -> None:
        self._found, self._expected = found, expected
        self._output = "" if output == os.curdir else output
        self._links: dict[str, str] = {}  # made last, so that no file goes through one

    def take(self, found: Iterator[Item], wanted: str) -> Iterator[str]:
        count = 0
        try:
            for count, item in enumerate(found, 1):  # noqa: B007 - counted
                target = os.path.join(self._output, item.path)
                if item.kind is Kind.DIRECTORY:
                    os.makedirs(target, exist_ok=True)
                    continue
                os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
                if item.kind is Kind.SYMLINK:
                    check_link(self._found, item.path, decode_name(item.member.target))
                    self._links[target] = decode_name(item.member.target)
                    continue
                _write(item, target, self._expected.of(item.path))
                yield target
        except LostError:
            raise _damaged(self._found.path, wanted) from None
        if not count:
            raise StoreError(
                f"there is no {printable(wanted)} in {printable(self._found.path)}",
                hint="`tar tzf` lists what there is, below the record's name",
            )
        for link, leads_to in self._links.items():
            os.symlink(leads_to, link)
            yield link


def _write(item: Item, target: str, expected: str | None) -> None:
    """Write a file; what is not what was archived is not left behind."""
    descriptor = os.open(target, _CREATE, 0o600 | item.member.mode & 0o777)
    is_good = False
    try:
        hasher = hashlib.sha256()
        for piece in item.data():
            hasher.update(piece)
            write_all(descriptor, piece)
        os.utime(descriptor, (item.member.mtime, item.member.mtime))
        is_good = expected in {None, hasher.hexdigest()}
    finally:
        os.close(descriptor)
        if not is_good:
            os.unlink(target)
    if not is_good:
        raise _damaged("the archive", item.path)


def _damaged(where: str, path: str) -> StoreError:
    return StoreError(
        f"{printable(path)} in {printable(where)} is not what was archived",
        hint="`runcard verify` tells what else is wrong with the archive",
    )
