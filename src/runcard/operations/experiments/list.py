"""List the experiments. Listing writes nothing, and a broken experiment does not hide the others."""

import os
from typing import NamedTuple

from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import failure, is_safe_id, printable
from runcard.store import layout
from runcard.store.experiments import CREATED, DESCRIPTION, ID, read_experiment_config
from runcard.store.runs.documents import archived_runs, read_run_document, run_directories


class ExperimentLine(NamedTuple):
    """One experiment of the list."""

    name: str
    path: str
    experiment_id: str | None  # None until its first run, if the folder was made by hand
    created_at: str | None
    description: str | None
    runs: int | None
    last_run: str | None  # when its last run started
    problem: str | None  # what is wrong with it

    def to_dict(self) -> JsonObject:
        return self._asdict() | {"problem": printable(self.problem) if self.problem else None}


def list_experiments() -> list[ExperimentLine]:
    """Every experiment that has a folder, sorted by name."""
    try:
        with os.scandir(layout.EXPERIMENTS) as scan:
            names = sorted(entry.name for entry in scan if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise failure(error, layout.EXPERIMENTS, "read the directory") from error
    return [_line(name) for name in names if is_safe_id(name)]


def _line(name: str) -> ExperimentLine:
    path = layout.experiment_folder(name)
    try:
        config = read_experiment_config(path)
        outputs = os.path.join(path, layout.OUTPUTS)
        runs = sorted([*run_directories(outputs), *archived_runs(outputs)], key=os.path.basename)
    except RuncardError as error:
        return ExperimentLine(name, path, None, None, None, None, None, error.message)
    started = _started(runs[-1]) if runs else None
    own_keys = (config.get(ID), config.get(CREATED), config.get(DESCRIPTION))
    return ExperimentLine(name, path, *own_keys, len(runs), started, None)


def _started(run: str) -> str | None:
    document = read_run_document(run).document or {}
    started = document.get("generation", {}).get("timestamp_start")
    return started if isinstance(started, str) else None
