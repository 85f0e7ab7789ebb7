"""The tools that write: runs, sessions and plans; and that they are not there unless the user allows it."""

import json
from pathlib import Path
from typing import Any

import pytest

import runcard
from mcp_server.answers import Tools
from mcp_server.line_client import LineClient
from plans.projects import SOURCE, RubyProject
from runcard.documents.run.events import RUN_STARTED
from runcard.mcp_server.server import ALL_TOOLS, tools_of

READING = {
    "list_records", "search_records", "get_record", "read_transcript", "verify_record", "validate_document", "diff_records",
    "cost_report", "whence", "plan_status", "plan_begin", "plan_read", "plan_validate", "list_factories",
}  # fmt: skip
WRITING = {
    "record_run_start", "record_run_event", "record_run_finish", "session_start", "instance_start", "instance_finish",
    "collect_team_artifacts", "plan_write_section", "plan_mark",
}  # fmt: skip


def test_tools_that_write_exist_only_if_the_user_allows_it(project: Path) -> None:
    assert set(tools_of(Tools().scope)) == READING
    assert (
        set(tools_of(Tools(allows_write=True).scope))
        == READING | WRITING
        == {tool.name for tool in ALL_TOOLS}
    )
    before = sorted(path for path in project.rglob("*") if ".runcard" not in path.parts)
    with LineClient(project) as client:
        listed = {tool["name"]: tool["annotations"] for tool in client.ask("tools/list")["result"]["tools"]}
        assert set(listed) == READING
        assert all(hints["readOnlyHint"] for hints in listed.values())
        for name in WRITING:
            assert client.error(name)["hint"] == "start it with: runcard mcp --allow-write"
        client.end()
    assert sorted(path for path in project.rglob("*") if ".runcard" not in path.parts) == before


def test_a_run_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.md").write_text("input\n")
    tools = Tools(allows_write=True)
    started = tools("record_run_start", model="claude-sonnet-4-5", provider="anthropic", config={"n": 3}, inputs=["in.md"], labels={"team": "ux"}, application="persona", application_version="0.9.0")  # fmt: skip
    run_id = started["run_id"]
    other = tools("record_run_start")["run_id"]
    events: list[dict[str, Any]] = [
        {"usage": {"input_tokens": 1000, "output_tokens": 200}, "step": "draft", "latency_seconds": 1.5},
        {"metric": "accuracy", "value": 0.9, "step_number": 1},
        {"event": "chapter", "payload": {"number": 1, "api_key": "sk-ant-api03-" + "A" * 93 + "AA"}},
        {"config": {"temperature": 0.2}},
        {"labels": {"stage": "final"}},
        {"warning": "slow"},
    ]
    for event in events:
        assert tools("record_run_event", run_id=run_id, **event)["run_id"] == run_id
    finished = tools("record_run_finish", run_id=run_id, status="failed", error="it broke")
    assert (finished["status"], finished["quoted"]["costs"]["total_cost_usd"]) == ("failed", 0.006)
    tools("record_run_finish", run_id=other)
    document = runcard.load(Path(started["path"]) / "metadata.json", kind="generation").to_dict()
    assert document["configuration"] | {"n": 3, "temperature": 0.2} == document["configuration"]
    assert document["generation"]["labels"] == {"team": "ux", "stage": "final"}
    assert document["generation"]["command"] == []
    assert document["environment"]["persona_version"] == "0.9.0"
    assert document["metrics"]["accuracy"]["last"] == 0.9
    assert [error["message"] for error in document["errors"]] == ["it broke"]
    assert document["data_sources"]["total_files"] == 1
    assert document["relations"] == []
    assert b"sk-ant-api03" not in (Path(started["path"]) / "experiment.jsonl").read_bytes()
    assert tools("verify_record", record=run_id)["intact"] is True
    assert tools("verify_record", record=other)["intact"] is True


def test_wrong_events_are_refused_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tools = Tools(allows_write=True)
    run_id = tools("record_run_start")["run_id"]
    for wrong in (
        {},
        {"event": "a", "error": "b"},
        {"metric": "a"},
        {"event": RUN_STARTED},
        {"usage": {"nonsense": 1}},
    ):
        answer = tools.error("record_run_event", run_id=run_id, **wrong)
        assert answer["hint"], wrong
    assert run_id in tools.error("record_run_event", run_id="run-x", warning="w")["hint"]
    for pattern in ("/etc/passwd", "../*", "a/../../b"):
        assert "is refused" in tools.error("record_run_start", inputs=[pattern])["error"]
    tools("record_run_finish", run_id=run_id)
    assert "start one with" in tools.error("record_run_finish", run_id=run_id)["hint"]


