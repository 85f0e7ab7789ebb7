"""Copy the workspaces and transcripts of a session's instances, and count what was stored.

A file that could not be stored is an omission, and the work continues. Every omission, exclusion and masked file is an
event in the journal of the session; for a masked file it has the digests of the source and of the stored file.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Self

from runcard.checksums import Symlink, listing_digest
from runcard.documents.session import events
from runcard.documents.session.build import StoredSections
from runcard.documents.session.session_spec import InstanceSpec
from runcard.documents.symlinks import symlink_entry
from runcard.encoding import JsonObject
from runcard.files import PathTable, json_name
from runcard.masking import mask_text
from runcard.parallel.progress import Amount
from runcard.store import layout
from runcard.store.sessions.collect_options import CollectOptions
from runcard.store.sessions.copying import (
    CopiedFile,
    CopiedLog,
    CopiedWorkspace,
    Omission,
    Redaction,
    copy_blocks,
    copy_log,
    copy_workspace,
)
from runcard.store.sessions.copying.copy_rules import SizeLimits
from runcard.store.sessions.copying.omission_reasons import CHANGED, read_failure
from runcard.store.sessions.directory import SessionDirectory

Confine = Callable[
    [str], str
]  # the path to copy instead of another one; raises RuncardError for one that is out of bounds
AddEvent = Callable[[str, JsonObject], object]  # with the name of an event and its payload


@dataclass(frozen=True, slots=True)
class TranscriptSource:
    """A session file of an agent tool that is to be stored."""

    source: str  # where it is
    name: str  # of the copy
    size: int  # bytes
    sha256: str  # 64 hex digits, of the bytes as they are
    read: Callable[[], Iterable[bytes]]  # what is stored: the file, or what it contains; may raise OSError
    messages: int | None = None  # in it, where the file is written anew each time
    is_same: bool = True  # `read` gives the bytes that have this digest


@dataclass(frozen=True, slots=True)
class InstancePaths:
    """The files of an instance; None for what the SPEC does not name."""

    workspace: str | None
    output: str | None
    log: CopiedLog | None = None  # one that is in the session already
    transcripts: tuple[TranscriptSource, ...] = ()
    refusal: str | None = None  # why the workspace and the output are not stored
    is_own_log: bool = False  # the output is a file of the store, and never a link

    def confined(self, confine: Confine) -> Self:
        """The same with the paths that may be copied."""
        workspace, output = (path and confine(path) for path in (self.workspace, self.output))
        return replace(self, workspace=workspace, output=output)


class InstanceCopier:
    """Copies one instance after the other; its attributes are the results for all of them."""

    def __init__(self, directory: SessionDirectory, options: CollectOptions, add_event: AddEvent) -> None:
        self._directory, self._options, self._add_event = directory, options, add_event
        self._used = 0  # bytes that are stored
        self._files: PathTable[tuple[str, int]] = PathTable()  # digest and size, by the path in the session
        self.workspace_count = 0  # files of all workspaces
        self.symlinks: list[JsonObject] = []
        self.omissions: list[JsonObject] = []
        self.omission_messages: list[str] = []
        self.excluded: Counter[str] = Counter()  # by pattern
        self.redactions: list[JsonObject] = []
        self.transcript_lines = 0

    @property
    def digests(self) -> Iterator[tuple[str, str]]:
        """The stored files with their digests in hex, in the order of a listing."""
        return ((path, sha256) for path, (sha256, _) in self._files)

    @property
    def files_count(self) -> int:
        """The number of stored files."""
        return len(self._files)

    def workspaces(self) -> Iterator[tuple[str, Iterator[tuple[str, int]]]]:
        """The files of each workspace that has some, with their sizes, by instance; each is to be read before the next."""
        for folder, files in groupby(self._files, lambda entry: layout.workspace_of(entry[0])):
            if folder is not None:
                start = len(layout.instance_file(folder, layout.WORKSPACE)) + 1
                yield folder, ((path[start:], size) for path, (_, size) in files)

    @property
    def stored_bytes(self) -> int:
        """The size of all files that are stored."""
        return self._used

    def copy(
        self, instance: InstanceSpec, paths: InstancePaths, progress: Callable[[Amount], object] | None
    ) -> StoredSections:
        """Copy the files of one instance; secrets in its SPEC are masked already."""
        workspace, workspace_digest = self._copy_workspace(instance, paths, progress)
        output, output_digest = self._copy_output(instance, paths)
        used = self._used
        sources = [self._copy_source(instance, source) for source in paths.transcripts]
        stored = StoredSections(
            workspace, output, workspace_digest | output_digest, tuple(sources), self._used - used
        )
        self._add_event(
            events.INSTANCE_COLLECTED,
            {
                "instance_id": instance.instance_id,
                "workspace": workspace,
                "output": output,
                "checksums": stored.checksums,
                **({"sources": sources} if sources else {}),
            },
        )
        return stored

    def _copy_workspace(
        self, instance: InstanceSpec, paths: InstancePaths, progress: Callable[[Amount], object] | None
    ) -> tuple[JsonObject | None, JsonObject]:
        source = paths.workspace
        if source is None:
            return None, {}
        section: JsonObject = {"path": self._masked_path(source)}
        if paths.refusal is not None:
            self._add_omission(instance, Omission(".", paths.refusal), ".")
            return section, {}
        if not self._options.copies_workspaces:
            return section, {}
        relative = layout.instance_file(instance.instance_id, layout.WORKSPACE)
        rules = replace(self._options.rules, used=self._used)
        target = self._directory.path_of(relative)
        copied = copy_workspace(source, target, rules=rules, progress=progress)
        self._used += copied.files.size
        self._add_workspace(instance, relative, copied)
        section |= {
            "files_count": len(copied.files),
            "total_size_bytes": copied.files.size,
            "file_types": copied.files.types,
        }
        digest = listing_digest((file.path, file.sha256) for file in copied.files)
        return section, {"workspace": str(digest)}

    def _copy_output(
        self, instance: InstanceSpec, paths: InstancePaths
    ) -> tuple[JsonObject | None, JsonObject]:
        relative = layout.instance_file(instance.instance_id, layout.OUTPUT)
        if paths.log is not None:
            return self._add_log(relative, paths.log)
        source = paths.output
        if source is None or not self._options.copies_transcripts:
            return None, {}
        if paths.refusal is not None and not paths.is_own_log:
            self._add_omission(instance, Omission(source, paths.refusal), self._masked_path(source))
            return None, {}
        copied = copy_log(
            source,
            self._directory.path_of(relative),
            rules=replace(self._options.rules, used=self._used),
            mode=self._directory.modes.file,
            mask=not self._options.keep_secrets,
            follow=not paths.is_own_log,
        )
        for omission in copied.omissions:
            self._add_omission(instance, omission, self._masked_path(source))
        return self._add_log(relative, copied)

    def _add_log(self, relative: str, copied: CopiedLog) -> tuple[JsonObject | None, JsonObject]:
        self._add_redactions(copied.redactions, relative)
        if copied.file is None:
            return None, {}
        self._add_file(relative, copied.file)
        self._used += copied.file.size
        self.transcript_lines += copied.lines
        section = {"file": layout.OUTPUT, "lines": copied.lines, "size_bytes": copied.file.size}
        return section, {"output": f"sha256:{copied.file.sha256}"}

    def _copy_source(self, instance: InstanceSpec, source: TranscriptSource) -> JsonObject:
        """Store a session file; the entry of `sources` for it, also where it could not be stored."""
        folder = layout.instance_file(instance.instance_id, layout.TRANSCRIPTS)
        path, base64 = json_name(self._masked_path(source.source))
        entry: JsonObject = {
            "path": None,
            "source": path,
            **({} if base64 is None else {"source_base64": base64}),
            "bytes": source.size,
            "sha256": source.sha256,
            **({} if source.messages is None else {"messages": source.messages}),
        }
        copied = self._copy_blocks(f"{folder}/{source.name}", source)
        for omission in copied.omissions:
            self._add_omission(instance, omission, path)
        if copied.file is None:
            return entry
        self._add_redactions(copied.redactions, folder)
        self._add_file(f"{folder}/{source.name}", copied.file)
        self._used += copied.file.size
        if source.is_same and (copied.file.source_sha256 or copied.file.sha256) != source.sha256:
            self._add_omission(instance, Omission(source.name, CHANGED, is_stored=True), path)
        return entry | {"path": f"{folder}/{source.name}", "stored_sha256": copied.file.sha256}

    def _copy_blocks(self, relative: str, source: TranscriptSource) -> CopiedLog:
        if not self._options.copies_transcripts:
            return CopiedLog(None, 0, (), ())
        limits = SizeLimits(replace(self._options.rules, used=self._used))
        if reason := limits.reserve_file(source.size):
            return CopiedLog(None, 0, (Omission(source.name, reason),), ())
        try:
            return copy_blocks(
                source.read(),
                self._directory.path_of(relative),
                mode=self._directory.modes.file,
                mask=not self._options.keep_secrets,
            )
        except OSError as error:
            return CopiedLog(None, 0, (Omission(source.name, read_failure(error)),), ())

    def _add_workspace(self, instance: InstanceSpec, relative: str, copied: CopiedWorkspace) -> None:
        for file in copied.files:
            self._add_file(f"{relative}/{file.path}", file)
        self.workspace_count += len(copied.files)
        self.symlinks += [
            symlink_entry(Symlink(f"{relative}/{link.path}", link.target)) for link in copied.symlinks
        ]
        for omission in copied.omissions:
            self._add_omission(instance, omission, omission.path)
        self._add_redactions(copied.redactions, relative)
        self.excluded.update(copied.excluded)
        for pattern, count in copied.excluded.items():
            payload = {"instance_id": instance.instance_id, "pattern": pattern, "count": count}
            self._add_event(events.FILES_EXCLUDED, payload)

    def _add_file(self, path: str, file: CopiedFile) -> None:
        self._files[path] = (file.sha256, file.size)
        if file.source_sha256 is not None:
            payload = {**_path_fields(path), "source_sha256": file.source_sha256, "sha256": file.sha256}
            self._add_event(events.FILE_MASKED, payload)

    def _add_omission(self, instance: InstanceSpec, omission: Omission, path: str) -> None:
        fields = _path_fields(path)
        entry = {"instance_id": instance.instance_id, **fields, "reason": omission.reason}
        self.omissions.append(entry)
        name = "the workspace" if path == "." else fields["path"]
        problem = omission.reason if omission.is_stored else f"was not stored: {omission.reason}"
        self.omission_messages.append(f"{instance.fields['name']}: {name} {problem}")
        self._add_event(events.FILE_OMITTED, entry)

    def _add_redactions(self, redactions: Iterable[Redaction], relative: str) -> None:
        for redaction in redactions:
            where = relative if relative.endswith(layout.OUTPUT) else f"{relative}/{redaction.path}"
            entry = {"rule": redaction.rule, "where": json_name(where).text, "count": redaction.count}
            self.redactions.append(entry)

    def _masked_path(self, path: str) -> str:
        """A path as it may be recorded."""
        text = json_name(path).text
        return text if self._options.keep_secrets else mask_text(text).value


def _path_fields(path: str) -> JsonObject:
    """A path as JSON fields; with its bytes in Base64 when they are not UTF-8."""
    text, base64 = json_name(path)
    return {"path": text} | ({"path_base64": base64} if base64 is not None else {})
