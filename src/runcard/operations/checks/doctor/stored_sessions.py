"""Which sessions of agent tools are in the stores at hand, by the sources that an import records."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Protocol

from runcard.digests import sha256_bytes
from runcard.errors import RuncardError
from runcard.files import is_safe_id, read_regular
from runcard.store import directory_names, layout
from runcard.transcripts import madrox, opencode

_EXPORTED = frozenset(
    {opencode.NAME, madrox.NAME}
)  # tools of which not the files are stored, but what they hold


class SessionOfTool(Protocol):
    """A session of a tool, with the paths and sizes of its files."""

    id: str
    files: list[tuple[str, int]]


class StoredSessions:
    """The sessions in some stores; documents are read only of those that are asked for."""

    def __init__(self, stores: Iterable[str]) -> None:
        self._stores = list(stores)

    def states(self, tool: str, sessions: Sequence[SessionOfTool]) -> dict[str, bool | None]:
        """For each session: True if it is imported as it is, False if it changed since, None if it is not imported."""
        return {session.id: self._state(tool, session) for session in sessions}

    def _state(self, tool: str, session: SessionOfTool) -> bool | None:
        documents = [path for name in _record_ids(tool, session.id) for path in self._documents.get(name, ())]
        if not documents:
            return None
        files = [] if tool in _EXPORTED else session.files
        return any(_has_all(_sources(path), files) for path in documents)

    @cached_property
    def _documents(self) -> dict[str, list[str]]:
        """The metadata documents of all sessions, by id; of an archived one its copy beside the archive."""
        documents: dict[str, list[str]] = {}
        for store in self._stores:
            for name in layout.possible_records(store):
                if (session_id := directory_names.session_id_in(name)) is not None:
                    path = os.path.join(store, name, layout.METADATA)
                    documents.setdefault(session_id, []).append(path)
            for path in _archived_documents(store):
                name = layout.archived_name(path)
                if (session_id := directory_names.session_id_in(name)) is not None:
                    documents.setdefault(session_id, []).append(layout.metadata_copy(path))
        return documents


def _record_ids(tool: str, session: str) -> Iterator[str]:
    """The ids that an imported session may have: that of the tool, if it can be a name and no secret, or a digest of it."""
    if is_safe_id(session):
        yield session
    yield f"{tool}-{sha256_bytes(session.encode('utf-8', 'surrogateescape')).hex[:16]}"


def _archived_documents(store: str) -> Iterator[str]:
    folder = layout.archive_folder(store)
    try:
        paths = layout.archives_in(folder)
    except (RuncardError, OSError):
        return
    for path in paths:
        yield os.path.join(folder, path)


def _sources(document: str) -> Any:  # noqa: ANN401 - what a document holds, which may be anything
    """What a session was imported from; None where its document does not say, False where there is no document."""
    try:
        data = json.loads(read_regular(document) or b"")
    except (OSError, ValueError, RecursionError):
        return False
    return data.get("sources") if isinstance(data, dict) else False


def _has_all(sources: Any, files: list[tuple[str, int]]) -> bool:  # noqa: ANN401 - see above
    """Whether an import has these files as they are now, by their names and sizes."""
    if not isinstance(sources, list):
        return sources is None
    known = set()
    for source in sources:
        name, size = (source.get("source"), source.get("bytes")) if isinstance(source, dict) else (None, None)
        if isinstance(name, str) and isinstance(size, int):
            known.add((os.path.basename(name), size))
    return all((os.path.basename(path), size) in known for path, size in files)
