"""A scheduler and two workers, each a process of its own, as an administrator starts them."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import distributed.utils

from waiting import wait_until

TESTS = Path(__file__).parents[1]
_PATIENCE = 60  # seconds


def start_dask_library() -> None:
    """The first use of Dask starts a thread that stays."""
    distributed.utils._offload_executor.submit(int).result()


class DaskProcesses:
    """A cluster. A worker that dies is started again by its nanny; a shard is given up when two workers died of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = "0"  # the scheduler chooses one, and has the same when it is started again
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self._port}"

    def start(self) -> None:
        file = self._folder / "scheduler.json"
        file.unlink(missing_ok=True)
        options = ("--host", "127.0.0.1", "--port", self._port, "--scheduler-file", str(file))
        self._dask("scheduler", *options, "--no-dashboard")
        wait_until(lambda: file.exists() and file.read_bytes().endswith(b"}"), "the scheduler", _PATIENCE)
        self._port = json.loads(file.read_bytes())["address"].rpartition(":")[2]
        self._dask("worker", self.address, "--nworkers", "2", "--nthreads", "1", "--no-dashboard")

    def _dask(self, *arguments: str) -> None:
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")])),
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
            "DASK_TEMPORARY_DIRECTORY": str(self._folder),
            # Idle, they take 3 % of a core for all other tests, not 9 %.
            "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
            "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "5s",
            "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
        }
        environment.pop("COVERAGE_PROCESS_CONFIG", None)
        with open(self._folder / f"{arguments[0]}.log", "ab") as log:
            self._processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", "dask", *arguments],
                    cwd=self._folder,
                    env=environment,
                    stdout=log,
                    stderr=log,
                    process_group=0,
                )
            )

    def stop(self) -> None:
        """End the workers, which have semaphores to remove, then the scheduler: a worker that starts waits for one."""
        for process in reversed(self._processes):
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._processes.clear()
