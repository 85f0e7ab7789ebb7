"""The sessions of OpenCode: agents, steps, errors, forks, and the export of one session."""

import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from runcard.errors import StoreError
from runcard.transcripts import opencode
from runcard.transcripts.opencode import database as database_module
from transcripts.opencode_files import (
    OpenCodeDatabase,
    SessionReading,
    all_sessions,
    ms,
    only_session,
    reply,
    text,
    tool,
    user_message,
)
from transcripts.session_files import calls, read, write

TOOL = "opencode"


@pytest.fixture
def database(tmp_path: Path) -> OpenCodeDatabase:
    made = OpenCodeDatabase(tmp_path / "own")
    made.session("s-1")
    return made


def test_a_session_with_its_steps(database: OpenCodeDatabase) -> None:
    database.message("m1", "s-1", 1, text("List the files."))
    parts = [
        {"type": "step-start"},
        {"type": "reasoning", "text": "hm"},
        tool("bash", 4, 5),
        {"type": "step-finish"},
    ]
    database.message("m2", "s-1", 2, *parts, finish="tool-calls")
    database.message("m3", "s-1", 6, text("One file.", 8), finish="stop")
    session = only_session(database.path)
    assert session.steps() == [
        ("user", "List the files."),
        ("thinking", "hm"),
        ("tool use", '{"command": "ls"}'),
        ("tool result", "a.txt"),
        ("assistant", "One file."),
    ]
    activity = session.activity
    assert (activity.title, activity.folder, activity.tool_version) == ("A title", "/home/u/shop", "1.18.33")
    agent = activity.agents["main"]
    assert (agent.started, agent.ended, agent.final_status) == (ms(1), ms(8), "completed")
    assert agent.tool_uses == {"bash": 1}
    assert [entry.call for entry in session.entries] == [None, "m2", "m2", None, "m3"]
    assert [entry.use_id for entry in session.entries if entry.use_id] == ["toolu_bash", "toolu_bash"]
    assert session.files.modified == ms(60)
    assert session.unread == []


def test_sub_agents_of_any_depth_belong_to_the_session_of_the_user(database: OpenCodeDatabase) -> None:
    database.session("child", 5, 90, parent_id="s-1", agent="general", title="count (@general subagent)")
    database.session("grandchild", 6, parent_id="child", agent=None, title="deep (@explore subagent)")
    task: dict[str, Any] = {"input": {"description": "count all files"}, "metadata": {"sessionId": "child"}}
    database.message("m1", "s-1", 1, text("go"))
    database.message("m2", "s-1", 2, tool("task", 5, 9, **task), finish="tool-calls")
    database.message("c1", "child", 5, text("count"))
    database.message("c2", "child", 6, text("3", 7), finish="stop")
    database.message("g1", "grandchild", 6, finish="stop", agent="explore")
    session = only_session(database.path)
    agents = session.activity.agents
    assert {name: (agent.parent, agent.role, agent.description) for name, agent in agents.items()} == {
        "main": (None, None, None),
        "child": ("main", "general", "count all files"),
        "grandchild": ("child", "explore", "deep"),
    }
    assert session.steps("child") == [("user", "count"), ("assistant", "3")]
    assert agents["grandchild"].final_status == "completed"
    assert session.files.modified == ms(90)
    origins = {
        (call.origin.session, call.origin.agent, call.origin.agent_id) for call in calls(TOOL, database.path)
    }
    assert origins == {
        ("s-1", "main", "main"),
        ("s-1", "build", "child"),
        ("s-1", "explore", "grandchild"),
    }


def test_a_sub_agent_whose_session_is_not_there(tmp_path: Path) -> None:
    """Its calls and its steps are of the session that it names."""
    database = OpenCodeDatabase(tmp_path)
    database.session("child", parent_id="gone", agent="general")
    database.message("c1", "child", 1, text("hello", 2), finish="stop")
    session = only_session(database.path)
    assert session.files.session == "gone"
    assert {name: agent.parent for name, agent in session.activity.agents.items()} == {"child": None}
    assert [(call.origin.session, call.origin.agent_id) for call in calls(TOOL, database.path)] == [
        ("gone", "child")
    ]


