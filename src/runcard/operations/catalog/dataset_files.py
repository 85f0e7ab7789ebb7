"""Where a dataset is: a folder, or a URL of object storage. A file is there as a whole or not at all.

Each file has a version, which is another one when somebody else has written the file since.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from tempfile import TemporaryFile
from typing import Protocol

from runcard.files import failure, write_atomic
from runcard.store.remote.bucket import ObjectState, bucket_of
from runcard.store.remote.urls import ObjectUrl, is_url

_SMALL = 8 << 20  # bytes that are uploaded at once


class DatasetFiles(Protocol):
    """The files of a dataset, by their paths in it."""

    def versions(self) -> dict[str, str]: ...
    def read(self, name: str) -> bytes | None: ...
    def write(self, name: str, blocks: Iterable[bytes]) -> str | None: ...
    def remove(self, name: str) -> None: ...


def is_dataset(target: str) -> bool:
    """Whether a target is a dataset, and not a file: a URL, a folder that exists, or a name that ends with a slash."""
    return is_url(target) or target.endswith("/") or os.path.isdir(target)


def open_dataset(target: str) -> DatasetFiles:
    return _ObjectFiles(target) if is_url(target) else _FolderFiles(target)


class _FolderFiles:
    def __init__(self, folder: str) -> None:
        self._folder = folder

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def versions(self) -> dict[str, str]:
        paths = (os.path.join(folder, name) for folder, _, names in os.walk(self._folder) for name in names)
        versions = ((os.path.relpath(path, self._folder), _file_version(path)) for path in paths)
        return {name: version for name, version in versions if version is not None}

    def read(self, name: str) -> bytes | None:
        try:
            with open(self._path(name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise failure(error, self._path(name), "read") from error

    def write(self, name: str, blocks: Iterable[bytes]) -> str | None:
        path = self._path(name)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_atomic(path, blocks)
        except OSError as error:
            raise failure(error, path, "write") from error
        return _file_version(path)

    def remove(self, name: str) -> None:
        path = self._path(name)
        try:
            with suppress(FileNotFoundError):
                os.unlink(path)
        except OSError as error:
            raise failure(error, path, "delete") from error
        with suppress(OSError):  # something else is in there
            os.rmdir(os.path.dirname(path))


def _file_version(path: str) -> str | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ino}"


class _ObjectFiles:
    """Objects below a URL. An object is replaced when all of it was uploaded."""

    def __init__(self, url: str) -> None:
        self._folder = ObjectUrl.parse(url.rstrip("/"))
        self._bucket = bucket_of(self._folder)

    def versions(self) -> dict[str, str]:
        start = f"{self._folder}/"
        return {str(each.url).removeprefix(start): _version(each) for each in self._bucket.list(self._folder)}

    def read(self, name: str) -> bytes | None:
        return self._bucket.read(self._folder.below(name))

    def write(self, name: str, blocks: Iterable[bytes]) -> str | None:
        """Upload a file; it is made here first, so that one that cannot be made leaves no part of it there."""
        with TemporaryFile() as file:
            file.writelines(blocks)
            size = file.tell()
            file.seek(0)
            if size <= _SMALL:
                self._bucket.write(self._folder.below(name), file.read())
            else:
                self._bucket.upload(self._folder.below(name), file, {}, _SMALL)
        state = self._bucket.state(self._folder.below(name))
        return None if state is None else _version(state)

    def remove(self, name: str) -> None:
        self._bucket.delete([self._folder.below(name)])


def _version(state: ObjectState) -> str:
    return f"{state.size}:{state.etag}"
