"""The sessions of agent tools on this machine: how many, which are not imported, and when their tool deletes them.

Of most files only the first lines are read. A database is opened as one that does not change, so that SQLite writes no file beside it.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from stat import S_ISREG

from runcard.documents.times import format_time
from runcard.encoding import JsonObject
from runcard.files import read_regular
from runcard.operations.checks.doctor.stored_sessions import StoredSessions
from runcard.transcripts import claude_code, gemini, opencode
from runcard.transcripts.content import TranscriptFile, UnreadPart
from runcard.transcripts.opencode.database import open_database
from runcard.transcripts.retention import Retention, retention
from runcard.transcripts.sources import SESSION_TOOLS, own_files

SOON = 7  # days
_DAY = 86400.0
_MOST_PROJECTS = 1000
_SMALL = 1 << 16  # bytes of a file that is read as a whole
_MESSAGE = {claude_code.NAME: b'"message"', gemini.NAME: b'"type"'}  # what a file with a message has
_MOST_UNREAD = 100  # that are named
_LAST_TIME = 253402300799.0  # of the year 9999


@dataclass
class AgentSession:
    """One session of a tool."""

    id: str
    group: str  # the folder whose sessions a tool counts together
    folder: str | None  # in which it was started, where that is known
    files: list[tuple[str, int]]  # paths and sizes
    changed: float  # the last change of any of its files
    expires_from: float  # the change from which its tool counts the days


@dataclass
class AgentTranscripts:
    """The sessions of one tool."""

    tool: str
    title: str
    folders: list[str]
    retention: Retention
    sessions: int = 0
    files: int = 0
    size: int = 0
    imported: int = 0
    grown: int = 0  # imported, and changed since
    empty: int = 0  # sessions without a message, which are not counted: there is nothing to import
    at_least: bool = False  # a database cannot be read
    newest: float | None = None
    oldest: float | None = None
    next_deletion: float | None = None  # of those that are not imported
    soon: int = 0  # sessions that are not imported and go within SOON days
    unread: list[UnreadPart] = field(default_factory=list)

    @property
    def not_imported(self) -> int:
        return self.sessions - self.imported

    @property
    def command(self) -> str | None:
        """The command that keeps them."""
        return f"runcard import {self.tool} --all" if self.not_imported else None

    def days_left(self, now: float) -> int | None:
        """Whole days until the first of them is deleted."""
        return None if self.next_deletion is None else max(0, int((self.next_deletion - now) // _DAY))

    def to_dict(self, now: float) -> JsonObject:
        kind, days, source, note, _ = self.retention
        return {
            "tool": self.tool,
            "title": self.title,
            "folders": self.folders,
            "sessions": self.sessions,
            "at_least": self.at_least,
            "files": self.files,
            "bytes": self.size,
            "oldest": _time(self.oldest),
            "newest": _time(self.newest),
            "imported": self.imported,
            "grown": self.grown,
            "empty": self.empty,
            "not_imported": self.not_imported,
            "retention": {"kind": kind, "days": days, "source": source, "note": note},
            "next_deletion": _time(self.next_deletion),
            "days_left": self.days_left(now),
            "deleted_soon": self.soon,
            "command": self.command,
            "unread": [{"path": path, "reason": reason} for path, _, reason in self.unread[:_MOST_UNREAD]],
        }


def _time(seconds: float | None) -> str | None:
    if seconds is None or not 0 <= seconds <= _LAST_TIME:
        return None
    return format_time(datetime.fromtimestamp(seconds, UTC))


def agent_transcripts(
    stores: Iterable[str], now: float, environ: Mapping[str, str] | None = None
) -> list[AgentTranscripts]:
    """The sessions of each tool that has a folder here."""
    variables = os.environ if environ is None else environ
    stored = StoredSessions(stores)
    found = []
    for tool, source in SESSION_TOOLS.items():
        folders = [folder for folder in source.folders(variables) if os.path.isdir(folder)]
        files, unread = own_files(tool, variables) if folders else ([], [])
        if not files and not unread:
            continue
        survey = AgentTranscripts(tool, source.TITLE, folders, Retention("unknown"), unread=unread)
        sessions = _sessions(tool, files, survey)
        _add(survey, sessions, stored, now, variables)
        found.append(survey)
    return found


def _sessions(tool: str, files: list[TranscriptFile], survey: AgentTranscripts) -> list[AgentSession]:
    """The sessions in these files; their number and size are added to the survey."""
    status = {file.path: found for file in files if (found := _status(file.path)) is not None}
    survey.files, survey.size = len(status), sum(found.st_size for found in status.values())
    sessions = []
    for name, paths, folder in _grouped(tool, [file for file in files if file.path in status], survey):
        own = [(path, status[path]) for path in paths if path in status]
        times = [found.st_mtime for _, found in own]
        counting = [found.st_mtime for path, found in own if _counts(tool, path)]
        sizes = [(path, found.st_size) for path, found in own]
        if own and _is_empty(tool, sizes):
            survey.empty += 1
        elif own:
            group = _group(tool, own[0][0])
            sessions.append(AgentSession(name, group, folder, sizes, max(times), min(counting or times)))
    return sessions


def _status(path: str) -> os.stat_result | None:
    """The status of a regular file; None for anything else."""
    try:
        status = os.lstat(path)
    except OSError:
        return None  # it was deleted meanwhile
    return status if S_ISREG(status.st_mode) else None


def _grouped(
    tool: str, files: list[TranscriptFile], survey: AgentTranscripts
) -> Iterator[tuple[str, Iterable[str], str | None]]:
    """The id, the files and, where it is known, the folder of each session."""
    if tool == opencode.NAME:
        in_databases = {
            name: file.path
            for file in files
            if file.path.endswith(".db")
            for name in _in_database(file.path, survey)
        }
        yield from ((name, [path], None) for name, path in in_databases.items())
        groups: dict[str, list[str]] = {}
        for file in files:
            name = os.path.basename(os.path.dirname(file.path))
            if not file.path.endswith(".db") and name not in in_databases:
                groups.setdefault(name, []).append(file.path)
        yield from ((name, paths, None) for name, paths in groups.items())
        return
    sessions, unread = SESSION_TOOLS[tool].sessions(files)
    survey.unread += unread
    for session in sessions:
        yield session.session, session.paths, session.folder


def _is_empty(tool: str, files: list[tuple[str, int]]) -> bool:
    """Whether a session has no message: a tool writes a small file when it is only started."""
    mark = _MESSAGE.get(tool)
    if mark is None or any(size > _SMALL for _, size in files):
        return False
    try:
        return not any(mark in (read_regular(path) or b"") for path, _ in files)
    except OSError:
        return False


def _group(tool: str, path: str) -> str:
    """The folder of the sessions that a tool counts together."""
    parts = path.split("/")
    mark = {claude_code.NAME: "projects", gemini.NAME: "tmp"}.get(tool)
    if mark is None or mark not in parts:
        return ""
    end = len(parts) - 1 - parts[::-1].index(mark) + 2
    return "/".join(parts[:end])


def _counts(tool: str, path: str) -> bool:
    """Whether a tool deletes a file by its own age. With Claude Code, those in the folder of a session go with its main file."""
    return tool != claude_code.NAME or "/subagents/" not in path


def _in_database(path: str, survey: AgentTranscripts) -> list[str]:
    """The sessions in a database, without those of sub-agents."""
    try:
        with open_database(path) as database:
            return [name for name, facts in database.all_facts().items() if facts.parent is None]
    except sqlite3.Error as error:
        survey.unread.append(UnreadPart(path, None, f"the database cannot be read: {error}"))
        survey.at_least = True
        return []


def _add(
    survey: AgentTranscripts,
    sessions: list[AgentSession],
    stored: StoredSessions,
    now: float,
    environ: Mapping[str, str],
) -> None:
    """Count the sessions that are not imported, and find when the first of them is deleted."""
    is_imported = stored.states(survey.tool, sessions)
    survey.sessions = len(sessions)
    survey.imported = sum(is_imported[session.id] is True for session in sessions)
    survey.grown = sum(is_imported[session.id] is False for session in sessions)
    times = [session.changed for session in sessions]
    survey.newest, survey.oldest = max(times, default=None), min(times, default=None)
    for root in dict.fromkeys(_root(survey.tool, folder) for folder in survey.folders):
        own = [session for session in sessions if session.files[0][0].startswith(f"{root}/")]
        period = retention(survey.tool, root, _projects(own), environ)
        if survey.retention.kind == "unknown" or _is_shorter(period, survey.retention):
            survey.retention = period
        for session, end in _ends(own, period):
            if is_imported[session.id] is not True:
                survey.next_deletion = min(end, survey.next_deletion or end)
                survey.soon += end - now < SOON * _DAY


def _is_shorter(period: Retention, other: Retention) -> bool:
    return period.days is not None and (other.days is None or period.days < other.days)


def _root(tool: str, folder: str) -> str:
    """The folder of a tool that its settings are in."""
    return folder if tool == opencode.NAME else os.path.dirname(folder)


def _ends(sessions: list[AgentSession], period: Retention) -> Iterator[tuple[AgentSession, float]]:
    """When each session is deleted at the earliest."""
    if period.days is None:
        return
    rank: dict[str, int] = {}
    for session in sorted(sessions, key=lambda session: session.changed, reverse=True):
        rank[session.group] = rank.get(session.group, 0) + 1
        is_surplus = period.most is not None and rank[session.group] > period.most
        yield session, session.changed if is_surplus else session.expires_from + period.days * _DAY


def _projects(sessions: list[AgentSession]) -> Iterator[str]:
    """The folders in which a tool was used, newest first, and the present one."""
    newest = sorted(sessions, key=lambda session: session.changed, reverse=True)
    folders = dict.fromkeys(session.folder for session in newest if session.folder is not None)
    for folder in list(folders)[:_MOST_PROJECTS]:
        if os.path.isabs(folder) and "\0" not in folder:
            yield folder
    with contextlib.suppress(OSError):
        yield os.getcwd()
