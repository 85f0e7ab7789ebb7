"""OpenCode: a database `opencode.db` (SQLite), or of older versions a JSON file for each message below `storage`.

A call is an assistant message with its tokens. There are two generations of tables: `message`, and `session_message`, whose rows count where
a session has no rows in the first. Where the database has a session, its older files do not count. A sub-agent is a session with a
parent.

    records         what is kept, the same for both
    database, message_files   where it is kept
    message_calls   the call in a message
    steps           what the agents said and did
    session_rows    the rows of one session, as they are stored in an import
"""

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

from runcard.errors import StoreError, UsageError
from runcard.files import printable, read_stream
from runcard.transcripts.activity import SessionActivity, SessionFiles
from runcard.transcripts.content import FileContent, TranscriptFile, UnreadPart, decode_record, text_of
from runcard.transcripts.opencode.database import TABLES, Database, open_database
from runcard.transcripts.opencode.message_calls import NAME, add_call
from runcard.transcripts.opencode.message_files import MessageFiles, session_in, session_of, session_row
from runcard.transcripts.opencode.records import (
    LARGEST,
    TOO_LARGE,
    SessionFacts,
    SessionRoots,
    SessionSource,
    facts_of,
)
from runcard.transcripts.opencode.session_rows import export_lines
from runcard.transcripts.opencode.steps import read_steps

__all__ = [
    "IS_DIVISIBLE",
    "NAME",
    "NOT_WRITTEN",
    "TITLE",
    "export",
    "folders",
    "is_session_file",
    "is_session_record",
    "read",
    "read_activity",
    "sessions",
    "subfolders",
]

TITLE = "OpenCode"
NOT_WRITTEN = ("titles of sessions", "calls that ended before their usage was reported")
IS_DIVISIBLE = False

_DATABASE = ".db"


def folders(environ: Mapping[str, str]) -> list[str]:
    """Where OpenCode keeps its sessions."""
    base = environ.get("XDG_DATA_HOME") or ""
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".local", "share")
    return [os.path.join(base, "opencode")]


def subfolders(folder: str) -> list[str]:
    """Where sessions are in a folder that the user names."""
    return [folder]


def is_session_file(path: str) -> bool:
    """Whether a file in one of these folders has messages, by its name."""
    name, parts = os.path.basename(path), path.split("/")
    if name.endswith(_DATABASE):
        return name.startswith("opencode")
    return name.endswith(".json") and "message" in parts[:-1] and "storage" in parts[:-1]


def is_session_record(record: Mapping[str, Any]) -> bool:
    """Whether the object in a file is a message of this tool."""
    return "role" in record and ("sessionID" in record or "modelID" in record)


def read(path: str, file: BinaryIO, start: int = 0, end: int | None = None) -> FileContent:  # noqa: ARG001 - as of all tools
    """Read a database, or the file of one message."""
    return _read_database(path) if path.endswith(_DATABASE) else _read_message_file(path, file)


def _read_message_file(path: str, file: BinaryIO) -> FileContent:
    content = FileContent()
    data = read_stream(file, LARGEST)
    if len(data) > LARGEST:
        content.add_unread(None, TOO_LARGE)
        return content
    try:
        message = decode_record(data.removeprefix(b"\xef\xbb\xbf"))
        session = session_of(path) or session_in(path)
        roots = SessionRoots(lambda name: facts_of(session_row(path, name)))
        name = os.path.basename(path).removesuffix(".json")
        facts = facts_of(session_row(path, session))
        add_call(content, message, text_of(message.get("id")) or name, session, roots.root(session), facts)
    except ValueError as error:
        content.add_unread(None, str(error))
    except UsageError as error:
        content.add_unread(None, f"usage: {error.message}"[:200])
    return content


def _read_database(path: str) -> FileContent:
    """Read all messages. What is locked, damaged or of another kind is unreadable, never empty."""
    content = FileContent()
    try:
        with open_database(path) as database:
            _read_tables(database, content)
    except sqlite3.Error as error:
        content.add_unread(None, _unreadable(error))
    return content


def _unreadable(error: sqlite3.Error) -> str:
    return f"the database cannot be read: {error}"


