"""The database and the older files of OpenCode."""

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from transcripts.session_files import calls, read, sums, write

TOOL = "opencode"


def message(**fields: Any) -> dict[str, Any]:
    return {
        "role": "assistant",
        "agent": "build",
        "path": {"cwd": "/home/u/shop", "root": "/"},
        "cost": 0.0096816,
        "tokens": {
            "total": 5362,
            "input": 22,
            "output": 200,
            "reasoning": 102,
            "cache": {"write": 1036, "read": 4002},
        },
        "modelID": "claude-sonnet-4-5",
        "providerID": "anthropic",
        "time": {"created": 1794837176438, "completed": 1794837179733},
        "finish": "stop",
        **fields,
    }


def database(folder: Path, rows: Sequence[tuple[str, str, object]], table: str = "message") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "opencode.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE IF NOT EXISTS session (id text, parent_id text, directory text)")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS message (id text, session_id text, time_created integer, data text)"
        )
        connection.execute(
            "CREATE TABLE IF NOT EXISTS session_message (id text, session_id text, type text, time_created integer, data text)"
        )
        for name, session, data in rows:
            text = data if isinstance(data, str | bytes) else json.dumps(data)
            connection.execute(
                "INSERT INTO session VALUES (?, ?, ?)",
                (session, "s-0" if session == "child" else None, "/home/u/shop"),
            )
            if table == "message":
                connection.execute("INSERT INTO message VALUES (?, ?, 1, ?)", (name, session, text))
            else:
                connection.execute(
                    "INSERT INTO session_message VALUES (?, ?, 'assistant', 1, ?)", (name, session, text)
                )
    connection.close()
    return path


def test_messages_of_the_database(tmp_path: Path) -> None:
    database(
        tmp_path, [("m1", "s-1", message()), ("m2", "s-1", {"role": "user"}), ("m3", "child", message())]
    )
    found = calls(TOOL, tmp_path)
    assert sums(found) == (2, 2 * 5060, 2 * 302, 2 * 4002, 2 * 1036, 0, 204)
    origins = [call.origin for call in found]
    assert {(origin.session, origin.agent, origin.agent_id) for origin in origins} == {
        ("s-1", "main", "main"),
        ("s-0", "build", "child"),
    }


@pytest.mark.parametrize(
    ("tokens", "output"),
    [
        ({"input": 10, "output": 50, "reasoning": 30, "cache": {"read": 0, "write": 0}}, 50),
        ({"input": 10, "output": 50, "reasoning": 60, "cache": {"read": 0, "write": 0}}, 110),
        ({"input": 10, "output": 50, "reasoning": 30, "total": 60, "cache": {"read": 0, "write": 0}}, 50),
        ({"input": 10, "output": 50, "reasoning": 30, "total": 90, "cache": {"read": 0, "write": 0}}, 80),
    ],
)
def test_reasoning_is_in_the_output_or_beside_it(tmp_path: Path, tokens: dict[str, Any], output: int) -> None:
    database(tmp_path, [("m1", "s-1", message(tokens=tokens))])
    assert sums(calls(TOOL, tmp_path))[:3] == (1, 10, output)


def test_the_newer_table_counts_where_the_older_has_nothing(tmp_path: Path) -> None:
    database(tmp_path, [("m1", "s-1", message())])
    newer = message(model={"id": "claude-sonnet-4-5", "providerID": "anthropic"})
    del newer["modelID"], newer["providerID"], newer["role"]
    database(tmp_path, [("m1x", "s-1", newer), ("m2", "s-2", newer)], "session_message")
    found = calls(TOOL, tmp_path)
    assert {(call.origin.session, call.kind.model) for call in found} == {
        ("s-1", "claude-sonnet-4-5"),
        ("s-2", "claude-sonnet-4-5"),
    }


def test_older_files_count_only_for_sessions_that_the_database_lacks(tmp_path: Path) -> None:
    database(tmp_path, [("m1", "s-1", message())])
    for session, name in (("s-1", "m1"), ("s-1", "m9"), ("s-2", "m2")):
        write(tmp_path / "storage/message" / session / f"{name}.json", message(id=name, sessionID=session))
    write(tmp_path / "storage/part/m1/p.json", {"type": "text"})
    found = calls(TOOL, tmp_path)
    assert sorted(str(call.origin.session) for call in found) == ["s-1", "s-2"]


def test_older_files_of_a_sub_agent_count_where_the_database_has_only_its_parent(tmp_path: Path) -> None:
    database(tmp_path, [("m1", "s-1", message())])
    write(tmp_path / "storage/session/p/s-2.json", {"id": "s-2", "parentID": "s-1"})
    write(tmp_path / "storage/message/s-2/m2.json", message(id="m2", sessionID="s-2"))
    found = calls(TOOL, tmp_path)
    assert {(call.origin.session, call.origin.agent_id) for call in found} == {
        ("s-1", "main"),
        ("s-1", "s-2"),
    }


def test_a_message_that_failed_or_is_not_answered_is_no_call(tmp_path: Path) -> None:
    zeros = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    database(tmp_path, [("m1", "s-1", message(tokens=zeros, finish=None, error={"name": "x"}))])
    assert calls(TOOL, tmp_path) == []


def test_bad_rows_cost_no_other_row(tmp_path: Path) -> None:
    rows = [
        ("m1", "s-1", "{"),
        ("m2", "s-1", b"\xff\x00"),
        ("m3", "s-1", message(tokens={"input": -1, "output": 1, "cache": {}})),
        ("m4", "s-1", message()),
    ]
    database(tmp_path, rows)
    found = read(TOOL, tmp_path)
    assert (len(found.table), len(found.unread)) == (1, 3)
    assert all(part.reason.startswith("message m") for part in found.unread)


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\x00" + b"\x00" * 84 + b"garbage" * 100, b"text"])
def test_a_database_that_cannot_be_read_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "opencode.db").write_bytes(content)
    (part,) = read(TOOL, tmp_path).unread
    assert part.reason.startswith("the database")


def test_a_locked_database_is_unreadable_and_not_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runcard.transcripts.opencode.database.TIMEOUT", 0.01)
    path = tmp_path / "opencode.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE message (id text, session_id text, time_created integer, data text)")
    connection.isolation_level = None
    connection.execute("BEGIN EXCLUSIVE")
    try:
        (part,) = read(TOOL, tmp_path).unread
    finally:
        connection.close()
    assert part.reason == "the database cannot be read: database is locked"


def test_reading_changes_nothing(tmp_path: Path) -> None:
    path = database(tmp_path, [("m1", "s-1", message())])
    before = path.read_bytes()
    assert len(calls(TOOL, tmp_path)) == 1
    assert path.read_bytes() == before
