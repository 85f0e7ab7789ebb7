"""A scheduler and two workers, each a process of its own, as an administrator starts them."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

TESTS = Path(__file__).parents[1]
_PATIENCE = 60  # seconds


class DaskProcesses:
    """A cluster. A worker that dies is started again by its nanny; a shard is given up when two workers died of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        host, port = self.address.removeprefix("tcp://").split(":")
        self._dask("scheduler", "--host", host, "--port", port, "--no-dashboard")
        self._dask("worker", self.address, "--nworkers", "2", "--nthreads", "1", "--no-dashboard")
        deadline = time.monotonic() + _PATIENCE
        while not self._answers():
            assert time.monotonic() < deadline, "the scheduler does not start"
            time.sleep(0.1)

    def _dask(self, *arguments: str) -> None:
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")])),
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
            "DASK_TEMPORARY_DIRECTORY": str(self._folder),
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

    def _answers(self) -> bool:
        host, port = self.address.removeprefix("tcp://").split(":")
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
            return True
        return False

    def stop(self) -> None:
        """Kill the scheduler, and end the workers, which have semaphores to remove."""
        for process in self._processes:
            process.send_signal(signal.SIGTERM if process is not self._processes[0] else signal.SIGKILL)
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._processes.clear()
