"""A program whose children die at every step of a session: see `runs.harness_kill`.

python -m sessions.live.harness_kill MOMENT FOLDER
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
    """The same, where a session makes files durable."""

    def watch(self) -> None:
        super().watch()
        assembly.__dict__["sync_filesystem"] = self._watched("syncfs", sync_filesystem)


def record(store: Path) -> None:
    with runcard.Session("team.deadbeef", artifacts=store, strict=True) as session:
        lead = session.start_instance("lead")
        worker = session.start_instance("worker", parent=lead)
        worker.log("hello")
        worker.finish()


def main(moment: str, folder: str) -> None:
    harness_kill.__dict__["Assassin"] = Assassin
    harness_kill.JOBS["session"] = record
    record(Path(folder) / "0")  # everything is loaded once, and not in every child
    for number in count(1):
        name = harness_kill.attempt("session", moment, number, Path(folder) / str(number))
        if name is None:
            break
        print(dumps(name), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
