"""The logs of Madrox: its agents, their states and messages, and the calls in their own session files."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runcard.operations.sessions.costs import TOOLS
from runcard.transcripts import madrox
from runcard.transcripts.calls import Call
from runcard.transcripts.madrox.log_folder import DEFAULT_FOLDER, local_time, utc_time
from runcard.transcripts.reading import read_files
from runcard.transcripts.sources import find_files
from transcripts.madrox_logs import SESSION, MadroxLogs, TeamReading, claude_project, only_team, team_sessions
from transcripts.session_files import assistant, event, meta, token_counts, turn, user, write

NOON = 1794830400000  # 2026-11-16T12:00:00Z


@pytest.fixture
def logs(tmp_path: Path) -> MadroxLogs:
    return MadroxLogs(tmp_path / "logs")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home without sessions of the user; local times are UTC."""
    folder = tmp_path / "home"
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "ARTIFACTS_DIR", "MADROX_LOG_DIR", "LOG_DIR"):
        monkeypatch.delenv(name, raising=False)
    with monkeypatch.context() as own:
        own.setenv("TZ", "UTC")
        time.tzset()
        yield folder
    time.tzset()


def test_instances_of_the_state(logs: MadroxLogs) -> None:
    logs.instance("lead")
    logs.instance("dev", parent_instance_id="lead", role="backend_developer", model=None)
    session = only_team(logs.root)
    assert session.files.session == SESSION
    lead, dev = session.activity.agents.values()
    assert (lead.name, lead.role, lead.parent, lead.model) == (
        "the lead",
        "architect",
        None,
        "claude-sonnet-4-5",
    )
    assert (dev.parent, dev.role, dev.model) == ("lead", "backend_developer", None)
    assert (lead.started, lead.ended) == (NOON + 5_000, NOON + 360_000)
    assert lead.labels == {"status_source": "derived from Madrox's state: terminated", "harness": "claude"}


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, "completed"),
        ({"request_count": 0}, "terminated"),
        ({"error_message": "it broke"}, "terminated"),
        ({"state": "error", "error_message": "it broke"}, "error"),
        ({"state": "suspended"}, "terminated"),
        *(({"state": state}, "running") for state in ("initializing", "running", "idle", "busy")),
        ({"state": "asleep"}, "terminated"),
        ({"state": None, "request_count": "many"}, "terminated"),
    ],
)
def test_the_status_is_derived_from_the_state(logs: MadroxLogs, fields: dict[str, Any], status: str) -> None:
    logs.instance("lead", **fields)
    agent = only_team(logs.root).activity.agents["lead"]
    assert agent.final_status == status
    assert [error.message for error in agent.errors] == (
        [fields["error_message"]] if "error_message" in fields else []
    )


def test_an_instance_that_only_the_audit_trail_knows(logs: MadroxLogs) -> None:
    """The state forgets it a day after its end."""
    logs.event(
        "instance_spawn",
        "old",
        "2026-11-15T09:00:00",
        instance_name="one",
        role="debugger",
        model="m",
        instance_type="codex",
    )
    logs.event(
        "message_exchange",
        "old",
        "2026-11-15T09:05:00",
        message_id="x",
        tokens=500,
        response_time_seconds=2.5,
    )
    logs.event(
        "instance_terminate", "old", "2026-11-15T09:10:00", instance_name="one", final_state="idle", total_requests=1
    )  # fmt: skip
    session = only_team(logs.root)
    assert session.files.session == "madrox_20261115"
    agent = session.activity.agents["old"]
    assert (agent.name, agent.role, agent.model, agent.final_status) == ("one", "debugger", "m", "completed")
    assert (agent.ended - agent.started, agent.response_times) == (600_000, [2.5])
    assert agent.labels["harness"] == "codex"


