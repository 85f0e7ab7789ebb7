"""The runs of a store as an experiment sees them: which they are, and what one line says about each."""

import os
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.encoding import JsonObject, Limits, decode_json
from runcard.errors import EncodingError, RuncardError
from runcard.files import failure
from runcard.operations.checks.load import read_document
from runcard.store import layout


class ReadRun(NamedTuple):
    """A run, as far as it can be read."""

    path: str
    run_id: str  # the name of its folder, where it does not say
    sha256: str | None  # of its metadata document
    document: JsonObject | None
    problem: str | None  # why there is no document


def run_folders(store: str) -> list[str]:
    """The runs in a store, in the order of their names, which is that of time."""
    try:
        with os.scandir(store) as scan:
            folders = [entry.path for entry in scan if entry.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise failure(error, store, "read the directory") from error
    own = layout.own_folder(store)
    return sorted(path for path in folders if path != own and _is_run(path))


def _is_run(path: str) -> bool:
    return any(layout.may_be_file(os.path.join(path, name)) for name in (layout.METADATA, layout.JOURNAL))


def read_run(path: str) -> ReadRun:
    """A run's document; what is wrong with it is `runcard validate`'s to tell in full."""
    name = os.path.basename(path)
    metadata = os.path.join(path, layout.METADATA)
    if not layout.may_be_file(metadata):
        return ReadRun(path, name, None, None, f"it has no {layout.METADATA}")
    try:
        data = read_document(metadata, Limits())
    except RuncardError as error:
        return ReadRun(path, name, None, None, error.message)
    digest = sha256_bytes(data).hex
    try:
        document = decode_json(data)
    except EncodingError as error:
        return ReadRun(path, name, digest, None, f"{layout.METADATA}: {error.message}")
    generation = document.get("generation") if isinstance(document, dict) else None
    if not isinstance(generation, dict):
        return ReadRun(path, name, digest, None, f"{layout.METADATA} is no generation document")
    run_id = generation.get("run_id")
    return ReadRun(path, run_id if isinstance(run_id, str) and run_id else name, digest, document, None)
