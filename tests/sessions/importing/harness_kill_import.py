"""A program whose children die at every step of an import: see `runs.harness_kill`.

python -m sessions.importing.harness_kill_import MOMENT HOME FOLDER
"""

import sys
from itertools import count
from json import dumps
from pathlib import Path

from runcard.operations.sessions.import_sessions import import_sessions
from runs import harness_kill
from sessions.collecting.harness_kill import Assassin


def main(moment: str, home: str, folder: str) -> None:
    harness_kill.__dict__["Assassin"] = Assassin

    def job(store: Path) -> None:
        import_sessions("claude-code", [home], artifacts=store)

    harness_kill.JOBS["import"] = job
    job(Path(folder) / "0")  # everything is loaded once, and not in every child
    for number in count(1):
        name = harness_kill.attempt("import", moment, number, Path(folder) / str(number))
        if name is None:
            break
        print(dumps(name), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
