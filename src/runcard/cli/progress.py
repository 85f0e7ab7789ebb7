"""Progress on a terminal for work that takes longer than a moment."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

_PATIENCE = 1.0  # seconds before anything is shown
_EVERY = 0.1


class Progress:
    """A running count on stderr, when that is a terminal and the work takes long."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown = False
        self._due = float("inf")  # nothing is shown before the work begins

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The same items, counted."""
        if not sys.stderr.isatty():
            yield from items
            return
        began = time.monotonic()
        self._due = began + _PATIENCE
        try:
            for count, item in enumerate(items, 1):
                if (now := time.monotonic()) >= self._due:
                    self._show(f"{count:,} {self._what}, {count / (now - began):,.0f} a second")
                yield item
        finally:
            self.wipe()

    def files(self, count: int, size: int) -> None:
        """How far the work on one item is: the files and bytes that were read."""
        if time.monotonic() >= self._due:
            self._show(f"{count:,} files, {size / 1_000_000:,.0f} MB")

    def wipe(self) -> None:
        """Clear the line for somebody else's text."""
        if self._shown:
            self._write("")
            self._shown = False

    def _show(self, text: str) -> None:
        self._write(text)
        self._shown = True
        self._due = time.monotonic() + _EVERY

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
