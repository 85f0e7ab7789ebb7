"""A program whose children die at every step of a command, each in a copy of a folder: see `runs.harness_kill`.

python -m attacks.kill_commands TEMPLATE FOLDER COMMAND...
"""

import json
import os
import shutil
import sys
from contextlib import redirect_stdout
from itertools import count
from pathlib import Path

from runcard.cli.main import main as run_command
from runs import harness_kill


def main(template: str, folder: str, *command: str) -> None:
    def job(place: Path) -> None:
        os.chdir(place)
        sys.argv[1:] = command
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            run_command()

    harness_kill.JOBS["command"] = job
    for number in count(0):
        place = Path(folder) / str(number)
        shutil.copytree(template, place, symlinks=True)
        if number == 0:
            harness_kill.attempt("command", "before", 1 << 30, place)  # nobody dies
        elif harness_kill.attempt("command", "before", number, place) is None:
            break
        print(json.dumps(str(place)), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
