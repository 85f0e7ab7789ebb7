"""The overhead of `runcard run`, compared with the command alone and, if installed, with `datalad run`.

datalad needs git-annex and a virtual environment of its own; set DATALAD to its path:

    python3 -m venv /tmp/datalad && /tmp/datalad/bin/pip install datalad && export DATALAD=/tmp/datalad/bin/datalad
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from table import Row, print_table

RUNCARD = str(Path(sys.executable).with_name("runcard"))
MOST = 120.0  # milliseconds over the command alone


def measure(*, quick: bool = False) -> list[Row]:
    rounds = 10 if quick else 40
    with tempfile.TemporaryDirectory() as name:  # no repository: what git takes is not ours
        folder = Path(name)
        ours, alone = _least(rounds, folder, [RUNCARD, "run", "--quiet", "--", "true"], ["true"])
        added = (ours - alone) * 1e3
        rows = [Row("run `true` and record it", added, "the target", MOST, "ms", "<= 1 x", ok=added <= MOST)]
        if peer := _dataset(folder / "dataset"):
            theirs, alone = _least(3 if quick else 10, folder / "dataset", [peer, "run", "true"], ["true"])
            theirs_added = (theirs - alone) * 1e3
            good = theirs_added >= 2 * added
            rows.append(Row("the same", added, "datalad run", theirs_added, "ms", ">= 2 x", ok=good))
    return rows


def _dataset(folder: Path) -> str | None:
    """A working datalad with a dataset; prints why if there is none."""
    datalad = os.environ.get("DATALAD") or shutil.which("datalad")
    if datalad is None:
        print("  datalad is not installed: no row for it", file=sys.stderr)
        return None
    made = subprocess.run([datalad, "create", folder], check=False, capture_output=True, text=True)
    if made.returncode != 0:
        print(f"  datalad does not work here: {made.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return datalad


def _least(rounds: int, folder: Path, *commands: list[str]) -> list[float]:
    """The shortest time of each command; they take turns, so that other load affects all of them."""
    least = [float("inf")] * len(commands)
    for _ in range(rounds):
        for place, command in enumerate(commands):
            least[place] = min(least[place], _seconds(command, folder))
    return least


def _seconds(command: list[str], folder: Path) -> float:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RUNCARD_")}
    began = time.perf_counter()
    subprocess.run(
        command,
        check=True,
        cwd=folder,
        env=kept | {"PYTHONDONTWRITEBYTECODE": ""},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - began


if __name__ == "__main__":
    print_table(measure(quick="--quick" in sys.argv))
