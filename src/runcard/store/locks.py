"""The lock of a folder: a store's own folder, a run, an experiment."""

import contextlib

from runcard.files import locked

LOCK_TIMEOUT = 30.0  # seconds to retry while another process holds a lock


def lock_folder(
    folder: str, *, shared: bool = False, timeout: float = LOCK_TIMEOUT
) -> contextlib.AbstractContextManager[bool]:
    """Hold the lock of a folder, retrying until `timeout`; the value is False where a lock file is used instead."""
    return locked(folder, shared=shared, timeout=timeout)