def test_parents_in_a_circle(tmp_path: Path) -> None:
    database = OpenCodeDatabase(tmp_path)
    for name, parent in (("c", "b"), ("b", "a"), ("a", "c"), ("self", "self")):
        database.session(name, parent_id=parent)
        database.message(f"m-{name}", name, 1, text(name, 2), finish="stop")
    sessions, _ = all_sessions(database.path)
    assert sorted(session.session for session in sessions) == ["a", "self"]
    readings = [SessionReading(session) for session in sessions]
    assert sorted(entry.text for reading in readings for entry in reading.entries) == ["a", "b", "c", "self"]
    assert {call.origin.session for call in calls(TOOL, database.path)} == {"a", "self"}


class TestFork:
    """A fork copies messages under new ids; they keep their times, which are before that of their session."""

    @pytest.fixture
    def forked(self, database: OpenCodeDatabase) -> OpenCodeDatabase:
        database.session("fork", 100, title="A title (fork #1)")
        for prefix, session in (("m", "s-1"), ("f", "fork")):
            database.message(f"{prefix}1", session, 1, text("first"))
            database.message(f"{prefix}2", session, 2, text("reply", 3), finish="stop")
        database.message("f3", "fork", 101, text("second"))
        database.message("f4", "fork", 102, text("another reply", 103), finish="stop")
        return database

    def test_copied_calls_count_once_and_belong_to_the_first_session(self, forked: OpenCodeDatabase) -> None:
        origins = sorted((call.origin.session, call.time) for call in calls(TOOL, forked.path))
        assert origins == [("fork", ms(102)), ("s-1", ms(2))]

    def test_copied_messages_are_no_steps_of_the_fork(self, forked: OpenCodeDatabase) -> None:
        sessions, _ = all_sessions(forked.path)
        fork = next(SessionReading(session) for session in sessions if session.session == "fork")
        assert fork.steps() == [
            ("note", "2 messages of s-1 before"),
            ("user", "second"),
            ("assistant", "another reply"),
        ]
        assert fork.activity.resumed_from == "s-1"
        assert fork.activity.agents["main"].started == ms(101)
        assert [line["id"] for line in fork.exported if line["table"] == "message"] == [
            "f1",
            "f2",
            "f3",
            "f4",
        ]

    def test_a_copy_counts_where_the_first_session_was_deleted(self, forked: OpenCodeDatabase) -> None:
        for table, column in (("session", "id"), ("message", "session_id")):
            forked.execute(f"DELETE FROM {table} WHERE {column} = 's-1'")  # noqa: S608
        assert sorted(call.time for call in calls(TOOL, forked.path)) == [ms(2), ms(102)]
        assert only_session(forked.path).activity.resumed_from is None

    def test_two_calls_at_the_same_moment_are_two(self, database: OpenCodeDatabase) -> None:
        database.session("other")
        database.message("m1", "s-1", 2, finish="stop")
        database.message("m2", "other", 2, finish="stop")
        assert len(calls(TOOL, database.path)) == 2

    def test_older_files(self, tmp_path: Path) -> None:
        for session, name, created in (("s-1", "m1", 0), ("fork", "f1", 100)):
            folder = tmp_path / "storage"
            write(folder / f"session/p/{session}.json", {"id": session, "time": {"created": ms(created)}})
            write(folder / f"message/{session}/{name}.json", reply(2, finish="stop") | {"id": name})
        (call,) = calls(TOOL, tmp_path)
        assert call.origin.session == "s-1"


@pytest.mark.parametrize(
    ("error", "kind", "expected", "status"),
    [
        ({"name": "APIError", "data": {"message": "slow down", "statusCode": 429}}, "error", "APIError 429: slow down", "error"),
        ({"name": "MessageAbortedError", "data": {"message": "aborted"}}, "interruption", "MessageAbortedError: aborted", "terminated"),
        ({"type": "unknown", "message": "broken"}, "error", "error: broken", "error"),
        ({"name": 3, "data": []}, "error", "error", "error"),
    ],
)  # fmt: skip
def test_a_reply_that_failed(
    database: OpenCodeDatabase, error: dict[str, Any], kind: str, expected: str, status: str
) -> None:
    database.message("m1", "s-1", 1, text("go"))
    database.message("m2", "s-1", 2, text("half", 3), error=error, until=5)
    session = only_session(database.path)
    assert session.steps()[1:] == [("assistant", "half"), (kind, expected)]
    agent = session.activity.agents["main"]
    assert (agent.final_status, agent.ended) == (status, ms(5))
    assert len(agent.errors) == (kind == "error")


