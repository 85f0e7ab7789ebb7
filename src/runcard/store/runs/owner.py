"""Is the process that records a run still alive?

The owner of a run is the process that started it. It holds a lock on the run's journal for as long as it lives, so a free
lock means that the owner is gone. Where locks do not work, its pid, start time and boot id decide. Both tell only about
processes of this host: a run that was recorded on another host stays `running` until that host closes it.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from stat import S_ISREG

from runcard.documents.run.fields import RunFields
from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import failure
from runcard.files.locks import NO_LOCKS
from runcard.store import layout
from runcard.store.journal import is_orphaned, try_lock

IsAlive = Callable[[JsonObject], bool | None]  # None: unknown

_RETRY_PAUSE = 0.005  # seconds between two attempts to get an exclusive lock
_READERS_TIMEOUT = 2.0  # seconds to wait for processes that hold the lock only to read


def owner_process(document: JsonObject) -> JsonObject:
    """The process that a run's document names as its owner: pid, host, boot id, start."""
    return RunFields(document).process


def is_on_other_host(document: JsonObject) -> bool:
    """Whether a run was recorded on another host, whose processes cannot be seen from here."""
    return owner_process(document).get("host") not in {None, os.uname().nodename}


def is_owner_gone(run: str, document: JsonObject, is_alive: IsAlive) -> bool | None:
    """Whether the owner of a run on this host is gone, by its lock and by its process; None if that is unknown."""
    lock_is_free = None
    with contextlib.suppress(RuncardError), owner_lock(run) as free:  # an unreadable journal tells nothing
        lock_is_free = free
    alive = is_alive(owner_process(document))
    if lock_is_free or alive is False:
        return True
    return None if lock_is_free is alive is None else False


@contextlib.contextmanager
def owner_lock(run: str, *, exclusive: bool = False, timeout: float = 0) -> Iterator[bool | None]:
    """Try to hold the owner's lock: True when the owner is gone, False when it is alive, None if that is unknown.

    Hold it shared to ask, and exclusively to close the run. `timeout` is how many seconds to retry while it is busy.
    """
    descriptor = None
    try:
        journal = locked_journal(run)
        descriptor = _retry_lock(journal, exclusive=exclusive, timeout=timeout) if journal else None
        is_gone = None if journal is None else descriptor is not None
    except FileNotFoundError:
        is_gone = None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise failure(error, run, "check the owner of") from error
        is_gone = None
    try:
        yield is_gone
    finally:
        if descriptor is not None:
            os.close(descriptor)


def is_abandoned(journal: str) -> bool:
    """Whether the owner of a journal is gone, by its lock or else by its process; False if that is unknown."""
    try:
        descriptor = try_lock(journal, shared=True)
    except FileNotFoundError:
        return True
    except OSError as error:
        return error.errno in NO_LOCKS and is_orphaned(journal)
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


def _retry_lock(journal: str, *, exclusive: bool, timeout: float) -> int | None:
    """The lock of a journal; None when its owner holds it. Waits for processes that hold it only to read."""
    start = time.monotonic()
    while (descriptor := try_lock(journal, shared=not exclusive)) is None:
        waited = time.monotonic() - start
        is_only_read = exclusive and waited < _READERS_TIMEOUT and is_abandoned(journal)
        if waited >= timeout and not is_only_read:
            break
        time.sleep(_RETRY_PAUSE)
    return descriptor


def locked_journal(run: str) -> str | None:
    """The file that the owner of a run holds locked; None when it is lost, or replaced by the user's program."""
    for path in (layout.open_mark(run), os.path.join(run, layout.JOURNAL)):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            status = os.lstat(path)
            if S_ISREG(status.st_mode) and status.st_size > 0:
                return path
    return None
