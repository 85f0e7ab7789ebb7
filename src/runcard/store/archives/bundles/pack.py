"""Making a bundle. The same run with the same files gives the same bytes."""

import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Mapping
from typing import IO, Any, NamedTuple

from runcard.checksums import Symlink
from runcard.encoding import JsonObject, encode_json
from runcard.errors import StoreError
from runcard.files import FileKind, encode_name, failure, json_name, open_regular, printable, walk
from runcard.store.archives.bundles.forbidden_names import is_tool_file
from runcard.store.archives.bundles.manifest import MANIFEST, OUTPUTS, VERSION
from runcard.store.archives.escaping_links import escaping_link


class BundledFile(NamedTuple):
    """A file that goes into a bundle beside the run."""

    source: str  # on this machine
    place: str  # in the bundle
    recorded: str  # as the run names it
    role: str  # input, program or proof
    sha256: str  # that it must have
    data: bytes | None = None  # of a file that is on no disk


def pack(
    target: IO[bytes], name: str, run: str, bundled_files: list[BundledFile], facts: Mapping[str, Any]
) -> int:
    """Write a bundle; returns its number of members. Raises StoreError if a file was changed, or a bundle cannot have it."""
    place = f"{OUTPUTS}/{os.path.basename(run)}"
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=target, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        files = [
            _add(tar, name, file) for file in sorted(bundled_files, key=lambda file: encode_name(file.place))
        ]
        links, count = [], len(files) + 1
        for path, kind in walk(run):
            count += 1
            _check_name(f"{place}/{path}")
            if kind is FileKind.SYMLINK:
                links.append(Symlink(path, os.readlink(os.path.join(run, path))))
            _add_of_run(tar, f"{name}/{place}/{path}", os.path.join(run, path), kind)
        _check_links(links)
        data = encode_json({"bundle_version": VERSION, **facts, "run": place, "files": files})
        member = tarfile.TarInfo(f"{name}/{MANIFEST}")
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
        return count


def _add(tar: tarfile.TarFile, name: str, file: BundledFile) -> JsonObject:
    with _opened(file.source, follow=True) if file.data is None else io.BytesIO(file.data) as source:
        if file.data is None:
            member = _member(f"{name}/{file.place}", os.fstat(source.fileno()))
        else:
            member = tarfile.TarInfo(f"{name}/{file.place}")
            member.size = len(file.data)
        hashing = _Hashing(source)
        _add_data(tar, member, hashing)
    digest = hashing.hasher.hexdigest()
    if digest != file.sha256:
        raise _changed(file.source)
    return {
        "path": json_name(file.recorded).text,
        "place": json_name(file.place).text,
        "role": file.role,
        "bytes": member.size,
        "sha256": digest,
    }


def _check_name(path: str) -> None:
    """Refuse the names that `import-bundle` would refuse."""
    if is_tool_file(path):
        raise StoreError(
            f"the run holds {printable(path)}, which other programs obey, such as git: a bundle cannot have it",
            hint="`runcard archive` and `tar` pack it as it is",
        )


def _check_links(links: list[Symlink]) -> None:
    if (link := escaping_link(links)) is not None:
        raise StoreError(
            f"the link {printable(link.path)} leads out of the run, or nowhere: a bundle cannot have it",
            hint="`runcard archive` and `tar` pack it as it is",
        )


def _changed(path: str) -> StoreError:
    return StoreError(f"{printable(path)} changed while it was read", hint="try again")


def _add_of_run(tar: tarfile.TarFile, place: str, path: str, kind: FileKind) -> None:
    if kind is FileKind.OTHER:
        return  # a FIFO, socket or device: the run has a warning that it is left out
    if kind is FileKind.FILE:
        with _opened(path) as source:
            _add_data(tar, _member(place, os.fstat(source.fileno())), source)
        return
    member = _member(place, os.lstat(path))
    member.size, member.type = 0, tarfile.DIRTYPE
    if kind is FileKind.SYMLINK:
        member.type, member.linkname = tarfile.SYMTYPE, os.readlink(path)
    tar.addfile(member)


def _add_data(tar: tarfile.TarFile, member: tarfile.TarInfo, source: Any) -> None:  # noqa: ANN401 - whatever reads
    try:
        tar.addfile(member, source)
    except OSError as error:
        if error.errno is None:  # tarfile's error for a file that was cut
            raise _changed(member.name) from error
        raise


def _opened(path: str, *, follow: bool = False) -> IO[bytes]:
    try:
        return open(open_regular(path, follow=follow), "rb")
    except OSError as error:
        raise failure(error, path, "read") from error


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
