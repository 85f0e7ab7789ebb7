"""Progress for work that takes longer than a moment: on a terminal, and as plain lines elsewhere for who asks for it."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from runcard.cli.printing import is_dumb

if TYPE_CHECKING:
    from runcard.operations.sessions.assembly import CollectionProgress

T = TypeVar("T")

_PATIENCE = 1.0  # seconds before anything is shown
_EVERY = 0.1
_EVERY_LINE = 2.0  # where lines stay
_BAR = 20  # characters


def _has_bars() -> bool:
    """Whether stderr is a terminal on which a line can be written over."""
    return sys.stderr.isatty() and not is_dumb()


class Progress:
    """A running count on stderr, when that is a terminal and the work takes long; lines, when it is `everywhere`."""

    def __init__(self, what: str, *, everywhere: bool = False) -> None:
        self._what = what
        self._everywhere = everywhere
        self._shown = False
        self._due = float("inf")  # nothing is shown before the work begins

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The same items, counted."""
        if not _has_bars():
            yield from self._in_lines(items) if self._everywhere else items
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

    def _in_lines(self, items: Iterable[T]) -> Iterator[T]:
        count, due = 0, time.monotonic() + _EVERY_LINE
        for item in items:
            yield item
            count += 1
            if (now := time.monotonic()) >= due:
                sys.stderr.write(f"{count:,} {self._what} so far\n")
                due = now + _EVERY_LINE
        sys.stderr.write(f"{count:,} {self._what} done\n")

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


class CopyProgress(Progress):
    """A bar for files that are copied: how many, how much, and for how long yet."""

    def __init__(self) -> None:
        super().__init__("files")
        self._due = time.monotonic() + _PATIENCE
        self._number = 0
        self._began = 0.0

    def advance(self, now: "CollectionProgress") -> None:
        """Show where a collection is."""
        moment = time.monotonic()
        if now.number != self._number:
            self._number, self._began = now.number, moment
        if moment >= self._due and _has_bars():
            self._show(self._line(now, moment - self._began))

    @staticmethod
    def _line(now: "CollectionProgress", seconds: float) -> str:
        from runcard.files import printable  # noqa: PLC0415
        from runcard.views.formats import byte_size, duration, truncated  # noqa: PLC0415

        amount = now.amount
        who = f"{printable(truncated(now.instance, 30))} ({now.number} of {now.total})"
        if not amount.total_bytes:
            return f"{who}: {amount.files:,} files, {byte_size(amount.bytes)}"
        part = min(1.0, amount.bytes / amount.total_bytes)
        bar = "█" * int(part * _BAR) + "░" * (_BAR - int(part * _BAR))
        left = f", {duration(round(seconds / part * (1 - part)))} left" if part > 0.01 and seconds > 1 else ""
        return f"{bar} {who}: {amount.files:,} files, {byte_size(amount.bytes)} of {byte_size(amount.total_bytes)}{left}"
