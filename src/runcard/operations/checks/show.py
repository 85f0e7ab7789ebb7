"""One record, with what is known of it now."""

import contextlib
import os
from dataclasses import dataclass

from runcard.documents.run.generation import Generation
from runcard.documents.session.team import Team
from runcard.encoding import JsonObject, Limits
from runcard.errors import StoreError
from runcard.files import json_name, printable
from runcard.observe.process import is_alive
from runcard.operations.checks.load import load
from runcard.operations.checks.record_files import RecordFiles, files_of
from runcard.operations.checks.show_session import ShownSession, check_unpacked, session_at
from runcard.store import layout
from runcard.store.amendments.read import Amendments, read_amendments
from runcard.store.no_record import no_record
from runcard.store.runs.owner import is_on_other_host, is_owner_gone
from runcard.views.run_readme import is_readme_of

GONE = "its process is gone"
UNKNOWN = "nobody can tell whether it is still at work"
ELSEWHERE = "it runs on another host, so nobody can tell from here whether it still does"


@dataclass(frozen=True, slots=True)
class Shown:
    """A run as it is to be shown."""

    path: str
    document: JsonObject
    status: str | None  # as it is now: a run whose process is gone is interrupted, whatever its document says
    remark: str | None  # what there is to say about a run that is not closed
    files: tuple[tuple[str, int], ...]  # the user's: path and size
    amendments: Amendments
    newer: str | None = (
        None  # that the document is of a newer version than this runcard knows, and was read all the same
    )

    def to_dict(self) -> JsonObject:
        files = [{"path": json_name(path).text, "bytes": size} for path, size in self.files]
        return {
            "path": printable(self.path),
            "status": self.status,
            "files": files,
            "amendments": [entry.to_dict() for entry in self.amendments.entries],
            "document": self.document,
        }


def show(run: str | os.PathLike[str]) -> Shown:
    """Read a run; raises an error that says what is wrong with it."""
    shown = show_record(run)
    check_unpacked(shown.path)
    if not isinstance(shown, Shown):
        raise StoreError(
            f"{printable(shown.path)} is a session, not a run", hint="name the directory of a run"
        )
    return shown


def show_record(record: str | os.PathLike[str], limits: Limits | None = None) -> Shown | ShownSession:
    """Read a run or a session; raises an error that says what is wrong with it."""
    path = os.fspath(record)
    if os.path.basename(path) == layout.METADATA:
        path = os.path.dirname(path) or "."
    metadata = os.path.join(path, layout.METADATA)
    if not layout.may_be_file(metadata, follow=True):
        return _archived(path, limits)
    loaded = load(metadata, limits=limits)
    if isinstance(loaded, Team):
        return session_at(path, loaded)
    if not isinstance(loaded, Generation):
        raise StoreError(
            f"{printable(path)} has a document of the kind {loaded.kind.name}: it is a part of a record",
            hint="name the directory of a run or a session",
        )
    document = loaded.to_dict()
    status, remark = state_now(path, document)
    files = _files(files_of(path), document, {*map(os.path.basename, layout.journals(path))})
    newer = next((found.message for found in loaded.warnings if found.rule == "version.newer-minor"), None)
    return Shown(path, document, status, remark, files, read_amendments(path), newer)


def _archived(path: str, limits: Limits | None) -> Shown | ShownSession:
    """A record that is in an archive, by the copy of its document that lies beside it."""
    from runcard.operations.archives.archived_files import ArchivedFiles, archived_document  # noqa: PLC0415 - it takes long to load, and is rarely needed
    from runcard.operations.archives.find import find_archive  # noqa: PLC0415

    try:
        found = find_archive(path)
    except StoreError as error:
        raise no_record(path) from error
    inside = ArchivedFiles(found)
    loaded = archived_document(found, limits, inside)
    document, amendments = loaded.to_dict(), Amendments()
    files: tuple[tuple[str, int], ...] = ()
    if os.path.isfile(found.path):
        with contextlib.suppress(StoreError):  # what is damaged in it is for `verify` to tell
            amendments = inside.amendments
            files = () if isinstance(loaded, Team) else _files(inside, document, {layout.JOURNAL})
    if isinstance(loaded, Team):
        return ShownSession(found.path, document, amendments)
    return Shown(found.path, document, document["generation"].get("status"), None, files, amendments)


def status_now(run: str, document: JsonObject) -> str | None:
    """The status of a run: `interrupted` for one that says it is running and whose process is gone."""
    return state_now(run, document)[0]


def state_now(run: str, document: JsonObject) -> tuple[str | None, str | None]:
    """The status of a run as it is now, and what there is to say about one that cannot be taken at its word."""
    status: str | None = document["generation"].get("status")
    if status != "running":
        return status, None
    if is_on_other_host(document):
        return status, ELSEWHERE
    gone = is_owner_gone(run, document, is_alive)
    return ("interrupted", GONE) if gone else (status, UNKNOWN if gone is None else None)


def _files(files: RecordFiles, document: JsonObject, journals: set[str]) -> tuple[tuple[str, int], ...]:
    """The files of the user in a run, wherever it lies."""
    run_id = str(document["generation"]["run_id"])
    ours = layout.NOT_LISTED | journals
    ours |= {name for name in (layout.README, layout.OTHER_README) if _is_ours(files, name, run_id)}
    return tuple((path, size) for path, size in files.sizes("") if path not in ours)


def _is_ours(files: RecordFiles, readme: str, run_id: str) -> bool:
    file = files.open(readme)
    if file is None:
        return False
    with file:
        return is_readme_of(file.read(4096), run_id)
