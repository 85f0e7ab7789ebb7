"""Keeping the files of a session's instances: workspaces and transcripts, and an exact account of what was kept.

What could not be kept is an omission, and the rest goes on. Each thing that happens is an event in the journal of the
session, where the digest of a source stands beside that of what was stored in its place.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from runcard.checksums import Listing, Symlink
from runcard.documents.session import events
from runcard.documents.session.build import StoredSections
from runcard.documents.session.session_spec import InstanceSpec
from runcard.documents.symlinks import symlink_entry
from runcard.encoding import JsonObject
from runcard.files import json_name
from runcard.masking import mask_text
from runcard.operations.sessions.read_spec import Places
from runcard.parallel.progress import Amount
from runcard.store import layout
from runcard.store.sessions.copying import (
    CopiedFile,
    CopiedWorkspace,
    CopyRules,
    Omission,
    Redaction,
    copy_log,
    copy_workspace,
)
from runcard.store.sessions.directory import Collection
from runcard.views.session_summary import notable_files

if TYPE_CHECKING:
    from runcard.views.session_summary import NotableFile

Note = Callable[[str, JsonObject], object]  # an event and its payload


class Advance(NamedTuple):
    """How far a collection has come."""

    instance: str  # the name of the one at work
    number: int  # which it is
    total: int  # of how many
    amount: Amount  # of its workspace


Progress = Callable[[Advance], object]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is kept of an instance."""

    workspaces: bool
    transcripts: bool
    rules: CopyRules
    keep_secrets: bool


class Keeper:
    """Keeps one instance after the other, and knows what came of all."""

    def __init__(self, place: Collection, wanted: Wanted, note: Note) -> None:
        self._place, self._wanted, self._note = place, wanted, note
        self._used = 0  # bytes that are stored
        self.hexes: dict[str, str] = {}  # the digest of each stored file, by its path in the session
        self.symlinks: list[JsonObject] = []
        self.omissions: list[JsonObject] = []
        self.sentences: list[str] = []  # the omissions, for people
        self.excluded: Counter[str] = Counter()
        self.redactions: list[JsonObject] = []
        self.notable: dict[str, list[NotableFile]] = {}
        self.files = self.lines = 0

    def keep(
        self, instance: InstanceSpec, places: Places, progress: Callable[[Amount], object] | None
    ) -> StoredSections:
        """Store what there is of one instance; its SPEC is without secrets."""
        workspace, listed = self._workspace(instance, places.workspace, progress)
        output, logged = self._output(instance, places.output)
        kept = StoredSections(workspace, output, listed | logged)
        self._note(
            events.INSTANCE_COLLECTED,
            {
                "instance_id": instance.instance_id,
                "workspace": workspace,
                "output": output,
                "checksums": kept.checksums,
            },
        )
        return kept

    def _workspace(
        self, instance: InstanceSpec, source: str | None, progress: Callable[[Amount], object] | None
    ) -> tuple[JsonObject | None, JsonObject]:
        if source is None:
            return None, {}
        section: JsonObject = {"path": self._shown(source)}
        if not self._wanted.workspaces:
            return section, {}
        relative = layout.instance_file(instance.instance_id, layout.WORKSPACE)
        rules = replace(self._wanted.rules, used=self._used)
        copied = copy_workspace(source, self._place.at(relative), rules=rules, progress=progress)
        self._used += copied.size
        self._account(instance, relative, copied)
        section |= {
            "files_count": len(copied.files),
            "total_size_bytes": copied.size,
            "file_types": copied.file_types,
        }
        listing = Listing.from_hex({file.path: file.sha256 for file in copied.files})
        return section, {"workspace": str(listing.digest)}

    def _output(self, instance: InstanceSpec, source: str | None) -> tuple[JsonObject | None, JsonObject]:
        if source is None or not self._wanted.transcripts:
            return None, {}
        relative = layout.instance_file(instance.instance_id, layout.OUTPUT)
        copied = copy_log(
            source,
            self._place.at(relative),
            rules=replace(self._wanted.rules, used=self._used),
            mode=self._place.modes.file,
            mask=not self._wanted.keep_secrets,
        )
        for omission in copied.omissions:
            self._omit(instance, omission, self._shown(source))
        self._redact(copied.redactions, relative)
        if copied.file is None:
            return None, {}
        self._store(relative, copied.file)
        self._used += copied.file.size
        self.lines += copied.lines
        section = {"file": layout.OUTPUT, "lines": copied.lines, "size_bytes": copied.file.size}
        return section, {"output": f"sha256:{copied.file.sha256}"}

    def _account(self, instance: InstanceSpec, relative: str, copied: CopiedWorkspace) -> None:
        for file in copied.files:
            self._store(f"{relative}/{file.path}", file)
        self.files += len(copied.files)
        self.symlinks += [
            symlink_entry(Symlink(f"{relative}/{link.path}", link.target)) for link in copied.symlinks
        ]
        for omission in copied.omissions:
            self._omit(instance, omission, omission.path)
        self._redact(copied.redactions, relative)
        self.excluded.update(copied.excluded)
        for pattern, count in copied.excluded.items():
            said = {"instance_id": instance.instance_id, "pattern": pattern, "count": count}
            self._note(events.FILES_EXCLUDED, said)
        self.notable[instance.instance_id] = notable_files((file.path, file.size) for file in copied.files)

    def _store(self, path: str, file: CopiedFile) -> None:
        self.hexes[path] = file.sha256
        if file.source_sha256 is not None:
            said = {**_named(path), "source_sha256": file.source_sha256, "sha256": file.sha256}
            self._note(events.FILE_MASKED, said)

    def _omit(self, instance: InstanceSpec, omission: Omission, path: str) -> None:
        named = _named(path)
        said = {"instance_id": instance.instance_id, **named, "reason": omission.reason}
        self.omissions.append(said)
        what = "the workspace" if path == "." else named["path"]
        how = omission.reason if omission.is_stored else f"was not stored: {omission.reason}"
        self.sentences.append(f"{instance.given['name']}: {what} {how}")
        self._note(events.FILE_OMITTED, said)

    def _redact(self, redactions: Iterable[Redaction], relative: str) -> None:
        for redaction in redactions:
            where = relative if relative.endswith(layout.OUTPUT) else f"{relative}/{redaction.path}"
            said = {"rule": redaction.rule, "where": json_name(where).text, "count": redaction.count}
            self.redactions.append(said)

    def _shown(self, path: str) -> str:
        """A path as it may be written down."""
        text = json_name(path).text
        return text if self._wanted.keep_secrets else mask_text(text).value


def _named(path: str) -> JsonObject:
    """A path as JSON can hold it; its bytes beside, where they are not UTF-8."""
    text, base64 = json_name(path)
    return {"path": text} | ({"path_base64": base64} if base64 is not None else {})
