"""Taking one file or folder out of an archive, without unpacking the rest."""

import hashlib
import os
from collections.abc import Iterable, Iterator

from runcard.errors import StoreError, UsageError
from runcard.files import Kind, check_relative, decode_name, failure, open_directory, printable
from runcard.operations.archived_files import ArchivedFiles
from runcard.operations.archives import FoundArchive, check_link, find_archive
from runcard.store.archive.extract import Item
from runcard.store.archive.unpack import write_with_holes

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


def extract(
    archive: str | os.PathLike[str], paths: Iterable[str], output: str | os.PathLike[str] = "."
) -> Iterator[str]:
    """Write files and folders of an archived record below a directory; yields the path of each file as it is there.

    Every file is compared with the listing of the record; one that differs is removed again, and an error.
    """
    found = find_archive(archive)
    files = ArchivedFiles(found, keeps_places=True)
    try:
        for path in paths:
            yield from _Extraction(found, files, os.fspath(output)).take(_checked(path))
    except OSError as error:
        raise failure(error, os.fsdecode(error.filename or found.path), "extract") from error


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

    def __init__(self, found: FoundArchive, files: ArchivedFiles, output: str) -> None:
        self._found, self._files = found, files
        self._output = "" if output == os.curdir else output
        self._links: dict[str, str] = {}  # made last, so that no file goes through one

    def take(self, wanted: str) -> Iterator[str]:
        count = 0
        for count, item in enumerate(self._files.items(wanted), 1):  # noqa: B007 - counted
            target = os.path.join(self._output, item.path)
            is_directory = item.kind is Kind.DIRECTORY
            self._make_folder(item.path if is_directory else os.path.dirname(item.path))
            if is_directory:
                continue
            if item.kind is Kind.SYMLINK:
                check_link(self._found, item.path, decode_name(item.member.target))
                self._links[target] = decode_name(item.member.target)
                continue
            self._write(item, target)
            yield target
        if not count:
            raise StoreError(
                f"there is no {printable(wanted)} in {printable(self._found.path)}",
                hint="`tar tzf` lists what there is, below the record's name",
            )
        for link, leads_to in self._links.items():
            os.symlink(leads_to, link)
            yield link

    def _make_folder(self, path: str) -> None:
        """Make a directory below the output; a link that lies there already is not followed."""
        output = self._output or "."
        os.makedirs(output, exist_ok=True)
        with open_directory(output, *filter(None, path.split("/")), create=True):
            pass

    def _write(self, item: Item, target: str) -> None:
        """Write a file; what is not what was archived is not left behind."""
        expected = self._files.expected(item.path)
        descriptor = os.open(target, _CREATE, 0o600 | item.member.mode & 0o777)
        is_good = False
        try:
            hasher = hashlib.sha256()
            for piece in item.data():
                hasher.update(piece)
                write_with_holes(descriptor, piece)
            os.ftruncate(descriptor, item.member.size)
            os.utime(descriptor, (item.member.mtime, item.member.mtime))
            is_good = expected in {None, hasher.hexdigest()}
        finally:
            os.close(descriptor)
            if not is_good:
                os.unlink(target)
        if not is_good:
            raise self._files.damaged(item.path)
