"""OpenCode: a database `opencode.db` (SQLite), or of older versions a JSON file for each message below `storage`.

A call is an assistant message with its tokens. There are two generations of tables: `message`, and `session_message`, whose rows count where
a session has no rows in the first. Where the database has a session, its older files do not count.
"""

import os
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO
from urllib.parse import quote

from runcard.accounting.vendors import opencode
from runcard.accounting.vendors.reply_fields import ReplyFields
from runcard.errors import UsageError
from runcard.files import read_stream
from runcard.transcripts.calls import MAIN, Call, CallOrigin, call_key, kind_and_counts
from runcard.transcripts.content import FileContent, decode_record, milliseconds, object_of, text_of

NAME = "opencode"
TITLE = "OpenCode"
NOT_WRITTEN = ("titles of sessions", "calls that ended before their usage was reported")
IS_DIVISIBLE = False

_LARGEST = 16 << 20  # bytes of a message
_TIMEOUT = 2.0  # seconds to wait for a locked database
_QUERY = {
    "message": "SELECT id, session_id, time_created, data FROM message",
    "session_message": "SELECT id, session_id, time_created, data FROM session_message WHERE type = 'assistant'",
}
_SESSIONS = "SELECT id, parent_id, directory FROM session"


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
    if name.endswith(".db"):
        return name.startswith("opencode")
    return name.endswith(".json") and "message" in parts[:-1] and "storage" in parts[:-1]


def is_session_record(record: Mapping[str, Any]) -> bool:
    """Whether the object in a file is a message of this tool."""
    return "role" in record and ("sessionID" in record or "modelID" in record)


def read(path: str, file: BinaryIO, start: int = 0, end: int | None = None) -> FileContent:  # noqa: ARG001 - as of all tools
    """Read a database, or the file of one message."""
    return _read_database(path) if path.endswith(".db") else _read_message_file(path, file)


def _read_message_file(path: str, file: BinaryIO) -> FileContent:
    content = FileContent()
    data = read_stream(file, _LARGEST)
    if len(data) > _LARGEST:
        content.add_unread(None, "the file is too large")
        return content
    try:
        message = decode_record(data.removeprefix(b"\xef\xbb\xbf"))
        session = text_of(message.get("sessionID")) or os.path.basename(os.path.dirname(path))
        name = os.path.basename(path).removesuffix(".json")
        _add(content, message, text_of(message.get("id")) or name, session, None, 0)
    except ValueError as error:
        content.add_unread(None, str(error))
    except UsageError as error:
        content.add_unread(None, f"usage: {error.message}"[:200])
    return content


def _read_database(path: str) -> FileContent:
    """Read all messages. What is locked, damaged or of another kind is unreadable, never empty."""
    content = FileContent()
    uri = f"file:{quote(os.path.abspath(path))}?mode=ro"
    try:
        connection = sqlite3.connect(uri, uri=True, timeout=_TIMEOUT)
    except sqlite3.Error as error:
        content.add_unread(None, f"the database cannot be read: {error}")
        return content
    try:
        connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        connection.execute("PRAGMA query_only = ON")
        _read_tables(connection, content)
    except sqlite3.Error as error:
        content.add_unread(None, f"the database cannot be read: {error}")
    finally:
        connection.close()
    return content


def _read_tables(connection: sqlite3.Connection, content: FileContent) -> None:
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not names & _QUERY.keys():
        content.add_unread(None, "the database has no table of messages")
        return
    sessions = _sessions(connection) if "session" in names else {}
    counted: set[str] = set()  # sessions with calls in an earlier table
    for table, query in _QUERY.items():
        if table not in names:
            continue
        in_table = set()
        for name, session, created, data in _rows(connection, query):
            if not isinstance(session, str) or session in counted:
                continue
            content.lines += 1
            if _read_row(content, name, session, created, data, sessions.get(session)):
                in_table.add(session)
        counted |= in_table
    content.sessions = frozenset(counted | sessions.keys())


def _sessions(connection: sqlite3.Connection) -> dict[str, tuple[object, object]]:
    return {
        name: (parent, folder)
        for name, parent, folder in connection.execute(_SESSIONS)
        if isinstance(name, str)
    }


def _rows(connection: sqlite3.Connection, query: str) -> Iterator[tuple[Any, ...]]:
    yield from connection.execute(query)


def _read_row(
    content: FileContent,
    name: object,
    session: str,
    created: object,
    data: object,
    facts: tuple[object, object] | None,
) -> bool:
    """Add the call in a row; whether it has one."""
    try:
        raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else bytes(data or b"")  # type: ignore[call-overload]
        return _add(content, decode_record(raw), str(name), session, facts, created)
    except (ValueError, TypeError) as error:
        content.add_unread(None, f"message {str(name)[:80]}: {error}")
    except UsageError as error:
        content.add_unread(None, f"message {str(name)[:80]}: usage: {error.message}"[:200])
    return False


def _add(
    content: FileContent,
    message: dict[str, Any],
    name: str,
    session: str,
    facts: tuple[object, object] | None,
    created: object,
) -> bool:
    tokens = message.get("tokens")
    if message.get("role", "assistant") != "assistant" or not isinstance(tokens, dict):
        return False
    usage = opencode.read(ReplyFields(message), ReplyFields(tokens, "tokens"))
    if not usage.tokens.input and not usage.tokens.output and usage.stop_reason is None:
        return False  # it failed, or is not answered yet
    parent, folder = facts or (None, None)
    path = object_of(message.get("path"))
    project = text_of(folder) or text_of(path.get("cwd")) or text_of(path.get("root"))
    root = text_of(parent)
    agent = MAIN if root is None else text_of(message.get("agent") or message.get("mode")) or session
    agent_id = MAIN if root is None else session
    origin = CallOrigin(NAME, root or session, agent, project, None, agent_id=agent_id)
    kind, counts = kind_and_counts(
        usage, source="reported", model=text_of(usage.model), provider=text_of(usage.provider)
    )
    time = milliseconds(object_of(message.get("time")).get("created"))
    call = Call(time if time > 0 else milliseconds(created), origin, kind, counts)
    content.calls.add(call_key(f"{NAME}:{name}", "message"), call)
    return True
