"""Extracting files and folders from an archive, without unpacking the rest."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

from runcard.checksums import Symlink
from runcard.errors import StoreError, UsageError
from runcard.files import FileKind, check_relative, decode_name, failure, open_directory, printable
from runcard.files.atomic import create_temporary
from runcard.files.rename_noreplace import rename_noreplace
from runcard.store.archives.read_files import ArchivedFile
from runcard.store.archives.record import ArchivedRecord
from runcard.store.archives.unpack import write_with_holes
from runcard.store.find_record import open_archive


def extract(
    archive: str | os.PathLike[str], paths: Iterable[str], output: str | os.PathLike[str] = "."
) -> Iterator[str]:
    """Write files and folders of an archived record below a directory; yields the path of each file as it is there.

    Every file is compared with the listing of the record; one that differs is removed again, and an error. Links are made
    last, and no link below the directory is followed.
    """
    record = open_archive(archive, "copy the files from")
    record.keeps_index = True
    extraction = _Extraction(record, os.fspath(output))
    try:
        for path in paths:
            yield from extraction.extract(_checked(path))
        yield from extraction.make_links()
    except OSError as error:
        raise failure(error, os.fsdecode(error.filename or record.path), "extract") from error


def _checked(path: str) -> str:
    relative = path.rstrip("/")
    if reason := check_relative(relative):
        raise UsageError(
            f"the path {printable(path)!r} is refused: {reason}",
            hint="name it as `tar tzf` does, without the record's name",
        )
    return relative


class _Extraction:
    """One extraction from an archive."""

    def __init__(self, record: ArchivedRecord, output: str) -> None:
        self._record, self._output = record, output
        self._links: dict[str, str] = {}

    def extract(self, path: str) -> Iterator[str]:
        """Write what there is under a path, except links."""
        count = 0
        for count, file in enumerate(self._record.files(path), 1):  # noqa: B007 - counted
            if file.kind is FileKind.DIRECTORY:
                self._make_folder(file.path)
            elif file.kind is FileKind.SYMLINK:
                self._links[file.path] = decode_name(file.member.target)
            else:
                self._write(file)
                yield self._output_path(file.path)
        if not count:
            raise StoreError(
                f"there is no {printable(path)} in {printable(self._record.path)}",
                hint="`tar tzf` lists what there is, below the record's name",
            )

    def make_links(self) -> Iterator[str]:
        """Make all links, or none when one of them leads out: also through links that were there before."""
        self._record.check_links(Symlink(path, target) for path, target in self._links.items())
        made: list[str] = []
        try:
            for path, target in self._links.items():
                with self._folder(path) as folder:
                    os.symlink(target, os.path.basename(path), dir_fd=folder)
                made.append(path)
            for path in made:
                self._check_place(path)
        except BaseException:
            for path in made:
                os.unlink(os.path.join(self._output, path))
            raise
        yield from map(self._output_path, made)

    def _check_place(self, path: str) -> None:
        """Refuse a link that leads out of the output directory, as it is there now."""
        top = os.path.realpath(self._output)
        place = os.path.realpath(os.path.join(self._output, path))
        if not self._record.is_own and os.path.commonpath([top, place]) != top:
            raise self._record.leads_out(path)

    def _output_path(self, path: str) -> str:
        return path if self._output == os.curdir else os.path.join(self._output, path)

    def _folder(self, path: str) -> AbstractContextManager[int]:
        """The directory that a file or link goes into."""
        return self._opened(os.path.dirname(path))

    def _make_folder(self, path: str) -> None:
        with self._opened(path):
            pass

    def _opened(self, folder: str) -> AbstractContextManager[int]:
        os.makedirs(self._output, exist_ok=True)
        return open_directory(self._output, *(folder.split("/") if folder else ()), create=True)

    def _write(self, file: ArchivedFile) -> None:
        """Write a file, which gets its name when it is whole; one whose digest differs from the archived one gets none."""
        expected = self._record.expected_digest(file.path)
        name = os.path.basename(file.path)
        with _naming(file.path), self._folder(file.path) as folder:
            descriptor, temporary = create_temporary(folder, name, 0o600 | file.member.mode & 0o777)
            try:
                try:
                    is_good = expected in {None, _filled(descriptor, file)}
                finally:
                    os.close(descriptor)
                if is_good:
                    rename_noreplace(temporary, name, folder)
            finally:
                with suppress(FileNotFoundError):  # it has its name
                    os.unlink(temporary, dir_fd=folder)
        if not is_good:
            raise self._record.damaged(file.path)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Name the file that was to be written in an error: the system names its temporary file, or none at all."""
    try:
        yield
    except OSError as error:
        raise failure(error, path, "extract") from error


def _filled(descriptor: int, file: ArchivedFile) -> str:
    """Write the data of a file; their digest."""
    hasher = hashlib.sha256()
    for piece in file.data():
        hasher.update(piece)
        write_with_holes(descriptor, piece)
    os.ftruncate(descriptor, file.member.size)
    os.utime(descriptor, (file.member.mtime, file.member.mtime))
    return hasher.hexdigest()
