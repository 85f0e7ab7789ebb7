"""Opening a bundle, which may be a stranger's.

Nothing is written outside the new folder: names are relative and plain, only files, folders and links that stay inside the
run are taken, and links are made last, so that no file goes through one. Sizes are counted before anything is written,
and no header can make us read more than a moderate amount at once.
"""

import gzip
import hashlib
import io
import os
import tarfile
import zlib
from typing import IO

from runcard.files import check_relative, decode_name, json_name, printable
from runcard.store.bundles.manifest import MANIFEST, Fields, read_manifest, refused

_BLOCK = 1 << 18
_LARGEST_HEADER = 1 << 20
_MOST_MEMBERS = 1_000_000
_DAMAGED = (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error)


def unpack(source: IO[bytes], folder: str, *, max_size: int) -> Fields:
    """Open a bundle into an empty folder and check what lies beside the run; returns its manifest."""
    try:
        with (
            gzip.GzipFile(fileobj=source) as stream,
            tarfile.open(
                fileobj=_Guarded(stream), mode="r:", encoding="utf-8", errors="surrogateescape"
            ) as tar,
        ):
            digests = _Opening(folder, max_size).take_all(tar)
    except _DAMAGED as error:
        raise refused("it is damaged, or no .tar.gz at all") from error
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


class _Guarded(io.RawIOBase):
    """A stream from which nobody reads so much at once that memory runs out, whatever a header claims."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _LARGEST_HEADER:
            raise refused("a header in it claims to be enormous")
        return self._stream.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()


class _Opening:
    """A bundle on its way into a folder."""

    def __init__(self, folder: str, max_size: int) -> None:
        self._folder = folder
        self._max_size = max_size
        self._left = max_size
        self._digests: dict[str, str] = {}
        self._links: dict[str, str] = {}

    def take_all(self, tar: tarfile.TarFile) -> dict[str, str]:
        """Write all members; the digest of each file by its path."""
        for number, member in enumerate(tar):
            self._left -= member.size
            if self._left < 0 or number >= _MOST_MEMBERS:
                raise refused(
                    f"it holds more than {self._max_size:,} bytes, or more than {_MOST_MEMBERS:,} files",
                    hint="--max-size allows more",
                )
            if path := _below_top(member.name):
                self._take(tar, member, path)
        for path, target in self._links.items():
            os.makedirs(os.path.dirname(self._at(path)), exist_ok=True)
            os.symlink(target, self._at(path))
        return self._digests

    def _at(self, path: str) -> str:
        return os.path.join(self._folder, path)

    def _take(self, tar: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
        if member.isdir():
            os.makedirs(self._at(path), exist_ok=True)
        elif member.issym():
            self._links[path] = _inside(path, member.linkname)
        elif member.isreg() and not member.issparse() and (data := tar.extractfile(member)):
            os.makedirs(os.path.dirname(self._at(path)), exist_ok=True)
            self._digests[path] = _write(self._at(path), data, member)
        else:
            raise refused(f"{printable(path)} is neither a file, nor a folder, nor a link")


def _below_top(name: str) -> str:
    """The path of a member below the one folder that a bundle has."""
    path = decode_name(os.fsencode(name.rstrip("/")))
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


def _write(path: str, data: IO[bytes], member: tarfile.TarInfo) -> str:
    hasher = hashlib.sha256()
    with open(path, "xb") as file:
        for block in iter(lambda: data.read(_BLOCK), b""):
            hasher.update(block)
            file.write(block)
        mode = os.fstat(file.fileno()).st_mode & 0o666
        if member.mode & 0o100:
            os.fchmod(file.fileno(), mode | mode >> 2)  # who may read it may run it
    os.utime(path, (member.mtime, member.mtime))
    return hasher.hexdigest()
