"""The runs in a store and their metadata documents, readable or not."""

import os
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.encoding import JsonObject, Limits, decode_json
from runcard.errors import EncodingError, RuncardError
from runcard.files import failure, read_file
from runcard.store import layout


class RunDocument(NamedTuple):
    """A run and its metadata document, as far as it can be read."""

    path: str
    run_id: str  # the directory's name where the document does not say
    sha256: str | None  # of the metadata document
    document: JsonObject | None
    problem: str | None  # why there is no document


def run_directories(store: str) -> list[str]:
    """The runs in a store, sorted by name, which is by time."""
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


def read_run_document(path: str) -> RunDocument:
    """Read a run's document without validating it."""
    name = os.path.basename(path)
    metadata = os.path.join(path, layout.METADATA)
    if not layout.may_be_file(metadata):
        return RunDocument(path, name, None, None, f"it has no {layout.METADATA}")
    try:
        data = read_file(metadata, Limits().size)
    except RuncardError as error:
        return RunDocument(path, name, None, None, error.message)
    digest = sha256_bytes(data).hex
    try:
        document = decode_json(data)
    except EncodingError as error:
        return RunDocument(path, name, digest, None, f"{layout.METADATA}: {error.message}")
    generation = document.get("generation") if isinstance(document, dict) else None
    if not isinstance(generation, dict):
        return RunDocument(path, name, digest, None, f"{layout.METADATA} is not a generation document")
    run_id = generation.get("run_id")
    return RunDocument(path, run_id if isinstance(run_id, str) and run_id else name, digest, document, None)
