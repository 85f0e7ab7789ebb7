"""Making a bundle. The same run with the same files gives the same bytes."""

import gzip
import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Mapping
from typing import IO, Any, NamedTuple

from runcard.encoding import encode_json
from runcard.errors import StoreError
from runcard.files import Kind, encode_name, failure, json_name, printable, walk
from runcard.store.bundles.manifest import MANIFEST, OUTPUTS, VERSION, Fields

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class Carried(NamedTuple):
    """A file that goes into a bundle beside the run."""

    source: str  # on this machine
    place: str  # in the bundle
    recorded: str  # as the run names it
    role: str  # input or program
    sha256: str | None  # as the run recorded it


def pack(target: IO[bytes], name: str, run: str, carried: list[Carried], facts: Mapping[str, Any]) -> None:
    """Write a bundle; raises StoreError when a file is not what was recorded."""
    place = f"{OUTPUTS}/{os.path.basename(run)}"
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=target, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        files = [_add(tar, name, file) for file in sorted(carried, key=lambda file: encode_name(file.place))]
        for path, kind in walk(run):
            _add_of_run(tar, f"{name}/{place}/{path}", os.path.join(run, path), kind)
        data = encode_json({"bundle_version": VERSION, **facts, "run": place, "files": files})
        member = tarfile.TarInfo(f"{name}/{MANIFEST}")
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))


def _add(tar: tarfile.TarFile, name: str, file: Carried) -> Fields:
    with _opened(file.source) as source:
        member = _member(f"{name}/{file.place}", os.fstat(source.fileno()))
        hashing = _Hashing(source)
        _add_data(tar, member, hashing)
    digest = hashing.hasher.hexdigest()
    if file.sha256 not in {None, digest}:
        raise StoreError(
            f"the {file.role} {printable(file.source)} is not what the run read",
            hint="put the old file back: a bundle has what the run was made from",
        )
    return {
        "path": json_name(file.recorded).text,
        "place": json_name(file.place).text,
        "role": file.role,
        "bytes": member.size,
        "sha256": digest,
    }


def _add_of_run(tar: tarfile.TarFile, place: str, path: str, kind: Kind) -> None:
    if kind is Kind.OTHER:
        return  # a FIFO or the like: the run says of it that it is left out
    if kind is Kind.FILE:
        with _opened(path) as source:
            _add_data(tar, _member(place, os.fstat(source.fileno())), source)
        return
    member = _member(place, os.lstat(path))
    member.size, member.type = 0, tarfile.DIRTYPE
    if kind is Kind.SYMLINK:
        member.type, member.linkname = tarfile.SYMTYPE, os.readlink(path)
    tar.addfile(member)


def _add_data(tar: tarfile.TarFile, member: tarfile.TarInfo, source: Any) -> None:  # noqa: ANN401 - whatever reads
    try:
        tar.addfile(member, source)
    except OSError as error:
        if error.errno is None:  # what tarfile says of a file that was cut
            raise StoreError(
                f"{printable(member.name)} changed while it was read", hint="try again"
            ) from error
        raise


def _opened(path: str) -> IO[bytes]:
    try:
        descriptor = os.open(path, _READ)
    except OSError as error:
        raise failure(error, path, "read") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StoreError(f"{printable(path)} is no regular file", hint="put a file in its place")
    return open(descriptor, "rb")


def _member(place: str, status: os.stat_result) -> tarfile.TarInfo:
    """A member without anything that belongs to this machine."""
    member = tarfile.TarInfo(os.fsdecode(encode_name(place)))
    member.size, member.mtime = status.st_size, int(status.st_mtime)
    member.mode = 0o755 if status.st_mode & 0o100 else 0o644
    return member


class _Hashing:
    """A file that is hashed while it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.hasher = hashlib.sha256()

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self.hasher.update(data)
        return data
