"""A program whose children die at every step of an import that replaces another: see `runs.harness_kill`.

python -m sessions.importing.harness_kill MOMENT PROJECT TEMPLATE FOLDER
"""

import shutil
import sys
from itertools import count
from json import dumps
from pathlib import Path
from subprocess import run as run_program

from runcard.operations.sessions.import_sessions import import_sessions
from runs import harness_kill
from sessions.collecting.harness_kill import Assassin


def main(moment: str, project: str, template: str, folder: str) -> None:
    harness_kill.__dict__["Assassin"] = Assassin
    harness_kill.CHANGES += ("symlink", "chmod", "utime")  # type: ignore[assignment]

    def job(store: Path) -> None:
        import_sessions("claude-code", [project], artifacts=store)

    harness_kill.JOBS["import"] = job
    copy = shutil.which("cp") or "cp"
    for number in count():
        store = Path(folder) / str(number)
        run_program([copy, "-a", template, store], check=True)
        if number == 0:
            job(store)  # everything is loaded once, and not in every child
            continue
        name = harness_kill.attempt("import", moment, number, store)
        if name is None:
            break
        print(dumps(name), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
