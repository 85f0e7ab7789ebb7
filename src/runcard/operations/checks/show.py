"""One record with its current state."""

import os
from typing import TYPE_CHECKING, NamedTuple, overload

from runcard.documents.run.fields import RunFields
from runcard.documents.run.generation import Generation
from runcard.encoding import JsonObject, Limits
from runcard.errors import StoreError, UsageError
from runcard.files import json_name, printable
from runcard.store import layout
from runcard.store.amendments.read import Amendments
from runcard.store.find_record import NoRecordError, open_record
from runcard.store.record import Record
from runcard.views.run_readme import is_readme_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runcard.documents.run.input_state import InputState
    from runcard.operations.checks.show_session import ShownInstance, ShownSession
    from runcard.operations.checks.stated_signatures import StatedSignature

_MAX_INPUTS = 64 << 20  # bytes of inputs that are read

GONE = "its process is gone"
UNKNOWN = "it is unknown whether it is still running"
ON_OTHER_HOST = "it runs on another host, so its state cannot be checked from here"


class ShownRun(NamedTuple):
    """A run with everything that `runcard show` prints."""

    record: Record
    document: JsonObject
    status: str | None  # as it is now: a run whose process is gone is interrupted, whatever its document says
    remark: str | None  # about a run that is not closed
    files: tuple[tuple[str, int], ...]  # the user's: path and size
    amendments: Amendments
    newer: str | None = None  # the warning about a document of a newer version than this runcard knows
    is_open: bool = False  # the document is the one so far
    has_unreadable_journal: bool = False  # of an open run: the document is the one of its start

    @property
    def path(self) -> str:
        return self.record.path

    def inputs(self) -> "list[InputState]":
        """Whether the inputs are the files that were read; of large ones that is unchecked."""
        if not self.document["data_sources"]["files"]:
            return []
        from runcard.operations.checks.verify_inputs import run_inputs  # noqa: PLC0415 - many runs have none

        return run_inputs(self.record, self.document, limit=_MAX_INPUTS)

    def to_dict(self, inputs: "Sequence[InputState] | None" = None) -> JsonObject:
        files = [{"path": json_name(path).text, "bytes": size} for path, size in self.files]
        states = {} if inputs is None else {"inputs": [state.to_dict() for state in inputs]}
        return {
            "path": printable(self.path),
            "status": self.status,
            "so_far": self.is_open,
            "files": files,
            "amendments": [entry.to_dict() for entry in self.amendments.entries],
            "signatures": [each.to_dict() for each in signatures_of(self.record)],
            "document": self.document,
            **states,
        }


@overload
def show(
    record: str | os.PathLike[str] | Record, *, limits: Limits | None = None
) -> "ShownRun | ShownSession": ...
@overload
def show(
    record: str | os.PathLike[str] | Record, *, instance: str, limits: Limits | None = None
) -> "ShownInstance": ...
def show(
    record: str | os.PathLike[str] | Record, *, instance: str | None = None, limits: Limits | None = None
) -> "ShownRun | ShownSession | ShownInstance":
    """What `runcard show` prints, as data: a run, a session, or one agent of a session, by its name or id.

    A run that is not closed is shown as far as its journal goes; nothing is written.
    """
    shown = show_record(record, limits)
    if instance is None:
        return shown
    if isinstance(shown, ShownRun):
        raise UsageError(
            f"{printable(shown.path)} is a run, and only sessions have instances",
            hint="leave out --instance, or name a session",
        )
    from runcard.operations.checks.show_session import show_instance  # noqa: PLC0415 - only for sessions

    return show_instance(shown, instance, limits)


def show_run(run: str | os.PathLike[str] | Record) -> ShownRun:
    """Read a run; raises RuncardError if it cannot be read."""
    shown_record = show_record(run)
    if not isinstance(shown_record, ShownRun):
        raise StoreError(
            f"{printable(shown_record.path)} is a session, not a run", hint="name the directory of a run"
        )
    return shown_record


