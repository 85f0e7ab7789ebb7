"""A program whose children die at every step of an amendment: see `runs.harness_kill`.

python -m amendments.harness_kill JOB MOMENT TEMPLATE FOLDER
"""

import json
import shutil
import sys
from itertools import count
from pathlib import Path

from runcard.operations.amendments.amend import amend
from runcard.operations.amendments.record_migration import migrate_in_record
from runcard.operations.amendments.redact import redact
from runs import harness_kill


def record_in(store: Path) -> Path:
    """The one record of a store."""
    (found,) = (path for path in store.iterdir() if not path.name.startswith("."))
    return found


def archive_in(store: Path) -> Path:
    """The one archive of a store."""
    (found,) = store.glob("archive/*/*.tar.gz")
    return found


def job(name: str, store: Path) -> None:
    if name == "archived":
        redact(archive_in(store), files=["**/notes.*"], reason="law", by="ada")
        return
    record = record_in(store)
    if name == "files":
        redact(record, files=["**/notes.*"], reason="law", by="ada")
    elif name == "events":
        redact(record, events=["2"], reason="law", by="ada")
    elif name == "rule":
        redact(record, rules=["anthropic-key"], reason="law", by="ada")
    elif name == "note":
        amend(record, "note", "checked", by="ada")
    else:
        migrate_in_record(record, "1.0.0")


def main(name: str, moment: str, template: str, folder: str) -> None:
    harness_kill.JOBS[name] = lambda store: job(name, store)
    shutil.copytree(template, Path(folder) / "0", symlinks=True)
    job(name, Path(folder) / "0")  # everything is loaded once, and not in every child
    for number in count(1):
        store = Path(folder) / str(number)
        shutil.copytree(template, store, symlinks=True)
        died_at = harness_kill.attempt(name, moment, number, store)
        if died_at is None:
            break
        print(json.dumps(died_at), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
