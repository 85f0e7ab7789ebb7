"""Validators in an environment of their own; tests that need them are skipped without it."""

import json
import os
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("RUNCARD_TEST_VALIDATORS") or Path(__file__).parents[2] / ".venv-validators")
PYTHON = FOLDER / "bin" / "python"
SCRIPT = Path(__file__).with_name("run_validators.py")

needs_validators = pytest.mark.skipif(
    not (FOLDER / "installed").is_file(),
    reason="NOT TESTED: RO-Crate and CITATION.cff, since the validators are not installed: scripts/install_validators.py",
)


def problems(*paths: Path) -> dict[str, list[str]]:
    """What is wrong with crates and citation files, by name."""
    done = subprocess.run([PYTHON, SCRIPT, *paths], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return {Path(path).name: messages for path, messages in found.items()}
