"""Databases and older files of OpenCode, written by hand: the tables and indexes are those of version 1.18."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runcard.transcripts import opencode
from runcard.transcripts.activity import SessionActivity, SessionFiles
from runcard.transcripts.content import UnreadPart
from runcard.transcripts.sources import find_files

if TYPE_CHECKING:
    from runcard.transcripts.activity import Entry

START = 1794837170000  # 2026-11-16T13:52:50Z
SCHEMA = """
CREATE TABLE session (
    id text PRIMARY KEY, project_id text NOT NULL, parent_id text, directory text NOT NULL, title text NOT NULL,
    version text NOT NULL, share_url text, agent text, model text, time_created integer NOT NULL, time_updated integer NOT NULL
);
CREATE TABLE message (
    id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL
);
CREATE TABLE part (
    id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL,
    time_updated integer NOT NULL, data text NOT NULL
);
CREATE TABLE session_message (
    id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL, time_created integer NOT NULL,
    time_updated integer NOT NULL, data text NOT NULL
);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE UNIQUE INDEX session_message_session_seq_idx ON session_message (session_id, seq);
CREATE INDEX session_parent_idx ON session (parent_id);
"""


class OpenCodeDatabase:
    """A database to which sessions, messages and parts are added. Times are seconds after START."""

    def __init__(self, folder: Path, name: str = "opencode.db") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / name
        is_new = not self.path.exists()
        with closing(sqlite3.connect(self.path)) as connection:
            if is_new:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(SCHEMA)

    def execute(self, statement: str, *values: object) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute(statement, values)

    def session(self, name: str, at: float = 0, updated: float = 60, **columns: Any) -> None:
        row = {
            "id": name,
            "project_id": "p",
            "directory": "/home/u/shop",
            "title": "A title",
            "version": "1.18.33",
            "agent": "build",
            "time_created": START + round(at * 1000),
            "time_updated": START + round(updated * 1000),
        } | columns
        marks = ", ".join("?" * len(row))
        statement = f"INSERT INTO session ({', '.join(row)}) VALUES ({marks})"  # noqa: S608
        self.execute(statement, *row.values())

    def message(self, name: str, session: str, at: float, *parts: Any, **fields: Any) -> None:
        """A message of a user, or of a model where it has a `finish` or an `error`."""
        data = reply(at, **fields) if fields.keys() & {"finish", "error"} else user_message(at)
        created = START + round(at * 1000)
        text = json.dumps(data)
        self.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", name, session, created, created, text)
        for number, part in enumerate(parts):
            raw = part if isinstance(part, str | bytes) else json.dumps(part)
            row = (f"{name}-{number}", name, session, created, created, raw)
            self.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", *row)

    def newer(self, name: str, session: str, seq: int, kind: str, data: Any) -> None:
        """A message of the newer generation."""
        row = (name, session, kind, seq, START + seq, START, json.dumps(data))
        self.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)", *row)


def ms(at: float) -> int:
    return START + round(at * 1000)


def user_message(at: float = 0) -> dict[str, Any]:
    return {"role": "user", "time": {"created": ms(at)}, "agent": "build"}


def reply(at: float = 0, until: float | None = None, output: int = 200, **fields: Any) -> dict[str, Any]:
    return {
        "role": "assistant",
        "agent": "build",
        "path": {"cwd": "/home/u/shop", "root": "/"},
        "cost": 0.01,
        "tokens": {"input": 22, "output": output, "reasoning": 0, "cache": {"write": 0, "read": 0}},
        "modelID": "claude-sonnet-4-5",
        "providerID": "anthropic",
        "time": {"created": ms(at), "completed": ms(at + 1 if until is None else until)},
        **fields,
    }


def text(content: str, end: float | None = None, **fields: Any) -> dict[str, Any]:
    time = {} if end is None else {"time": {"start": ms(end) - 10, "end": ms(end)}}
    return {"type": "text", "text": content, **time, **fields}


def tool(name: str, start: float, end: float, status: str = "completed", **state: Any) -> dict[str, Any]:
    times = {"start": ms(start), "end": ms(end)}
    given = {"status": status, "input": {"command": "ls"}, "output": "a.txt", "time": times} | state
    return {"type": "tool", "tool": name, "callID": f"toolu_{name}", "state": given}


class SessionReading:
    """What was read of one session."""

    def __init__(self, files: SessionFiles) -> None:
        self.files = files
        self.entries: list[Entry] = []
        self.activity = SessionActivity(files.tool, files.session, self.entries.append)
        self.unread = opencode.read_activity(files, self.activity)

    def steps(self, agent: str = "main") -> list[tuple[str, str]]:
        return [(entry.kind, entry.text) for entry in self.entries if entry.agent == agent]

    @property
    def exported(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in opencode.export(self.files)]


def all_sessions(*paths: Path) -> tuple[list[SessionFiles], list[UnreadPart]]:
    files, left_out = find_files(["opencode"], [str(path) for path in paths])
    sessions, unread = opencode.sessions(files)
    return sessions, left_out + unread


def only_session(*paths: Path) -> SessionReading:
    (session,), unread = all_sessions(*paths)
    assert unread == []
    return SessionReading(session)
