"""Unique ids without a server, sortable by time.

After the prefix come 22 characters of `[a-z0-9]`: Crockford's base 32 in lower case, ten characters for the milliseconds
since 1970 and twelve (60 bits) random ones. Ids of one process are strictly increasing, also within a millisecond and when
the wall clock is set back: the next one is then the last one plus one. Processes share nothing; for a clash, two of them
must draw the same 60 bits in the same millisecond.

Invariant: ids of one process sort in the order of their creation, and a forked child does not continue its parent's series.
"""

import os
import time
from threading import Lock

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_LENGTH = 22
_RANDOM_BITS = 60

_lock = Lock()
_last = 0


def new_id(prefix: str) -> str:
    """A new id, such as `run-01jcqz8v4n6q8s0tb2d4f6` for `new_id("run")`."""
    global _last  # noqa: PLW0603 - the series belongs to the process
    with _lock:
        number = _last = max(_fresh(), _last + 1)
    return f"{prefix}-{_encoded(number)}"


def _fresh() -> int:
    random = int.from_bytes(os.urandom(8), "big") >> (64 - _RANDOM_BITS)
    return (time.time_ns() // 1_000_000) << _RANDOM_BITS | random


def _encoded(number: int) -> str:
    return "".join([_ALPHABET[number >> shift & 31] for shift in range(5 * (_LENGTH - 1), -1, -5)])


def _reset() -> None:
    """In a forked child: the parent continues its series, and its lock may be held by a thread that does not exist here."""
    global _lock, _last
    _lock, _last = Lock(), 0


os.register_at_fork(after_in_child=_reset)
