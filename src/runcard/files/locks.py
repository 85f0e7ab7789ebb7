"""Locks between processes, on an existing directory or file.

They are advisory (`flock`) and end with their process, even if it is killed: no stale locks. Lock a directory, or a file
that is never replaced; a lock belongs to the file, not to its name. On file systems without `flock` (some network file
systems and containers), a lock file is used instead: see `lock_files`.

The threads of a process queue for an exclusive lock before they try to get it. Between processes there is no queue: each
tries again after a short pause.

Invariant: a child process keeps no lock of its parent.
"""

import contextlib
import errno
import fcntl
import os
import re
import threading
import time
from collections.abc import Iterator

from runcard.errors import RuncardError, StoreError
from runcard.files.names import printable
from runcard.files.os_errors import failure

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.002, 0.05
_PROC = "/proc"
_HOLDER = r"(?m)^\d+: FLOCK +\S+ +\S+ (\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) "

# The errors of file systems without locks. NFS returns EBADF: it locks a directory only if it is open for writing.
NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS, errno.EBADF})

_held: set[int] = set()  # descriptors that hold a lock, or wait for one


class _NoLocksError(Exception):
    """The file system has no locks."""


class _ThreadQueue:
    """The threads of this process that need the exclusive lock of one path."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self.threads = 0  # those that wait, and the one whose turn it is
        self.turns = 0  # how many have had theirs

    def wait(self, timeout: float | None, path: str) -> None:
        """Wait for this thread's turn; `timeout` is how long each of the threads before it may take."""
        turns = -1
        while not self.turn.acquire(timeout=-1 if timeout is None else timeout):
            if turns == self.turns or timeout == 0:
                raise _busy(path, _process(str(os.getpid())))
            turns = self.turns


class _ThreadQueues:
    """The queues of this process, by path; only while a thread holds the lock or waits for it."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all threads: in a forked child they are gone."""
        self._mutex = threading.RLock()  # a signal handler may need a lock as well
        self._queues: dict[str, _ThreadQueue] = {}

    @contextlib.contextmanager
    def turn(self, path: str, timeout: float | None) -> Iterator[None]:
        """Let one thread after the other into the block."""
        key = os.path.abspath(path)
        with self._mutex:
            queue = self._queues.setdefault(key, _ThreadQueue())
            queue.threads += 1
        try:
            queue.wait(timeout, path)
            try:
                yield
            finally:
                queue.turns += 1
                queue.turn.release()
        finally:
            with self._mutex:
                queue.threads -= 1
                if not queue.threads and self._queues.get(key) is queue:
                    del self._queues[key]


_queues = _ThreadQueues()


@contextlib.contextmanager
def locked(
    path: str | os.PathLike[str], *, shared: bool = False, timeout: float | None = None
) -> Iterator[bool]:
    """Hold a lock on `path` inside the `with` block; wait at most `timeout` seconds, or without a limit.

    Shared locks exclude only exclusive ones. Raises StoreError on timeout. The value is False if the file system has no
    locks and a lock file is used.
    """
    name = os.fspath(path)
    with contextlib.nullcontext() if shared else _queues.turn(name, timeout):
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            descriptor = _acquire(name, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, deadline)
        except _NoLocksError:
            descriptor = -1
        if descriptor < 0:
            from runcard.files.lock_files import lock_file  # noqa: PLC0415 - hardly any file system needs it

            with lock_file(name, shared=shared, deadline=deadline):
                yield False
            return
        try:
            yield True
        finally:
            if descriptor in _held:  # not in a child forked inside the block
                # Closing is not enough while a child that is starting shares the descriptor.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
                _close(descriptor)


def lock_open_file(descriptor: int, path: str, *, timeout: float) -> bool:
    """Lock a file that this process has just created, until it is closed; False where the file system has no locks.

    Another process can hold a shared lock for a moment, to see whether the file has an owner.
    """
    try:
        _wait(descriptor, fcntl.LOCK_EX, time.monotonic() + timeout, path)
    except _NoLocksError:
        return False
    return True


def _acquire(path: str, operation: int, deadline: float | None) -> int:
    """A descriptor that holds the lock of the file that has this path now."""
    try:
        while True:
            # O_NONBLOCK: opening a FIFO would block.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            _held.add(descriptor)
            if _lock(descriptor, operation, deadline, path):
                return descriptor
    except OSError as error:
        raise failure(error, path, "lock") from error


def _lock(descriptor: int, operation: int, deadline: float | None, path: str) -> bool:
    """Lock an open file; False if its path names another file by then."""
    current = False
    try:
        _wait(descriptor, operation, deadline, path)
        current = _is_current(descriptor, path)
    finally:
        if not current:
            _close(descriptor)
    return current


def _close(descriptor: int) -> None:
    _held.remove(descriptor)
    os.close(descriptor)


def _wait(descriptor: int, operation: int, deadline: float | None, path: str) -> None:
    if deadline is None:
        _flock(descriptor, operation)
        return
    pause = _SHORTEST_PAUSE
    while True:
        try:
            _flock(descriptor, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            left = deadline - time.monotonic()
            if left <= 0:
                raise _busy(path, " and ".join(_holders(descriptor)) or "another process") from None
            time.sleep(min(pause, left))
            pause = min(pause * 2, _LONGEST_PAUSE)
        else:
            return


def _flock(descriptor: int, operation: int) -> None:
    try:
        fcntl.flock(descriptor, operation)
    except OSError as error:
        if error.errno in NO_LOCKS:
            raise _NoLocksError from error
        raise


def _is_current(descriptor: int, path: str) -> bool:
    ours, named = os.fstat(descriptor), os.stat(path)
    return (ours.st_dev, ours.st_ino) == (named.st_dev, named.st_ino)


def _busy(path: str, holders: str) -> RuncardError:
    return StoreError(
        f"{printable(path)} is locked by {holders}",
        hint=f"wait until {holders} is done, then run the command again",
    )


def _holders(descriptor: int) -> list[str]:
    """The processes that hold the lock, if the system tells (Linux does)."""
    status = os.fstat(descriptor)
    file_id = (os.major(status.st_dev), os.minor(status.st_dev), status.st_ino)
    try:
        with open(f"{_PROC}/locks", encoding="ascii") as table:
            rows = re.findall(_HOLDER, table.read())
    except OSError:
        return []
    pids = {pid for pid, major, minor, node in rows if (int(major, 16), int(minor, 16), int(node)) == file_id}
    return [_process(pid) for pid in sorted(pids, key=int)]


def _process(pid: str) -> str:
    try:
        with open(f"{_PROC}/{pid}/comm", encoding="utf-8", errors="surrogateescape") as comm:
            return f"process {pid} ({printable(comm.read().strip())})"
    except OSError:
        return f"process {pid}"


def _forget_in_child() -> None:
    """A forked child shares its parent's locks; it closes its descriptors, and the parent keeps the locks."""
    while _held:
        os.close(_held.pop())
    _queues.reset()


os.register_at_fork(after_in_child=_forget_in_child)
