"""Python programs to compare with: installed on first use into `.venv-bench`, never into the environment of the project.

A peer that does not install costs its rows, not the whole benchmark: `unavailable` says why.
"""

import hashlib
import os
import subprocess
import sys
import venv
from functools import cache
from pathlib import Path
from typing import Self

from bench.measuring import ROOT, BenchError, call

FOLDER = ROOT / ".venv-bench"
LIST = Path(__file__).with_name("peers.txt")
TURNS = Path(__file__).with_name("peer_turns.py")
_MOST_SECONDS = 900  # for one peer to install


def requirements() -> dict[str, list[str]]:
    """What pip is asked for, by peer: the first name on each line."""
    lines = (line.split() for line in LIST.read_text("utf-8").splitlines() if line and line[0] != "#")
    return {words[0].partition("==")[0].removesuffix("-skinny"): words for words in lines}


def program(name: str) -> Path:
    """A program of a peer."""
    return FOLDER / "bin" / name


@cache
def unavailable(peer: str) -> str:
    """Why this peer cannot be measured; empty if it can. Installs it if that was not tried before."""
    asked = requirements()[peer]
    digest = hashlib.sha256(" ".join([sys.version, *asked]).encode()).hexdigest()[:16]
    mark = FOLDER / f".{peer}-{digest}"
    if not mark.exists():
        _install(peer, asked, mark)
    return mark.read_text("utf-8")


def _install(peer: str, asked: list[str], mark: Path) -> None:
    print(f"  installing {' '.join(asked)} into {FOLDER.name} ...", file=sys.stderr)
    if not program("python").exists():
        venv.create(FOLDER, with_pip=True)
    pip = [str(program("python")), "-m", "pip", "install", "--quiet", *asked]
    try:
        done = subprocess.run(pip, check=False, capture_output=True, text=True, timeout=_MOST_SECONDS)
        failed = done.returncode != 0
    except subprocess.TimeoutExpired:
        failed = True
    reason = f"not measured: {peer} does not install" if failed else ""
    mark.write_text(reason, "utf-8")


class PeerProcess:
    """A process in the environment of the peers that does one piece of work each time it is asked."""

    def __init__(self, work: str, folder: Path) -> None:
        self._process = subprocess.Popen(
            [program("python"), TURNS, work, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=folder,
            env=os.environ | {"PATH": f"{FOLDER / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"},
        )
        self._work = work

    def __call__(self) -> float:
        """The seconds that the work took."""
        if self._process.stdin is None or self._process.stdout is None:
            raise BenchError("no pipes")
        try:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
            return float(self._process.stdout.readline())
        except (OSError, ValueError):
            raise BenchError(f"{self._work} failed in {FOLDER.name}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


def works(*command: str | Path, cwd: Path) -> bool:
    """Whether a command of a peer succeeds; to prepare it."""
    try:
        call(command, cwd=cwd)
    except (BenchError, OSError):
        return False
    return True
