"""One run, with what is known of it now."""

import os
from dataclasses import dataclass
from typing import Any

from runcard.documents.generation import Generation
from runcard.errors import StoreError
from runcard.files import Kind, printable, walk
from runcard.observe.process import is_alive
from runcard.operations.load import load
from runcard.store import layout
from runcard.store.amendments import Amendments, read_amendments
from runcard.store.runs import claimed


@dataclass(frozen=True, slots=True)
class Shown:
    """A run as it is to be shown."""

    path: str
    document: dict[str, Any]
    status: str | None  # as it is now: a run whose process is gone is interrupted, whatever its document says
    files: tuple[tuple[str, int], ...]  # the user's: path and size
    amendments: Amendments

    def to_dict(self) -> dict[str, Any]:
        files = [{"path": printable(path), "bytes": size} for path, size in self.files]
        return {
            "path": printable(self.path),
            "status": self.status,
            "files": files,
            "document": self.document,
        }


def show(run: str | os.PathLike[str]) -> Shown:
    """Read a run; raises an error that says what is wrong with it."""
    path = os.fspath(run)
    if os.path.basename(path) == layout.METADATA:
        path = os.path.dirname(path) or "."
    metadata = os.path.join(path, layout.METADATA)
    if not os.path.isfile(metadata):
        raise StoreError(
            f"{printable(path)} is no run: it has no {layout.METADATA}", hint="name the directory of a run"
        )
    loaded = load(metadata)
    if not isinstance(loaded, Generation):
        raise StoreError(f"{printable(path)} is a {loaded.kind.name} record, not a run", hint="name a run")
    document = loaded.to_dict()
    return Shown(path, document, status_now(path, document), tuple(_files(path)), read_amendments(path))


def status_now(run: str, document: dict[str, Any]) -> str | None:
    """The status of a run: `interrupted` for one that says it is running and whose process is gone."""
    status: str | None = document["generation"].get("status")
    if status != "running":
        return status
    process = document["generation"].get("process") or {}
    if process.get("host") not in {None, os.uname().nodename}:
        return status
    with claimed(run) as gone:
        dead = is_alive(process) is False if gone is None else gone
    return "interrupted" if dead else status


def _files(run: str) -> list[tuple[str, int]]:
    ours = {*layout.NOT_LISTED, layout.JOURNAL, layout.README, layout.OTHER_README}
    found = []
    for path, kind in walk(run):
        if kind is Kind.FILE and path not in ours:
            found.append((path, os.path.getsize(os.path.join(run, path))))
    return found
