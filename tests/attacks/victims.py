"""Somebody's own files, which no stranger's file may touch."""

import os
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