def _read_tables(database: Database, content: FileContent) -> None:
    sessions = database.all_facts()
    content.sessions = frozenset(sessions)
    roots = SessionRoots(sessions.get)
    counted: set[str] = set()  # sessions with calls in an earlier table
    for table in TABLES:
        if not database.has(table):
            continue
        in_table = set()
        for name, session, created, data in database.all_messages(table):
            if not isinstance(session, str) or session in counted:
                continue
            content.lines += 1
            try:
                message = decode_record(_raw(data))
                facts = sessions.get(session)
                if add_call(content, message, str(name), session, roots.root(session), facts, created):
                    in_table.add(session)
            except ValueError as error:
                content.add_unread(None, f"message {str(name)[:80]}: {error}")
            except UsageError as error:
                content.add_unread(None, f"message {str(name)[:80]}: usage: {error.message}"[:200])
        counted |= in_table


def _raw(data: object) -> bytes:
    if data is None:
        raise ValueError(TOO_LARGE)
    return data if isinstance(data, bytes) else str(data).encode("utf-8", "surrogateescape")


def sessions(files: Sequence[TranscriptFile]) -> tuple[list[SessionFiles], list[UnreadPart]]:
    """The sessions in some files, each with those of its sub-agents; one that several databases have is read from the newest."""
    unread: list[UnreadPart] = []
    found: dict[str, SessionFiles] = {}
    in_database: set[str] = set()
    for file in files:
        if file.path.endswith(_DATABASE):
            try:
                with open_database(file.path) as database:
                    facts = database.all_facts()
            except sqlite3.Error as error:
                unread.append(UnreadPart(file.path, None, _unreadable(error)))
                continue
            in_database |= facts.keys()
            for session in _grouped(facts, dict.fromkeys(facts, (file.path,))):
                if session.session not in found or session.modified > found[session.session].modified:
                    found[session.session] = session
    older = [file.path for file in files if not file.path.endswith(_DATABASE)]
    for session in _older_sessions(older, in_database):
        found.setdefault(session.session, session)
    return list(found.values()), unread


def _older_sessions(paths: Sequence[str], in_database: set[str]) -> Iterator[SessionFiles]:
    by_session: dict[str, list[str]] = {}
    for path in paths:
        session = session_of(path) or session_in(path)
        if session not in in_database:
            by_session.setdefault(session, []).append(path)
    facts = {}
    for name, own in by_session.items():
        row = facts_of(session_row(own[0], name))
        facts[name] = row._replace(updated=max(row.updated, *map(_modified, own)))
    yield from _grouped(facts, by_session)


def _modified(path: str) -> int:
    try:
        return os.lstat(path).st_mtime_ns // 1_000_000
    except OSError:
        return -1  # it was deleted meanwhile


def _grouped(facts: Mapping[str, SessionFacts], paths: Mapping[str, Sequence[str]]) -> Iterator[SessionFiles]:
    """Sessions with those of their sub-agents, the main one first."""
    roots = SessionRoots(facts.get)
    members: dict[str, list[str]] = {}
    for name in facts:
        members.setdefault(roots.root(name), []).append(name)
    for root, names in members.items():
        names.sort(key=lambda name: (name != root, facts[name].created, name))
        own = dict.fromkeys(path for name in names for path in paths[name])
        folder = next((facts[name].folder for name in names if facts[name].folder), None)
        yield SessionFiles(NAME, root, tuple(own), max(facts[name].updated for name in names), folder)


@contextmanager
def _source(files: SessionFiles) -> Iterator[SessionSource]:
    if files.paths and files.paths[0].endswith(_DATABASE):
        with open_database(files.paths[0]) as database:
            yield database
    else:
        yield MessageFiles(files.paths)


def read_activity(files: SessionFiles, activity: SessionActivity) -> list[UnreadPart]:
    """Add what the agents of a session said and did."""
    try:
        with _source(files) as source:
            reasons = read_steps(source, files.session, activity)
    except sqlite3.Error as error:
        reasons = [f"session {files.session}: {_unreadable(error)}"]
    return [UnreadPart(files.paths[0], None, reason) for reason in reasons]


def export(files: SessionFiles) -> Iterator[bytes]:
    """The rows of one session as JSON lines, those of its sub-agents included. Raises StoreError where they cannot be read."""
    try:
        with _source(files) as source:
            yield from export_lines(source, files.session)
    except sqlite3.Error as error:
        raise StoreError(
            f"{printable(files.paths[0])}: {_unreadable(error)}", hint="close OpenCode and try again"
        ) from error
