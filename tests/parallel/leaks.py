"""What a test must not leave behind: open files, threads and processes."""

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def no_leaks() -> Iterator[None]:
    """No open file, no thread and no process outlives the `with` block."""
    files, threads, children = len(os.listdir("/proc/self/fd")), threading.active_count(), _children()
    yield
    # The garbage collector may close a file of an earlier test meanwhile.
    assert len(os.listdir("/proc/self/fd")) <= files
    assert threading.active_count() <= threads  # one of another test may have ended
    assert _children() <= children


def _children() -> set[str]:
    """The processes that were started here and not yet waited for; another test may have left some."""
    found: set[str] = set()
    for file in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError):  # a thread that has just ended
            found.update(file.read_text().split())
    return found
