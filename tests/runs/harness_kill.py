"""A program whose children die at every step: each is killed one operation later than the one before.

    python -m runs.harness_kill JOB MOMENT TEMPLATE FOLDER

It forks a child that does the JOB (`record` or `close`) in a copy of the store TEMPLATE, and that kills itself before,
after or within (half of what it writes is written) the first operation that changes a file; the next child dies at the
second one, and so on until one lives to the end. Stores are left in FOLDER, by number; for each of them a line is
printed with the name of the operation.
"""

import json
import os
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from itertools import count
from pathlib import Path
from subprocess import run as run_program
from typing import Any

import runcard
from runcard.files import rename_noreplace, sync
from runcard.operations.runs import close

Call = Callable[..., Any]

CHANGES = ("write", "pwrite", "fsync", "rename", "replace", "link", "mkdir", "rmdir", "unlink", "ftruncate")
WRITES = {"write", "pwrite"}


class Assassin:
    """Counts what the main thread of this process does to files, and strikes at one of them."""

    def __init__(self, moment: str, number: int, witness: int) -> None:
        self._moment, self._left, self._witness = moment, number, witness
        self._pid = os.getpid()

    def watch(self) -> None:
        for name in CHANGES:
            setattr(os, name, self._watched(name, getattr(os, name)))
        os.open = self._watched_open(os.open)
        rename_noreplace._renameat2 = self._watched("renameat2", rename_noreplace._renameat2)
        sync.__dict__["_sync_filesystem_of"] = self._watched("syncfs", sync._sync_filesystem_of)
        # The same steps every time, however much other programs write: files one by one, or everything at once.
        sync.__dict__["_bytes_waiting"] = lambda: 0 if self._moment == "before" else 1 << 40

    def _watched(self, name: str, real: Call) -> Call:
        def call(*args: Any, **kwargs: Any) -> Any:
            if not self._is_time(name):
                return real(*args, **kwargs)
            try:
                if self._moment == "after":
                    real(*args, **kwargs)
                elif self._moment == "within":
                    real(args[0], bytes(args[1])[: len(args[1]) // 2], *args[2:])
            finally:
                self._strike(name)

        return call

    def _watched_open(self, real: Call) -> Call:
        watched = self._watched("open", real)

        def call(path: Any, flags: int, *args: Any, **kwargs: Any) -> Any:
            return (watched if flags & (os.O_CREAT | os.O_TRUNC) else real)(path, flags, *args, **kwargs)

        return call

    def _is_time(self, name: str) -> bool:
        if threading.current_thread() is not threading.main_thread() or os.getpid() != self._pid:
            return False
        if self._moment == "within" and name not in WRITES:
            return False
        self._left -= 1
        return self._left == 0

    def _strike(self, name: str) -> None:
        os.dup2(self._witness, 1)
        print(name, flush=True)  # noqa: T201
        os.kill(self._pid, signal.SIGKILL)


def record(store: Path) -> None:
    """A run with everything: events, a model call, outputs, a link, and a second process that joins it."""
    with runcard.record(store, model="m", provider="p", labels={"a": "b"}, strict=True) as run:
        run.log("begun", step=1)
        (run.path / "out.txt").write_text("made\n")
        (run.path / "latest").symlink_to("out.txt")
        run.add_usage({"model": "claude-sonnet-4-5", "usage": {"input_tokens": 5, "output_tokens": 7}})
        child = os.fork()
        if child == 0:
            run.log("joined")
            os._exit(0)
        os.waitpid(child, 0)
        run.log("done")


def close_store(store: Path) -> None:
    for _ in close.close(store=store):
        pass


JOBS: dict[str, Callable[[Path], None]] = {"record": record, "close": close_store}


def attempt(job: str, moment: str, number: int, store: Path) -> str | None:
    """Let a child do the job until it is killed; the name of the operation it died at, None when it lived."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _be_child(Assassin(moment, number, writing), job, store)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with open(reading, encoding="ascii") as witness:
        said = witness.read().strip()
    if status not in {0, signal.SIGKILL}:
        raise RuntimeError(f"{job} {moment} {number}: status {status}")
    return said if status else None


def _be_child(assassin: Assassin, job: str, store: Path) -> None:
    code = 1
    try:
        assassin.watch()
        JOBS[job](store)
        code = 0
    except BaseException:  # noqa: BLE001 - the boundary of a process
        traceback.print_exc()
    finally:
        os._exit(code)


def main(job: str, moment: str, template: str, folder: str) -> None:
    record(Path(folder) / "0")  # everything is loaded once, and not in every child
    copy = shutil.which("cp") or "cp"
    sys.path.clear()  # an environment without packages and without git is quick to look at
    os.environ["PATH"] = ""
    for number in count(1):
        store = Path(folder) / str(number)
        if template:
            run_program([copy, "-a", template, store], check=True)
        name = attempt(job, moment, number, store)
        if name is None:
            break
        print(json.dumps(name), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
