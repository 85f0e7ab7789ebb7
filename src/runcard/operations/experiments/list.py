"""The experiments that there are. Looking at them writes nothing, and one that is broken hides no other."""

import os
from typing import NamedTuple

from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import failure, is_safe_id, printable
from runcard.operations.experiments import CREATED, DESCRIPTION, ID, read_config
from runcard.operations.experiments.runs import read_run, run_folders
from runcard.store import layout


class Listed(NamedTuple):
    """One of them."""

    name: str
    path: str
    experiment_id: str | None  # None until its first run, where the folder was made by hand
    created_at: str | None
    description: str | None
    runs: int | None
    last_run: str | None  # when its last run was started
    problem: str | None  # what is wrong with it

    def to_dict(self) -> JsonObject:
        return self._asdict() | {"problem": printable(self.problem) if self.problem else None}


def experiments() -> list[Listed]:
    """Every experiment that has a folder, in the order of names."""
    try:
        with os.scandir(layout.EXPERIMENTS) as scan:
            names = sorted(entry.name for entry in scan if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise failure(error, layout.EXPERIMENTS, "read the directory") from error
    return [_listed(name) for name in names if is_safe_id(name)]


def _listed(name: str) -> Listed:
    path = layout.experiment_folder(name)
    try:
        config = read_config(path)
        runs = run_folders(os.path.join(path, layout.OUTPUTS))
    except RuncardError as error:
        return Listed(name, path, None, None, None, None, None, error.message)
    started = _started(runs[-1]) if runs else None
    said = (config.get(ID), config.get(CREATED), config.get(DESCRIPTION))
    return Listed(name, path, *said, len(runs), started, None)


def _started(run: str) -> str | None:
    document = read_run(run).document or {}
    started = document.get("generation", {}).get("timestamp_start")
    return started if isinstance(started, str) else None
