"""`runcard run` as a process of its own, on pipes or on a terminal, in a directory of its own."""

import fcntl
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runcard.operations.checks.verify import verify

RUNCARD = (sys.executable, "-m", "runcard", "run")
TIMEOUT = 60  # seconds; whatever takes longer hangs
SECRET = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCD"  # noqa: S105 - of nobody


@dataclass(frozen=True)
class Done:
    """A command that was run: what it left behind."""

    place: Path
    code: int
    out: bytes
    err: bytes

    @property
    def run(self) -> Path:
        """The directory of the only run here."""
        (found,) = runs(self.place)
        return found

    @property
    def document(self) -> dict[str, Any]:
        return document(self.run)

    @property
    def log(self) -> bytes:
        return (self.run / "output.log").read_bytes()

    @property
    def warnings(self) -> list[str]:
        return [warning["type"] for warning in self.document["warnings"]]


def runs(place: Path, store: str = "outputs") -> list[Path]:
    folder = place / store
    return sorted(path for path in folder.iterdir() if path.name != ".runcard") if folder.exists() else []


def document(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "metadata.json").read_bytes())
    return found


def environment(place: Path, *, measured: bool = False) -> dict[str, str]:
    """Variables of a command that no other run encloses.

    Its coverage is measured only where that is wanted: it takes long, and a command may be stopped at any moment.
    """
    foreign = ("RUNCARD_", "PYTHONWARNINGS", "TRACEPARENT", *(() if measured else ("COVERAGE_",)))
    kept = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return kept | {"HOME": str(place), "PATH": path, "TERM": "xterm", "NO_COLOR": "1", "PS1": "@ "}


class Runner:
    """Starts `runcard run` in a directory."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __call__(self, *arguments: str | bytes, stdin: bytes | None = None, **more: str) -> Done:
        done = subprocess.run(
            [*RUNCARD, *arguments],
            cwd=self.place,
            env=environment(self.place) | more,
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
        assert b"Traceback" not in done.stderr, done.stderr.decode(errors="replace")
        return Done(self.place, done.returncode, done.stdout, done.stderr)

    def python(self, code: str, *, options: Sequence[str] = (), **more: str) -> Done:
        return self(*options, "--", sys.executable, "-c", code, stdin=None, **more)

    @contextmanager
    def started(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """The command at work, as a job of its own; the whole job is gone at the end, whatever happens."""
        with subprocess.Popen(
            [*RUNCARD, *arguments],
            cwd=self.place,
            env=environment(self.place),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        ) as process:
            try:
                yield process
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    def ended(self, process: subprocess.Popen[bytes]) -> Done:
        out, err = process.communicate(timeout=TIMEOUT)
        assert b"Traceback" not in err, err.decode(errors="replace")
        return Done(self.place, process.returncode, out, err)

    def on_terminal(
        self, *arguments: str, size: tuple[int, int] = (24, 80), **files: Any
    ) -> AbstractContextManager["Screen"]:
        """The command on a terminal, which is that of its session."""
        return self._on_terminal(*RUNCARD, *arguments, size=size, **files)

    def shell(self) -> AbstractContextManager["Screen"]:
        """A shell with job control on a terminal."""
        bash = shutil.which("bash")
        assert bash is not None
        return self._on_terminal(bash, "--norc", "--noediting", "-i", size=(24, 200))

    @contextmanager
    def _on_terminal(self, *command: str, size: tuple[int, int], **files: Any) -> Iterator["Screen"]:
        ours, theirs = pty.openpty()
        resize(ours, size)
        streams = {name: files.get(name, theirs) for name in ("stdin", "stdout", "stderr")}
        process = subprocess.Popen(
            [sys.executable, "-c", _LEADER, str(theirs), *command],
            cwd=self.place,
            env=environment(self.place, measured=True),
            pass_fds=[theirs],
            **streams,
        )
        os.close(theirs)
        screen = Screen(self.place, process, ours)
        try:
            yield screen
        finally:
            screen.close()
            process.kill()
            process.wait()


# What a terminal emulator does before it starts a program: the terminal becomes that of a new session.
_LEADER = """
import fcntl, os, sys, termios
os.setsid()
terminal = int(sys.argv[1])
fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
os.close(terminal)
os.execv(sys.argv[2], sys.argv[2:])
"""


def resize(terminal: int, size: tuple[int, int]) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))


class Screen:
    """The other side of a terminal: what a person sees and types."""

    def __init__(self, place: Path, process: subprocess.Popen[bytes], terminal: int) -> None:
        self.place = place
        self.process = process
        self.terminal: int | None = terminal
        self.seen = b""

    def type(self, keys: bytes) -> None:
        assert self.terminal is not None
        os.write(self.terminal, keys)

    def until(self, text: bytes) -> None:
        """Wait until a text was printed."""
        self._read_while(lambda: text not in self.seen)
        assert text in self.seen, self.seen

    def end(self) -> Done:
        """Wait until the command has ended."""
        self._read_while(lambda: True)
        return Done(self.place, self.process.wait(TIMEOUT), self.seen, b"")

    def close(self) -> None:
        """Close the window."""
        if self.terminal is not None:
            os.close(self.terminal)
            self.terminal = None

    def _read_while(self, wanted: Callable[[], bool]) -> None:
        end = time.monotonic() + TIMEOUT
        while wanted() and self.terminal is not None:
            ready, _, _ = select.select([self.terminal], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"nothing came any more: {self.seen!r}"
            try:
                part = os.read(self.terminal, 65536)
            except OSError:  # how Linux says that nobody has the other side any more
                break
            if not part:
                break
            self.seen += part


def is_intact(run: Path) -> bool:
    (result,) = verify(run)
    return result.verdict.intact and result.verdict.complete


def state_of(pid: int) -> str:
    """The letter by which the system tells what a process does: T for stopped, Z or X for dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"