def test_a_retry_is_an_error_after_which_the_agent_went_on(database: OpenCodeDatabase) -> None:
    failed = {"name": "APIError", "data": {"message": "overloaded", "statusCode": 529}}
    retry = {"type": "retry", "attempt": 1, "error": failed, "time": {"created": ms(3)}}
    database.message("m1", "s-1", 2, retry, text("done", 4), finish="stop")
    agent = only_session(database.path).activity.agents["main"]
    ((time, message, _, is_retried),) = agent.errors
    assert (time, message, is_retried, agent.final_status) == (
        ms(3),
        "APIError 529: overloaded",
        True,
        "completed",
    )


def test_a_tool_that_failed_and_one_without_a_result(database: OpenCodeDatabase) -> None:
    failed = tool("read", 3, 4, "error", error="no such file", output=None)
    database.message("m1", "s-1", 2, failed, tool("bash", 5, 6, "running"), finish="tool-calls")
    session = only_session(database.path)
    assert [(entry.kind, entry.name, entry.is_error) for entry in session.entries] == [
        ("tool use", "read", False),
        ("tool result", "read", True),
        ("tool use", "bash", False),
    ]
    assert session.entries[1].text == "no such file"
    assert session.activity.agents["main"].final_status == "terminated"


@pytest.mark.parametrize(("code", "has_failed"), [(3, True), (0, False), ("3", False), (None, False)])
def test_a_command_that_failed(database: OpenCodeDatabase, code: object, *, has_failed: bool) -> None:
    """Its tool did its work: the exit code is beside the output."""
    done = tool("bash", 3, 4, metadata={"exit": code})
    database.message("m1", "s-1", 2, done, finish="tool-calls")
    session = only_session(database.path)
    assert [entry.is_error for entry in session.entries if entry.kind == "tool result"] == [has_failed]


def test_notes_and_unknown_parts(database: OpenCodeDatabase) -> None:
    parts = [
        text("look", synthetic=True),
        {"type": "file", "filename": "a.png", "mime": "image/png"},
        {"type": "compaction", "auto": True},
        {"type": "agent", "name": "explore"},
        {"type": "hologram"},
        {"type": "hologram"},
        {},
    ]
    database.message("m1", "s-1", 1, *parts)
    session = only_session(database.path)
    assert session.steps() == [
        ("note", "look"),
        ("note", "file: a.png"),
        ("note", "compaction"),
        ("note", "agent: explore"),
    ]
    assert [part.reason for part in session.unread] == [
        "2 parts of unknown type hologram",
        "1 parts of unknown type no type",
    ]


def test_an_empty_reply_ends_a_task(database: OpenCodeDatabase) -> None:
    database.message("m1", "s-1", 1, {"type": "reasoning", "text": "done"}, finish="stop")
    session = only_session(database.path)
    assert session.entries[-1][1:4] == ("main", "assistant", "")
    assert session.activity.agents["main"].final_status == "completed"


def test_a_message_without_parts_and_rows_that_cannot_be_read(
    database: OpenCodeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "LARGEST", 5000)
    parts = ["{", b"\xff\xfe", "[]", text("x" * 6000), text("good")]
    database.message("m1", "s-1", 1, *parts)
    database.execute("INSERT INTO message VALUES ('m2', 's-1', 2, 2, ?)", "y" * 6000)
    database.message("m3", "s-1", 3, finish="stop")
    session = only_session(database.path)
    assert session.steps() == [("user", "good"), ("assistant", "")]
    reasons = [part.reason for part in session.unread]
    assert reasons[0].startswith("message m2: the record is too large")  # of no time: the first
    assert [reason.split(":")[0] for reason in reasons[1:]] == [
        "part m1-0",
        "part m1-1",
        "part m1-2",
        "part m1-3",
    ]
    assert [line.get("unread") for line in session.exported if "unread" in line] == [
        "the record is too large"
    ] * 2
    found = read(TOOL, database.path)
    assert len(found.table) == 1
    assert [part.reason for part in found.unread] == ["message m2: the record is too large"]