@pytest.mark.parametrize(
    ("events", "state", "status"),
    [
        ([("instance_terminate", {"final_state": "error", "total_requests": 3})], "terminated", "error"),
        ([("instance_terminate", {"final_state": "idle", "total_requests": 0})], "terminated", "terminated"),
        ([("instance_suspended", {"total_requests": 3})], "suspended", "terminated"),
        ([("instance_suspended", {}), ("instance_resumed", {})], "unknown", "terminated"),
        ([], "unknown", "terminated"),
    ],
)  # fmt: skip
def test_the_end_of_an_instance_in_the_audit_trail(
    logs: MadroxLogs, events: list[tuple[str, dict[str, Any]]], state: str, status: str
) -> None:
    logs.event("instance_spawn", "old", "2026-11-16T09:00:00")
    for number, (kind, details) in enumerate(events):
        logs.event(kind, "old", f"2026-11-16T09:1{number}:00", **details)
    agent = only_team(logs.root).activity.agents["old"]
    assert agent.final_status == status
    expected = "error" if status == "error" else state
    assert agent.labels["status_source"] == f"derived from Madrox's state: {expected}"


class TestSessions:
    def test_one_for_each_server(self, logs: MadroxLogs) -> None:
        logs.instance("lead")
        other = "session_20261115_080000"
        logs.instance("earlier", workspace_dir=logs.workspace("earlier", other))
        logs.instance("child", workspace_dir="/home/u/shop", parent_instance_id="earlier", created_at=None)
        sessions, _ = team_sessions(logs.root)
        assert {name: list(each.activity.agents) for name, each in sessions.items()} == {
            SESSION: ["lead"],
            other: ["earlier", "child"],
        }

    def test_an_instance_elsewhere_is_of_the_server_that_runs_now(self, logs: MadroxLogs) -> None:
        logs.server()
        logs.instance("after", workspace_dir="/home/u/shop")
        logs.instance("before", workspace_dir="/home/u/shop", created_at="2026-11-16T11:59:59+00:00")
        sessions, _ = team_sessions(logs.root)
        assert {name: list(each.activity.agents) for name, each in sessions.items()} == {
            SESSION: ["after"],
            "madrox_20261116": ["before"],
        }

    def test_a_workspace_tells_the_session_of_an_instance_that_the_state_forgot(
        self, logs: MadroxLogs
    ) -> None:
        logs.event("instance_spawn", "old", "2026-11-16T12:00:00")
        Path(logs.workspace("old")).mkdir(parents=True)
        session = only_team(logs.root)
        assert session.files.session == SESSION
        assert madrox.workspaces(session.files) == {"old": logs.workspace("old")}

    def test_what_older_versions_kept_beside_a_workspace(self, logs: MadroxLogs) -> None:
        logs.event("instance_spawn", "old", "2026-11-16T12:00:00")
        facts = {"instance_id": "old", "parent_instance_id": "lead", "role": "security_analyst"}
        write(logs.root / "artifacts" / "old" / "_metadata.json", facts)
        agent = only_team(logs.root).activity.agents["old"]
        assert (agent.parent, agent.role) == ("lead", "security_analyst")

    def test_files_of_an_instance_without_any_other_trace(self, logs: MadroxLogs) -> None:
        facts = {
            "instance_id": "lost",
            "instance_name": "Lost",
            "created_at": "2026-11-16T12:00:00",
            "log_directory": "x",
        }
        write(logs.root / "instances" / "lost" / "metadata.json", facts)
        write(
            logs.root / "instances" / "other" / "metadata.json",
            {"version": "1.0", "created_at": "2020-01-01T00:00:00"},
        )
        sessions, _ = team_sessions(logs.root)
        assert {name: list(each.activity.agents) for name, each in sessions.items()} == {
            "madrox_20261116": ["lost"],
            "madrox": ["other"],
        }
        assert sessions["madrox_20261116"].activity.agents["lost"].name == "Lost"


