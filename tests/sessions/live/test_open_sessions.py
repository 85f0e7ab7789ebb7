"""A session that is open: killed, shown, listed, closed by others, never taken for a leftover."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from types import SimpleNamespace
from typing import Self

import pytest

import runcard
from conftest import Cli
from runcard.documents.times import format_time_ms
from runcard.errors import StoreError
from runcard.observe.clock import Clock
from runcard.operations.amendments.migrate import migrate_record
from runcard.operations.sessions import close_session as close_session_module
from runcard.operations.sessions import collect_team as collect_team_module
from runcard.operations.sessions.close_session import (
    SessionIsRunningError,
    close_dead_session,
    close_held_session,
    close_session,
)
from runcard.operations.sessions.collect_team import collect_team, collect_team_artifacts
from runcard.operations.sessions.shell_session import finish_session, join_session, start_session
from runcard.recording.session_events import ClosedSessionError
from runcard.store import layout
from runcard.store.sessions import live_record
from runcard.store.sessions.live import HELD, hold_dead, live_state
from runcard.store.sessions.live_start import read_live_start
from sessions.collecting.teams import instance, team

PROGRAM = """
import os, sys, runcard
session = runcard.Session(sys.argv[1]).start()
lead = session.start_instance("lead")
worker = session.start_instance("worker", parent=lead, provider="anthropic")
worker.add_usage({"input_tokens": 100, "output_tokens": 20}, model="claude-sonnet-4-5")
worker.log("first line")
lead.finish()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RUNCARD_CATALOG", str(tmp_path / "catalog.db"))
    for name in ("RUNCARD_SESSION_DIR", "RUNCARD_SESSION", "RUNCARD_INSTANCE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def started(session_id: str = "team-1") -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, session_id], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def killed(session_id: str = "team-1") -> str:
    process = started(session_id)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return layout.live_session(os.path.abspath("artifacts"), session_id)


def names(path: Path) -> list[tuple[str, str]]:
    return [
        (entry["name"], entry["status"])
        for entry in json.loads((path / "metadata.json").read_bytes())["instances"]
    ]


def command(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "runcard", *words], capture_output=True, text=True, check=False
    )


def test_a_killed_session_is_closed_with_what_was_recorded() -> None:
    live = killed()
    assert live_state(live)[0] == "interrupted"
    collected = close_dead_session(live)
    assert names(collected.path) == [("lead", "completed"), ("worker", "terminated")]
    worker = collected.document.to_dict()["instances"][1]
    assert (worker["tokens_used"], worker["terminated_at_source"]) == (120, "estimated")
    assert worker["error_details"]["category"] == "crashed"
    log = collected.path / "instances" / worker["instance_id"] / "output.log"
    assert log.read_text() == "first line\n"
    (result,) = runcard.verify(collected.path)
    assert result.verdict.findings == ()
    assert os.listdir("artifacts/.open") == []


def test_a_second_session_with_the_id_of_a_dead_one_says_how_to_close_that() -> None:
    killed()
    with pytest.warns(
        runcard.RuncardWarning, match="is open already, in .*; run `runcard close team-1` first"
    ):
        session = runcard.Session("team-1").start()
    assert session.finish() is None


def test_a_living_session_is_left_alone_and_can_be_stored_so_far(cli: Cli) -> None:
    process = started()
    live = layout.live_session(os.path.abspath("artifacts"), "team-1")
    try:
        with pytest.raises(SessionIsRunningError):
            close_dead_session(live)
        assert cli("close").code == 0
        so_far = collect_team("team-1")
        assert names(so_far.path) == [("lead", "completed"), ("worker", "running")]
        assert os.path.isdir(live)
        with pytest.raises(StoreError, match="open already"):
            runcard.Session("team-1", strict=True).start()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("session_id", ["team.deadbeef", "team.deadbeef.closing", "team-1"])
def test_no_collection_takes_an_open_session_for_a_leftover(session_id: str) -> None:
    """An id may look like the name of a collection; also its process may be dead."""
    live = killed(session_id)
    before = sorted(os.listdir(live))
    assert runcard.collect(team(instance())).remarks == ()
    assert sorted(os.listdir(live)) == before
    assert close_dead_session(live).document.session_id == session_id


def test_a_start_document_decides_whatever_journal_is_beside_it() -> None:
    runcard.collect(team(instance()))
    place = Path("artifacts/.open/team.deadbeef")
    place.mkdir()
    (place / "session.json").write_text("{}")
    (place / "audit.jsonl").write_text('{"event": "collection.star')  # as a killed collection leaves it
    runcard.collect(team(instance()), again=True)
    assert sorted(os.listdir(place)) == ["audit.jsonl", "session.json"]


