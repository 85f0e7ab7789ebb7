"""Warnings that name the line of the caller: the first one outside of runcard."""

import contextlib
import os
import sys
import warnings
from contextvars import ContextVar
from typing import TYPE_CHECKING

from runcard.errors import RuncardWarning

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

# In a thread beside the event loop: the warnings that the task gives when the thread has ended.
POSTPONED: ContextVar[list[str] | None] = ContextVar("runcard_warnings", default=None)

_INTERNAL = (os.path.join(os.path.dirname(os.path.dirname(__file__)), ""), contextlib.__file__)


def warn_caller(message: str) -> None:
    """Warn at the first line outside of runcard; from a thread of `run_off_loop`, at that of the task that waits."""
    postponed = POSTPONED.get()
    if postponed is None:
        warnings.warn(message, RuncardWarning, stacklevel=_callers_level())
    else:
        postponed.append(message)


@contextlib.contextmanager
def warnings_in(messages: list[str]) -> "Iterator[None]":
    """Collect the warnings of the block in this list."""
    token = POSTPONED.set(messages)
    try:
        yield
    finally:
        POSTPONED.reset(token)


def _callers_level() -> int:
    """The `stacklevel` of the first line outside of runcard; beyond the last one, if there is none, at the end of a program."""
    level = 1
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - as `warnings` does it
    while frame is not None and frame.f_code.co_filename.startswith(_INTERNAL):
        level, frame = level + 1, frame.f_back
    return level