def show_record(
    word: str | os.PathLike[str] | Record, limits: Limits | None = None
) -> "ShownRun | ShownSession":
    """Read a run or a session; raises RuncardError if it cannot be read."""
    record = word if isinstance(word, Record) else _open(word, limits)
    if layout.is_live_session(record.path):
        from runcard.operations.checks.show_session import show_open_session  # noqa: PLC0415 - few are open

        return show_open_session(record)
    loaded = record.document(limits)
    document = loaded.to_dict()
    if not isinstance(loaded, Generation):
        from runcard.operations.checks.show_session import ShownSession  # noqa: PLC0415 - only for sessions

        return ShownSession(record, document, _amendments(record))
    status, remark = state_of(record, document)
    newer = next(
        (finding.message for finding in loaded.warnings if finding.rule == "version.newer-minor"), None
    )
    is_open = not record.is_archived and RunFields(document).status == "running"
    so_far = _so_far(record, document) if is_open else None
    return ShownRun(
        record,
        so_far or document,
        status,
        remark,
        _files(record, document),
        _amendments(record),
        newer,
        is_open,
        is_open and so_far is None,
    )


def _open(word: str | os.PathLike[str], limits: Limits | None) -> Record:
    try:
        return open_record(word, limits)
    except NoRecordError as error:
        from runcard.operations.catalog.other_hosts import on_other_host  # noqa: PLC0415 - rarely needed

        raise on_other_host(os.fspath(word)) or error from None


def signatures_of(record: Record) -> "tuple[StatedSignature, ...]":
    """The signatures of a record, which nobody has checked; none of an archive that is damaged or missing."""
    try:
        if not record.has_file(layout.SIGNATURE):
            return ()
    except (StoreError, OSError):
        if not record.is_archived:
            raise
        return ()
    from runcard.operations.checks.stated_signatures import stated_signatures  # noqa: PLC0415 - few are signed

    return stated_signatures(record)


def _so_far(record: Record, document: JsonObject) -> JsonObject | None:
    from runcard.store.runs.document_so_far import document_so_far  # noqa: PLC0415 - few runs are open

    return document_so_far(record.path, document)


def _amendments(record: Record) -> Amendments:
    """The amendments of a record; none of an archive that is damaged or missing, which `verify` reports."""
    try:
        return record.amendments()
    except (StoreError, OSError):
        if not record.is_archived:
            raise
        return Amendments()


def state_of(record: Record, document: JsonObject) -> tuple[str | None, str | None]:
    """The status of a run as it is now, and a remark about one that is not closed."""
    if record.is_archived:
        return RunFields(document).status, None
    return state_now(record.path, document)


def status_now(run: str, document: JsonObject) -> str | None:
    """The status of a run: `interrupted` for one that says it is running and whose process is gone."""
    return state_now(run, document)[0]


def state_now(run: str, document: JsonObject) -> tuple[str | None, str | None]:
    """The status of a run as it is now, and a remark about one that is interrupted or cannot be checked."""
    status = RunFields(document).status
    if status != "running":
        return status, None
    from runcard.observe.process import is_alive  # noqa: PLC0415 - few runs are open
    from runcard.store.runs.owner import is_on_other_host, is_owner_gone  # noqa: PLC0415

    if is_on_other_host(document):
        return status, ON_OTHER_HOST
    is_gone = is_owner_gone(run, document, is_alive)
    return ("interrupted", GONE) if is_gone else (status, UNKNOWN if is_gone is None else None)


def _files(record: Record, document: JsonObject) -> tuple[tuple[str, int], ...]:
    """The user's files in a run; none of an archive that is damaged or missing."""
    run_id = str(RunFields(document).run_id)
    try:
        sizes = tuple(record.sizes())
        readmes = {name for name in (layout.README, layout.OTHER_README) if _is_ours(record, name, run_id)}
    except StoreError:
        if not record.is_archived:
            raise
        return ()
    journals = layout.journal_names([path for path, _ in sizes])
    ours = {*layout.NOT_LISTED, *journals, *readmes}
    return tuple((path, size) for path, size in sizes if path not in ours)


def _is_ours(record: Record, readme: str, run_id: str) -> bool:
    file = record.open(readme)
    if file is None:
        return False
    with file:
        return is_readme_of(file.read(4096), run_id)
