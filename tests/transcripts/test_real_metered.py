"""A session of the real Claude Code or Codex that `runcard run` metered, imported: one record, with every call on the wire."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from meter.agents import claude_code, codex, run_agent
from meter.records import MeteredRun, run_metered
from meter.scripted_upstream import ScriptedUpstream, Step, scripted_upstream
from meter.vendor_replies import Tool
from transcripts.client_home import ClientHome, home_environment, sent_tokens

pytestmark = [pytest.mark.long, pytest.mark.needs("npm programs")]

BASH: Tool = ("Bash", {"command": "echo hello", "description": "Say hello"})
TASK: Tool = (
    "Agent",
    {
        "description": "greet",
        "prompt": "Say hi.",
        "subagent_type": "general-purpose",
        "run_in_background": False,
    },
)


def imported(
    cli: Cli, folder: Path, tool: str, store: str, patch: pytest.MonkeyPatch
) -> tuple[str, dict[str, Any]]:
    """What the import did with the only session of a tool, and its document."""
    home_environment(ClientHome(tool, folder), patch)
    patch.setenv("RUNCARD_OUTPUTS", str(folder / "records"))
    patch.chdir(folder / "work")
    outcome = cli("import", tool, "--artifacts", folder / store, "--json")
    assert outcome.code == 0, outcome.err
    (session,) = json.loads(outcome.out)["sessions"]
    assert cli("verify", session["path"]).code == cli("validate", session["path"]).code == 0
    return session["action"], json.loads((Path(session["path"]) / "metadata.json").read_bytes())


def tokens(document: dict[str, Any]) -> dict[str, int]:
    """The sum of the instances, as `sent_tokens` has it."""
    sums: dict[str, int] = {"calls": sum(agent["calls"] for agent in document["instances"])}
    for agent in document["instances"]:
        for name, count in agent["tokens"].items():
            sums[name] = sums.get(name, 0) + (count or 0)
    sums["input"] -= sums["cache_read"] + sums["cache_write"]
    return {name: count for name, count in sums.items() if count}


def assert_joined(document: dict[str, Any], run: MeteredRun, **counts: int) -> None:
    (joined,) = document["metered_runs"]
    run_id = run.document["generation"]["run_id"]
    assert joined["run_id"] == run_id
    assert {name: joined[name] for name in counts} == counts
    assert [each for each in joined["differing"] if each["in_transcript"] is not None] == []
    assert [(each["type"], each["id"]) for each in document["relations"]] == [("run", run_id)]


def metered_claude(folder: Path, upstream: ScriptedUpstream) -> MeteredRun:
    is_agent = Step(tool=BASH, when=lambda request: request.header("x-claude-code-agent-id") is not None)
    upstream.plan(Step(tool=TASK), is_agent)
    invocation = claude_code(folder, upstream.url)
    run = run_metered(invocation.command, invocation.env, invocation.cwd)
    assert (run.code, len(upstream.calls)) == (0, 5), run.err
    return run


def test_a_session_that_was_metered(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The title is in no session file: the meter saw it, so the total is no lower bound."""
    with scripted_upstream() as upstream:
        run = metered_claude(tmp_path, upstream)
    action, document = imported(cli, tmp_path, "claude-code", "store", monkeypatch)
    assert (action, document["team_session_id"]) == ("imported", json.loads(run.out)["session_id"])
    assert_joined(document, run, calls_in_both=4, only_metered=1, only_in_transcript=0)
    assert "usage_incomplete" not in document
    assert tokens(document) == sent_tokens(upstream.calls)
    calls = {agent["instance_id"]: agent["calls"] for agent in document["instances"]}
    (agent,) = {call.request.header("x-claude-code-agent-id") for call in upstream.calls} - {None}
    assert calls == {"main": 3, agent: 2}
    assert imported(cli, tmp_path, "claude-code", "store", monkeypatch)[0] == "unchanged"


def test_a_session_that_was_metered_in_part(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted_upstream() as upstream:
        run = metered_claude(tmp_path, upstream)
        assert run_agent(claude_code(tmp_path, upstream.url, "-c")).code == 0
    _, document = imported(cli, tmp_path, "claude-code", "store", monkeypatch)
    assert_joined(document, run, calls_in_both=4, only_metered=1, only_in_transcript=1)
    assert document["usage_incomplete"]["calls_not_in_transcripts"]
    assert tokens(document)["calls"] == len(upstream.calls) == 6


def test_a_session_of_codex_that_was_metered(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted_upstream() as upstream:
        upstream.plan(Step(tool=("exec_command", {"cmd": "echo hello"})))
        invocation = codex(tmp_path, upstream.url)
        run = run_metered(invocation.command, invocation.env, invocation.cwd)
    assert run.code == 0, run.err
    _, document = imported(cli, tmp_path, "codex", "store", monkeypatch)
    assert_joined(document, run, calls_in_both=2, only_metered=0, only_in_transcript=0)
    assert "usage_incomplete" not in document
    assert tokens(document) == sent_tokens(upstream.calls)