def test_show_ls_log_verify_and_names_know_an_open_session(cli: Cli) -> None:
    live = killed()
    shown = cli("show", "team-1")
    assert shown.code == 2
    assert shown.out.startswith("team-1  interrupted, 1 of 2 completed")
    assert "runcard close team-1" in shown.err
    assert cli("show", "@latest").out.startswith("team-1")
    assert cli("log", "team-1", "worker").out == "first line\n"
    (row,) = (
        json.loads(cli("ls", "--json", "--all").out or "{}").get("records")
        or json.loads(cli("ls", "--json").out)["records"]
    )
    assert (row["id"], row["kind"], row["status"]) == ("team-1", "session", "interrupted")
    verified = cli("verify", "artifacts")
    assert verified.code == 2
    assert "its process is gone" in verified.out
    assert "runcard close" in cli("doctor").out + cli("doctor").err
    for word in ("archive", "rm"):
        refused = cli(word, "team-1")
        assert refused.code == 1, refused
    before = sorted(os.listdir(live))
    assert cli("prune", "--older-than", "0d", "--yes").code in {0, 1, 2}
    assert sorted(os.listdir(live)) == before
    closed = cli("close", "team-1")
    assert closed.code == 0
    assert "closed as failed" in closed.out + closed.err
    again = cli("close", "team-1")
    assert again.code == 0
    assert "failed, left alone: it is closed already" in again.out + again.err
    (row,) = json.loads(cli("ls", "--json").out)["records"]
    assert row["status"] == "failed"


def test_a_session_killed_while_it_is_closed_is_closed_once() -> None:
    """Killed after the session had its name: the open one is removed, and nothing is stored twice."""
    live = killed()
    copy = Path("copy")
    subprocess.run(["cp", "-a", live, str(copy)], check=True)
    first = close_dead_session(live)
    subprocess.run(["cp", "-a", str(copy), live], check=True)
    again = close_dead_session(live)
    assert again.path == first.path
    assert os.listdir("artifacts/.open") == []
    assert [result.verdict.findings for result in runcard.verify("artifacts")] == [()]


