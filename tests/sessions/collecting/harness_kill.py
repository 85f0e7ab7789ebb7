"""A program whose children die at every step of a collection: see `runs.harness_kill`.

python -m sessions.collecting.harness_kill MOMENT SPEC FOLDER
"""

import sys
from itertools import count
from json import dumps
from pathlib import Path

import runcard
from runcard.files import sync_filesystem
from runcard.operations.sessions import assembly
from runs import harness_kill


class Assassin(harness_kill.Assassin):
    """The same, where a collection makes files durable."""

    def watch(self) -> None:
        super().watch()
        assembly.__dict__["sync_filesystem"] = self._watched("syncfs", sync_filesystem)


def main(moment: str, spec: str, folder: str) -> None:
    harness_kill.__dict__["Assassin"] = Assassin
    harness_kill.CHANGES += ("symlink", "chmod", "utime")  # type: ignore[assignment]

    def job(store: Path) -> None:
        runcard.collect(spec, artifacts=store)

    harness_kill.JOBS["collect"] = job
    runcard.collect(spec, artifacts=Path(folder) / "0")  # everything is loaded once, and not in every child
    for number in count(1):
        name = harness_kill.attempt("collect", moment, number, Path(folder) / str(number))
        if name is None:
            break
        print(dumps(name), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
