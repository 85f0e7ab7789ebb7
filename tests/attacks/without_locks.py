"""Real processes whose every `flock` fails, as on NFS without lockd, some FUSE file systems and some containers."""

import subprocess
import sys
from pathlib import Path

from runs.harness import environment

RUNCARD = (sys.executable, "-m", "runcard")


def without_locks(*command: str | Path, error: str = "ENOLCK") -> list[str]:
    """A command line under which each `flock` of the command and its children fails."""
    inject = ["-e", "trace=flock", "-e", f"inject=flock:error={error}"]
    return ["strace", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", *inject, *map(str, command)]


def start(place: Path, *command: str | Path, error: str = "ENOLCK") -> "subprocess.Popen[str]":
    return subprocess.Popen(
        without_locks(*command, error=error),
        cwd=place,
        env=environment(HOME=str(place)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(
    place: Path, *command: str | Path, error: str = "ENOLCK", code: int = 0
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, which must have this exit code."""
    process = start(place, *command, error=error)
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, err
    assert "Traceback" not in err
    return subprocess.CompletedProcess(command, process.returncode, out, err)
