"""Progress for work that takes longer than a moment: on a terminal, and as plain lines elsewhere for who asks for it."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

_PATIENCE = 1.0  # seconds before anything is shown
_EVERY = 0.1
_EVERY_LINE = 2.0  # where lines stay


class Progress:
    """A running count on stderr, when that is a terminal and the work takes long; lines, when it is `everywhere`."""

    def __init__(self, what: str, *, everywhere: bool = False) -> None:
        self._what = what
        self._everywhere = everywhere
        self._shown = False

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The same items, counted."""
        if not sys.stderr.isatty():
            yield from self._in_lines(items) if self._everywhere else items
            return
        began = time.monotonic()
        due = began + _PATIENCE
        try:
            for count, item in enumerate(items, 1):
                if (now := time.monotonic()) >= due:
                    self._show(f"{count:,} {self._what}, {count / (now - began):,.0f} a second")
                    due = now + _EVERY
                yield item
        finally:
            self.wipe()

    def _in_lines(self, items: Iterable[T]) -> Iterator[T]:
        count, due = 0, time.monotonic() + _EVERY_LINE
        for item in items:
            yield item
            count += 1
            if (now := time.monotonic()) >= due:
                sys.stderr.write(f"{count:,} {self._what} so far\n")
                due = now + _EVERY_LINE
        sys.stderr.write(f"{count:,} {self._what} done\n")

    def wipe(self) -> None:
        """Clear the line for somebody else's text."""
        if self._shown:
            self._write("")
            self._shown = False

    def _show(self, text: str) -> None:
        self._write(text)
        self._shown = True

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