def test_a_team_is_recorded_and_collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.md").write_text("result\n")
    tools = Tools(allows_write=True)
    tools("session_start", team_session_id="team-7", labels={"a": "b"})
    lead = tools("instance_start", team_session_id="team-7", name="lead", role="architect", workspace="work")
    tools("instance_start", team_session_id="team-7", name="coder", parent="lead")
    usage = [{"input_tokens": 10, "output_tokens": 5}]
    tools(
        "instance_finish", team_session_id="team-7", agent="coder", status="error", error="429", usage=usage
    )
    later = Tools(allows_write=True)  # another server: the session belongs to none
    later("instance_finish", team_session_id="team-7", agent=lead["instance_id"])
    answer = later("collect_team_artifacts", team_session_id="team-7")
    assert (answer["status"], answer["instances_count"]) == ("success", 2)
    assert {entry["name"]: entry["status"] for entry in answer["instances"]} == {
        "lead": "completed",
        "coder": "error",
    }
    assert Path(answer["artifacts_path"]).is_absolute()
    assert answer["summary"]["all_completed"] is False
    assert later("verify_record", record=answer["artifacts_path"])["intact"] is True
    assert later("collect_team_artifacts", team_session_id="team-7")["already_collected"] is True


@pytest.mark.parametrize(
    ("session", "text"),
    [("nobody", "No instances found for team session 'nobody'"), ("", "Team session ID cannot be empty"), ("../x", "No instances found for team session '../x'")],
)  # fmt: skip
def test_a_team_that_does_not_exist_is_the_documented_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, session: str, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = Tools(allows_write=True).error("collect_team_artifacts", team_session_id=session)
    assert {
        key: answer[key]
        for key in ("status", "team_session_id", "artifacts_path", "instances_count", "error")
    } == {
        "status": "error",
        "team_session_id": session,
        "artifacts_path": None,
        "instances_count": 0,
        "error": text,
    }


@pytest.mark.parametrize("folder", ["/etc", "..", "link"])
def test_a_workspace_outside_of_the_project_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    place = tmp_path / "project"
    place.mkdir()
    (place / "link").symlink_to("/etc")
    monkeypatch.chdir(place)
    tools = Tools(allows_write=True)
    tools("session_start", team_session_id="team-8")
    for argument in ("workspace", "output"):
        answer = tools.error("instance_start", team_session_id="team-8", name="a", **{argument: folder})
        assert "is not in the project" in answer["error"] or "is refused" in answer["error"]


def test_an_agent_writes_only_its_own_sections_of_a_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ruby = RubyProject(tmp_path / "shop")
    ruby.write()
    monkeypatch.chdir(ruby.root)
    tools = Tools(allows_write=True)
    before = ruby.plan.read_bytes()
    refused: list[dict[str, Any]] = [
        {"agent": "polisher", "section": "characteristics", "value": []},
        {"agent": "polisher", "section": "automation", "key": "architect_completed", "value": True},
        {"agent": "reviewer", "section": "automation", "key": "errors", "value": ["x"]},
        {"agent": "analyzer", "section": "characteristics", "value": "nonsense"},
        {"agent": "polisher", "section": "automation", "value": {}},
        {
            "agent": "polisher",
            "section": "automation",
            "key": "linter",
            "value": "x",
            "digest": "sha256:" + "0" * 64,
        },
    ]
    for arguments in refused:
        assert tools.error("plan_write_section", source=SOURCE, **arguments)["hint"], arguments
    assert ruby.plan.read_bytes() == before
    digest = tools("plan_read", source=SOURCE)["digest"]
    written = tools("plan_write_section", agent="polisher", source=SOURCE, section="automation", key="linter", value="rubocop", digest=digest)  # fmt: skip
    assert written["changed"] is True
    assert ruby.read()["automation"]["linter"] == "rubocop"
    assert "has changed since" in tools.error("plan_write_section", agent="polisher", source=SOURCE, section="automation", key="linter", value="x", digest=digest)["error"]  # fmt: skip
    assert tools("plan_validate", source=SOURCE)["valid"] in {True, False}
    marked = tools(
        "plan_mark", agent="polisher", source=SOURCE, warnings=["slow"], values={"polisher_files": 2}
    )
    assert marked["quoted"]["automation"]["polisher_files"] == 2
    assert "may not write" in tools.error("plan_mark", agent="reviewer", source=SOURCE)["error"]
    assert json.dumps(ruby.read()["automation"])
