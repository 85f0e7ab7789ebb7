"""Opening a bundle, which may be a stranger's.

Nothing is written outside the new folder: names are relative and plain, only files, folders and links that stay inside the
run are taken, and links are made last, so that no file goes through one. Sizes are counted before anything is written.
The stream is read as that of an archive is, so that no header can make us hold more than a moderate amount.
"""

import hashlib
import os
from collections.abc import Iterator
from typing import IO

from runcard.errors import DocumentError
from runcard.files import check_relative, decode_name, json_name, printable
from runcard.store.archive import tar
from runcard.store.archive.members import read_blocks
from runcard.store.archive.stream import Gap, LostError, TarStream
from runcard.store.archive.tar import Member
from runcard.store.bundles.manifest import MANIFEST, Fields, read_manifest, refused

_MOST_MEMBERS = 1_000_000


def unpack(source: IO[bytes], folder: str, *, max_size: int) -> Fields:
    """Open a bundle into an empty folder and check what lies beside the run; returns its manifest."""
    try:
        digests = _Opening(folder, max_size).take_all(TarStream(read_blocks(source.fileno())))
    except LostError as error:
        raise _damaged() from error
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise refused("one name in it stands for two things") from error
    if MANIFEST not in digests:
        raise refused(f"it has no {MANIFEST}", hint="`runcard export RUN --to bundle` makes bundles")
    with open(os.path.join(folder, MANIFEST), "rb") as file:
        manifest = read_manifest(file.read())
    _check(manifest, digests)
    return manifest


def _check(manifest: Fields, digests: dict[str, str]) -> None:
    """Every file beside the run is what the manifest says, and none is missing or unheard of."""
    listed = {file["place"]: file["sha256"] for file in manifest["files"]}
    found = {json_name(path).text: digest for path, digest in digests.items()}
    run = manifest["run"] + "/"
    for path, digest in found.items():
        if path != MANIFEST and not path.startswith(run) and listed.get(path) != digest:
            raise refused(f"{printable(path)} is not what its manifest says")
    for path in sorted(listed.keys() - found.keys()):
        raise refused(f"{printable(path)} is missing")


def _damaged(reason: str | None = None) -> DocumentError:
    return refused(reason or "it is damaged, or no .tar.gz at all")


class _Opening:
    """A bundle on its way into a folder."""

    def __init__(self, folder: str, max_size: int) -> None:
        self._folder = folder
        self._max_size = max_size
        self._left = max_size
        self._digests: dict[str, str] = {}
        self._links: dict[str, str] = {}

    def take_all(self, stream: TarStream) -> dict[str, str]:
        """Write all members; the digest of each file by its path."""
        for number, member in enumerate(stream):
            if isinstance(member, Gap):
                raise _damaged(member.reason)
            self._left -= member.size
            if self._left < 0 or number >= _MOST_MEMBERS:
                raise refused(
                    f"it holds more than {self._max_size:,} bytes, or more than {_MOST_MEMBERS:,} files",
                    hint="--max-size allows more",
                )
            if path := _below_top(member.path):
                self._take(stream, member, path)
        if not stream.is_whole:
            raise _damaged()
        for path, target in self._links.items():
            os.makedirs(os.path.dirname(self._at(path)), exist_ok=True)
            os.symlink(target, self._at(path))
        return self._digests

    def _at(self, path: str) -> str:
        return os.path.join(self._folder, path)

    def _take(self, stream: TarStream, member: Member, path: str) -> None:
        if member.kind == tar.DIRECTORY:
            os.makedirs(self._at(path), exist_ok=True)
        elif member.kind == tar.SYMLINK:
            self._links[path] = _inside(path, decode_name(member.target))
        elif member.kind == tar.FILE:
            os.makedirs(os.path.dirname(self._at(path)), exist_ok=True)
            self._digests[path] = _write(self._at(path), stream.data(member.size), member)
        else:
            raise refused(f"{printable(path)} is neither a file, nor a folder, nor a link")


def _below_top(name: bytes) -> str:
    """The path of a member below the one folder that a bundle has."""
    path = decode_name(name.rstrip(b"/"))
    if reason := check_relative(path):
        raise refused(f"{printable(path)} is a path that leads out: {reason}")
    return path.partition("/")[2]


def _inside(path: str, target: str) -> str:
    """Where a link leads, when that is inside the run that it belongs to."""
    run = "/".join(path.split("/")[:2])
    place = os.path.normpath(os.path.join(os.path.dirname(path), target))
    if os.path.isabs(target) or not f"{place}/".startswith(f"{run}/"):
        raise refused(f"the link {printable(path)} leads out")
    return target


def _write(path: str, data: Iterator[memoryview], member: Member) -> str:
    hasher = hashlib.sha256()
    with open(path, "xb") as file:
        for block in data:
            hasher.update(block)
            file.write(block)
        mode = os.fstat(file.fileno()).st_mode & 0o666
        if member.mode & 0o100:
            os.fchmod(file.fileno(), mode | mode >> 2)  # who may read it may run it
    os.utime(path, (member.mtime, member.mtime))
    return hasher.hexdigest()
