"""Unpacking an archive that was scanned before: only the members found then are written, and hashed again.

Nothing is written outside the new folder: paths were checked, directories and files come first, and links last, so that
no file goes through one.
"""

import hashlib
import os
from stat import S_IMODE
from typing import NamedTuple

from runcard.errors import StoreError
from runcard.files import FileKind, decode_name, encode_name, printable, short_path, write_all
from runcard.parallel.progress import Progress, file_counter
from runcard.store import layout
from runcard.store.amendments.read import parse_amendments
from runcard.store.archives import tar
from runcard.store.archives.gzip_members import read_blocks
from runcard.store.archives.scan import KINDS, ArchiveContents, kind_of_entry
from runcard.store.archives.tar import TarMember
from runcard.store.archives.tar_stream import Gap, LostError, TarStream

_OPEN = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_HOLE = 1 << 16
_ZEROS = bytes(_HOLE)


class _DirectoryAttributes(NamedTuple):
    """The mode and time of a directory, which are set when everything is in it."""

    path: str
    mode: int
    mtime: int


def unpack(
    contents: ArchiveContents, target: str, *, keep_modes: bool = True, progress: Progress | None = None
) -> None:
    """Write what an archive holds into an empty directory, but for the originals of documents, which belong to its store.

    Without `keep_modes` files and folders get the permissions of new ones; who may read a program may run it.
    """
    top = os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contents.open_source() as source:
            _Unpacking(contents, top, progress, keep_modes=keep_modes).write(TarStream(read_blocks(source)))
    finally:
        os.close(top)


class _Unpacking:
    """A record on its way back."""

    def __init__(
        self, contents: ArchiveContents, top: int, progress: Progress | None, *, keep_modes: bool
    ) -> None:
        self._contents, self._top, self._counter = contents, top, file_counter(progress)
        self._keep_modes = keep_modes
        self._skip = len(encode_name(contents.name)) + 1
        self._directories: list[_DirectoryAttributes] = []
        self._targets = {link.path: link.target for link in contents.symlinks}
        self._made = {""}
        self._links: list[tuple[str, bytes, int]] = []
        self._files = 0
        self._originals = archived_originals(contents)

    def write(self, stream: TarStream) -> None:
        for member in stream:
            if isinstance(member, Gap):
                raise _changed()
            self._take(member, stream)
        if not stream.is_whole or self._files != self._contents.files - len(self._originals):
            raise _changed()
        for path, target, mtime in self._links:
            self._make_folder(path.rpartition("/")[0])
            with short_path(self._top, path) as (place, rest):
                os.symlink(target, rest, dir_fd=place)
                os.utime(rest, (mtime, mtime), dir_fd=place, follow_symlinks=False)
        for later in reversed(self._directories):  # the inner ones first
            with short_path(self._top, later.path or ".") as (place, rest):
                if self._keep_modes:
                    os.chmod(rest, later.mode & 0o777, dir_fd=place)
                os.utime(rest, (later.mtime, later.mtime), dir_fd=place)
        self._counter.finish()

    def _take(self, member: TarMember, stream: TarStream) -> None:
        path = decode_name(member.path.rstrip(b"/")[self._skip :])
        if path in self._originals:
            return
        entry = self._contents.entries.get(path) if path else FileKind.DIRECTORY  # that of the record
        if entry is None or kind_of_entry(entry) is not KINDS.get(member.kind):
            raise _changed()
        if member.kind == tar.DIRECTORY:
            if path:
                self._make_folder(path)
            self._directories.append(_DirectoryAttributes(path, member.mode, member.mtime))
        elif member.kind == tar.SYMLINK:
            if self._targets[path] != decode_name(member.target):
                raise _changed(path)
            self._links.append((path, member.target, member.mtime))
        else:
            self._write(path, member, stream, entry)

    def _make_folder(self, path: str) -> None:
        """A directory, and those above it that the archive has not named yet."""
        if path in self._made:
            return
        missing = []
        while path not in self._made:
            missing.append(path)
            path = path.rpartition("/")[0]
        for folder in reversed(missing):
            with short_path(self._top, folder) as (place, rest):
                os.mkdir(rest, 0o700 if self._keep_modes else 0o777, dir_fd=place)
            self._made.add(folder)

    def _write(self, path: str, member: TarMember, stream: TarStream, digest: str) -> None:
        self._make_folder(path.rpartition("/")[0])
        mode = member.mode & 0o777 if self._keep_modes else 0o666
        with short_path(self._top, path) as (place, rest):
            descriptor = os.open(rest, _OPEN, mode, dir_fd=place)
        try:
            written = self._write_data(descriptor, member.size, stream)
            self._set_mode(descriptor, member.mode)
            os.utime(descriptor, (member.mtime, member.mtime))
        except LostError:
            raise _changed() from None
        finally:
            os.close(descriptor)
        if written != digest:
            raise _changed(path)
        self._files += 1

    def _write_data(self, descriptor: int, size: int, stream: TarStream) -> str:
        """Write the data of a file; returns their digest."""
        if size < _HOLE and (piece := stream.whole(size)) is not None:
            write_all(descriptor, piece)
            self._counter.add(1, size)
            self._counter.report()
            return hashlib.sha256(piece).hexdigest()
        hasher, ends_with_hole = hashlib.sha256(), False
        for piece in stream.data(size):
            hasher.update(piece)
            ends_with_hole = write_with_holes(descriptor, piece)
            self._counter.add(0, len(piece))
            self._counter.report()
        if ends_with_hole:
            os.ftruncate(descriptor, size)
        self._counter.add(1, 0)
        return hasher.hexdigest()

    def _set_mode(self, descriptor: int, mode: int) -> None:
        """Set the mode of a new file; where the umask left it right, that is not done, for it takes as long as a write."""
        new = wanted = S_IMODE(os.fstat(descriptor).st_mode)
        if self._keep_modes:
            wanted = mode & 0o777
        elif mode & 0o100:
            wanted = new | (new & 0o444) >> 2
        if new != wanted:
            os.fchmod(descriptor, wanted)


def archived_originals(contents: ArchiveContents) -> dict[str, bytes]:
    """The originals of migrated documents in an archive, by their paths there: those that its amendments name."""
    found = {}
    for digest in parse_amendments(contents.read(layout.AMENDMENTS)).migrated:
        path = layout.archived_original(digest)
        data = contents.read(path)
        if data is not None and contents.entries.get(path) == digest:
            found[path] = data
    return found


def write_with_holes(descriptor: int, data: memoryview) -> bool:
    """Write data, but leave long runs of zeros out: a file with holes, which an archive has as zeros, gets them back.

    Returns whether a hole is at the end: then the file must still be extended.
    """
    is_hole = False
    for start in range(0, len(data), _HOLE):
        part = data[start : start + _HOLE]
        is_hole = len(part) == _HOLE and not part[0] and bytes(part) == _ZEROS
        if is_hole:
            os.lseek(descriptor, _HOLE, os.SEEK_CUR)
        else:
            write_all(descriptor, part)
    return is_hole


def _changed(name: str | None = None) -> StoreError:
    what = f"{printable(name)} in the archive" if name else "the archive"
    return StoreError(f"{what} changed while it was read", hint="try again when nothing writes there")
