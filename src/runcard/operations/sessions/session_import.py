"""Store one session of an agent tool as a session like any other.

It is assembled in a directory of its own and gets its final name when it is complete. The files of the tool are not changed.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache, partial
from pathlib import Path
from typing import Literal, NamedTuple

from runcard.documents.session.build import InstanceUsage
from runcard.documents.session.session_spec import SessionSpec
from runcard.documents.session.team import Team
from runcard.encoding import JsonObject
from runcard.files import json_name, printable
from runcard.masking import mask_text
from runcard.observe.clock import Clock
from runcard.operations.sessions.assembly import SessionAssembler
from runcard.operations.sessions.call_lists import CallLists
from runcard.operations.sessions.earlier_sessions import SameContentError
from runcard.operations.sessions.imported_session import (
    ImportParts,
    imported_spec,
    instance_ids,
    safe_id,
)
from runcard.operations.sessions.metered_sessions import MeteredSession
from runcard.operations.sessions.reimport import EarlierImports, NotImported
from runcard.operations.sessions.session_calls import AgentCalls
from runcard.operations.sessions.spec_file import CheckedSpec, masked_session, masked_usage
from runcard.operations.sessions.transcript_sources import (
    ExportState,
    FileState,
    sources_digest,
    transcript_sources,
)
from runcard.recording.record_signature import sign_at_closing
from runcard.store.record import DirectoryRecord
from runcard.store.session_index import SessionIndex
from runcard.store.sessions.agent_logs import AgentLogs
from runcard.store.sessions.collect_options import CollectOptions
from runcard.store.sessions.copying import CopiedLog
from runcard.store.sessions.directory import SessionDirectory
from runcard.store.sessions.instance_copies import InstancePaths, TranscriptSource
from runcard.transcripts.activity import Entry, SessionActivity, SessionFiles
from runcard.transcripts.activity_log import log_text
from runcard.transcripts.calls import MAIN
from runcard.transcripts.content import UnreadPart
from runcard.transcripts.sources import TEAM_TOOLS, SessionTool

RecordedBy = Literal["hook", "import"]
Action = Literal["imported", "replaced", "unchanged", "kept", "failed"]
AddUnread = Callable[[Iterable[UnreadPart]], object]


class SkippedSession(Enum):
    """Why a session is not stored, and need not be."""

    EMPTY = "it has neither a call nor a step of an agent"
    EARLIER = "its work ended before the time that was asked for"


class FoundSession(NamedTuple):
    """A session that was found."""

    files: SessionFiles
    calls: Mapping[str | None, AgentCalls]  # by the id of the agent; None: not known
    size: int  # bytes of its files
    states: Mapping[str, FileState]  # of all files, before they were read
    exported: ExportState | None = None  # of what stands for its files, before they were read
    metered: MeteredSession | None = None  # the runs that metered it
    lists: CallLists | None = None  # with its calls one by one

    @property
    def folder(self) -> str | None:
        """In which it was started, where that is known."""
        folders = (call.project for call in self.calls.values())
        return self.files.folder or next((folder for folder in folders if folder is not None), None)

    @property
    def ends(self) -> dict[str, int]:
        """Where its files ended before their calls were counted, of those that only grow."""
        states = {path: self.states.get(path) for path in self.files.paths}
        return {path: state.size for path, state in states.items() if state and state.sha256 is None}

    @property
    def ended(self) -> int:
        """When its work ended, as far as that is known without reading what its agents did."""
        ended = max((agent.ended for agent in self.calls.values()), default=-1)
        return ended if ended >= 0 else self.files.modified


@dataclass(frozen=True, slots=True)
class ImportedSession:
    """What became of one session."""

    session: str  # the id that its tool gives it
    tool: str
    action: Action
    path: Path | None = None  # of the stored session
    document: Team | None = None
    warnings: tuple[str, ...] = ()
    error: str | None = None  # why it could not be stored
    masked: int = 0  # secrets

    @property
    def is_stored(self) -> bool:
        """Whether there is a new record."""
        return self.action in {"imported", "replaced"}

    def to_dict(self) -> JsonObject:
        data = self.document.to_dict() if self.document is not None else {}
        figures = data.get("execution_summary", {})
        counts = [entry.get("calls") for entry in data.get("instances", ())]
        return {
            "session": printable(self.session),
            "tool": self.tool,
            "action": self.action,
            "path": None if self.path is None else json_name(str(self.path)).text,
            "instances": data.get("total_instances"),
            "calls": None if None in counts or not counts else sum(counts),
            "cost_usd": figures.get("total_cost"),
            "known_cost_usd": figures.get("known_cost"),
            "at_least": bool(data.get("usage_incomplete")),
            "warnings": [*self.warnings, *([self.error] if self.error else [])],
        }


class _BytesDone:
    """How many bytes of a session were read: for what its agents did, by the length of the texts, and then to copy them."""

    def __init__(self, size: int, progress: Callable[[int], object] | None) -> None:
        self._size, self._progress = size, progress
        self._most, self._done = size, 0

    def add(self, count: int) -> None:
        if self._progress is not None:
            self._done = min(self._most, self._done + count)
            self._progress(self._done)

    def over(self, source: TranscriptSource) -> TranscriptSource:
        """The same file, whose bytes count when it is copied."""
        self._done, self._most = self._size, 2 * self._size

        def read() -> Iterator[bytes]:
            for block in source.read():
                self.add(len(block))
                yield block

        return replace(source, read=read)


class SessionImporter:
    """Stores one session after the other."""

    def __init__(
        self,
        source: SessionTool,
        options: CollectOptions,
        index: SessionIndex,
        add_unread: AddUnread,
        *,
        since: int | None,
        workspaces: bool,
        again: bool,
        recorded_by: RecordedBy = "import",
    ) -> None:
        self._source, self._options, self._index, self._add_unread = source, options, index, add_unread
        self._since, self._workspaces, self._again = since, workspaces, again
        self._recorded_by = recorded_by

    def store(
        self, found: FoundSession, progress: Callable[[int], object] | None = None
    ) -> ImportedSession | SkippedSession:
        """Store one session, unless there is nothing in it.

        `progress` is called with the bytes that are done; each byte of its files is read twice.
        """
        files, clock, done = found.files, Clock(), _BytesDone(found.size, progress)
        team = TEAM_TOOLS.get(files.tool)
        is_exported = None if team is None else team.is_exported
        export = getattr(self._source, "export", None)
        sources, unread = transcript_sources(files, found.states, export, is_exported, found.exported)
        self._add_unread(unread)
        team_id = safe_id(files.tool, files.session)
        runs = found.metered.run_ids if found.metered is not None else frozenset()
        earlier = EarlierImports(self._index, team_id, files.tool, sources, again=self._again, runs=runs)
        if (reason := earlier.decide()) is not None:
            return _not_imported(files, earlier, reason)
        moment = earlier.first_free(clock.started)
        with SessionDirectory(self._options.store, team_id, moment, self._options.modes) as directory:
            parts, logs = self._read(found, directory, done)
            parts = replace(parts, recorded_by=(self._recorded_by, *earlier.recorded_by))
            if parts.is_empty:
                return SkippedSession.EMPTY
            if self._since is not None and parts.ended < self._since:
                return SkippedSession.EARLIER
            spec = self._spec(parts, [done.over(source) for source in sources], logs)
            calls = self._calls(found, parts)
            assembler = SessionAssembler(directory, spec, self._options, clock, calls=calls)
            try:  # without files, the content is compared
                document = assembler.run(None, again=self._again, earlier=earlier if sources else None)
            except SameContentError as same:
                return ImportedSession(files.session, files.tool, "unchanged", Path(same.path), same.document)
        remarks = [*assembler.omissions, *assembler.remarks]
        remarks += earlier.replace(DirectoryRecord(directory.final), document)
        remarks += sign_at_closing(directory.final)
        return ImportedSession(
            files.session,
            files.tool,
            "replaced" if earlier.replaced else "imported",
            Path(directory.final),
            document,
            (*_warnings(parts), *remarks),
            masked=sum(assembler.masked.values()),
        )

    def _read(
        self, found: FoundSession, directory: SessionDirectory, done: "_BytesDone"
    ) -> tuple[ImportParts, dict[str, CopiedLog]]:
        """Read what the agents of a session said and did, and write their logs."""
        files, ids = found.files, cache(partial(safe_id, found.files.tool))
        with AgentLogs(directory, mask=not self._options.keep_secrets) as logs:

            def write(entry: Entry) -> None:
                done.add(len(entry.text))
                if self._options.copies_transcripts:
                    logs.write(ids(entry.agent), log_text(entry))

            activity = SessionActivity(files.tool, files.session, write, ends=found.ends)
            self._add_unread(self._source.read_activity(files, activity))
        parts = ImportParts(files, activity, found.calls, self._source.NOT_WRITTEN, found.metered)
        return parts, logs.written()

    def _calls(self, found: FoundSession, parts: ImportParts) -> Iterable[JsonObject]:
        """The calls of a session, for its journal."""
        if found.lists is None:
            return ()
        metered = found.metered.calls if found.metered is not None else ()
        masks = not self._options.keep_secrets
        return found.lists.of_session(found.files.session, instance_ids(parts), metered, masks=masks)

    def _spec(
        self, parts: ImportParts, sources: Sequence[TranscriptSource], logs: Mapping[str, CopiedLog]
    ) -> CheckedSpec:
        """The description of the session for the assembler."""
        team = TEAM_TOOLS.get(parts.files.tool)
        session, usages = imported_spec(parts, is_counted=team is None)
        folder = session.fields["origin_session"].get("folder") if self._workspaces else None
        redactions: dict[str, int] = {}
        if not self._options.keep_secrets:
            session, usages, redactions = _without_secrets(session, usages)
        ids = instance_ids(parts)
        first = next(iter(ids.values()))  # the main agent, where it is known
        owned: dict[str, list[TranscriptSource]] = {}
        owners = {os.path.abspath(path): agent for path, agent in parts.activity.owners.items()}
        for source in sources:
            owned.setdefault(ids.get(owners.get(source.source, MAIN), first), []).append(source)
        folders = {first: folder}
        if team is not None and self._workspaces:
            folders = {
                ids[agent]: path for agent, path in team.workspaces(parts.files).items() if agent in ids
            }
        paths = {
            own: InstancePaths(folders.get(own), None, logs.get(own), tuple(owned.get(own, ())))
            for own in ids.values()
        }
        origin = {"tool": parts.files.tool, "sha256": sources_digest(sources)}
        return CheckedSpec(session, paths, usages, (), redactions, origin)


def _not_imported(files: SessionFiles, earlier: EarlierImports, reason: NotImported) -> ImportedSession:
    """The result for a session whose import is up to date, or is kept."""
    stored = reason.stored
    if reason.action == "unchanged":
        for _ in earlier.replace(stored.record, stored.document):  # what a killed import has left
            pass
    warnings = () if reason.message is None else (reason.message,)
    path = Path(os.path.abspath(stored.record.path))
    return ImportedSession(files.session, files.tool, reason.action, path, stored.document, warnings)


def _without_secrets(
    session: SessionSpec, usages: Mapping[str, InstanceUsage]
) -> tuple[SessionSpec, dict[str, InstanceUsage], dict[str, int]]:
    """The same with secrets masked, and how many there were by rule.

    The number of uses of a tool stays, also where the tool is called `password`.
    """
    masked, redactions = masked_session(session)
    instances = [
        replace(hidden, fields=hidden.fields | {"tool_uses": _masked_names(plain.fields["tool_uses"])})
        if "tool_uses" in plain.fields
        else hidden
        for plain, hidden in zip(session.instances, masked.instances, strict=True)
    ]
    hidden_usages = {own: masked_usage(usage) for own, usage in usages.items()}
    return replace(masked, instances=tuple(instances)), hidden_usages, redactions


def _masked_names(counts: Mapping[str, int]) -> dict[str, int]:
    masked: dict[str, int] = {}
    for name, count in counts.items():
        shown = mask_text(name).value
        masked[shown] = masked.get(shown, 0) + count
    return masked


def _warnings(parts: ImportParts) -> list[str]:
    unpriced = sorted({name for calls in parts.calls.values() for name in calls.unpriced})
    names = mask_text(", ".join(unpriced)).value
    warnings = [f"the price is unknown, or known only in part: {names}"] if unpriced else []
    if not parts.is_timed:
        warnings.append("its records have no times: those of its files are used")
    return warnings
