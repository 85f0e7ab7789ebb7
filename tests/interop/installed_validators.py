"""Validators in an environment of their own."""

import json
import subprocess
from pathlib import Path

from install_tools import VALIDATORS

PYTHON = VALIDATORS / "bin" / "python"
SCRIPT = Path(__file__).with_name("run_validators.py")


def problems(*paths: Path) -> dict[str, list[str]]:
    """What is wrong with crates and citation files, by name."""
    done = subprocess.run([PYTHON, SCRIPT, *paths], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return {Path(path).name: messages for path, messages in found.items()}
