"""A session that is recorded while it works: its directory, its documents, what is in them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import runcard
from runcard.store import layout

REPLY = {
    "id": "msg_1",
    "type": "message",
    "model": "claude-sonnet-4-5-20250929",
    "stop_reason": "end_turn",
    "usage": {
        "input_tokens": 1000,
        "output_tokens": 200,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    },
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("RUNCARD_SESSION_DIR", "RUNCARD_SESSION", "RUNCARD_INSTANCE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def team(session: runcard.Session) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((session.path / "metadata.json").read_bytes())
    return document


def assert_intact(path: Path) -> None:
    (result,) = runcard.verify(path)
    assert result.verdict.findings == ()


def test_a_block_is_a_session(tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    (workspace / "a.py").write_text("pass\n")
    with runcard.Session("team-1", labels={"project": "handbook"}) as session:
        assert Path(layout.live_session("artifacts", "team-1")).is_dir()
        lead = session.start_instance("lead", role="architect")
        worker = session.start_instance("worker", parent=lead, workspace=workspace, provider="anthropic")
        worker.add_usage(REPLY, latency=1.5)
        worker.log("hello")
        worker.finish()
    assert os.listdir("artifacts/.open") == []
    assert_intact(session.path)
    document = team(session)
    first, second = document["instances"]
    assert (first["name"], first["status"], first["children_count"]) == ("lead", "completed", 1)
    assert second["parent_instance_id"] == lead.id
    assert (second["tokens_used"], second["cost"], second["calls"]) == (1200, 0.006, 1)
    assert document["labels"] == {"project": "handbook"}
    folder = session.path / "instances" / worker.id
    assert (folder / "output.log").read_text() == "hello\n"
    assert (folder / "workspace" / "a.py").exists()


def test_another_process_joins_by_the_environment() -> None:
    program = "import runcard; s = runcard.current_session(); s.start_instance('kid', parent='lead').finish()"
    with runcard.Session("team-1") as session:
        lead = session.start_instance("lead")
        subprocess.run([sys.executable, "-c", program], env=os.environ | session.environ, check=True)
    document = team(session)
    kid = document["instances"][1]
    assert (kid["name"], kid["parent_instance_id"]) == ("kid", lead.id)
    assert len(document["event_chains"]) == 3  # the owner, the child, the collection
    assert_intact(session.path)


def test_a_process_that_joined_a_session_adds_nothing_to_a_later_one_with_its_id() -> None:
    program = """
import sys, runcard
first = runcard.current_session().instance("lead")
first.log("first")
print("ready", flush=True)
sys.stdin.readline()
first.log("late")
first.add_usage({"input_tokens": 1, "output_tokens": 1})
runcard.current_session().instance("lead").log("second")
"""
    with runcard.Session("team-1") as session:
        session.start_instance("lead", instance_id="lead")
        words = [sys.executable, "-W", "ignore", "-c", program]
        child = subprocess.Popen(
            words, env=os.environ | session.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    with runcard.Session("team-1") as later:
        later.start_instance("lead", instance_id="lead")
        child.communicate("\n")
        assert child.returncode == 0
    outputs = [(each.path / "instances/lead/output.log").read_text() for each in (session, later)]
    assert outputs == ["first\n", "second\n"]
    assert "tokens_used" not in team(later)["instances"][0]


_MEASURED = """
import runcard
with runcard.record() as run:
    sum(range(10_000_000))
print(run.path)
"""


def test_an_agent_used_what_its_runs_measured() -> None:
    with runcard.Session("team-1") as session:
        worker = session.start_instance("worker", instance_id="worker")
        session.start_instance("silent", instance_id="silent")
        runs = []
        for words in (
            [sys.executable, "-c", _MEASURED],
            [sys.executable, "-m", "runcard", "run", "--", sys.executable, "-c", "sum(range(10_000_000))"],
        ):
            done = subprocess.run(
                words, env=os.environ | worker.environ, capture_output=True, text=True, check=True
            )
            path = done.stdout or done.stderr.partition(": ")[2]
            runs.append(json.loads((Path(path.strip()) / "metadata.json").read_bytes())["resources"])
    own = json.loads((session.path / "instances/worker/metadata.json").read_bytes())
    assert own["resources"]["cpu_seconds"] == pytest.approx(sum(used["cpu_seconds"] for used in runs))
    assert own["performance"]["peak_memory_bytes"] == max(used["peak_memory_bytes"] for used in runs)
    other = json.loads((session.path / "instances/silent/metadata.json").read_bytes())
    assert (other["resources"]["cpu_seconds"], other["performance"]["peak_memory_bytes"]) == (None, None)
    assert (team(session)["resources"]["cpu_seconds"], team(session)["performance"]["peak_memory_bytes"]) == (
        None,
        None,
    )
    assert_intact(session.path)


def test_a_session_of_one_agent_used_what_this_process_did() -> None:
    with runcard.Session("team-1") as session, session.start_instance("worker"):
        with runcard.record():
            pass
        with runcard.record() as run:
            pass
    used = json.loads((run.path / "metadata.json").read_bytes())["resources"]
    assert team(session)["resources"]["cpu_seconds"] == used["cpu_seconds"]
    assert team(session)["performance"]["peak_memory_bytes"] == used["peak_memory_bytes"]
    assert_intact(session.path)


def test_a_run_that_ends_after_its_session_leaves_its_use_unknown() -> None:
    with runcard.Session("team-1") as session, session.start_instance("worker"):
        run = runcard.start()
    run.finish()
    assert team(session)["resources"]["cpu_seconds"] is None
    assert json.loads((run.path / "metadata.json").read_bytes())["warnings"] == []