class AnHourLater(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return super().now(tz) + timedelta(hours=1)


def test_a_session_is_closed_the_same_by_whoever_closes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    live = killed()
    subprocess.run(["cp", "-a", "artifacts", "other"], check=True)
    first = close_dead_session(live).document.to_dict()
    monkeypatch.setattr(close_session_module, "Clock", lambda: Clock(wall=lambda: time.time() + 3600))
    monkeypatch.setattr(live_record, "datetime", AnHourLater)
    second = close_dead_session(layout.live_session("other", "team-1")).document.to_dict()
    for document in (first, second):
        for name in ("created_at", "audit", "event_chains", "checksums", "ledger_head"):
            del document[name]
    assert first == second


def test_a_session_has_the_time_when_it_was_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    live = killed()
    started = read_live_start(live)
    later = int(time.time()) + 3600
    monkeypatch.setattr(close_session_module, "Clock", lambda: Clock(wall=lambda: later))
    closed = close_dead_session(live)
    document = closed.document.to_dict()
    moment = datetime.fromtimestamp(later, UTC)
    assert document["created_at"] == document["audit"]["collected_at"] == format_time_ms(moment)
    assert closed.path.name == f"{moment:%Y-%m-%d_%H-%M-%S}-team-1"
    assert document["execution_summary"]["execution_start"] < format_time_ms(moment - timedelta(minutes=59))
    manifest = json.loads((closed.path / "manifest.json").read_bytes())
    assert manifest["timestamp"] == document["created_at"]
    assert {chain.get("record") for chain in document["event_chains"]} == {started.name, None}
    (result,) = runcard.verify(closed.path)
    assert result.verdict.findings == ()


@pytest.mark.parametrize(
    "record", [None, "", 7, "team-1", "2026-01-01_00-00-00-team-1", "2026-01-01_00-00-00-team-2"]
)
def test_a_chain_under_another_name_than_that_of_its_start_is_a_finding(
    record: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is a part of the digests, so that no journal of another session can be put in."""
    live, later = killed(), int(time.time()) + 3600
    monkeypatch.setattr(close_session_module, "Clock", lambda: Clock(wall=lambda: later))
    path = close_dead_session(live).path
    document = json.loads((path / "metadata.json").read_bytes())
    document["event_chains"][0]["record"] = record
    (path / "metadata.json").write_text(json.dumps(document))
    (result,) = runcard.verify(path)
    assert "chain" in {finding.kind for finding in result.verdict.findings}


def test_a_session_that_was_migrated_and_copied_alone_is_not_taken_for_a_changed_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A document of 1.0.0 states no chains, and the bytes of the first one are in the store only."""
    live, later = killed(), int(time.time()) + 3600
    monkeypatch.setattr(close_session_module, "Clock", lambda: Clock(wall=lambda: later))
    path = close_dead_session(live).path
    migrate_record(str(path), "1.0.0")
    copy = tmp_path / "alone" / path.name
    shutil.copytree(path, copy, symlinks=True)
    for session, kinds in ((path, {"amended"}), (copy, {"amended", "missing", "limits"})):
        (result,) = runcard.verify(session)
        assert {finding.kind for finding in result.verdict.findings} == kinds
    journal = copy / "audit.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"worker"', b'"walker"'))
    (result,) = runcard.verify(copy)
    assert "chain" in {finding.kind for finding in result.verdict.findings}


def test_what_a_killed_process_stored_is_found_under_the_time_of_its_closing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    live = killed()
    subprocess.run(["cp", "-a", live, "kept"], check=True)
    later = time.time() + 3600
    with monkeypatch.context() as patch:
        patch.setattr(close_session_module, "Clock", lambda: Clock(wall=lambda: later))
        first = close_dead_session(live)
    subprocess.run(["mv", "kept", live], check=True)  # as if it had been killed before it removed it
    again = close_dead_session(live)
    assert again.path == first.path
    assert len(list(Path("artifacts").glob("2*"))) == 1
    assert not Path(live).exists()


def test_a_damaged_session_of_this_id_keeps_no_other_from_being_closed() -> None:
    live = killed()
    other = Path("artifacts/2999-01-01_00-00-00-team-1")
    other.mkdir()
    (other / "metadata.json").write_text("{")
    assert close_dead_session(live).path.is_dir()


def test_the_tool_closes_a_dead_session_and_finds_a_spec() -> None:
    killed()
    result = collect_team_artifacts("team-1")
    assert (result["status"], result["instances_count"]) == ("success", 2)
    assert collect_team_artifacts("team-1")["already_collected"] is True
    Path("specs").mkdir()
    spec = team(instance())
    Path("specs/any.json").write_text(json.dumps(spec))
    assert collect_team_artifacts(spec["team_session_id"], specs="specs")["status"] == "success"


@pytest.mark.parametrize("session_id", ["", "  "])
def test_the_tool_refuses_an_empty_id(session_id: str) -> None:
    assert collect_team_artifacts(session_id)["error"] == "Team session ID cannot be empty"


@pytest.mark.parametrize("session_id", ["nobody", "../../etc", "a/b", ".open", "\x00"])
def test_the_tool_says_that_there_is_no_such_team(session_id: str) -> None:
    result = collect_team_artifacts(session_id)
    assert result["status"] == "error"
    assert result["error"].startswith("No instances found for team session '")


def test_the_tool_gives_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Path("work")
    work.mkdir()
    for number in range(50):
        (work / f"{number}.txt").write_text("x" * 1000)
    session = runcard.Session("team-1", strict=True).start()
    session.start_instance("worker", workspace=work)

    clock = [0.0]
    monkeypatch.setattr(collect_team_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    def slow(_: object) -> None:
        clock[0] += 1.1

    result = collect_team_artifacts("team-1", timeout=1, progress=slow)
    assert result["error"] == "Artifact collection timed out"
    assert layout.is_live_session("artifacts/.open/team-1")  # it can be collected again


def test_a_session_from_a_shell_has_one_chain() -> None:
    link = start_session("team-1", labels={"a": "b"})
    for number in range(3):
        join_session("team-1").event(f"step-{number}")
    agent = join_session("team-1").start_instance("writer")
    assert live_state(link.path)[0] == "running"
    join_session("team-1").instance("writer").log("hello")
    join_session("team-1").instance(agent.id).finish("error", "429 Too Many Requests")
    collected = finish_session(join_session("team-1"), "completed")
    document = collected.document.to_dict()
    assert [chain["count"] for chain in document["event_chains"]] == [8, 3]
    assert document["instances"][0]["error_details"]["category"] == "rate_limit"
    (result,) = runcard.verify(collected.path)
    assert result.verdict.findings == ()


def test_a_session_that_another_process_closed_is_said_to_be_closed() -> None:
    link = start_session("team-1")
    late = join_session("team-1")
    late.start_instance("writer").finish()
    close_dead_session(link.path)
    with pytest.raises(ClosedSessionError, match="is closed"):
        late.event("more")
    with pytest.raises(StoreError, match="is closed"):
        close_held_session(link.path)


def test_a_session_that_is_being_closed_is_not_said_to_have_a_process() -> None:
    live = killed()
    with hold_dead(live) as is_held:
        assert is_held
        assert live_state(live) == ("running", HELD)
        result = close_session(live)
    assert (result.closed, result.reason) == (False, HELD)


def test_closing_a_session_without_agents_says_that_it_is_removed(cli: Cli) -> None:
    link = start_session("team-1")
    closed = cli("close", "team-1")
    assert closed.code == 0
    assert "empty, not stored: it had no agents, and was removed" in closed.out
    assert not os.path.lexists(link.path)


def test_collect_closes_an_open_session_by_its_id(tmp_path: Path, cli: Cli) -> None:
    killed()
    refused = cli("collect", "team-1", "--include", "*.py")
    assert refused.code == 64
    assert "team-1 is an open session: --include cannot be used" in refused.err
    done = cli("collect", "team-1")
    assert done.code == 0, done.err
    assert not (tmp_path / "artifacts/.open/team-1").exists()
    (result,) = runcard.verify(done.out.strip())
    assert result.verdict.findings == ()
    assert cli("collect", "team-1").code == 1  # it is none any more, and no SPEC


def test_the_commands_that_end_a_session_of_a_shell_can_be_pasted(cli: Cli, tmp_path: Path) -> None:
    def hinted(text: str, start: str) -> list[str]:
        command = re.search(f"{start}[^`;\\n]*", text)
        assert command, text
        return command[0].split()[1:]

    for name in ("team-1", "team-2"):
        assert cli("session", "start", name).code == 0
    assert cli("session", "instance", "writer", "--session", "team-1").code == 0
    left = cli("close").out
    finish = [line for line in left.splitlines() if ".open/team-1: running, left alone" in line]
    assert cli(*hinted(finish[0], "runcard session finish")).code == 0
    empty = cli("session", "finish", "--session", "team-2")
    assert empty.code == 1
    assert cli(*hinted(empty.err, "runcard close")).code == 0
    assert not list((tmp_path / "artifacts/.open").glob("team-*"))


def test_collect_leaves_a_session_open_whose_process_works_or_that_has_no_agents(tmp_path: Path) -> None:
    with runcard.Session("team-1") as session:
        empty = command("collect", "team-1")
        assert empty.returncode == 1
        assert "No instances found for team session 'team-1'" in empty.stderr
        session.start_instance("worker")
        done = command("collect", "team-1")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "artifacts/.open/team-1").exists()
    command("session", "start", "team-2")
    assert command("collect", "team-2").returncode == 1
    assert (tmp_path / "artifacts/.open/team-2").exists()


def test_an_agent_of_a_session_without_a_process_did_not_crash(cli: Cli) -> None:
    cli("session", "start", "team-1")
    cli("session", "instance", "worker", "--session", "team-1")
    path = cli("collect", "team-1").out.strip()
    (agent,) = json.loads(Path(path, "metadata.json").read_bytes())["instances"]
    assert agent["status"] == "terminated"
    assert agent["error_message"] == "its session was stored before it was finished"
    assert "crashed" not in json.dumps(agent)


def test_close_means_the_open_session_where_earlier_ones_have_the_same_id(cli: Cli) -> None:
    with runcard.Session("team-1") as session:
        session.start_instance("a").finish()
    killed()
    verified = cli("verify", "artifacts/.open/team-1")
    assert "to close it: runcard close team-1" in verified.out + verified.err
    done = cli("close", "team-1")
    assert done.code == 0, done.err
    assert os.listdir("artifacts/.open") == []
    assert len(list(Path("artifacts").glob("2*"))) == 2
    assert cli("close", "team-1").code == 1  # now it is not clear which one is meant


def test_the_id_of_an_open_session_means_that_one(cli: Cli) -> None:
    for number in range(2):
        start_session("team-1")
        session = join_session("team-1")
        session.start_instance(f"agent {number}")
        if not number:
            finish_session(session, "completed")
    assert cli("show", "team-1").out.startswith("team-1  running, 0 of 1 completed")
    refused = cli("session", "start", "team-1")
    assert (refused.code, "runcard session finish --session team-1" in refused.err) == (1, True)
