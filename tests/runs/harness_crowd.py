"""A program whose children all record at the same moment.

    python -m runs.harness_crowd STORE COUNT [RUNS]

Each of them records RUNS runs, one after the other. It prints the exit codes and how long it took.
"""

import json
import os
import sys
import time
import traceback
from pathlib import Path

import runcard


def record(store: Path, me: str) -> None:
    with runcard.record(store, model="m", provider="p", strict=True) as run:
        for _ in range(3):
            run.log("spoke", me=me)
        (run.path / "me").write_text(me)


def start(store: Path, names: list[str], waiting: int, go: int) -> int:
    """A child that waits for the signal to start: the end of a pipe that nobody holds any more."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.close(go)
        os.read(waiting, 1)
        for name in names:
            record(store, name)
        code = 0
    except BaseException:  # noqa: BLE001 - the boundary of a process
        traceback.print_exc()
    finally:
        os._exit(code)


def main(store: str, count: str, runs: str = "1") -> None:
    record(Path("warm"), "nobody")  # everything is loaded once, and not in every child
    sys.path.clear()  # an environment without packages and without git is quick to look at
    os.environ["PATH"] = ""
    waiting, go = os.pipe()
    names = [[f"process {number}, run {run}" for run in range(int(runs))] for number in range(int(count))]
    children = [start(Path(store), mine, waiting, go) for mine in names]
    begun = time.monotonic()
    os.close(go)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    print(json.dumps({"codes": codes, "seconds": time.monotonic() - begun}))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
