"""`runcard import`: store the sessions of an agent tool, each as a session like any other.

Calls are counted as `runcard costs` counts them: over all files that were found, each call once. So the sum over all imported
sessions is what `costs` says of the same files. What the agents said and did is read in a second pass, session by session.

Each session is assembled in a directory of its own and gets its final name when it is complete. The files of the tool are not
changed. A session that cannot be stored does not stop the others, unless the store can take no more.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

from runcard import settings as known
from runcard.accounting import Prices
from runcard.documents.exact_sums import exact_sum, plain_number
from runcard.documents.kinds import TEAM
from runcard.documents.session.team import Team
from runcard.encoding import JsonObject
from runcard.errors import MachineError, RuncardError, StoreError, UsageError
from runcard.files import json_name, printable
from runcard.masking import mask_text
from runcard.observe.clock import Clock
from runcard.operations.sessions.assembly import SessionAssembler
from runcard.operations.sessions.collect import check_allowed, check_quota
from runcard.operations.sessions.earlier_sessions import SameContentError
from runcard.operations.sessions.imported_session import (
    SessionParts,
    imported_spec,
    instance_ids,
    safe_id,
)
from runcard.operations.sessions.session_calls import AgentCalls, calls_by_session
from runcard.operations.sessions.spec_file import CheckedSpec, masked_session, masked_usage
from runcard.operations.sessions.transcript_sources import sources_digest, transcript_sources
from runcard.settings import read_settings
from runcard.settings.apply import configured_prices, use_masking_settings
from runcard.store.sessions.agent_logs import AgentLogs
from runcard.store.sessions.collect_options import CollectOptions
from runcard.store.sessions.copying import CopiedLog
from runcard.store.sessions.directory import SessionDirectory
from runcard.store.sessions.instance_copies import InstancePaths, TranscriptSource
from runcard.store.sessions.recovery import recover_sessions
from runcard.transcripts.activity import Entry, SessionActivity, SessionFiles
from runcard.transcripts.activity_log import log_text
from runcard.transcripts.calls import MAIN
from runcard.transcripts.content import TranscriptFile, UnreadPart
from runcard.transcripts.reading import read_files
from runcard.transcripts.sources import SOURCES, SessionTool, find_files

Action = Literal["imported", "replaced", "unchanged", "kept", "failed"]

_SETTINGS_USED = tuple(setting for setting in known.ALL if setting is not known.OUTPUTS)
TOOLS = tuple(name for name, tool in SOURCES.items() if hasattr(tool, "read_activity"))


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


@dataclass
class ImportReport:
    """What became of all sessions that were found and wanted."""

    sessions: list[ImportedSession] = field(default_factory=list)
    empty: int = 0  # sessions without a call and without a step of an agent
    unread: list[UnreadPart] = field(default_factory=list)
    unknown_types: dict[str, int] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)  # other warnings

    @property
    def known_cost(self) -> float:
        """What is known of the cost of the sessions that were stored, in dollars."""
        documents = [each.document.to_dict() for each in self.sessions if each.is_stored and each.document]
        return plain_number(
            exact_sum(document["execution_summary"].get("known_cost", 0) for document in documents)
        )

    def to_dict(self) -> JsonObject:
        return {
            "sessions": [session.to_dict() for session in self.sessions],
            "empty": self.empty,
            "unread": [
                {"path": json_name(path).text, "line": line, "reason": reason}
                for path, line, reason in self.unread
            ],
            "unknown_types": self.unknown_types,
        }


class ImportProgress(NamedTuple):
    """How far an import is: first all files are read, then one session after the other is stored."""

    bytes: int
    total_bytes: int
    sessions: int
    total_sessions: int | None  # None: not known yet


Progress = Callable[[ImportProgress], object]


class _Candidate(NamedTuple):
    """A session that was found."""

    files: SessionFiles
    calls: Mapping[str | None, AgentCalls]
    size: int  # bytes of its files

    @property
    def folder(self) -> str | None:
        """In which it was started, where that is known."""
        folders = (call.project for call in self.calls.values())
        return self.files.folder or next((folder for folder in folders if folder is not None), None)


def import_sessions(  # noqa: PLR0913 - one for each option of the command
    tool: str,
    paths: Sequence[str | os.PathLike[str]] = (),
    *,
    session: str | None = None,
    since: datetime | None = None,
    everywhere: bool = False,
    workspaces: bool = False,
    artifacts: str | os.PathLike[str] | None = None,
    schema: str = TEAM.latest,
    keep_secrets: bool = False,
    again: bool = False,
    prices: Prices | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Import the sessions of a tool: those in `paths`, or those in its own folders.

    Without `paths`, only sessions that were started in the current directory or below are imported, unless `everywhere` is
    true or a `session` is named, by its id or a unique prefix. `since` leaves out sessions whose work ended before. With
    `workspaces`, the folder of each session is copied as it is now. Raises StoreError where there is nothing to import.
    """
    if tool not in TOOLS:
        raise UsageError(f"{tool!r} is not a known tool", hint=f"use {', '.join(TOOLS)}")
    settings = read_settings({known.ARTIFACTS_DIR: None if artifacts is None else os.fspath(artifacts)})
    check_allowed(settings, schema)
    use_masking_settings(settings)
    options = CollectOptions(settings, schema, keep_secrets=keep_secrets)
    check_quota(options.store, settings[known.ARTIFACTS_MAX_SIZE_GB])
    report = ImportReport()
    candidates = _find(tool, [os.fspath(path) for path in paths], report, prices, progress)
    if paths or everywhere or session is not None:
        wanted = candidates if session is None else _named(candidates, session)
    else:
        wanted = _started_here(candidates, SOURCES[tool].TITLE)
    if since is not None:
        start = round(since.timestamp() * 1000)
        wanted = [each for each in wanted if _last_time(each) >= start]
    report.remarks += [f"{message}; {hint}" for message, hint in settings.warnings(*_SETTINGS_USED)]
    if wanted:
        report.remarks += recover_sessions(options.store, Clock().timestamp)
    importer = _Importer(tool, options, report, workspaces=workspaces, again=again)
    importer.run(wanted, sum(each.size for each in candidates), progress)
    return report


