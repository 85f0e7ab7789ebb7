"""Install validators that the tests run, and that cannot share an environment with runcard: `python scripts/install_validators.py`.

They are roc-validator, for RO-Crate, and cffconvert, for CITATION.cff. They are installed into `.venv-validators`, or the folder
that RUNCARD_TEST_VALIDATORS names, about 90 MB. The versions are fixed here. Nothing is done where they are installed already.

Exit code: 0, or 1 with one line on stderr where they cannot be installed; the tests that need them are skipped then.
"""  # noqa: INP001

import os
import subprocess
import sys
import venv
from pathlib import Path

VERSIONS = ("roc-validator==0.13.0", "cffconvert==2.0.0")
_TIMEOUT = 600  # seconds


def validator_folder() -> Path:
    """Where the validators are installed."""
    return Path(os.environ.get("RUNCARD_TEST_VALIDATORS") or Path(__file__).parents[1] / ".venv-validators")


def main() -> int:
    folder = validator_folder()
    done = folder / "installed"  # written last
    if done.is_file() and done.read_text().split() == list(VERSIONS):
        return 0
    venv.create(folder, with_pip=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *VERSIONS]
    try:
        result = subprocess.run(pip, capture_output=True, text=True, timeout=_TIMEOUT, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return _refuse("pip did not end")
    if result.returncode != 0:
        return _refuse((result.stderr.strip().splitlines() or ["pip failed"])[-1])
    done.write_text("\n".join(VERSIONS) + "\n")
    return 0


def _refuse(reason: str) -> int:
    sys.stderr.write(f"Error: the validators cannot be installed: {reason}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
