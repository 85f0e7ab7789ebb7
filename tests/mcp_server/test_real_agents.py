"""The real Claude Code and Codex, with the MCP server that `runcard install` added: they list, read and verify records, collect a
team, and see what is wrong with an id."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import runcard
from meter.agents import Invocation, claude_code, codex, run_agent
from meter.scripted_upstream import Step, scripted_upstream
from meter.vendor_replies import Json
from sessions.build import make_session

pytestmark = [pytest.mark.long, pytest.mark.needs("npm programs")]

RUNCARD = str(Path(sys.executable).parent / "runcard")
CALLS: tuple[tuple[str, Json, str], ...] = (  # and what the model reads then
    ("list_records", {}, "team-1"),
    ("get_record", {"record": "team-1"}, "total_instances"),
    ("verify_record", {"record": "team-1"}, '"intact":true'),
    ("session_start", {"team_session_id": "team-9"}, '"team_session_id":"team-9"'),
    ("instance_start", {"team_session_id": "team-9", "name": "lead"}, '"instance_id"'),
    ("instance_finish", {"team_session_id": "team-9", "agent": "lead"}, '"status":"completed"'),
    ("collect_team_artifacts", {"team_session_id": "team-9"}, '"status":"success"'),
    ("get_record", {"record": "run-nonsense"}, "run-nonsense does not exist"),
)


def _claude(folder: Path, url: str) -> Invocation:
    invocation = claude_code(folder, url, "--allowedTools", "mcp__runcard")
    invocation.env.update(
        {
            "MCP_TIMEOUT": "90000",
            "MCP_CONNECT_TIMEOUT_MS": "90000",
            "ENABLE_TOOL_SEARCH": "false",
            "MCP_CONNECTION_NONBLOCKING": "false",
        }
    )
    return invocation


def _codex(folder: Path, url: str) -> Invocation:
    slow = ("-c", "mcp_servers.runcard.startup_timeout_sec=90", "-c", "mcp_servers.runcard.required=true")
    return codex(folder, url, "--dangerously-bypass-approvals-and-sandbox", *slow, provider=True)


AGENTS: dict[str, tuple[Callable[[Path, str], Invocation], str]] = {
    "claude-code": (_claude, "mcp__runcard__"),
    "codex": (_codex, "mcp__runcard."),
}


def _tool_results(body: Json) -> list[str]:
    """What a request tells the model of the tools that it called."""
    messages = [message["content"] for message in body.get("messages", ())]
    blocks = [block for content in messages if isinstance(content, list) for block in content]
    outputs = [item for item in body.get("input", ()) if item.get("type") == "function_call_output"]
    found = [block for block in blocks if block["type"] == "tool_result"] + outputs
    return [json.dumps(block).replace("\\", "").replace('": ', '":') for block in found]


@pytest.mark.parametrize("tool", AGENTS)
def test_an_agent_uses_the_server_that_install_added(tool: str, tmp_path: Path) -> None:
    invoke, prefix = AGENTS[tool]
    with scripted_upstream() as upstream:
        invocation = invoke(tmp_path, upstream.url)
        with runcard.record(tmp_path / "records", strict=True):
            pass
        make_session(invocation.cwd / "artifacts")
        installed = subprocess.run(
            [RUNCARD, "install", tool, "--mcp", "--allow-write", "--user", "--yes"],
            env=invocation.env,
            cwd=invocation.cwd,
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert installed.returncode == 0, installed.stderr
        upstream.plan(*(Step(tool=(prefix + name, arguments)) for name, arguments, _ in CALLS))
        outcome = run_agent(invocation)
        left = upstream.end_plan()
        assert outcome.code == 0, outcome.err
        offered = ", ".join(sorted({name for request in upstream.requests for name in request.tools}))
        assert not left, offered
        read = [_tool_results(request.body) for request in upstream.requests]
    results = max(read, key=len)
    assert len(results) == len(CALLS)
    for (name, _, text), result in zip(CALLS, results, strict=True):
        assert text in result, (name, result)
    assert (invocation.cwd / "artifacts").is_dir()
