"""The sessions of agent tools on this machine: how many, which are not imported, and when their tool deletes them.

Files are looked at, not read: of a session only the beginning of one file, where its path does not name the session. A database
is opened as one that does not change, so that SQLite writes no file beside it.
"""

import contextlib
import json
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from stat import S_ISREG
from urllib.parse import quote

from runcard.documents.times import format_time
from runcard.encoding import JsonObject
from runcard.files import open_regular
from runcard.operations.checks.doctor.stored_sessions import StoredSessions
from runcard.transcripts import claude_code, codex, gemini, opencode
from runcard.transcripts.content import UnreadPart
from runcard.transcripts.retention import Retention, retention
from runcard.transcripts.sources import SOURCES, own_files

SOON = 7  # days
_DAY = 86400.0
_BEGINNING = 1 << 16  # bytes of a file that are read
_MOST_PROJECTS = 1000
_MOST_UNREAD = 100  # that are named
_SESSION = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,200})"')
_FOLDER = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')
_LAST_TIME = 253402300799.0  # of the year 9999


@dataclass
class AgentSession:
    """One session of a tool."""

    id: str
    group: str  # the folder whose sessions are deleted together, by the tool's own settings
    files: list[tuple[str, int]] = field(default_factory=list)  # paths and sizes
    changed: float = 0.0  # the last change of any of its files
    expires_from: float = float("inf")  # the change from which its tool counts


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
    at_least: bool = False  # a database has more that is not in its main file yet
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
    for tool, source in SOURCES.items():
        folders = [folder for folder in source.folders(variables) if os.path.isdir(folder)]
        files, unread = own_files(tool, variables) if folders else ([], [])
        if not files and not unread:
            continue
        survey = AgentTranscripts(tool, source.TITLE, folders, Retention("unknown"), unread=unread)
        sessions = _sessions(tool, (file.path for file in files), survey)
        _add(survey, sessions, stored, now, variables)
        found.append(survey)
    return found


def _sessions(tool: str, paths: Iterable[str], survey: AgentTranscripts) -> list[AgentSession]:
    """The sessions in these files; their number and size are added to the survey."""
    sessions: dict[str, AgentSession] = {}
    for path in paths:
        try:
            status = os.lstat(path)
        except OSError:
            continue  # it was deleted meanwhile
        if not S_ISREG(status.st_mode):
            continue
        survey.files += 1
        survey.size += status.st_size
        for name in _session_names(tool, path, survey):
            session = sessions.setdefault(name, AgentSession(name, _group(tool, path)))
            session.files.append((path, status.st_size))
            session.changed = max(session.changed, status.st_mtime)
            if _counts(tool, path, name):
                session.expires_from = min(session.expires_from, status.st_mtime)
    for session in sessions.values():
        if session.expires_from == float("inf"):
            session.expires_from = session.changed
    return list(sessions.values())


def _session_names(tool: str, path: str, survey: AgentTranscripts) -> Iterator[str]:
    """The ids of the sessions in a file."""
    parts, stem = path.split("/"), os.path.basename(path).partition(".")[0]
    if tool == opencode.NAME:
        yield from _in_database(path, survey) if path.endswith(".db") else [parts[-2]]
    elif tool == codex.NAME:
        yield stem.removeprefix("rollout-")[20:] or stem
    elif tool == gemini.NAME:
        yield (_named(path) or stem) if parts[-2] == "chats" else parts[-2]
    elif "subagents" in parts[1:]:
        yield parts[parts.index("subagents", 1) - 1]
    else:
        yield (_named(path) or stem) if stem.startswith("agent-") else stem


def _group(tool: str, path: str) -> str:
    """The folder of the sessions that a tool counts together."""
    parts = path.split("/")
    mark = {claude_code.NAME: "projects", gemini.NAME: "tmp"}.get(tool)
    if mark is None or mark not in parts:
        return ""
    end = len(parts) - 1 - parts[::-1].index(mark) + 2
    return "/".join(parts[:end])


def _counts(tool: str, path: str, session: str) -> bool:
    """Whether the tool deletes a session by the age of this file: the others go with it."""
    return tool != claude_code.NAME or os.path.basename(path) == f"{session}.jsonl"


def _beginning(path: str) -> bytes:
    try:
        descriptor = open_regular(path)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _BEGINNING)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _named(path: str) -> str | None:
    match = _SESSION.search(_beginning(path))
    return match[1].decode("utf-8", "replace") if match else None


def _in_database(path: str, survey: AgentTranscripts) -> list[str]:
    """The sessions in a database, without those of sub-agents."""
    uri = f"file:{quote(os.path.abspath(path))}?mode=ro&immutable=1"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=0)) as connection:
            rows = connection.execute("SELECT id FROM session WHERE parent_id IS NULL").fetchall()
        names = [name for (name,) in rows if isinstance(name, str)]
    except sqlite3.Error as error:
        survey.unread.append(UnreadPart(path, None, f"the database cannot be read: {error}"))
        names = []
    with contextlib.suppress(OSError):
        survey.at_least |= os.lstat(f"{path}-wal").st_size > 0
    return names


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
        period = retention(survey.tool, root, _projects(survey.tool, own), environ)
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


def _projects(tool: str, sessions: list[AgentSession]) -> Iterator[str]:
    """The folders in which a tool was used, and the present one; by the newest session of each group."""
    newest: dict[str, AgentSession] = {}
    for session in sorted(sessions, key=lambda session: session.changed, reverse=True):
        newest.setdefault(session.group, session)
        if len(newest) >= _MOST_PROJECTS:
            break
    for group, session in newest.items():
        folder = _folder_named(tool, group, session)
        if folder is not None and os.path.isabs(folder) and "\0" not in folder:
            yield folder
    with contextlib.suppress(OSError):
        yield os.getcwd()


def _folder_named(tool: str, group: str, session: AgentSession) -> str | None:
    if tool == gemini.NAME:
        return _beginning(os.path.join(group, ".project_root")).decode("utf-8", "surrogateescape").strip()
    match = _FOLDER.search(_beginning(session.files[0][0])) if tool == claude_code.NAME else None
    with contextlib.suppress(ValueError):
        name = json.loads(match[1]) if match else None
        return name if isinstance(name, str) else None
    return None