class TestFolders:
    def test_those_of_the_variables_and_the_default(self, logs: MadroxLogs, tmp_path: Path) -> None:
        environ = {"MADROX_LOG_DIR": str(logs.root), "LOG_DIR": str(tmp_path / "other")}
        logs.instance("lead")
        MadroxLogs(tmp_path / "other" / "4711").instance("dev")
        found = madrox.folders(environ)
        assert [folder for folder in found if os.path.isdir(folder) and str(tmp_path) in folder] == [
            f"{logs.root}/state",
            f"{tmp_path}/other/4711/state",
        ]
        assert f"{DEFAULT_FOLDER}/state" in found

    def test_a_server_that_the_plugin_started_has_a_folder_of_its_own(self, tmp_path: Path) -> None:
        for name in ("4711", "4712"):
            own = MadroxLogs(tmp_path / "logs" / name)
            own.instance(f"lead-{name}", workspace_dir=f"/x/session_20261116_12{name}/lead")
        sessions, _ = team_sessions(tmp_path / "logs")
        assert sorted(sessions) == ["session_20261116_124711", "session_20261116_124712"]

    def test_workspaces_are_not_looked_through(self, logs: MadroxLogs) -> None:
        logs.instance("lead")
        write(Path(logs.workspace("lead")) / "state" / "instances.json", {"fake": {}})
        assert list(only_team(logs.root).activity.agents) == ["lead"]


class TestSteps:
    def test_who_said_what(self, logs: MadroxLogs) -> None:
        """`outbound` is to the agent, but from it in a `communication`."""
        logs.instance("lead")
        logs.message("lead", "message_sent", "2026-11-16T12:01:00", "do it", direction="outbound")
        logs.message(
            "lead",
            "message_received",
            "2026-11-16T12:01:09",
            "done",
            direction="inbound",
            tokens=1,
            response_time=9,
        )
        logs.message("lead", "communication", "2026-11-16T12:02:00", "to my parent", direction="outbound")
        logs.message("lead", "communication", "2026-11-16T12:02:01", "from a peer", direction="inbound")
        logs.message("lead", "unknown", "2026-11-16T12:02:02", "")
        session = only_team(logs.root)
        assert session.steps("lead") == [
            ("user", "do it"),
            ("assistant", "done"),
            ("assistant", "to my parent"),
            ("user", "from a peer"),
            ("note", "unknown"),
        ]
        assert session.entries[0].time == NOON + 60_000

    def test_errors_of_the_log_with_the_lines_that_follow(self, logs: MadroxLogs) -> None:
        logs.instance("lead", state="error", error_message="rate limit")
        for line in (
            "2026-11-16 12:01:00 - INFO - started",
            "2026-11-16 12:02:00 - ERROR - rate limit 429",
            "  at x",
            "2026-11-16 12:03:00 - WARNING - slow",
        ):
            logs.append("instances/lead/instance.log", line)
        logs.append("instances/lead/instance.log.1", "2026-11-16 11:00:00 - CRITICAL - earlier")
        session = only_team(logs.root)
        assert session.steps("lead") == [
            ("error", "earlier"),
            ("error", "rate limit 429\n  at x"),
            ("note", "slow"),
        ]
        assert len(session.activity.agents["lead"].errors) == 2  # that of the state is among them

    def test_the_last_screen(self, logs: MadroxLogs) -> None:
        logs.instance("lead")
        logs.screen("lead", "2026-11-16T12:01:00", "first")
        logs.screen("lead", "2026-11-16T12:02:00", "╭──╮\nsecond")
        (entry,) = only_team(logs.root).entries
        assert (entry.time, entry.text) == (NOON + 120_000, "the last screen:\n╭──╮\nsecond")

    def test_the_last_screen_of_a_large_file_is_at_its_end(self, logs: MadroxLogs) -> None:
        logs.instance("lead")
        logs.screen("lead", "2026-11-16T12:01:00", "x" * 3_000_000)
        logs.screen("lead", "2026-11-16T12:02:00", "second")
        assert [entry.text for entry in only_team(logs.root).entries] == ["the last screen:\nsecond"]

    def test_a_failure_of_the_manager_is_an_error_of_the_instances_that_it_names(
        self, logs: MadroxLogs
    ) -> None:
        logs.instance("lead")
        logs.instance("dev")
        names: dict[str, Any] = {
            "affected_instances": ["dev", "gone", 7],
            "failure_reason": "daemon unresponsive",
        }
        logs.event("manager_daemon_failure", "orchestrator", "2026-11-16T12:02:00", **names)
        agents = only_team(logs.root).activity.agents
        assert list(agents) == ["lead", "dev"]
        ((_, message, category, _),) = agents["dev"].errors
        assert (message, category, agents["lead"].errors) == ("daemon unresponsive", "crashed", [])

    @pytest.mark.parametrize("seconds", [-1, True, "3", None, 1e300])
    def test_response_times_that_cannot_be(self, logs: MadroxLogs, seconds: object) -> None:
        logs.instance("lead")
        logs.event("message_exchange", "lead", "2026-11-16T12:01:00", response_time_seconds=seconds)
        assert only_team(logs.root).activity.agents["lead"].response_times == []

    def test_an_event_in_two_files_counts_once(self, logs: MadroxLogs) -> None:
        logs.instance("lead")
        for file in ("audit_20261116.jsonl", "audit_20261116.jsonl.2026-11-16"):
            logs.event("message_exchange", "lead", "2026-11-16T12:01:00", file=file, response_time_seconds=3)
        assert only_team(logs.root).activity.agents["lead"].response_times == [3.0]