class TestNewerGeneration:
    """The table `session_message`: a message has its parts in it."""

    MESSAGES = (
        ("user", {"text": "go", "time": {"created": ms(1)}}),
        ("model-switched", {"model": {"id": "x"}, "time": {"created": ms(1)}}),
        (
            "assistant",
            {
                "agent": "build",
                "model": {"id": "claude-sonnet-4-5", "providerID": "anthropic"},
                "time": {"created": ms(2), "completed": ms(5)},
                "finish": "tool-calls",
                "tokens": reply()["tokens"],
                "content": [
                    {"type": "reasoning", "id": "r", "text": "hm"},
                    {
                        "type": "tool",
                        "id": "toolu_1",
                        "name": "bash",
                        "state": {"status": "completed", "input": {}, "content": [{"type": "text", "text": "ok"}]},
                        "time": {"created": ms(3), "ran": ms(3), "completed": ms(4)},
                    },
                    {
                        "type": "tool",
                        "id": "toolu_2",
                        "name": "read",
                        "state": {"status": "error", "input": {}, "error": {"type": "unknown", "message": "no"}},
                        "time": {"created": ms(3), "completed": ms(4)},
                    },
                ],
            },
        ),
        ("assistant", reply(6, finish="stop") | {"content": [{"type": "text", "id": "t", "text": "done"}]}),
        ("shell", {"command": "ls", "output": "a", "time": {"created": ms(8)}}),
        ("hologram", {"time": {"created": ms(9)}}),
    )  # fmt: skip

    def fill(self, database: OpenCodeDatabase) -> None:
        for number, (kind, data) in enumerate(self.MESSAGES):
            database.newer(f"n{number}", "s-1", number, kind, data)

    def test_its_steps(self, database: OpenCodeDatabase) -> None:
        self.fill(database)
        session = only_session(database.path)
        assert session.steps() == [
            ("user", "go"),
            ("note", "model-switched: x"),
            ("thinking", "hm"),
            ("tool use", "{}"),
            ("tool result", "ok"),
            ("tool use", "{}"),
            ("tool result", "no"),
            ("assistant", "done"),
            ("note", "$ ls\na"),
        ]
        assert [entry.is_error for entry in session.entries if entry.kind == "tool result"] == [False, True]
        assert [part.reason for part in session.unread] == ["1 parts of unknown type hologram"]
        assert session.activity.agents["main"].final_status == "completed"
        assert {call.time for call in calls(TOOL, database.path)} == {ms(2), ms(6)}

    def test_the_older_one_has_precedence(self, database: OpenCodeDatabase) -> None:
        database.message("m1", "s-1", 1, text("older"))
        self.fill(database)
        session = only_session(database.path)
        assert session.steps() == [("user", "older")]
        tables = [line["table"] for line in session.exported]
        assert tables == ["session", "message", "part", *["session_message"] * len(self.MESSAGES)]


class TestExport:
    def test_it_has_all_rows_in_a_stable_order(self, database: OpenCodeDatabase) -> None:
        database.session("child", 5, parent_id="s-1")
        database.message("z", "s-1", 1, text("first"), text("second"))
        database.message("a", "s-1", 2, finish="stop")
        database.message("c", "child", 5, text("sub"))
        session = only_session(database.path)
        lines = [(line["table"], line["id"]) for line in session.exported]
        assert lines == [
            ("session", "s-1"),
            ("message", "z"),
            ("part", "z-0"),
            ("part", "z-1"),
            ("message", "a"),
            ("session", "child"),
            ("message", "c"),
            ("part", "c-0"),
        ]
        assert session.exported[2]["data"] == {"type": "text", "text": "first"}
        before = list(opencode.export(session.files))
        database.execute("VACUUM")
        assert list(opencode.export(session.files)) == before

    def test_other_sessions_and_the_link_to_share_one_are_not_in_it(self, database: OpenCodeDatabase) -> None:
        database.execute("UPDATE session SET share_url = 'https://opncd.ai/s/xyz'")
        database.session("other")
        database.message("o", "other", 1, text("private"))
        database.message("m", "s-1", 1, text("own"))
        sessions, _ = all_sessions(database.path)
        exported = b"".join(opencode.export(sessions[0]))
        assert b"own" in exported
        assert b"private" not in exported
        assert b"opncd" not in exported

    def test_what_is_no_json_and_no_text(self, database: OpenCodeDatabase) -> None:
        database.message("m", "s-1", 1, "{", b"\xff", '{"type":"text","text":"\\ud800é\\n"}', '{"text":"é"}')
        lines = list(opencode.export(only_session(database.path).files))
        assert all(line.count(b"\n") == 1 and line.endswith(b"}\n") for line in lines)
        assert "é".encode() in lines[-1]
        assert [json.loads(line)["data"] for line in lines[2:5]] == [
            "{",
            {"base64": "/w=="},
            {"type": "text", "text": "\ud800é\n"},
        ]