def _find(
    tool: str, paths: Sequence[str], report: ImportReport, prices: Prices | None, progress: Progress | None
) -> list[_Candidate]:
    """All sessions of a tool, with the calls of each."""
    files, left_out = find_files([tool], paths)
    total = sum(file.size for file in files if not file.start)
    source = _source(tool)
    sessions, not_grouped = source.sessions([file for file in files if not file.start])

    def advance(_: int, done: int) -> None:
        if progress is not None:
            progress(ImportProgress(done, 2 * total, 0, None))

    read = read_files([_limited(file) for file in files], advance)
    report.unread += [*left_out, *not_grouped, *read.unread]
    report.unknown_types = dict(sorted(read.unknown_types.items()))
    calls = calls_by_session(read.table, prices or configured_prices())
    sizes = {file.path: file.size for file in files}
    candidates = [
        _Candidate(each, calls.pop(each.session, {}), sum(sizes.get(path, 0) for path in each.paths))
        for each in sessions
    ]
    for own, agents in calls.items():  # calls in files of other sessions: their own files are gone
        ended = max((agent.ended for agent in agents.values()), default=0)
        candidates.append(_Candidate(SessionFiles(tool, own or "no session", (), ended), agents, 0))
    return sorted(candidates, key=_last_time)


def _limited(file: TranscriptFile) -> TranscriptFile:
    """The same file, as long as it is now."""
    return file._replace(end=file.size) if file.end is None and file.path.endswith(".jsonl") else file


def _source(tool: str) -> SessionTool:
    source: SessionTool = SOURCES[tool]  # type: ignore[assignment]
    return source


def _last_time(candidate: _Candidate) -> int:
    """When the work of a session ended, as far as that is known without reading what its agents did."""
    ended = max((agent.ended for agent in candidate.calls.values()), default=-1)
    return ended if ended >= 0 else candidate.files.modified


def _named(candidates: Sequence[_Candidate], name: str) -> list[_Candidate]:
    """The session with this id, or the only one whose id begins with it."""
    exact = [each for each in candidates if each.files.session == name]
    found = exact or [each for each in candidates if each.files.session.startswith(name)]
    if len(found) == 1:
        return found
    if not found:
        raise StoreError(
            f"no session {printable(name)} found", hint="`runcard costs --by session` lists them"
        )
    error = StoreError(f"{len(found)} sessions begin with {printable(name)}", hint="name more of its id")
    error.details = tuple(printable(each.files.session) for each in found[:10])
    raise error


def _started_here(candidates: Sequence[_Candidate], title: str) -> list[_Candidate]:
    """The sessions that were started in the current directory or below."""
    here = {os.getcwd(), os.path.realpath(os.environ.get("PWD") or os.curdir)}
    wanted = [each for each in candidates if each.folder is not None and _is_in(each.folder, here)]
    if not wanted:
        raise StoreError(
            f"no session of {title} was started in this directory; {len(candidates):,} elsewhere",
            hint="pass --all to import them, or run this in the directory of a project",
        )
    return wanted


def _is_in(folder: str, directories: set[str]) -> bool:
    paths = {folder, os.path.realpath(folder)}
    return any(
        path == directory or path.startswith(f"{directory.rstrip('/')}/")
        for path in paths
        for directory in directories
    )


