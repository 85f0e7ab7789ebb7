"""`runcard` as a process of its own, the way people start it. Whatever happens, it ends and shows no traceback."""

import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

RUNCARD = (sys.executable, "-m", "runcard")
TIMEOUT = 30  # seconds; a command that takes longer hangs

Argument = str | bytes | Path

# What the surroundings of the tests must not decide.
_FOREIGN = (
    "CLICOLOR_FORCE",
    "FORCE_COLOR",
    "NO_COLOR",
    "PYTHONUNBUFFERED",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "PYTHONWARNINGS",
    "_RUNCARD_COMPLETE",
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a process left behind."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def messages(self) -> str:
        return self.err.decode()


def environment(extra: Mapping[str, str] | None = None, *, measured: bool = False) -> dict[str, str]:
    """The environment of a child; the lines it runs are counted only when that is asked for, since it takes long."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in _FOREIGN and (measured or not name.startswith("COVERAGE"))
    }
    return {**kept, "TERM": "xterm", **(extra or {})}


def runcard(
    *arguments: Argument,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    measured: bool = False,
    with_traceback: bool = False,
) -> Outcome:
    """Run the command to its end; only who asks for a traceback may get one."""
    command, variables = (*RUNCARD, *arguments), environment(env, measured=measured)
    return finished(command, stdin=stdin, env=variables, cwd=cwd, with_traceback=with_traceback)


def redirected(redirection: str, *arguments: Argument) -> Outcome:
    """Run the command with a shell's redirection, such as `>&-`."""
    shell = ("sh", "-c", f'exec "$@" {redirection}', "sh")
    return finished((*shell, *RUNCARD, *arguments), env=environment(measured=True))


def finished(
    command: Sequence[Argument],
    *,
    env: Mapping[str, str],
    stdin: bytes = b"",
    cwd: Path | None = None,
    with_traceback: bool = False,
) -> Outcome:
    done = subprocess.run(
        command, input=stdin, capture_output=True, env=env, cwd=cwd, timeout=TIMEOUT, check=False
    )
    if with_traceback:
        return Outcome(done.returncode, done.stdout, done.stderr)
    return _judged(done.returncode, done.stdout, done.stderr)


# The interpreter may lie where only root can read: it is started as root, loads what it needs, and gives its rights up.
_AS_USER = """\
import io, os, sys
import runcard.files.rename_noreplace, runcard.operations.amendments.migrate_many
from runcard.cli import app, main, batch
from runcard.cli.amendments import migrate
from runcard.documents.reader import KINDS, parse_document
streams = sys.stdout, sys.stderr
sys.stdout = sys.stderr = io.TextIOWrapper(io.BytesIO())
app.run(["validate", "--json", "/dev/null"])
app.run(["validate", "/dev/null"])
sys.stdout, sys.stderr = streams
for kind in KINDS.values():
    for version in kind.versions:
        parse_document(b'{"%s": "%s"}' % (kind.version_key.encode(), version.encode()), kind=kind.name)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
sys.exit(main.main())
"""


def runcard_as_user(*arguments: Argument) -> Outcome:
    """Run the command as somebody whom permissions stop; root may read everything."""
    command = (sys.executable, "-c", _AS_USER, *arguments)
    return finished(command, env=environment())


def runcard_on_terminal(
    *arguments: Argument,
    env: Mapping[str, str] | None = None,
    stdout: int | None = None,
    program: str | None = None,
) -> tuple[int, str]:
    """Run the command with a terminal for stderr, and for stdout unless told otherwise; what the terminal got.

    `program` is Python source that is run in place of `python -m runcard`.
    """
    start = RUNCARD if program is None else (sys.executable, "-c", program)
    master, slave = pty.openpty()
    try:
        process = subprocess.Popen(
            (*start, *arguments),
            stdin=subprocess.DEVNULL,
            stdout=slave if stdout is None else stdout,
            stderr=slave,
            env=environment(env),
        )
    finally:
        os.close(slave)
    watchdog = threading.Timer(TIMEOUT, process.kill)
    watchdog.start()
    seen = _drained(master).decode()
    code = process.wait()
    watchdog.cancel()
    assert code != -signal.SIGKILL, f"it hangs after {seen}"
    assert "Traceback" not in seen, seen
    return code, seen


def _drained(master: int) -> bytes:
    parts = []
    try:
        while part := os.read(master, 65536):
            parts.append(part)
    except OSError:  # how Linux says that nobody has the other end any more
        pass
    finally:
        os.close(master)
    return b"".join(parts)


def _judged(code: int, out: bytes, err: bytes) -> Outcome:
    assert b"Traceback" not in err, err.decode(errors="replace")
    assert b"Exception ignored" not in err, err.decode(errors="replace")
    return Outcome(code, out, err)
