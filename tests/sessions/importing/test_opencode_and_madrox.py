"""Importing sessions of OpenCode, whose rows are exported, and of Madrox, whose calls are in the files of its agents."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from runcard.operations.sessions.costs import costs
from transcripts.madrox_logs import SESSION, MadroxLogs, claude_project
from transcripts.opencode_files import OpenCodeDatabase, text, tool
from transcripts.session_files import assistant, user, write

SECRET = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"  # no real one


def run(cli: Cli, *arguments: str | Path, code: int = 0) -> dict[str, Any]:
    outcome = cli("import", *arguments, "--json")
    assert outcome.code == code, outcome.err
    data: dict[str, Any] = json.loads(outcome.out)
    return data


def stored(path: str | Path, *name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(path, *name, "metadata.json").read_bytes())
    return data


def assert_good(cli: Cli) -> None:
    assert cli("verify", "artifacts").code == 0
    outcome = cli("validate", "artifacts")
    assert outcome.code in {0, 2}, outcome.out + outcome.err


class TestOpenCode:
    @pytest.fixture
    def database(self, tmp_path: Path) -> OpenCodeDatabase:
        """A session with a sub-agent, and a fork of it."""
        made = OpenCodeDatabase(tmp_path / "opencode")
        made.session("ses_1")
        made.session("ses_2", 5, parent_id="ses_1", agent="general")
        made.session("ses_3", 100)
        made.message("m1", "ses_1", 1, text(f"go, {SECRET}"))
        made.message("m2", "ses_1", 2, tool("task", 5, 9), finish="tool-calls")
        made.message("m3", "ses_1", 10, text("done", 11), finish="stop")
        made.message("c1", "ses_2", 6, text("sub", 8), finish="stop")
        made.message("f1", "ses_3", 2, text("a copy", 3), finish="tool-calls")
        made.message("f2", "ses_3", 101, text("own", 102), finish="stop")
        return made

    def test_each_row_that_cannot_be_read_is_named(self, cli: Cli, database: OpenCodeDatabase) -> None:
        for name in ("x1", "x2"):
            database.execute("INSERT INTO message VALUES (?, 'ses_1', 0, 0, '{')", name)
        reasons = [part["reason"] for part in run(cli, "opencode", database.path, code=2)["unread"]]
        assert [reason.partition(":")[0] for reason in reasons] == ["message x1", "message x2"]

    def test_its_rows_are_stored_with_secrets_masked(self, cli: Cli, database: OpenCodeDatabase) -> None:
        data = run(cli, "opencode", database.path)
        first, fork = data["sessions"]
        assert [(each["session"], each["instances"], each["calls"]) for each in data["sessions"]] == [
            ("ses_1", 2, 3),
            ("ses_3", 1, 1),
        ]
        assert_good(cli)
        (source,) = stored(first["path"])["sources"]
        assert (source["path"], source["messages"]) == ("instances/main/transcripts/opencode.jsonl", 10)
        assert source["sha256"] != source["stored_sha256"]
        copy = Path(first["path"], source["path"]).read_text()
        assert SECRET not in copy
        assert [json.loads(line)["table"] for line in copy.splitlines()].count("message") == 4
        assert "2 messages" not in Path(fork["path"], "instances/main/output.log").read_text()
        assert "1 message of ses_1 before" in Path(fork["path"], "instances/main/output.log").read_text()

    def test_the_sum_is_that_of_costs(self, cli: Cli, database: OpenCodeDatabase) -> None:
        data = run(cli, "opencode", database.path)
        totals = costs("opencode", [str(database.path)]).to_dict()["totals"]
        assert sum(each["calls"] for each in data["sessions"]) == totals["calls"] == 4
        assert sum(each["cost_usd"] for each in data["sessions"]) == pytest.approx(totals["cost_usd"])

    def test_again_only_what_grew(self, cli: Cli, database: OpenCodeDatabase) -> None:
        """Another session in the same file does not change this one."""
        run(cli, "opencode", database.path)
        database.message("f3", "ses_3", 110, text("more", 111), finish="stop")
        actions = {
            each["session"]: each["action"] for each in run(cli, "opencode", database.path)["sessions"]
        }
        assert actions == {"ses_1": "unchanged", "ses_3": "replaced"}
        assert_good(cli)

    def test_rows_that_were_deleted_are_kept(self, cli: Cli, database: OpenCodeDatabase) -> None:
        run(cli, "opencode", database.path)
        database.execute("DELETE FROM message WHERE id = 'm3'")
        data = run(cli, "opencode", database.path, "--session", "ses_1", code=2)
        assert [each["action"] for each in data["sessions"]] == ["kept"]


class TestMadrox:
    @pytest.fixture
    def logs(self, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> MadroxLogs:
        """A team of two; only one has session files of its own."""
        for name in ("ARTIFACTS_DIR", "LOG_DIR"):
            monkeypatch.delenv(name, raising=False)
        made = MadroxLogs(tmp_path / "logs")
        monkeypatch.setenv("MADROX_LOG_DIR", str(made.root))
        made.server()
        made.instance("lead")
        facts = {"parent_instance_id": "lead", "role": "tester", "created_at": "2026-11-16T12:00:06+00:00"}
        made.instance("dev", state="idle", terminated_at=None, **facts)
        made.event("message_exchange", "lead", "2026-11-16T12:01:00", tokens=7, response_time_seconds=4)
        made.message("lead", "message_sent", "2026-11-16T12:01:00", f"do it, {SECRET}")
        workspace = made.workspace("lead")
        write(Path(workspace) / "main.py", b"print()")
        line = assistant(cwd=workspace, time="2026-11-16T12:01:00Z")
        write(claude_project(home, workspace) / "s-1.jsonl", user() | {"cwd": workspace}, line)
        return made

    @pytest.mark.usefixtures("logs")
    def test_a_team(self, cli: Cli) -> None:
        """It is found without a path, from any directory."""
        (session,) = run(cli, "madrox")["sessions"]
        assert (session["session"], session["instances"], session["at_least"]) == (SESSION, 2, True)
        assert session["calls"] is session["cost_usd"] is None  # those of one are not known
        assert session["known_cost_usd"] > 0
        assert_good(cli)
        lead, dev = stored(session["path"])["instances"]
        assert (lead["status"], lead["role"], lead["calls"], lead["tokens_used"]) == (
            "completed",
            "architect",
            1,
            375,
        )
        assert (dev["status"], dev["role"], dev["parent_instance_id"]) == ("running", "qa_engineer", "lead")
        assert (dev["model"], dev["terminated_at_source"]) == ("claude-sonnet-4-5", "collected")
        assert "tokens_used" not in dev  # words are no tokens
        own = stored(session["path"], "instances", "lead")
        assert own["performance"]["response_times"]["max"] == 4
        assert own["labels"]["status_source"] == "derived from Madrox's state: terminated"

    def test_what_is_stored_of_its_files(self, cli: Cli, logs: MadroxLogs) -> None:
        (session,) = run(cli, "madrox", logs.root, "--workspaces", code=2)["sessions"]
        assert session["warnings"] == ["the dev: the workspace was not stored: it does not exist"]
        files = {
            str(file.relative_to(session["path"]))
            for file in Path(session["path"]).rglob("*")
            if file.is_file()
        }
        assert {name for name in files if "/transcripts/" in name or "/workspace/" in name} == {
            "instances/lead/transcripts/madrox.jsonl",
            "instances/lead/transcripts/communication.jsonl",
            "instances/lead/transcripts/s-1.jsonl",
            "instances/lead/workspace/main.py",
        }
        content = b"".join(Path(session["path"], name).read_bytes() for name in files).decode()
        assert "a secret" not in content
        assert SECRET not in content

    def test_a_team_that_worked_on_replaces_its_import(self, cli: Cli, logs: MadroxLogs) -> None:
        run(cli, "madrox")
        assert [each["action"] for each in run(cli, "madrox")["sessions"]] == ["unchanged"]
        logs.message("lead", "message_received", "2026-11-16T12:02:00", "done")
        logs.event("message_exchange", "lead", "2026-11-16T12:02:00", response_time_seconds=60)
        assert [each["action"] for each in run(cli, "madrox")["sessions"]] == ["replaced"]
        assert_good(cli)

    def test_calls_of_a_folder_that_two_instances_share_are_unattributed(
        self, cli: Cli, logs: MadroxLogs
    ) -> None:
        for name in ("lead", "dev"):
            logs.instance(name, workspace_dir=logs.workspace("lead"))
        (session,) = run(cli, "madrox")["sessions"]
        calls = {each["instance_id"]: each.get("calls") for each in stored(session["path"])["instances"]}
        assert calls == {"lead": None, "dev": None, "unattributed": 1}

    def test_none_found(self, cli: Cli, tmp_path: Path) -> None:
        outcome = cli("import", "madrox", tmp_path)
        assert outcome.code == 1
        assert f"looked in {tmp_path}/state" in outcome.err
