"""A program whose children meet failing system calls: each a later one than the one before.

    python -m runs.harness_fault FOLDER ERROR once|lasting lenient|strict

It forks a child that records a run, and lets strace fail the N-th call of each kind that writes, and with `lasting` all
that follow; with `once` also of the other kinds that change files. How many calls there are is counted first. Stores are
left in FOLDER; a line is printed for each case: the call, its number, the exit code of the child, whether its block was
executed, and what it said; or a single one with the reason why nothing could be tried.
"""

import contextlib
import ctypes
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import runcard
from runcard.files import sync

PR_SET_PTRACER = 0x59616D61
STRACE = shutil.which("strace") or "strace"
WRITING = ("write", "pwrite64", "fsync", "rename", "renameat", "renameat2", "syncfs", "ftruncate")
OTHERS = ("mkdir", "link", "linkat", "unlink", "unlinkat", "flock")


def record(store: Path, *, strict: bool) -> None:
    """Records a run; whether its block was executed shows in a file beside the store."""
    with runcard.record(store, model="m", provider="p", strict=strict) as run:
        run.log("begun", step=1)
        with contextlib.suppress(OSError):  # what becomes of the user's own calls is no concern of ours
            (run.path / "out.txt").touch()
        child = os.fork()
        if child == 0:
            run.log("joined")
            os._exit(0)
        os.waitpid(child, 0)
        run.log("done")
    store.with_suffix(".reached").touch()


def _be_child(store: Path, go: int, *, strict: bool) -> None:
    """Wait until strace watches, then do the work."""
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_long(-1))  # or strace may not watch a cousin
    said, code = io.StringIO(), 1
    sys.stderr = said
    warnings.simplefilter("always")
    try:
        os.read(go, 1)
        record(store, strict=strict)
        code = 0
    except BaseException:  # noqa: BLE001 - the boundary of a process
        traceback.print_exc()
    finally:
        os.kill(os.getpid(), signal.SIGSTOP)  # strace lets go here, so that what follows does not fail
        store.with_suffix(".said").write_text(said.getvalue())
        os._exit(code)


def watched(store: Path, options: list[str], *, strict: bool) -> int:
    """Record a run in a child under strace; its exit code."""
    waiting, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(go)
        _be_child(store, waiting, strict=strict)
    os.close(waiting)
    command = [STRACE, "-p", str(child), *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
        assert strace.stderr is not None
        line = strace.stderr.readline()
        if "attached" not in line:
            os.kill(child, signal.SIGKILL)
            raise PermissionError(line)
        os.close(go)
        os.waitpid(child, os.WUNTRACED)
        strace.send_signal(signal.SIGINT)
        strace.communicate()
    os.kill(child, signal.SIGCONT)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def counted(folder: Path, names: tuple[str, ...]) -> Counter[str]:
    """How often a recording makes each call."""
    log = folder / "calls"
    code = watched(folder / "0", ["-e", f"trace={','.join(names)}", "-o", str(log)], strict=True)
    assert code == 0
    calls = Counter(line.partition("(")[0] for line in log.read_text().splitlines())
    return Counter({name: count for name, count in calls.items() if name in names})


def cases(folder: Path, error: str, *, lasting: bool, strict: bool) -> Iterator[dict[str, Any]]:
    names = WRITING if lasting or strict else WRITING + OTHERS
    for name, count in sorted(counted(folder, names).items()):
        for number in range(1, count + 1):
            store = folder / f"{name}-{number}"
            inject = f"inject={name}:error={error}:when={number}{'+' if lasting else ''}"
            code = watched(store, ["-e", inject, "-e", f"trace={name}", "-o", "/dev/null"], strict=strict)
            yield {
                "call": name,
                "number": number,
                "exit": code,
                "reached": store.with_suffix(".reached").exists(),
                "said": store.with_suffix(".said").read_text(),
                "store": str(store),
            }


def main(folder: str, error: str, lasting: str, strict: str) -> None:
    # The same calls every time, however much other programs write: files one by one, or everything at once.
    sync.__dict__["_bytes_waiting"] = lambda: 1 << 40 if strict == "strict" else 0
    record(Path(folder) / "warm", strict=True)  # everything is loaded once, and not in every child
    sys.path.clear()  # an environment without packages and without git is quick to look at
    os.environ["PATH"] = ""
    try:
        for case in cases(Path(folder), error, lasting=lasting == "lasting", strict=strict == "strict"):
            print(json.dumps(case), flush=True)  # noqa: T201
    except PermissionError as refused:
        print(json.dumps({"skip": str(refused)}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
