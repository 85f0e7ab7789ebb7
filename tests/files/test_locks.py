"""Locks between processes."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runcard.errors import StoreError
from runcard.files import locked, locks
from waiting import LIMIT, wait_until

HOLDER = """
import sys, time
from runcard.files import locked
with locked(sys.argv[1], shared=sys.argv[2] == "shared", timeout=10):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def process(code: str, *arguments: object) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A child that has printed its first line, and waits until its stdin is closed."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            yield child, child.stdout.readline().strip()
        finally:
            child.kill()


def test_only_one_holds_an_exclusive_lock(tmp_path: Path) -> None:
    with process(HOLDER, tmp_path, "exclusive"):
        for shared in (False, True):
            with pytest.raises(StoreError), locked(tmp_path, shared=shared, timeout=0):
                pass


def test_many_hold_a_shared_lock(tmp_path: Path) -> None:
    with process(HOLDER, tmp_path, "shared"), process(HOLDER, tmp_path, "shared") as (_, said):
        assert said == "held"
        with locked(tmp_path, shared=True, timeout=0):
            pass
        with pytest.raises(StoreError), locked(tmp_path, timeout=0):
            pass


def test_the_error_says_who_holds_the_lock(tmp_path: Path) -> None:
    with process(HOLDER, tmp_path, "exclusive") as (child, _):
        with pytest.raises(StoreError) as caught, locked(tmp_path, timeout=0.05):
            pass
        assert str(tmp_path) in caught.value.message
        assert f"process {child.pid} (python" in caught.value.message
        assert f"wait until process {child.pid}" in (caught.value.hint or "")


def test_where_the_system_does_not_tell_it_is_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_PROC", str(tmp_path / "nothing"))
    with (
        process(HOLDER, tmp_path, "exclusive"),
        pytest.raises(StoreError, match="another process"),
        locked(tmp_path, timeout=0),
    ):
        pass


def test_the_threads_of_a_process_take_turns(tmp_path: Path) -> None:
    inside, most, done = [0], [0], []

    def work() -> None:
        with locked(tmp_path, timeout=LIMIT):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            os.sched_yield()
            inside[0] -= 1
            done.append(1)

    threads = [threading.Thread(target=work) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(done), most[0]) == (100, 1)


class PatientTurn:
    """A turn that comes after five timeouts; in each of them another thread had its turn."""

    def __init__(self, queue: locks._ThreadQueue) -> None:
        self._queue = queue

    def acquire(self, *, timeout: float) -> bool:
        assert timeout == 0.5
        self._queue.turns += 1
        return self._queue.turns > 5


def test_a_thread_waits_as_long_as_the_others_get_their_turn() -> None:
    queue = locks._ThreadQueue()
    queue.turn = PatientTurn(queue)  # type: ignore[assignment]
    queue.wait(0.5, "path")
    assert queue.turns == 6


def test_the_process_is_named_whose_thread_keeps_a_lock(tmp_path: Path) -> None:
    with (
        locked(tmp_path),
        pytest.raises(StoreError, match=f"process {os.getpid()}"),
        locked(tmp_path, timeout=0.05),
    ):
        pass


def test_a_holder_whose_name_is_hidden_still_has_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "proc"
    table.mkdir()
    status = tmp_path.stat()
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    (table / "locks").write_text(f"1: FLOCK  ADVISORY  WRITE 4711 {device} 0 EOF\n")
    monkeypatch.setattr(locks, "_PROC", str(table))
    with (
        process(HOLDER, tmp_path, "exclusive"),
        pytest.raises(StoreError, match=r"(?m)by process 4711$"),
        locked(tmp_path, timeout=0),
    ):
        pass


class NotedLocks:
    """Notes which files somebody tries to lock, by inode."""

    def __init__(self) -> None:
        self.tried: list[int] = []
        self._flock = fcntl.flock

    def __call__(self, descriptor: int, operation: int) -> None:
        self.tried.append(os.fstat(descriptor).st_ino)
        self._flock(descriptor, operation)


@pytest.mark.parametrize("timeout", [None, LIMIT])
def test_a_lock_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timeout: float | None) -> None:
    noted, killed = NotedLocks(), threading.Event()
    monkeypatch.setattr(fcntl, "flock", noted)
    with process(HOLDER, tmp_path, "exclusive") as (child, _):

        def kill() -> None:
            wait_until(lambda: noted.tried)
            killed.set()
            child.kill()

        killer = threading.Thread(target=kill)
        killer.start()
        with locked(tmp_path, timeout=timeout):
            assert killed.is_set()
        killer.join()


