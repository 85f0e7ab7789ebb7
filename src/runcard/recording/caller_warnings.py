"""The caller: the first code outside of runcard. Its file, and warnings that name its line."""

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


def caller_file() -> str | None:
    """The file of the module that calls runcard; None in a notebook, a shell, or at the end of a program."""
    _, frame = _caller()
    file = None if frame is None else frame.f_globals.get("__file__")
    return os.path.abspath(file) if isinstance(file, str) else None


def _callers_level() -> int:
    """The `stacklevel` of the first line outside of runcard; beyond the last one, if there is none, at the end of a program."""
    return _caller()[0] - 1


def _caller() -> "tuple[int, FrameType | None]":
    level = 1
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - as `warnings` does it
    while frame is not None and frame.f_code.co_filename.startswith(_INTERNAL):
        level, frame = level + 1, frame.f_back
    return level, frame