class TestBadInput:
    def test_bad_lines_cost_no_other_line(self, logs: MadroxLogs) -> None:
        logs.instance("lead")
        for line in ("{", "[]", "\ufeff{}", json.dumps({"event_type": "hologram", "instance_id": "lead"})):
            logs.append("audit/audit_20261116.jsonl", line)
            logs.append("instances/lead/communication.jsonl", line)
        logs.event("message_exchange", "lead", "2026-11-16T12:01:00", response_time_seconds=3)
        logs.message("lead", "message_sent", "soon", "good")
        sessions, unread = team_sessions(logs.root)
        assert [(part.line, part.reason) for part in unread] == [
            (1, "the line is cut off"),
            (2, "not a JSON object"),
            (3, "not JSON: Expecting value: line 1 column 1 (char 0)"),
            (4, "an event of unknown type hologram"),
        ]
        session = sessions[SESSION]
        assert session.activity.agents["lead"].response_times == [3.0]
        assert session.steps("lead")[-1] == ("user", "good")
        assert [part.line for part in session.unread] == [1, 2, 3]

    @pytest.mark.parametrize(
        "content", [[], b"{", b"", {"lead": [], "": {}}, {"lead": {"state": [], "created_at": {}}}]
    )
    def test_a_state_of_another_shape(self, logs: MadroxLogs, content: object) -> None:
        logs.event("instance_spawn", "lead", "2026-11-16T12:00:00", instance_name="Lead")
        logs.state(content)
        sessions, unread = team_sessions(logs.root)
        (session,) = sessions.values()
        assert session.activity.agents["lead"].name == "Lead"
        assert bool(unread) == (content != {"lead": {"state": [], "created_at": {}}})

    def test_hostile_ids(self, logs: MadroxLogs) -> None:
        for name in ("../../etc", "\0", "..", "a/b", "x" * 5000):
            logs.event("instance_spawn", name, "2026-11-16T12:00:00", instance_name=name)
        session = only_team(logs.root)
        assert len(session.activity.agents) == 5
        assert madrox.workspaces(session.files) == {}

    def test_a_circle_of_parents_and_one_that_is_missing(self, logs: MadroxLogs) -> None:
        logs.instance("a", parent_instance_id="b", workspace_dir=None, created_at=None, last_activity=None)
        logs.instance("b", parent_instance_id="a", workspace_dir=None, created_at=None, last_activity=None)
        logs.instance("c", parent_instance_id="gone")
        sessions, _ = team_sessions(logs.root)
        assert sum(len(each.activity.agents) for each in sessions.values()) == 3

    def test_links_and_fifos_are_named(self, logs: MadroxLogs, tmp_path: Path) -> None:
        logs.instance("lead")
        folder = logs.root / "instances" / "lead"
        folder.mkdir(parents=True)
        os.mkfifo(folder / "communication.jsonl")
        (folder / "instance.log").symlink_to(
            write(tmp_path / "secret", b"2026-11-16 12:00:00 - ERROR - secret")
        )
        sessions, unread = team_sessions(logs.root)
        assert sorted(part.reason for part in unread) == [
            "a symbolic link, not followed",
            "not a regular file",
        ]
        assert sessions[SESSION].entries == []


