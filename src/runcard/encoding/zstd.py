"""Decompress zstd: the module of Python 3.14, and for older ones its backport, which is the same.

A frame can ask for up to 128 MiB of memory, which is the default limit of both.
"""

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdDecompressor, ZstdError
else:
    from backports.zstd import ZstdDecompressor, ZstdError

__all__ = ["ZstdDecompressor", "ZstdError"]
