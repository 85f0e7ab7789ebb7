"""Three sources about one session of Claude Code: the wire, its own telemetry, its transcript.

The transcript lacks a call, that for the title of the session. So it is no source for what a run used; but a call in it that
the meter has not seen shows that something is missing.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from install_tools import CLIENTS

from meter.agents import KEY, claude_code
from meter.records import MeteredRun, assert_equals, run_metered
from meter.scripted_upstream import ScriptedUpstream, Step, scripted_upstream

pytestmark = [pytest.mark.long, pytest.mark.needs("npm programs")]

CLAUDE = str(CLIENTS / "bin/claude")  # by its path it goes around the meter, if its settings have a URL
BASH = ("Bash", {"command": "echo hello", "description": "Say hello"})


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MeteredRun, ScriptedUpstream, Path]]:
    folder = tmp_path_factory.mktemp("sources")
    with scripted_upstream([Step(tool=BASH)]) as upstream:
        invocation = claude_code(folder, upstream.url)
        run = run_metered(invocation.command, invocation.env, invocation.cwd, options=["--witness", "otlp"])
        yield run, upstream, folder


def transcript_ids(folder: Path) -> set[str]:
    """The ids of requests in all transcripts of a home."""
    lines = [
        json.loads(line)
        for path in (folder / "home" / ".claude" / "projects").rglob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    return {line["requestId"] for line in lines if line.get("type") == "assistant" and "requestId" in line}


def test_the_wire_has_3_calls_the_telemetry_3_and_the_transcript_2(
    session: tuple[MeteredRun, ScriptedUpstream, Path],
) -> None:
    run, upstream, folder = session
    assert run.code == 0, run.err
    wire = {call.request_id for call in upstream.calls}
    (witness,) = [event["payload"] for event in run.events if event["event"] == "witness.compared"]
    transcript = transcript_ids(folder)
    assert [len(wire), witness["reported"], len(transcript)] == [3, 3, 2]
    assert [witness["metered"], witness["agreeing"]] == [3, 3]
    assert [witness["only_reported"], witness["only_metered"], witness["differing"]] == [[], [], []]
    assert transcript < wire


def test_the_record_follows_the_wire(session: tuple[MeteredRun, ScriptedUpstream, Path]) -> None:
    run, upstream, _ = session
    assert_equals(run, upstream)
    assert run.document["costs"]["total_cost_usd"] is not None
    assert run.document["warnings"] == []


def test_the_record_has_no_content_of_the_telemetry(
    session: tuple[MeteredRun, ScriptedUpstream, Path],
) -> None:
    run, _, _ = session
    journal = (run.path / "experiment.jsonl").read_text()
    assert KEY not in journal
    assert "user.email" not in journal
    assert "Say hello." not in journal.replace(json.dumps(run.document["generation"]["command"][2]), "")


def test_calls_around_the_meter_are_noticed(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    """A script starts Claude Code by its path, with a URL of its own: its transcript shows it, and nothing is claimed."""
    invocation = claude_code(tmp_path, "http://127.0.0.1:9")
    script = f'ANTHROPIC_BASE_URL={upstream.url} "$@"'
    settings = json.dumps({"env": {"ANTHROPIC_BASE_URL": upstream.url}})
    command = ["sh", "-c", script, "sh", CLAUDE, *invocation.command[1:], "--settings", settings]
    run = run_metered(command, invocation.env, invocation.cwd)
    assert run.code == 0, run.err
    assert len(upstream.calls) == 2
    assert run.calls == []
    assert run.document["costs"]["total_cost_usd"] is None
    assert run.document["costs"]["input_tokens"] is None
    assert "a session file of Claude Code has a call that did not pass the meter" in run.err


def test_a_session_that_is_continued_around_the_meter_has_a_lower_bound(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    """The transcript of the session has a call that did not pass the meter."""
    upstream.plan(Step(tool=BASH))
    invocation = claude_code(tmp_path, upstream.url)
    settings = json.dumps({"env": {"ANTHROPIC_BASE_URL": upstream.url}})
    script = f"\"$@\" && {CLAUDE} -p Again --continue --settings '{settings}'"
    run = run_metered(["sh", "-c", script, "sh", *invocation.command], invocation.env, invocation.cwd)
    assert run.code == 0, run.err
    assert 3 <= len(run.metered) < len(upstream.calls)
    costs, warnings = run.document["costs"], run.document["warnings"]
    assert (costs["total_cost_usd"], costs["token_source"]) == (None, "partial")
    assert costs["known_cost_usd"] > 0
    assert any("session file" in warning["message"] for warning in warnings)
