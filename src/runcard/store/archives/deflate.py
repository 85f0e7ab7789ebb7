"""Compress, decompress and checksum one block: with isal, many times as fast as zlib; without a build of isal, with zlib."""

import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

_LEVEL = 2  # of isal: somewhat larger than gzip's own, in a tenth of the time
_CRUMB = 64  # bytes of a damaged stream that are tried at once
_RAW = -15  # zlib's word for a stream without header and trailer


def _isal(name: str) -> Any | None:  # noqa: ANN401 - a module, which may be missing
    try:
        return import_module(f"isal.{name}")
    except ImportError:
        return None


_fast = _isal("igzip_lib")
crc32: Callable[[bytes], int] = (_isal("isal_zlib") or zlib).crc32
_DAMAGED: tuple[type[Exception], ...] = (zlib.error,) if _fast is None else (_fast.IsalError,)


def compress(data: bytes) -> bytes:
    """A raw deflate stream."""
    if _fast is not None:
        stream: bytes = _fast.compress(data, _LEVEL, _fast.COMP_DEFLATE)
        return stream
    worker = zlib.compressobj(6, zlib.DEFLATED, _RAW)
    return worker.compress(data) + worker.flush()


def expand(stream: bytes | memoryview, size: int) -> bytes | None:
    """Decompress a raw deflate stream; None unless it holds exactly `size` bytes. Never more than that is decompressed."""
    worker: Any = zlib.decompressobj(_RAW) if _fast is None else _fast.IgzipDecompressor(_fast.DECOMP_DEFLATE)
    try:
        data: bytes = worker.decompress(stream, size + 1)
    except _DAMAGED:
        return None
    return data if len(data) == size and worker.eof and not worker.unused_data else None


def salvage(stream: bytes | memoryview, size: int) -> bytes:
    """As much as can be had of a damaged stream, and no more than `size` bytes."""
    worker, parts = zlib.decompressobj(_RAW), []
    for start in range(0, len(stream), _CRUMB):
        try:
            parts.append(worker.decompress(stream[start : start + _CRUMB], size))
        except zlib.error:
            break
        if (size := size - len(parts[-1])) <= 0:
            break
    return b"".join(parts)
