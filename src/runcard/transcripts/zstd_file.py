"""A file that was compressed with zstd, unpacked while it is read, in flat memory.

Python 3.14 and the package zstandard can do it; without either, such a file is unreadable.
"""

import io
from collections.abc import Callable
from typing import Any, BinaryIO

_BLOCK = 1024  # bytes that are unpacked at once: at most 32 MiB, whatever they hold
_MISSING = "compressed with zstd: install the package zstandard, or use Python 3.14 or newer"


class UnpackError(Exception):
    """A compressed file is damaged, or nothing here can unpack it."""


def unpacked(file: BinaryIO) -> BinaryIO:
    """The unpacked content of a file; raises UnpackError, also while it is read."""
    return io.BufferedReader(_ZstdStream(file, _decompressor_factory()))


def _decompressor_factory() -> Callable[[], Any]:
    try:
        from compression.zstd import (  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - of Python 3.14
            ZstdDecompressor,
        )
    except ImportError:
        pass
    else:
        return ZstdDecompressor  # type: ignore[no-any-return,unused-ignore]
    try:
        import zstandard  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415
    except ImportError:
        raise UnpackError(_MISSING) from None
    return lambda: zstandard.ZstdDecompressor().decompressobj()


class _ZstdStream(io.RawIOBase):
    """One frame after another; a frame without its end is an error."""

    def __init__(self, file: BinaryIO, new_decompressor: Callable[[], Any]) -> None:
        self._file, self._new = file, new_decompressor
        self._frame: Any = None
        self._packed = self._data = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - a buffer, as of the class above
        while not self._data:
            packed = self._packed or self._file.read(_BLOCK)
            if not packed:
                if self._frame is not None:
                    raise UnpackError("the compressed file is cut off")
                return 0
            self._data = self._unpack(packed)
        size = min(len(buffer), len(self._data))
        buffer[:size], self._data = self._data[:size], self._data[size:]
        return size

    def _unpack(self, packed: bytes) -> bytes:
        frame = self._new() if self._frame is None else self._frame
        try:
            data: bytes = frame.decompress(packed)
        except Exception as error:  # the libraries have errors of their own
            raise UnpackError(f"the compressed file is damaged: {error}"[:200]) from error
        self._packed = frame.unused_data if frame.eof else b""
        self._frame = None if frame.eof else frame
        return data
