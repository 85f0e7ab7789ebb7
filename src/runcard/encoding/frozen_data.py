"""Plain data as bytes, to keep them and make copies: several times as fast as parsing them or building them again.

For data in memory only: the bytes depend on the version of Python, and are never read from a file.
"""

import marshal
from typing import Any

_FORMAT = 2  # without references between parts, so that the same data has the same bytes


def freeze(value: Any) -> bytes | None:  # noqa: ANN401
    """Plain data as bytes, the same for the same data in the same order; None for data that is not plain."""
    try:
        return marshal.dumps(value, _FORMAT)
    except ValueError:
        return None


def thaw(frozen: bytes) -> Any:  # noqa: ANN401 - any plain data
    """A copy of the data."""
    return marshal.loads(frozen)  # noqa: S302 - made by freeze, in this process
