"""The documents of an archived record, which are kept while it is read.

Large ones, such as the listing of many files or a long journal, are kept in a temporary file without a name. Where none can
be written, they stay in memory.
"""

import io
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_LARGE = 1 << 20  # bytes; smaller documents are kept in memory


class _FilePart(NamedTuple):
    """Where a document is in the file."""

    start: int
    size: int


class ArchivedDocuments:
    """What documents hold, by their paths."""

    def __init__(self) -> None:
        self._documents: dict[str, bytes | _FilePart] = {}
        self._descriptor = -1
        self._end = 0  # of the file

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def __iter__(self) -> Iterator[str]:
        return iter(self._documents)

    def __setitem__(self, path: str, data: bytes) -> None:
        self._documents[path] = data

    def get(self, path: str) -> bytes | None:
        """All of a document; None when there is none."""
        data = self._documents.get(path)
        return os.pread(self._descriptor, data.size, data.start) if isinstance(data, _FilePart) else data

    def open(self, path: str) -> BinaryIO | None:
        """A document as a file that can be read from any place; None when there is none."""
        data = self._documents.get(path)
        if isinstance(data, _FilePart):
            return io.BufferedReader(_PartReader(self, data))
        return None if data is None else io.BytesIO(data)

    def add(self, path: str, size: int, pieces: Iterable[bytes | memoryview]) -> None:
        """Keep a document of this size, piece by piece."""
        end = start = self._end
        held: list[bytes] = []
        for piece in pieces:
            if not held and size > _LARGE:
                try:
                    self._write(piece, end)
                    end += len(piece)
                    continue
                except OSError:
                    held = [os.pread(self._descriptor, end - start, start)] if end > start else []
            held.append(bytes(piece))
        self._documents[path] = b"".join(held) if held or end == start else _FilePart(start, end - start)
        self._end = end

    def below(self, folder: str) -> "ArchivedDocuments":
        """The documents below a folder, by their paths there, in memory."""
        inner, inside = ArchivedDocuments(), f"{folder}/"
        for path in self:
            if path.startswith(inside):
                inner[path.removeprefix(inside)] = self.get(path) or b""
        return inner

    def read_at(self, place: int, size: int) -> bytes:
        """A part of the file."""
        return os.pread(self._descriptor, size, place)

    def _write(self, data: bytes | memoryview, offset: int) -> None:
        from runcard.files.unnamed_file import unnamed_file, write_at  # noqa: PLC0415 - small documents need no file

        if self._descriptor < 0:
            self._descriptor = unnamed_file()
        write_at(self._descriptor, data, offset)


class _PartReader(io.RawIOBase):
    """A document in the file, as a file of its own."""

    def __init__(self, documents: ArchivedDocuments, part: _FilePart) -> None:
        self._documents, self._part = documents, part
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._part.size}[whence]
        self._at = max(base + offset, 0)
        return self._at

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer)
        left = max(self._part.size - self._at, 0)
        data = self._documents.read_at(self._part.start + self._at, min(len(view), left))
        view[: len(data)] = data
        self._at += len(data)
        return len(data)
