"""The runs in a store, archived ones included, and their metadata documents, readable or not."""

import os
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.encoding import JsonObject, Limits, decode_json
from runcard.errors import EncodingError, RuncardError
from runcard.files import failure, read_file
from runcard.store import layout


class RunDocument(NamedTuple):
    """A run and its metadata document, as far as it can be read."""

    path: str  # of its directory, or of its archive
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


def archived_runs(store: str) -> list[str]:
    """The archives of runs that have no directory in the store any more, sorted by name."""
    if not os.path.lexists(layout.archive_folder(store)):
        return []
    from runcard.store.archives.index import ArchiveFolder  # noqa: PLC0415 - long to load

    entries = sorted(ArchiveFolder.of_store(store), key=lambda entry: entry.name)
    return [
        entry.path
        for entry in entries
        if entry.kind == "run" and os.path.isfile(entry.path) and not _is_run(os.path.join(store, entry.name))
    ]


def read_run_document(path: str) -> RunDocument:
    """Read the document of a run, in its directory or in an archive, without validating it."""
    name = os.path.basename(path)
    try:
        data = _archived_document(path) if layout.is_archive(path) else _document_in(path)
    except RuncardError as error:
        return RunDocument(path, name, None, None, error.message)
    if data is None:
        return RunDocument(path, name, None, None, f"it has no {layout.METADATA}")
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


def _document_in(folder: str) -> bytes | None:
    metadata = os.path.join(folder, layout.METADATA)
    return read_file(metadata, Limits().size) if layout.may_be_file(metadata) else None


def _archived_document(path: str) -> bytes | None:
    from runcard.store.archives.record import ArchivedRecord  # noqa: PLC0415 - long to load

    record = ArchivedRecord.at(path)
    return None if record is None else record.metadata