class TestExport:
    def test_only_what_is_named_is_in_it(self, logs: MadroxLogs) -> None:
        logs.instance("lead")
        logs.event(
            "message_exchange",
            "lead",
            "2026-11-16T12:01:00",
            tokens=500,
            response_time_seconds=3,
            prompt="a secret",
        )
        logs.append("instances/lead/instance.log", "2026-11-16 12:01:00 - INFO - started")
        session = only_team(logs.root)
        assert "secret" not in json.dumps(session.exported)
        assert [line["kind"] for line in session.exported] == ["instance", "event", "log"]
        assert session.exported[1]["details"] == {"response_time_seconds": 3}
        assert "999" not in json.dumps(session.exported)  # words are no tokens

    def test_other_sessions_are_not_in_it(self, logs: MadroxLogs) -> None:
        logs.instance("lead")
        logs.instance("other", workspace_dir=logs.workspace("other", "session_20261115_080000"))
        logs.event("message_exchange", "other", "2026-11-15T12:01:00")
        sessions, _ = team_sessions(logs.root)
        assert [line["id"] for line in sessions[SESSION].exported] == ["lead"]

    def test_files_that_only_grow_are_stored_as_they_are(self, logs: MadroxLogs) -> None:
        logs.instance("lead")
        logs.message("lead", "message_sent", "2026-11-16T12:01:00", "do it")
        logs.screen("lead", "2026-11-16T12:01:00", "x")
        logs.append("instances/lead/instance.log", "x")
        session = only_team(logs.root)
        stored = [Path(path).name for path in session.files.paths if not madrox.is_exported(path)]
        assert sorted(stored) == ["communication.jsonl", "tmux_output.log"]
        assert {session.activity.owners[path] for path in session.files.paths if path.endswith(".jsonl")} == {
            "lead"
        }


class TestTimes:
    def test_times_without_a_zone_are_local_but_for_those_of_the_state(self) -> None:
        with pytest.MonkeyPatch.context() as own:
            own.setenv("TZ", "America/New_York")
            time.tzset()
            assert local_time("2026-11-16T07:00:00") == local_time("2026-11-16 07:00:00") == NOON
            assert local_time("2026-07-16T08:00:00.5") == utc_time("2026-07-16T12:00:00.5")  # summer time
            assert utc_time("2026-11-16T12:00:00") == local_time("2026-11-16T12:00:00Z") == NOON

    @pytest.mark.parametrize("value", [None, 7, "", "soon", "2026-13-01T00:00:00", "0001-01-01T00:00:00", {}])
    def test_what_is_no_time(self, value: object) -> None:
        assert local_time(value) == utc_time(value) == -1


def agent_calls(session: TeamReading) -> list[Call]:
    return list(madrox.agent_calls([session.files]).table)


