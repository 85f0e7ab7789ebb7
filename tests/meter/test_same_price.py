"""A call costs the same, whether the meter saw it or the agent's session file was read; where not, the page on costs says why."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from meter.agents import Invocation, agent_environment, claude_code, codex, gemini_cli, opencode
from meter.records import RUNCARD, TIMEOUT, MeteredRun, run_metered
from meter.scripted_upstream import ScriptedUpstream
from meter.vendor_replies import Json

AGENTS: dict[str, Callable[[Path, str], Invocation]] = {
    "claude-code": claude_code,
    "codex": codex,
    "gemini": gemini_cli,
    "opencode": opencode,
}
# Calls a model, and writes what Codex would write of it.
PROGRAM = """
import json, os, pathlib, sys, urllib.request
body = json.dumps({"model": "gpt-5", "input": "fox"}).encode()
url = os.environ["OPENAI_BASE_URL"] + "/responses"
request = urllib.request.Request(url, body, {"content-type": "application/json"})
reply = json.loads(urllib.request.urlopen(request).read())
used, stamp = reply["usage"], "2026-11-01T10:00:00Z"
usage = {name: used[name] for name in ("input_tokens", "output_tokens", "total_tokens")}
usage["cached_input_tokens"] = used["input_tokens_details"]["cached_tokens"]
usage["reasoning_output_tokens"] = used["output_tokens_details"]["reasoning_tokens"]
record = {"session_id": "s", "thread_id": "s", "response_id": reply["id"], "usage": usage}
meta = {"id": "s", "cwd": os.getcwd(), "model_provider": sys.argv[1]}
lines = [("session_meta", meta), ("turn_context", {"model": "gpt-5"}), ("token_usage_record", record)]
path = pathlib.Path.home() / ".codex/sessions/2026/11/01/rollout-2026-11-01T10-00-00-s.jsonl"
path.parent.mkdir(parents=True)
path.write_text("".join(json.dumps({"timestamp": stamp, "type": kind, "payload": data}) + "\\n" for kind, data in lines))
"""


def read_costs(tool: str, env: Mapping[str, str], cwd: Path) -> Json:
    """What the session files cost."""
    command = [*RUNCARD, "costs", "--source", tool, "--json"]
    done = subprocess.run(
        command, env=env, cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    return dict(json.loads(done.stdout))


def run_program(upstream: ScriptedUpstream, folder: Path, provider: str) -> tuple[MeteredRun, Json]:
    env = agent_environment(folder) | {"OPENAI_BASE_URL": f"{upstream.url}/v1"}
    run = run_metered([sys.executable, "-c", PROGRAM, provider], env, folder / "work")
    assert run.code == 0, run.err
    return run, read_costs("codex", env, run.path)


def test_a_call_costs_the_same(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    run, read = run_program(upstream, tmp_path, "openai")
    assert run.document["costs"]["total_cost_usd"] > 0
    assert read["totals"]["cost_usd"] == run.document["costs"]["total_cost_usd"]


def test_a_provider_of_the_user_has_no_price_in_a_session_file(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    """The file has its name; the meter sees its host."""
    run, read = run_program(upstream, tmp_path, "own")
    assert run.document["costs"]["total_cost_usd"] > 0
    assert (read["totals"]["cost_usd"], read["unpriced"]) == (None, ["gpt-5"])


@pytest.mark.long
@pytest.mark.needs("npm programs")
@pytest.mark.parametrize("tool", AGENTS)
def test_a_call_of_a_real_agent_costs_the_same(upstream: ScriptedUpstream, tmp_path: Path, tool: str) -> None:
    """Its last call; those for titles are in no file."""
    invocation = AGENTS[tool](tmp_path, upstream.url)
    run = run_metered(invocation.command, invocation.env, invocation.cwd)
    assert run.code == 0, run.err
    read = read_costs(tool, invocation.env, invocation.cwd)
    assert read["totals"]["calls"] == 1
    last = run.metered[-1]
    expected = last["cost_usd"]
    if tool == "opencode":  # it does not write that a cache lives for an hour
        rates = last["price_row"]["usd_per_million"]
        per_token = (rates["cache_write_1h"] - rates["cache_write_5m"]) / 1_000_000
        expected -= last["tokens"]["cache_write_1h"] * per_token
    assert read["totals"]["cost_usd"] == pytest.approx(expected, abs=1e-12)
