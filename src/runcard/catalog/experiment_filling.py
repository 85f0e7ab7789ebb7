"""Fill the catalog with the folders of experiments, which need not have runs yet: only those whose config.yaml changed."""

import os
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from runcard.catalog.database import CatalogDatabase
from runcard.documents.times import parse_time
from runcard.errors import RuncardError
from runcard.files import json_name
from runcard.store import layout
from runcard.store.experiments import CREATED, DESCRIPTION, ID, read_experiment_config

_INSERT = "INSERT INTO experiments (host, path, fingerprint, name, experiment_id, created, description) VALUES (?, ?, ?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM experiments WHERE host = ? AND path = ?"
_LONGEST = 1000  # characters of a description


def fill_experiments(database: CatalogDatabase, folders: Iterable[str]) -> None:
    """Bring the rows of these folders up to date. One that cannot be reached keeps its row."""
    known = dict(database.rows("SELECT path, fingerprint FROM experiments WHERE host = ?", (database.host,)))
    changes: dict[str, tuple[Any, ...] | None] = {}
    for folder in folders:
        path = json_name(folder).text
        fingerprint = _fingerprint(folder)
        if fingerprint is None:
            if path in known and os.path.isdir(os.path.dirname(folder)):
                changes[path] = None
        elif known.get(path) != fingerprint:
            changes[path] = (database.host, path, fingerprint, *_row(folder))
    if changes:
        with database.writing():
            for path, row in changes.items():
                database.query(_DELETE, (database.host, path))
                if row is not None:
                    database.query(_INSERT, row)


def forget_experiment(database: CatalogDatabase, folder: str) -> None:
    """Remove the row of a folder."""
    database.query(_DELETE, (database.host, json_name(folder).text))


def experiment_folder_of(store: str) -> str | None:
    """The folder of the experiment whose runs go to a store; None for another store."""
    folder, name = os.path.split(store)
    parent = os.path.basename(os.path.dirname(folder))
    return folder if name == layout.OUTPUTS and parent == layout.EXPERIMENTS else None


def _fingerprint(folder: str) -> str | None:
    """What tells a version of config.yaml from another; None where there is no folder."""
    try:
        status = os.stat(os.path.join(folder, layout.CONFIG))
    except OSError:
        return "-" if os.path.isdir(folder) else None
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}"


def _row(folder: str) -> tuple[Any, ...]:
    """Name, id, time and description. Of a config.yaml that cannot be read, only the name is known."""
    name = json_name(os.path.basename(folder)).text
    try:
        config = read_experiment_config(folder)
    except RuncardError:
        config = {}
    created = parse_time(config.get(CREATED) or "")
    text = config.get(DESCRIPTION)
    return (
        name,
        config.get(ID),
        _milliseconds(created),
        json_name(text).text[:_LONGEST] if text else None,
    )


def _milliseconds(moment: datetime | None) -> int | None:
    try:
        return None if moment is None else round(moment.timestamp() * 1000)
    except (OverflowError, ValueError):
        return None