def test_a_part_that_is_nested_as_deeply_as_can_be_read(database: OpenCodeDatabase) -> None:
    """Whether it can be written depends on how deep the caller is."""
    for depth in range(900, 1000, 7):
        deep = (
            '{"type":"tool","tool":"x","state":{"status":"error","input":' + "[" * depth + "]" * depth + "}}"
        )
        database.message(f"m{depth}", "s-1", depth, deep, finish="tool-calls")
    session = only_session(database.path)
    read_uses = sum(kind == "tool use" for kind, _ in session.steps())
    assert read_uses + len(session.unread) == len(range(900, 1000, 7))
    assert len(session.exported) == 1 + 2 * len(range(900, 1000, 7))


class TestDatabases:
    def test_one_session_is_read_without_the_others(self, database: OpenCodeDatabase) -> None:
        """By bytes that were read: a thousandth of the sessions needs no tenth of the file."""
        for number in range(100):
            database.session(f"s-{number + 2}", number)
        database.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) "
            "INSERT INTO message SELECT 'x' || i, 's-' || (2 + i % 100), i, i, ? FROM n",
            json.dumps(reply(1, finish="stop", filler="x" * 5000)),
        )
        database.message("m1", "s-1", 1, text("own"))
        sessions, _ = all_sessions(database.path)
        (files,) = [session for session in sessions if session.session == "s-1"]
        size = database.path.stat().st_size
        assert size > 8_000_000
        before = bytes_read()
        assert SessionReading(files).steps() == [("user", "own")]
        assert len(list(opencode.export(files))) == 3
        assert bytes_read() - before < size / 10

    def test_reading_leaves_nothing_beside_the_database(self, database: OpenCodeDatabase) -> None:
        database.message("m1", "s-1", 1, text("own"), finish="stop")
        folder = database.path.parent
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert list(before) == ["opencode.db"]
        session = only_session(folder)
        assert session.exported
        assert len(calls(TOOL, folder)) == 1
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before

    def test_what_is_only_in_the_log_of_the_database_is_read(self, database: OpenCodeDatabase) -> None:
        connection = sqlite3.connect(database.path)
        connection.execute("SELECT * FROM session").fetchall()  # so that it is open
        database.message("m1", "s-1", 1, text("own"), finish="stop")
        try:
            assert os.path.getsize(f"{database.path}-wal")
            assert only_session(database.path).steps() == [("assistant", "own")]
        finally:
            connection.close()

    def test_a_copy_without_its_log_has_what_is_in_it(
        self, database: OpenCodeDatabase, tmp_path: Path
    ) -> None:
        database.message("m1", "s-1", 1, text("own"), finish="stop")
        connection = sqlite3.connect(database.path)
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("INSERT INTO message VALUES ('m2', 's-1', 2, 2, '{}')")
        connection.commit()
        copy = tmp_path / "copy" / "opencode.db"
        copy.parent.mkdir()
        shutil.copy(database.path, copy)
        connection.close()
        assert [line["id"] for line in only_session(copy).exported] == ["s-1", "m1", "m1-0"]
        assert [path.name for path in copy.parent.iterdir()] == ["opencode.db"]

    def test_one_that_changes_while_it_is_read_is_named(
        self, database: OpenCodeDatabase, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        database.message("m1", "s-1", 1, text("own"), finish="stop")
        (files,), _ = all_sessions(database.path)
        states = iter([(1, 1), (1, 2)])
        monkeypatch.setattr(database_module, "_state", lambda _: next(states))
        (part,) = SessionReading(files).unread
        assert part.reason == "session s-1: the database cannot be read: it was changed while it was read"

    def test_a_locked_one_is_named_by_each_function(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(database_module, "TIMEOUT", 0.01)
        database = OpenCodeDatabase(tmp_path)
        database.session("s-1")
        database.execute("PRAGMA journal_mode = DELETE")
        (files,), _ = all_sessions(database.path)
        connection = sqlite3.connect(database.path, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
        try:
            sessions, (part,) = all_sessions(database.path)
            assert (sessions, part.reason) == ([], "the database cannot be read: database is locked")
            (part,) = SessionReading(files).unread
            assert part.reason.endswith("database is locked")
            with pytest.raises(StoreError, match="database is locked"):
                list(opencode.export(files))
        finally:
            connection.close()

    def test_of_a_damaged_one_other_sessions_are_read(self, database: OpenCodeDatabase) -> None:
        """One page of texts was overwritten: its sessions are named, and those of other pages are read."""
        for number in range(2, 40):
            database.session(f"s-{number}", number)
            database.message(f"m{number}", f"s-{number}", number, text("x" * 1200), finish="stop")
        sessions, _ = all_sessions(database.path)
        data = bytearray(database.path.read_bytes())
        page = data.index(b"x" * 1200, len(data) // 2) // 4096 * 4096
        data[page : page + 4096] = b"\xff" * 4096
        database.path.write_bytes(data)
        readings = [SessionReading(session) for session in sessions]
        lost = [reading for reading in readings if reading.unread]
        assert 0 < len(lost) < 10
        assert all(
            "the database cannot be read" in part.reason for reading in lost for part in reading.unread
        )
        assert sum(len(reading.entries) for reading in readings) == 38 - len(lost)

    def test_half_of_one_is_unreadable_and_not_empty(self, database: OpenCodeDatabase) -> None:
        (files,), _ = all_sessions(database.path)
        data = database.path.read_bytes()
        database.path.write_bytes(data[: len(data) // 2])
        sessions, unread = all_sessions(database.path)
        assert sessions == []
        for part in (*unread, *SessionReading(files).unread, *read(TOOL, database.path).unread):
            assert part.reason.endswith("the database cannot be read: database disk image is malformed")

    @pytest.mark.parametrize(
        "schema", ["CREATE TABLE notes (id text)", "CREATE VIEW message AS SELECT 1 AS id"]
    )
    def test_one_of_another_program(self, tmp_path: Path, schema: str) -> None:
        path = tmp_path / "opencode.db"
        with sqlite3.connect(path) as connection:
            connection.execute(schema)
        connection.close()
        sessions, (part,) = all_sessions(tmp_path)
        assert (sessions, part.reason) == ([], "the database cannot be read: it has no table of messages")

    def test_one_with_fewer_columns(self, tmp_path: Path) -> None:
        path = tmp_path / "opencode.db"
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE session (id text)")
            connection.execute(
                "CREATE TABLE message (id text, session_id text, time_created integer, data text)"
            )
            connection.execute("INSERT INTO session VALUES ('s-1'), (x'00'), (NULL)")
            connection.execute("INSERT INTO message VALUES ('m', 's-2', 1, ?)", (json.dumps(user_message()),))
        connection.close()
        sessions, _ = all_sessions(tmp_path)
        assert [session.session for session in sessions] == ["s-1", "s-2"]
        assert [SessionReading(session).unread for session in sessions] == [[], []]

    def test_a_session_in_two_databases_is_read_from_the_newer(self, tmp_path: Path) -> None:
        for name, updated in (("opencode.db", 10), ("opencode-beta.db", 20)):
            database = OpenCodeDatabase(tmp_path, name)
            database.session("s-1", 0, updated)
            database.message("m1", "s-1", 1, text(name))
        session = only_session(tmp_path)
        assert session.steps() == [("user", "opencode-beta.db")]


class TestOlderFiles:
    @pytest.fixture(params=["new", "old"])
    def storage(self, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
        """The two generations of folders."""
        if request.param == "new":
            base = tmp_path / "storage"
            sessions, parts = base / "session" / "p1", base / "part"
        else:
            base = tmp_path / "project" / "home-u-shop" / "storage" / "session"
            sessions, parts = base / "info", base / "part" / "s-1"
        times = {"created": ms(0), "updated": ms(9)}
        common = {"directory": "/home/u/shop", "version": "0.5", "time": times}
        write(sessions / "s-1.json", {"id": "s-1", "title": "T", **common})
        write(
            sessions / "child.json",
            {"id": "child", "parentID": "s-1", "title": "count (@x subagent)", **common},
        )
        write(base / "message" / "s-1" / "m1.json", user_message(1))
        write(base / "message" / "s-1" / "m2.json", reply(2, finish="stop"))
        write(base / "message" / "child" / "c1.json", reply(3, finish="stop", mode="x", agent=None))
        write(parts / "m1" / "p1.json", text("go"))
        write(parts / "m2" / "p1.json", text("first", 3))
        write(parts / "m2" / "p2.json", b"{")
        return tmp_path

    def test_their_steps(self, storage: Path) -> None:
        session = only_session(storage)
        assert (session.files.session, session.files.folder) == ("s-1", "/home/u/shop")
        assert session.steps() == [("user", "go"), ("assistant", "first")]
        assert [part.reason for part in session.unread] == ["part p2: the line is cut off"]
        agent = session.activity.agents["child"]
        assert (agent.parent, agent.role, agent.description) == ("main", "x", "count")
        assert (session.activity.title, session.activity.tool_version) == ("T", "0.5")
        origins = {
            (call.origin.session, call.origin.agent_id, call.origin.project) for call in calls(TOOL, storage)
        }
        assert origins == {("s-1", "main", "/home/u/shop"), ("s-1", "child", "/home/u/shop")}

    def test_their_export(self, storage: Path) -> None:
        exported = only_session(storage).exported
        assert [(line["table"], line["id"]) for line in exported] == [
            ("session", "s-1"),
            ("message", "m1"),
            ("part", "p1"),
            ("message", "m2"),
            ("part", "p1"),
            ("part", "p2"),
            ("session", "child"),
            ("message", "c1"),
        ]

    def test_they_do_not_count_where_the_database_has_the_session(self, storage: Path) -> None:
        database = OpenCodeDatabase(storage)
        database.session("s-1")
        database.message("m1", "s-1", 1, text("of the database"))
        database.session("child", parent_id="s-1")
        assert only_session(storage).steps() == [("user", "of the database")]

    def test_links_and_hostile_names_are_not_followed(self, tmp_path: Path) -> None:
        base = tmp_path / "storage"
        secret = write(tmp_path / "secret.json", text("secret"))
        write(
            base / "session" / "p" / "s-1.json", {"parentID": "../../../secret", "time": {"created": ms(0)}}
        )
        write(base / "message" / "s-1" / "m1.json", user_message(1))
        (base / "part" / "m1").mkdir(parents=True)
        (base / "part" / "m1" / "p1.json").symlink_to(secret)
        os.mkfifo(base / "part" / "m1" / "p2.json")
        session = only_session(tmp_path)
        assert session.files.session == "../../../secret"
        assert session.entries == []
        assert len(session.unread) == 2
        assert "secret" not in str(session.exported[1:])

    def test_an_id_of_another_type(self, tmp_path: Path) -> None:
        write(
            tmp_path / "storage/message/s-1/m1.json", reply(2, finish="stop") | {"id": ["x"], "sessionID": {}}
        )
        assert len(calls(TOOL, tmp_path)) == 1

    def test_a_file_by_itself(self, tmp_path: Path) -> None:
        path = write(tmp_path / "m.json", reply(2, finish="stop") | {"sessionID": "s-9"})
        assert only_session(path).files.session == "s-9"
        assert [call.origin.session for call in calls(TOOL, path)] == ["s-9"]


def bytes_read() -> int:
    with open("/proc/self/io") as file:
        return int(file.readline().split()[1])
