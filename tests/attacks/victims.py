"""Somebody's own files, which no stranger's file may touch, and the command line that they use."""

import os
import subprocess
import sys
from pathlib import Path


def precious(folder: Path, *names: str) -> dict[str, bytes]:
    """Make files in a folder of the victim's; what they hold."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or ("thesis.txt", "keys.txt", "experiment.jsonl"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"precious {name}\n")
    return contents(folder)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder by its path, and every directory."""
    found = {}
    for path in sorted(folder.rglob("*")):
        data = (
            os.readlink(path).encode() if path.is_symlink() else b"" if path.is_dir() else path.read_bytes()
        )
        found[str(path.relative_to(folder))] = data
    return found


def runcard(folder: Path, *arguments: str | Path, timeout: float = 60) -> "subprocess.CompletedProcess[str]":
    """`runcard` as a process of its own in a folder, with no settings but those that lie there."""
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("ARTIFACT", "PRESERVE_", "RUNCARD_"))
    }
    command = [sys.executable, "-m", "runcard", *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout, check=False
    )
