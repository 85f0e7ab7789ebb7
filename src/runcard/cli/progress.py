"""Progress on a terminal for work that takes longer than a moment."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

_PATIENCE = 1.0  # seconds before anything is shown
_EVERY = 0.1


def counted(items: Iterable[T], what: str) -> Iterator[T]:
    """The same items, with a running count on stderr when that is a terminal and it takes long."""
    if not sys.stderr.isatty():
        yield from items
        return
    began = time.monotonic()
    due = began + _PATIENCE
    for count, item in enumerate(items, 1):
        if (now := time.monotonic()) >= due:
            rate = count / (now - began)
            sys.stderr.write(f"\r\x1b[K{count:,} {what}, {rate:,.0f} a second")
            sys.stderr.flush()
            due = now + _EVERY
        yield item
    if due > began + _PATIENCE:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
