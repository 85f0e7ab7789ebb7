"""One session, one of its agents, and the output of an agent or a command."""

import contextlib
import os
from typing import BinaryIO, NamedTuple

from runcard.documents.kinds import INSTANCE
from runcard.encoding import JsonObject, Limits
from runcard.errors import StoreError, UsageError
from runcard.files import json_name, printable
from runcard.store import layout
from runcard.store.amendments.read import Amendments
from runcard.store.record import MissingDocumentError, Record


class ShownSession(NamedTuple):
    """A session with everything that `runcard show` prints."""

    record: Record
    document: JsonObject
    amendments: Amendments
    status: str | None = None  # of one that is not closed: the document is the one so far
    remark: str | None = None  # about that

    @property
    def path(self) -> str:
        return self.record.path

    @property
    def is_open(self) -> bool:
        return self.status is not None

    def to_dict(self) -> JsonObject:
        from runcard.operations.checks.show import signatures_of  # noqa: PLC0415 - which imports this

        return {
            "path": printable(self.path),
            **({} if self.status is None else {"status": self.status, "so_far": True}),
            "amendments": [entry.to_dict() for entry in self.amendments.entries],
            "signatures": [each.to_dict() for each in signatures_of(self.record)],
            "document": self.document,
        }

    def find(self, name: str) -> JsonObject:
        """The agent that has this name or id; raises UsageError where there is none, or more than one."""
        instances: list[JsonObject] = self.document["instances"]
        matches = [entry for entry in instances if entry["instance_id"] == name]
        matches = matches or [entry for entry in instances if entry["name"] == name]
        if len(matches) == 1:
            return matches[0]
        if matches:
            ids = ", ".join(entry["instance_id"] for entry in matches)
            raise UsageError(
                f"{len(matches)} agents are called {printable(name)}", hint=f"name one by its id: {ids}"
            )
        from difflib import get_close_matches  # noqa: PLC0415 - only for a wrong name

        names = [word for entry in instances for word in (entry["name"], entry["instance_id"])]
        near = get_close_matches(name[:100], names, 1)
        some = ", ".join(printable(entry["name"]) for entry in instances[:10])
        raise UsageError(
            f"the session has no agent {printable(name)}",
            hint=f"did you mean {printable(near[0])}?" if near else f"its agents are: {some}",
        )


def show_open_session(record: Record) -> ShownSession:
    """A session that is being recorded, or was when its process died: as far as its journals go."""
    from runcard.store.sessions.live_record import OpenSession  # noqa: PLC0415 - few are open

    session = record if isinstance(record, OpenSession) else OpenSession(record.path, record.limits)
    return ShownSession(session, session.raw_document, Amendments(), *session.state)


class ShownInstance(NamedTuple):
    """One agent of a session with everything that `runcard show` prints."""

    session: str
    path: str
    document: JsonObject
    names: dict[str, str]  # of all agents, by id
    files: tuple[tuple[str, int], ...]  # of its workspace: path and size

    def to_dict(self) -> JsonObject:
        return {
            "session": printable(self.session),
            "path": printable(self.path),
            "files": [{"path": json_name(path).text, "bytes": size} for path, size in self.files],
            "document": self.document,
        }


def show_instance(session: ShownSession, name: str, limits: Limits | None = None) -> ShownInstance:
    """One agent, by its name or id: its own document, and the files of its workspace."""
    instance_id = session.find(name)["instance_id"]
    if session.status is not None:
        entry = session.find(name)
        document = entry | {
            "error": entry.get("error_message"),
            "children_instance_ids": _children(session, instance_id),
        }
        names = {each["instance_id"]: each["name"] for each in session.document["instances"]}
        return ShownInstance(session.path, session.path, document, names, ())
    document = _document(session.record, instance_id, limits)
    names = {entry["instance_id"]: entry["name"] for entry in session.document["instances"]}
    files = tuple(session.record.sizes(layout.instance_file(instance_id, layout.WORKSPACE)))
    path = os.path.join(session.path, layout.INSTANCES, instance_id)
    return ShownInstance(session.path, path, document, names, files)


def _children(session: ShownSession, instance_id: str) -> list[str]:
    entries = session.document["instances"]
    return [each["instance_id"] for each in entries if each.get("parent_instance_id") == instance_id]


def open_transcript(session: ShownSession, name: str, limits: Limits | None = None) -> BinaryIO:
    """The output of an agent; the caller closes it."""
    entry = session.find(name)
    instance_id, file = entry["instance_id"], layout.OUTPUT
    if session.status is not None:
        return _open_log(session.record, entry)
    with contextlib.suppress(MissingDocumentError):
        output = _document(session.record, instance_id, limits).get("output") or {}
        file = output.get("file") or file
    path = layout.instance_file(instance_id, file)
    message = f"there is no transcript of {printable(entry['name'])}"
    why = "none was recorded, or it was left out when collecting"
    return _open(session.record, path, message, why, session.amendments)


def _open_log(record: Record, entry: JsonObject) -> BinaryIO:
    from runcard.store.sessions.live_record import OpenSession  # noqa: PLC0415 - few are open

    log = record.open_log(entry["instance_id"]) if isinstance(record, OpenSession) else None
    if log is None:
        raise StoreError(
            f"{printable(entry['name'])} has logged nothing so far",
            hint="the session is open; an output file of its own is copied at its end",
        )
    return log


def open_output(run: Record, amendments: Amendments) -> BinaryIO:
    """The output of a run's command; the caller closes it."""
    message = f"the run {printable(run.path)} has no {layout.OUTPUT}"
    why = "`runcard run` stores the output, `runcard.record` does not"
    return _open(run, layout.OUTPUT, message, why, amendments)


def _document(session: Record, instance_id: str, limits: Limits | None) -> JsonObject:
    return session.load(layout.instance_file(instance_id, layout.METADATA), INSTANCE.name, limits).to_dict()


def _open(record: Record, path: str, message: str, why: str, amendments: Amendments) -> BinaryIO:
    file = record.open(path)
    if file is not None:
        return file
    removals = [change for change in amendments.by_path.get(json_name(path).text, ()) if change.new is None]
    raise StoreError(message, hint=str(removals[-1]) if removals else why)
