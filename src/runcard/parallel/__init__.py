"""Work on many files at once, for hashing and copying.

Small files are shared in `chunks` with helper processes (`helper_pool`), which run the functions of `worker`: for a small
file the interpreter itself takes most of the time, and threads would wait for its lock. Large files are shared between
`threads`, since the lock is free while a block is read, hashed or written; `calls` are made in threads too, and have
results. `progress` counts what is done.
"""

import os


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
