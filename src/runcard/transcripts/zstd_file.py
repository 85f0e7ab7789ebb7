"""A file that was compressed with zstd, unpacked while it is read, in flat memory.

Invariant: the work is in proportion to the length of the compressed file. A kilobyte can unpack to 32 MiB of empty lines.
"""

import io
from typing import Any, BinaryIO

_BLOCK = 1 << 16  # bytes that are returned at once
_STEP = (
    1 << 10
)  # bytes that are read at once: at the end of each frame, and there can be many, the rest is copied
_MOST_UNPACKED = 1 << 18  # bytes of a file that is small before it is unpacked
_LARGEST_RATIO = 200  # of a large one; session files have 5 to 50


class UnpackError(Exception):
    """A compressed file is damaged, or nothing here can unpack it."""


def unpacked(file: BinaryIO) -> BinaryIO:
    """The unpacked content of a file; raises UnpackError, also while it is read."""
    return io.BufferedReader(_ZstdStream(file), _BLOCK)


class _ZstdStream(io.RawIOBase):
    """One frame after another; a frame without its end is an error."""

    def __init__(self, file: BinaryIO) -> None:
        try:
            from runcard.encoding.zstd import ZstdDecompressor, ZstdError  # noqa: PLC0415 - few files need it
        except ImportError:  # Python can be built without it
            raise UnpackError("compressed with zstd, which this Python was built without") from None
        self._file, self._new, self._error = file, ZstdDecompressor, ZstdError
        self._frame: ZstdDecompressor | None = None
        self._packed = b""
        self._read = self._unpacked = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - a buffer, as of the class above
        data = b""
        while not data:
            if self._frame is None or self._frame.needs_input:
                self._packed = self._packed or self._read_step()
                if not self._packed:
                    if self._frame is not None:
                        raise UnpackError("the compressed file is cut off")
                    return 0
            data = self._unpack(len(buffer))
        self._unpacked += len(data)
        if self._unpacked > _MOST_UNPACKED + _LARGEST_RATIO * self._read:
            raise UnpackError(
                f"more than {_LARGEST_RATIO} times as large when it is unpacked: unpack it with `zstd -d`, and import that file"
            )
        buffer[: len(data)] = data
        return len(data)

    def _read_step(self) -> bytes:
        data = self._file.read(_STEP)
        self._read += len(data)
        return data

    def _unpack(self, size: int) -> bytes:
        """The next bytes of a frame, at most so many; perhaps none."""
        frame = self._frame or self._new()
        try:
            data = frame.decompress(self._packed, size)
        except self._error as error:
            raise UnpackError(f"the compressed file is damaged: {error}"[:200]) from error
        self._packed = frame.unused_data if frame.eof else b""
        self._frame = None if frame.eof else frame
        return data