def test_a_killed_holder_frees_its_lock(tmp_path: Path) -> None:
    with process(HOLDER, tmp_path, "exclusive") as (child, _):
        child.send_signal(signal.SIGKILL)
        with locked(tmp_path, timeout=10) as has_lock:
            assert has_lock


FORKING_HOLDER = """
import os, sys, time
from runcard.files import locked
with locked(sys.argv[1]):
    child = os.fork()
    if child == 0:
        print(os.getpid(), flush=True)
        time.sleep(600)
        os._exit(0)
    sys.stdin.read()
"""


def test_a_killed_holder_frees_its_lock_though_its_child_lives_on(tmp_path: Path) -> None:
    with process(FORKING_HOLDER, tmp_path) as (holder, child):
        try:
            with pytest.raises(StoreError), locked(tmp_path, timeout=0):
                pass
            holder.send_signal(signal.SIGKILL)
            with locked(tmp_path, timeout=10):
                os.kill(int(child), 0)  # it is alive
        finally:
            os.kill(int(child), signal.SIGKILL)


LEAVING_CHILD = """
import os, sys
from runcard.files import locked
with locked(sys.argv[1]):
    child = os.fork()
    if child:
        print(os.waitpid(child, 0)[1], flush=True)
        sys.stdin.read()
"""


def test_a_forked_child_that_leaves_the_block_frees_nothing(tmp_path: Path) -> None:
    with process(LEAVING_CHILD, tmp_path) as (_, status):
        assert status == "0"
        with pytest.raises(StoreError), locked(tmp_path, timeout=0):
            pass


def test_a_program_that_is_started_inherits_no_lock(tmp_path: Path) -> None:
    with locked(tmp_path):
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        with locked(tmp_path, timeout=0) as has_lock:
            assert has_lock
    finally:
        child.kill()
        child.wait()


def test_nothing_is_left_in_the_directory(tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    with locked(tmp_path):
        assert os.listdir(tmp_path) == []
    assert os.listdir(tmp_path) == []
    assert set(os.listdir("/proc/self/fd")) == before


def test_a_file_can_be_locked(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    path.touch()
    with locked(path), pytest.raises(StoreError, match=f"process {os.getpid()}"), locked(path, timeout=0):
        pass


def test_whoever_waited_for_a_file_that_was_replaced_gets_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger"
    path.touch()
    (tmp_path / "new").touch()
    held, noted = threading.Event(), NotedLocks()

    def hold() -> None:
        with locked(path, timeout=LIMIT):
            held.set()

    with process(HOLDER, path, "exclusive") as (child, _), open(tmp_path / "new", "rb") as new:
        fcntl.flock(new, fcntl.LOCK_EX)
        monkeypatch.setattr(fcntl, "flock", noted)
        waiter = threading.Thread(target=hold)
        waiter.start()
        wait_until(lambda: path.stat().st_ino in noted.tried)
        (tmp_path / "new").rename(path)
        child.kill()
        wait_until(lambda: path.stat().st_ino in noted.tried)  # the old one was free, and that was not enough
        assert not held.is_set()
    waiter.join(LIMIT)
    assert held.is_set()


def test_a_file_that_was_replaced_while_it_was_locked_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger"
    path.touch()
    flock = fcntl.flock

    def replacing(descriptor: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        (tmp_path / "new").touch()
        (tmp_path / "new").rename(path)
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", replacing)
    with locked(path), pytest.raises(StoreError), locked(path, timeout=0):
        pass


def test_what_is_not_there_cannot_be_locked(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot lock"), locked(tmp_path / "nothing"):
        pass


def test_a_file_system_that_cannot_lock_gets_a_lock_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    before = os.listdir("/proc/self/fd")
    monkeypatch.setattr(fcntl, "flock", refuse)
    folder = tmp_path / "store"
    folder.mkdir()
    with locked(tmp_path) as has_locks:
        assert not has_locks
    with locked(folder), pytest.raises(StoreError, match="by process"), locked(folder, timeout=0):
        pass
    assert os.listdir(tmp_path) == ["store"]
    assert len(os.listdir("/proc/self/fd")) == len(before)
