"""`runcard` in processes of their own, which are forked from one that has imported all of it: most of a start is importing.

What a test sees is as if it had started `python -m runcard`: exit code, output, limits, and death by a signal. A command that
leaves a process behind fails its test.
"""

import atexit
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

SECONDS = 120  # far more than any command takes, even on a busy machine
FOREIGN = ("ARTIFACT", "COVERAGE_", "PRESERVE_", "RUNCARD_", "TRACEPARENT")
UNUSED = ("runcard.mcp_server", "runcard.pytest_plugin", "runcard.web")  # large, and nothing here calls them
GRACE = 10.0  # seconds for processes that are ending when their command has ended
PR_SET_CHILD_SUBREAPER = 36


class CommandServer:
    """The process that forks, seen from the tests. It serves one command at a time."""

    def __init__(self) -> None:
        self._connection, other = socket.socketpair()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
        with other:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(other.fileno())], env=kept, pass_fds=[other.fileno()]
            )
        self._replies = self._connection.makefile("rb", buffering=0)

    def close(self) -> None:
        self._replies.close()
        self._connection.close()
        self._process.wait()

    def run(
        self,
        *arguments: str | Path,
        folder: Path,
        environment: Mapping[str, str],
        memory: int | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end. One that does not end in time is killed, and fails the test."""
        with TemporaryDirectory() as outputs:
            out, err = Path(outputs, "out"), Path(outputs, "err")
            command = list(map(str, arguments))
            request = {
                "arguments": command,
                "folder": str(folder),
                "environment": dict(environment),
                "memory": memory,
                "outputs": [str(out), str(err)],
            }
            self._connection.sendall(json.dumps(request).encode() + b"\n")
            process = int(self._replies.readline())
            if not select.select([self._replies], [], [], SECONDS + GRACE)[0]:
                os.kill(process, signal.SIGKILL)
                self._replies.readline()
                raise subprocess.TimeoutExpired(command, SECONDS)
            status, *left = json.loads(self._replies.readline())
            assert not left, f"{command} left processes behind: {left}"
            return subprocess.CompletedProcess(
                command, os.waitstatus_to_exitcode(status), out.read_text(), err.read_text()
            )


_RUNNING: list[CommandServer] = []


@contextmanager
def running_server() -> Iterator[None]:
    """While this lasts, `runcard` below works."""
    server = CommandServer()
    _RUNNING.append(server)
    try:
        yield
    finally:
        _RUNNING.remove(server)
        server.close()


def runcard(
    folder: Path,
    *arguments: str | Path,
    memory: int | None = None,
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, with no settings but those that lie there. `memory` is bytes of address space."""
    (server,) = _RUNNING
    own = {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN)}
    return server.run(*arguments, folder=folder, environment=own | dict(variables or {}), memory=memory)


_EXIT_CODES: list[int] = []


def serve(connection: int) -> None:
    """Fork for each request; say the number of the process, and when it has ended, how it did and what it left behind.

    What the command started and did not wait for becomes a child of this process.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    atexit.register(_leave)  # before runcard registers its own functions: what comes first is called last
    _import_all()
    with socket.socket(fileno=connection) as own, own.makefile("rb") as requests:
        for line in requests:
            process = os.fork()
            if process == 0:
                requests.close()
                own.close()
                _be_command(**json.loads(line))
            own.sendall(b"%d\n" % process)
            status = os.waitpid(process, 0)[1]
            own.sendall(json.dumps([status, *_end_children()]).encode() + b"\n")


def _end_children() -> list[str]:
    """Wait for all children; kill those that stay, and return their command lines."""
    killed: dict[str, str] = {}
    end = time.monotonic() + GRACE
    while True:
        try:
            has_ended = os.waitpid(-1, os.WNOHANG)[0]
        except ChildProcessError:
            return list(killed.values())
        if not has_ended and time.monotonic() > end:
            for number in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
                killed.setdefault(number, Path(f"/proc/{number}/cmdline").read_text().replace("\0", " "))
                os.kill(int(number), signal.SIGKILL)
        time.sleep(0 if has_ended else 0.002)


def _import_all() -> None:
    for module in pkgutil.walk_packages(importlib.import_module("runcard").__path__, "runcard."):
        if not module.name.startswith(UNUSED) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def _be_command(
    arguments: list[str], folder: str, environment: dict[str, str], memory: int | None, outputs: list[str]
) -> NoReturn:
    for number, path in enumerate([os.devnull, *outputs]):
        file = os.open(path, os.O_WRONLY | os.O_CREAT if number else os.O_RDONLY, 0o600)
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[0] = os.getcwd()  # as `python -m` does it
    sys.argv[1:] = arguments
    if memory is not None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    _EXIT_CODES.append(importlib.import_module("runcard.cli.main").main())
    sys.exit()


def _leave() -> None:
    """End a command here: Python would touch each object of all modules, which copies their memory."""
    if _EXIT_CODES:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_EXIT_CODES[0])


if __name__ == "__main__":
    serve(int(sys.argv[1]))