class _Importer:
    """Stores one session after the other."""

    def __init__(
        self, tool: str, options: CollectOptions, report: ImportReport, *, workspaces: bool, again: bool
    ) -> None:
        self._source, self._options, self._report = _source(tool), options, report
        self._workspaces, self._again = workspaces, again

    def run(self, candidates: Sequence[_Candidate], done: int, progress: Progress | None) -> None:
        """Import these sessions; `done` is how many bytes were read before."""
        total = done + sum(each.size for each in candidates)
        for number, candidate in enumerate(candidates):
            if progress is not None:
                progress(ImportProgress(done, total, number, len(candidates)))
            try:
                stored = self._import(candidate)
            except RuncardError as error:
                files = candidate.files
                failed = ImportedSession(files.session, files.tool, "failed", error=error.message)
                self._report.sessions.append(failed)
                if isinstance(error, MachineError):  # the store can take no more
                    return
            else:
                self._report.sessions += [] if stored is None else [stored]
                self._report.empty += stored is None
            done += candidate.size
        if progress is not None:
            progress(ImportProgress(total, total, len(candidates), len(candidates)))

    def _import(self, candidate: _Candidate) -> ImportedSession | None:
        """Store one session; None if there is nothing in it."""
        files, clock = candidate.files, Clock()
        sources, unread = transcript_sources(files)
        team_id = safe_id(files.tool, files.session)
        with SessionDirectory(self._options.store, team_id, clock.started, self._options.modes) as directory:
            parts, logs, more = self._read(candidate, directory)
            self._report.unread += [*unread, *more]
            if parts.is_empty:
                return None
            spec = self._spec(parts, sources, logs)
            assembler = SessionAssembler(directory, spec, self._options, clock)
            warnings = _warnings(parts)
            try:
                document = assembler.run(None, again=self._again)
            except SameContentError as same:
                return ImportedSession(files.session, files.tool, "unchanged", Path(same.path), same.document)
        return ImportedSession(
            files.session,
            files.tool,
            "imported",
            Path(directory.final),
            document,
            (*warnings, *assembler.omissions, *assembler.remarks),
            masked=sum(assembler.masked.values()),
        )

    def _read(
        self, candidate: _Candidate, directory: SessionDirectory
    ) -> tuple[SessionParts, dict[str, CopiedLog], list[UnreadPart]]:
        """Read what the agents of a session said and did, and write their logs."""
        files = candidate.files
        with AgentLogs(directory) as logs:

            def write(entry: Entry) -> None:
                if self._options.copies_transcripts:
                    shown, counts = self._masked(entry)
                    own = MAIN if entry.agent == MAIN else safe_id(files.tool, entry.agent)
                    logs.write(own, log_text(shown), counts)

            activity = SessionActivity(files.tool, files.session, write)
            unread = self._source.read_activity(files, activity)
        parts = SessionParts(files, activity, candidate.calls, self._source.NOT_WRITTEN)
        return parts, logs.written(), unread

    def _masked(self, entry: Entry) -> tuple[Entry, dict[str, int]]:
        if self._options.keep_secrets:
            return entry, {}
        text, name = mask_text(entry.text), mask_text(entry.name or "")
        counts = text.counts | {rule: text.counts.get(rule, 0) + n for rule, n in name.counts.items()}
        return entry._replace(text=text.value, name=name.value or None), counts

    def _spec(
        self, parts: SessionParts, sources: Sequence[TranscriptSource], logs: Mapping[str, CopiedLog]
    ) -> CheckedSpec:
        session, usages = imported_spec(parts)
        redactions: dict[str, int] = {}
        if not self._options.keep_secrets:
            plain = session
            session, redactions = masked_session(session)
            counts = [each.fields.get("tool_uses") for each in plain.instances]
            session = replace(
                session,
                instances=tuple(
                    replace(each, fields=each.fields | {"tool_uses": _masked_names(names)})
                    if names is not None
                    else each
                    for each, names in zip(session.instances, counts, strict=True)
                ),
            )
            usages = {own: masked_usage(usage) for own, usage in usages.items()}
        ids = instance_ids(parts)
        owned: dict[str, list[TranscriptSource]] = {}
        owners = {os.path.abspath(path): agent for path, agent in parts.activity.owners.items()}
        for source in sources:
            owner = owners.get(source.source, MAIN)
            owned.setdefault(ids.get(owner) or next(iter(ids.values())), []).append(source)
        folder = session.fields["origin_session"].get("folder") if self._workspaces else None
        root = next(iter(ids.values()))
        paths = {
            own: InstancePaths(
                folder if own == root else None, None, logs.get(own), tuple(owned.get(own, ()))
            )
            for own in ids.values()
        }
        origin = {"tool": parts.files.tool, "sha256": sources_digest(sources)}
        return CheckedSpec(session, paths, usages, (), redactions, origin)


def _masked_names(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts by name, with secrets masked in the names; the counts stay, whatever they are called."""
    masked: dict[str, int] = {}
    for name, count in counts.items():
        shown = mask_text(name).value
        masked[shown] = masked.get(shown, 0) + count
    return masked


def _warnings(parts: SessionParts) -> list[str]:
    unpriced = sorted({name for calls in parts.calls.values() for name in calls.unpriced})
    warnings = [f"no price, or not for all parts: {', '.join(unpriced)}"] if unpriced else []
    if not parts.is_timed:
        warnings.append("its records have no times: those of its files are used")
    return warnings
