"""A program whose children die at every step of archiving, restoring and pruning: see `runs.harness_kill`.

python -m archives.harness_kill JOB MOMENT TEMPLATE FOLDER
"""

import shutil
import sys
from itertools import count
from json import dumps
from pathlib import Path
from subprocess import run as run_program

from runcard.files import sync_filesystem
from runcard.operations.archives import restore as restoring
from runcard.operations.archives.archive import archive
from runcard.operations.archives.candidates import candidates, delete_intact
from runcard.operations.archives.restore import restore
from runs import harness_kill


class Assassin(harness_kill.Assassin):
    """The same, where a record that comes back is made durable."""

    def watch(self) -> None:
        super().watch()
        restoring.__dict__["sync_filesystem"] = self._watched("syncfs", sync_filesystem)


def archive_all(store: Path) -> None:
    for record in sorted(store.glob("2*")):
        archive(record)


def restore_all(store: Path) -> None:
    for packed in sorted(store.glob("archive/*/*.tar.gz")):
        restore(packed)


def prune_all(store: Path) -> None:
    for _ in delete_intact(candidates([str(store)], max_size=1).records, on_kept=print):
        pass


JOBS = {"archive": archive_all, "restore": restore_all, "prune": prune_all}


def main(job: str, moment: str, template: str, folder: str) -> None:
    harness_kill.__dict__["Assassin"] = Assassin
    harness_kill.CHANGES += ("symlink", "chmod", "utime")  # type: ignore[assignment]
    harness_kill.JOBS.update(JOBS)
    copy = shutil.which("cp") or "cp"
    for number in count():
        store = Path(folder) / str(number)
        run_program([copy, "-a", template, store], check=True)
        if number == 0:
            JOBS[job](store)  # everything is loaded once, and not in every child
            continue
        name = harness_kill.attempt(job, moment, number, store)
        if name is None:
            break
        print(dumps(name), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
