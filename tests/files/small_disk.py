"""A small file system of its own, for tests of a full disk."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(target: Path, size: str) -> Iterator[Path]:
    """A file system of so many bytes (`256k`, `1m`) at a path; the test is skipped where nothing may be mounted."""
    target.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", target],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.skip(f"NOT TESTED: a full disk, since nothing may be mounted here: {done.stderr.strip()}")
    try:
        yield target
    finally:
        subprocess.run(["umount", target], check=True)
