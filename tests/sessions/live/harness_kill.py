"""A program whose children die at every step of a session, or of its end from a shell: see `runs.harness_kill`.

python -m sessions.live.harness_kill MOMENT FOLDER [session | finish]
"""

import sys
from itertools import count
from json import dumps
from pathlib import Path

import runcard
from runcard.files import sync_filesystem
from runcard.operations.sessions import assembly
from runcard.operations.sessions.shell_session import finish_named, join_session, start_session
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


def begin(store: Path) -> None:
    """A session from a shell, with an agent that has files."""
    work = store.parent / "work"
    work.mkdir(exist_ok=True)
    (work / "result.txt").write_text("result\n")
    start_session("team.deadbeef", artifacts=str(store))
    join_session("team.deadbeef", str(store)).start_instance("coder", workspace=work).log("hello")


def finish(store: Path) -> None:
    finish_named("team.deadbeef", str(store), "completed")


def main(moment: str, folder: str, job: str = "session") -> None:
    harness_kill.__dict__["Assassin"] = Assassin
    harness_kill.JOBS.update({"session": record, "finish": finish})
    for number in count(0):
        store = Path(folder) / str(number)
        if job == "finish":
            begin(store)
        if number == 0:  # everything is loaded once, and not in every child
            harness_kill.JOBS[job](store)
            continue
        name = harness_kill.attempt(job, moment, number, store)
        if name is None:
            break
        print(dumps(name), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