class TestAgentCalls:
    def claude(
        self, home: Path, workspace: str, *calls: str, at: str = "2026-11-16T12:01:00Z", **fields: Any
    ) -> Path:
        lines = [assistant(call, cwd=workspace, time=at, request=f"req-{call}", **fields) for call in calls]
        return write(claude_project(home, workspace) / "s-1.jsonl", user() | {"cwd": workspace}, *lines)

    def test_calls_of_claude_code_in_the_workspace_of_an_instance(self, logs: MadroxLogs, home: Path) -> None:
        logs.instance("lead")
        path = self.claude(home, logs.workspace("lead"), "msg_1", "msg_2")
        self.claude(home, "/home/u/other", "msg_3")
        session = only_team(logs.root)
        assert {
            (call.origin.session, call.origin.agent, call.origin.agent_id) for call in agent_calls(session)
        } == {(SESSION, "the lead", "lead")}
        assert len(agent_calls(session)) == 2
        assert session.activity.owners[str(path)] == "lead"
        assert not madrox.is_exported(str(path))

    def test_calls_of_its_sub_agents_are_those_of_the_instance(self, logs: MadroxLogs, home: Path) -> None:
        logs.instance("lead")
        workspace = logs.workspace("lead")
        self.claude(home, workspace, "msg_1")
        sub = assistant("msg_2", cwd=workspace, isSidechain=True, agentId="a7")
        write(claude_project(home, workspace) / "s-1" / "subagents" / "agent-a7.jsonl", sub)
        assert [call.origin.agent_id for call in agent_calls(only_team(logs.root))] == ["lead", "lead"]

    def test_calls_of_codex(self, logs: MadroxLogs, home: Path) -> None:
        logs.instance("dev", instance_type="codex")
        logs.instance("lead")
        counts = token_counts(100, 10)
        for name, cwd in (
            ("t-1", logs.workspace("dev")),
            ("t-2", "/home/u/other"),
            ("t-3", logs.workspace("lead")),
        ):
            write(
                home / ".codex" / "sessions" / "2026" / "11" / "16" / f"rollout-{name}.jsonl",
                meta(name, cwd=cwd),
                turn(),
                event(counts, counts),
            )
        (call,) = agent_calls(only_team(logs.root))
        assert (call.origin.agent_id, call.kind.model, call.counts[:2]) == ("dev", "gpt-5", (100, 10))

    def test_a_workspace_of_several_instances_does_not_tell_whose_a_call_is(
        self, logs: MadroxLogs, home: Path
    ) -> None:
        logs.server()
        for name in ("lead", "dev"):
            logs.instance(name, workspace_dir="/home/u/shop")
        self.claude(home, "/home/u/shop", "msg_1")
        (call,) = agent_calls(only_team(logs.root))
        assert (call.origin.session, call.origin.agent_id) == (SESSION, None)

    @pytest.mark.parametrize(
        ("at", "count"),
        [("2026-11-16T11:59:00Z", 0), ("2026-11-16T12:01:00Z", 1), ("2026-11-16T12:07:00Z", 0)],
    )
    def test_calls_of_the_user_in_a_folder_of_theirs_do_not_count(
        self, logs: MadroxLogs, home: Path, at: str, count: int
    ) -> None:
        """The workspace is that of a project: only calls in the time of the instance are its."""
        logs.server()
        logs.instance("lead", workspace_dir="/home/u/shop")
        self.claude(home, "/home/u/shop", "msg_1", at=at)
        assert [call.origin.agent_id for call in agent_calls(only_team(logs.root))] == ["lead"] * count

    def test_hostile_workspaces(self, logs: MadroxLogs, tmp_path: Path) -> None:
        folder = tmp_path / "own"
        folder.mkdir()
        os.mkfifo(folder / ".madrox_instance_id")
        for number, path in enumerate(("/\0", "relative", "/" + "x" * 900, str(folder), 7, "")):
            logs.instance(f"i{number}", workspace_dir=path)
        sessions, _ = team_sessions(logs.root)
        assert [agent_calls(session) for session in sessions.values()] == [[]]

    def test_a_start_that_is_not_known_leaves_calls_of_the_user_out(
        self, logs: MadroxLogs, home: Path
    ) -> None:
        logs.instance("lead", workspace_dir="/home/u/shop", created_at=None)
        self.claude(home, "/home/u/shop", "msg_1")
        assert agent_calls(only_team(logs.root)) == []

    def test_a_folder_with_a_similar_name_is_another_one(self, logs: MadroxLogs, home: Path) -> None:
        logs.instance("lead")
        workspace = logs.workspace("lead")
        line = assistant(cwd=workspace.replace("session_", "session-"), time="2026-11-16T12:01:00Z")
        write(claude_project(home, workspace) / "s-1.jsonl", line)
        assert agent_calls(only_team(logs.root)) == []

    def test_without_session_files_nothing_is_known(self, logs: MadroxLogs) -> None:
        logs.instance("lead")
        assert agent_calls(only_team(logs.root)) == []


def test_costs_do_not_offer_it() -> None:
    assert madrox.NAME not in TOOLS


def test_its_files_have_no_calls(logs: MadroxLogs) -> None:
    logs.instance("lead")
    files, _ = find_files(["madrox"], [str(logs.root)])
    assert len(read_files(files).table) == 0
