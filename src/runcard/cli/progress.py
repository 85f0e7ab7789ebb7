"""Progress of work that takes longer than a second: one line on a terminal, which is gone at the end.

Where stderr is not a terminal nothing is shown, unless the user asks for it (`--progress`): then a plain line every few
seconds. With `--quiet` nothing is shown at all.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from runcard.cli.printing import is_dumb
from runcard.cli.verbosity import is_quiet

if TYPE_CHECKING:
    from runcard.operations.sessions.assembly import CollectionProgress
    from runcard.operations.sessions.import_sessions import ImportProgress

T = TypeVar("T")

_PATIENCE = 1.0  # seconds before anything is shown
_EVERY = 0.1
_EVERY_LINE = 2.0  # where lines stay
_BAR = 20  # characters


class _StatusLine:
    """A line on stderr that is written over; plain lines where that is not a terminal and the user asked for progress."""

    def __init__(self, *, everywhere: bool = False) -> None:
        self._is_bar = sys.stderr.isatty() and not is_dumb() and not is_quiet()
        self._is_text = everywhere and not self._is_bar and not is_quiet()
        self._is_shown = False
        self._due = float("inf")  # nothing is shown before the work begins

    @property
    def is_wanted(self) -> bool:
        return self._is_bar or self._is_text

    def begin(self) -> None:
        """Start the clock."""
        self._due = time.monotonic() + (_PATIENCE if self._is_bar else _EVERY_LINE)

    def is_due(self) -> bool:
        return self.is_wanted and time.monotonic() >= self._due

    def show(self, text: str) -> None:
        if self._is_bar:
            self._overwrite(text[: _columns()])
            self._is_shown = True
        else:
            self.print(text)
        self._due = time.monotonic() + (_EVERY if self._is_bar else _EVERY_LINE)

    def print(self, text: str) -> None:
        """A line that stays, where there is no bar."""
        if self._is_text:
            sys.stderr.write(f"{text}\n")

    def wipe(self) -> None:
        """Clear the line before other text is printed."""
        if self._is_shown:
            self._overwrite("")
            self._is_shown = False

    @staticmethod
    def _overwrite(text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


class Progress(_StatusLine):
    """A count of items: documents, plans."""

    def __init__(self, what: str, *, everywhere: bool = False) -> None:
        super().__init__(everywhere=everywhere)
        self._what = what

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The same items, counted."""
        if not self.is_wanted:
            yield from items
            return
        began, count = time.monotonic(), 0
        self.begin()
        try:
            for count, item in enumerate(items, 1):
                if self.is_due():
                    speed = count / max(time.monotonic() - began, 0.001)
                    self.show(f"{count:,} {self._what}, {speed:,.0f} a second")
                yield item
            self.print(f"{count:,} {self._what} done")
        finally:
            self.wipe()


class ByteProgress(_StatusLine):
    """A bar for bytes: how many of how many, the percentage, the speed and the time left.

    `measure` gives the number of bytes in all; it is called once, when the bar is first shown, and 0 means that it is not
    known. `passes` says how often all of them are read: an archive is written and then read back.
    """

    def __init__(self, measure: Callable[[], int], *, passes: int = 1, everywhere: bool = False) -> None:
        super().__init__(everywhere=everywhere)
        self._measure, self._passes = measure, passes
        self._total: int | None = None
        self._before = self._current = 0  # bytes of earlier records and passes, and of this one
        self.record = (0, 0)  # files and bytes of the record whose result comes next
        self._began = 0.0

    def over(self, records: Iterable[T]) -> Iterator[T]:
        """The same records or results, while `advance` shows how far the work on them is."""
        self._began, self._before, self._current = time.monotonic(), 0, 0
        self.begin()
        try:
            for record in records:
                self._next_pass()
                yield record
                self.record = (0, 0)
            self._next_pass()
            if self._before and self.is_wanted:
                self.print(f"{_size(self._before // self._passes)} done")
        finally:
            self.wipe()

    def advance(self, files: int, done: int) -> None:
        """How many files and bytes of the current record were read."""
        self.record = (files, done)
        if done < self._current:
            self._next_pass()
        self._current = done
        if self.is_due():
            if self._total is None:
                self._total = self._measure()
            done = (self._before + self._current) // self._passes
            self.show(_bar(done, self._total, time.monotonic() - self._began, with_bar=self._is_bar))

    def _next_pass(self) -> None:
        self._before += self._current
        self._current = 0


class CopyProgress(_StatusLine):
    """A bar for the files of a session, for each of its agents."""

    def __init__(self, *, everywhere: bool = False) -> None:
        super().__init__(everywhere=everywhere)
        self.begin()
        self._number = 0
        self._began = 0.0

    def advance(self, now: "CollectionProgress") -> None:
        """Show how far the collection is."""
        if now.number != self._number:
            self._number, self._began = now.number, time.monotonic()
        if self.is_due():
            self.show(self._line(now, time.monotonic() - self._began))

    def _line(self, now: "CollectionProgress", seconds: float) -> str:
        from runcard.files import printable  # noqa: PLC0415
        from runcard.views.formats import truncated  # noqa: PLC0415

        amount = now.amount
        about = (
            f"{printable(truncated(now.instance, 30))} ({now.number} of {now.total}), {amount.files:,} files"
        )
        return f"{_bar(amount.bytes, amount.total_bytes or 0, seconds, with_bar=self._is_bar)}: {about}"


class ImportBar(_StatusLine):
    """A bar for an import: the bytes of all files, and the number of sessions."""

    def __init__(self, *, everywhere: bool = False) -> None:
        super().__init__(everywhere=everywhere)
        self.begin()
        self._began = time.monotonic()

    def advance(self, now: "ImportProgress") -> None:
        """Show how far the import is."""
        if self.is_due():
            seconds = time.monotonic() - self._began
            bar = _bar(now.bytes, now.total_bytes, seconds, with_bar=self._is_bar)
            about = (
                "reading"
                if now.total_sessions is None
                else f"{now.sessions:,} of {now.total_sessions:,} sessions"
            )
            self.show(f"{bar}: {about}")


class ReadProgress(_StatusLine):
    """How many records of a store were read."""

    def advance(self, store: str, count: int) -> None:
        if self.is_due():
            from runcard.files import printable  # noqa: PLC0415

            self.show(f"{printable(store)}: {count:,} records read")


class RowProgress(_StatusLine):
    """How many rows of a table were written."""

    def advance(self, count: int) -> None:
        if self.is_due():
            self.show(f"{count:,} rows written")


def _bar(done: int, total: int, seconds: float, *, with_bar: bool) -> str:
    """A bar with bytes, percentage, speed and time left, as far as they are known."""
    from runcard.views.formats import duration  # noqa: PLC0415

    speed = f", {_size(int(done / seconds))}/s" if seconds > 0.5 and done else ""
    if not total:
        return f"{_size(done)}{speed}"
    part = min(1.0, done / total)
    filled = int(part * _BAR)
    bar = "█" * filled + "░" * (_BAR - filled) + " " if with_bar else ""
    left = f", {duration(round(seconds / part * (1 - part)))} left" if part > 0.01 and seconds > 1 else ""
    return f"{bar}{part:4.0%} {_size(min(done, total))} of {_size(total)}{speed}{left}"


def _size(count: int) -> str:
    from runcard.views.formats import byte_size  # noqa: PLC0415

    return byte_size(count)


def _columns() -> int | None:
    """How much fits on one line; None where the terminal does not tell."""
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        return None
    return columns - 1 if columns > 1 else None
