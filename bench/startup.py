"""The time of `--help`, compared with the bare interpreter."""

import os
import subprocess
import sys
import time
from pathlib import Path

from table import Row, print_table

RUNCARD = str(Path(sys.executable).with_name("runcard"))


def measure(*, quick: bool = False) -> list[Row]:
    rounds = 10 if quick else 40
    bare = [sys.executable, "-c", "pass"]
    cases = [
        ("runcard --help", [RUNCARD, "--help"], 5.0),
        ("runcard validate --help", [RUNCARD, "validate", "--help"], 7.0),
        ("runcard migrate --help", [RUNCARD, "migrate", "--help"], 7.0),
    ]
    best = dict.fromkeys(["bare", *(name for name, _, _ in cases)], float("inf"))
    for _ in range(rounds):  # in turns, so that a busy moment hits all of them
        best["bare"] = min(best["bare"], _seconds(bare))
        for name, command, _ in cases:
            best[name] = min(best[name], _seconds(command))
    return [
        Row(
            work=name,
            ours=best[name] * 1e3,
            peer="python -c pass",
            theirs=best["bare"] * 1e3,
            unit="ms",
            target=f"<= {most:g} x",
            ok=best[name] <= most * best["bare"],
        )
        for name, _, most in cases
    ]


def _seconds(command: list[str]) -> float:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - began


if __name__ == "__main__":
    print_table(measure(quick="--quick" in sys.argv))
