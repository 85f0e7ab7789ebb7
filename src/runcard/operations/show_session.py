"""One session, one agent of it, and what an agent or a command printed."""

import os
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, BinaryIO

from runcard.documents.instance import Instance
from runcard.documents.team import Team
from runcard.encoding import Limits
from runcard.errors import StoreError, UsageError
from runcard.files import failure, json_name, printable, resolve_below, walk_files
from runcard.operations.load import load
from runcard.store import layout
from runcard.store.amendments import Amendments, read_amendments

Fields = dict[str, Any]

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class ShownSession:
    """A session as it is to be shown."""

    path: str
    document: Fields
    amendments: Amendments

    def to_dict(self) -> Fields:
        return {
            "path": printable(self.path),
            "amendments": [entry.to_dict() for entry in self.amendments.entries],
            "document": self.document,
        }

    def find(self, name: str) -> Fields:
        """The agent that has this name or id; raises UsageError where there is none, or more than one."""
        instances: list[Fields] = self.document["instances"]
        found = [entry for entry in instances if entry["instance_id"] == name]
        found = found or [entry for entry in instances if entry["name"] == name]
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(entry["instance_id"] for entry in found)
            raise UsageError(
                f"{len(found)} agents are called {printable(name)}", hint=f"name one by its id: {ids}"
            )
        known = [word for entry in instances for word in (entry["name"], entry["instance_id"])]
        near = get_close_matches(name[:100], known, 1)
        some = ", ".join(printable(entry["name"]) for entry in instances[:10])
        raise UsageError(
            f"the session has no agent {printable(name)}",
            hint=f"did you mean {printable(near[0])}?" if near else f"its agents are: {some}",
        )


@dataclass(frozen=True, slots=True)
class ShownInstance:
    """One agent of a session as it is to be shown."""

    session: str
    path: str
    document: Fields
    names: dict[str, str]  # of all agents, by id
    files: tuple[tuple[str, int], ...]  # of its workspace: path and size

    def to_dict(self) -> Fields:
        return {
            "session": printable(self.session),
            "path": printable(self.path),
            "files": [{"path": json_name(path).text, "bytes": size} for path, size in self.files],
            "document": self.document,
        }


def session_at(path: str, document: Team) -> ShownSession:
    return ShownSession(path, document.to_dict(), read_amendments(path))


def show_instance(shown: ShownSession, name: str, limits: Limits | None = None) -> ShownInstance:
    """One agent, by its name or id: its own document, and the files of its workspace."""
    entry = shown.find(name)
    folder = _folder(shown, entry)
    loaded = load(_below(folder, layout.METADATA), kind=Instance.kind.name, limits=limits)
    names = {one["instance_id"]: one["name"] for one in shown.document["instances"]}
    files = tuple(_files(os.path.join(folder, layout.WORKSPACE)))
    path = os.path.join(shown.path, layout.INSTANCES, entry["instance_id"])
    return ShownInstance(shown.path, path, loaded.to_dict(), names, files)


def _files(workspace: str) -> list[tuple[str, int]]:
    if not os.path.isdir(workspace) or os.path.islink(workspace):
        return []
    return list(walk_files(workspace))


def open_transcript(shown: ShownSession, name: str, limits: Limits | None = None) -> BinaryIO:
    """What an agent printed; the caller closes it."""
    entry = shown.find(name)
    folder = _folder(shown, entry)
    file = layout.OUTPUT
    metadata = os.path.join(folder, layout.METADATA)
    if layout.may_be_file(metadata):
        output = load(metadata, kind=Instance.kind.name, limits=limits).to_dict().get("output") or {}
        file = output.get("file") or layout.OUTPUT
    _below(folder, file)  # it is refused when it leads out
    return open_output(os.path.join(folder, file), printable(entry["name"]))


def check_unpacked(path: str) -> None:
    """Refuse what cannot be done with a record that is in an archive."""
    if layout.is_archive(path):
        raise StoreError(
            f"{printable(path)} is an archive",
            hint=f"`runcard extract {printable(path)} PATH` takes one file out of it, `runcard restore` puts it back",
        )


def _folder(shown: ShownSession, entry: Fields) -> str:
    """The folder of an agent; its id comes from a document, and may lead nowhere else."""
    check_unpacked(shown.path)
    return _below(shown.path, f"{layout.INSTANCES}/{entry['instance_id']}")


def _below(folder: str, relative: str) -> str:
    """A path that stays in its folder, links included; the path itself when there is nothing."""
    try:
        return resolve_below(folder, relative)
    except OSError:
        return os.path.join(folder, relative)


def open_output(path: str, whose: str) -> BinaryIO:
    """A file with what somebody printed, never what a link leads to."""
    check_unpacked(os.path.dirname(path))
    if not layout.may_be_file(path):
        raise StoreError(
            f"there is no transcript of {whose}", hint="none was recorded, or it was left out when collecting"
        )
    try:
        return open(os.open(path, _OPEN), "rb")
    except OSError as error:
        raise failure(error, path, "read") from error
