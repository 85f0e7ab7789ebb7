"""The real agents with the hooks that `install` wrote: their sessions are in the store, once and whole, also when they are killed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from meter.agents import Invocation, claude_code, codex, gemini_cli, opencode, run_agent
from meter.scripted_upstream import Step, scripted_upstream
from transcripts.test_real_claude_code import BASH, _is_agent, _task
from waiting import wait_until

pytestmark = [pytest.mark.long, pytest.mark.needs("npm programs")]

Json = dict[str, Any]
RUNCARD = str(Path(sys.executable).parent / "runcard")
_ONCE_WRITTEN = """file=$(sed 's/.*"transcript_path":"\\([^"]*\\)".*/\\1/'); until grep -q '"usage"' "$file"; do sleep 0.05; done"""
KILL = {
    "SessionStart": "kill -9 $PPID",
    **dict.fromkeys(("Stop", "SubagentStop", "SessionEnd"), f"{_ONCE_WRITTEN}; kill -9 $PPID"),
}


def command(invocation: Invocation, *arguments: str) -> str:
    """A command of the user of this agent."""
    done = subprocess.run(
        [RUNCARD, *arguments],
        env=invocation.env,
        cwd=invocation.cwd,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode in {0, 2}, done.stderr.decode()
    return done.stdout.decode()


def wait_until_done(invocation: Invocation) -> None:
    """Until no process that a hook started is at work."""
    notes = Path(invocation.env["XDG_STATE_HOME"]) / "runcard" / "hooks"

    def is_imported(note: Path) -> bool:
        done, lines = note.with_suffix(".done"), note.read_text().splitlines()
        file = next(line.partition(" ")[2] for line in lines if line.startswith("transcript "))
        if file and not Path(file).exists():  # killed before it wrote anything
            return True
        return (
            done.exists() and json.loads(done.read_bytes())["digest"] == sha256(note.read_bytes()).hexdigest()
        )

    def are_imported() -> bool:
        found = list(notes.glob("*.note"))
        return bool(found) and all(map(is_imported, found))

    wait_until(are_imported, "the import of the sessions")


def stored(invocation: Invocation) -> dict[str, Json]:
    """The sessions in the store, each once, with all that their files have now."""
    found: dict[str, Json] = {}
    for path in sorted((invocation.cwd / "artifacts").glob("*/metadata.json")):
        document = json.loads(path.read_bytes())
        assert document["team_session_id"] not in found
        found[document["team_session_id"]] = document
        for source in document["sources"]:
            if source["source"].endswith(".jsonl"):
                assert source["sha256"] == sha256(Path(source["source"]).read_bytes()).hexdigest()
    return found


def _codex(folder: Path, url: str) -> Invocation:
    invocation = codex(folder, url)
    invocation.command.insert(2, "--dangerously-bypass-hook-trust")  # as if the user had reviewed the hooks
    return invocation


AGENTS: dict[str, Callable[[Path, str], Invocation]] = {
    "claude-code": claude_code,
    "codex": _codex,
    "gemini": gemini_cli,
    "opencode": opencode,
}


@pytest.mark.parametrize("tool", AGENTS)
def test_a_session_of_a_real_agent_is_stored_by_its_hooks(tool: str, tmp_path: Path) -> None:
    with scripted_upstream() as upstream:
        invocation = AGENTS[tool](tmp_path, upstream.url)
        command(invocation, "install", tool, "--hooks", "--user", "--yes")
        outcome = run_agent(invocation)
        assert outcome.code == 0, outcome.err
        assert "runcard" not in outcome.out
    wait_until_done(invocation)
    (document,) = stored(invocation).values()
    assert document["recorded_by"] == ["hook"]
    assert document["origin_session"]["tool"] == tool
    assert document["instances"][0]["calls"] >= 1
    command(invocation, "verify", "artifacts")


def test_opencode_installs_nothing_in_the_project_for_the_plugin(tmp_path: Path) -> None:
    """In a project with a folder `.opencode`, it installs npm packages of 63 MB beside the plugin."""
    with scripted_upstream() as upstream:
        invocation = opencode(tmp_path, upstream.url)
        command(invocation, "install", "opencode", "--hooks", "--yes")
        assert run_agent(invocation).code == 0
    wait_until_done(invocation)
    (document,) = stored(invocation).values()
    assert document["recorded_by"] == ["hook"]
    assert sorted(os.listdir(invocation.cwd)) == ["artifacts", "opencode.json"]


@pytest.mark.parametrize("slow", ["session.created", "session.busy", "session.idle"])
def test_the_events_of_opencode_are_noted_in_their_order_before_it_ends(slow: str, tmp_path: Path) -> None:
    """However long the hook takes for one of them."""
    with scripted_upstream() as upstream:
        invocation = opencode(tmp_path, upstream.url)
        command(invocation, "install", "opencode", "--hooks", "--yes")
        settings = json.loads((invocation.cwd / "opencode.json").read_bytes())
        ((_, options),) = settings["plugin"]
        noted = tmp_path / "noted"
        slowly = (
            f"""for event; do :; done; [ "$event" != {slow} ] || sleep 3; "$@"; echo "$event" >> '{noted}'"""
        )
        options["command"] = ["sh", "-c", slowly, "sh", *options["command"]]
        (invocation.cwd / "opencode.json").write_text(json.dumps(settings))
        assert run_agent(invocation).code == 0
    assert noted.read_text().split() == ["session.created", "session.busy", "session.idle"]
    wait_until_done(invocation)
    (document,) = stored(invocation).values()
    assert document["instances"][0]["calls"] >= 1


@pytest.mark.parametrize("event", KILL)
def test_claude_code_that_is_killed_at_a_hook_is_stored_once_and_whole(event: str, tmp_path: Path) -> None:
    """With a sub-agent. What the hooks did not see is imported when the next session starts."""
    with scripted_upstream() as upstream:
        invocation = claude_code(tmp_path, upstream.url)
        command(invocation, "install", "claude-code", "--hooks", "--yes")
        settings = json.loads((invocation.cwd / ".claude/settings.json").read_bytes())
        settings["hooks"][event].append({"hooks": [{"type": "command", "command": KILL[event]}]})
        upstream.plan(Step(tool=_task()), Step(tool=BASH, when=_is_agent))
        killer = [
            *invocation.command,
            "--settings",
            json.dumps({"hooks": {event: settings["hooks"][event][-1:]}}),
        ]
        done = run_agent(Invocation(killer, invocation.env, invocation.cwd))
        assert done.code in {-9, 0}, done.err  # at the end it may be faster
        upstream.end_plan()
        upstream.plan()
        assert run_agent(invocation).code == 0
    wait_until_done(invocation)
    command(invocation, "doctor")
    found = stored(invocation)
    files = list(Path(invocation.env["HOME"]).glob(".claude/projects/*/*.jsonl"))
    with_calls = {path.stem for path in files if b'"usage"' in path.read_bytes()}
    assert set(found) >= with_calls
    assert len(with_calls) == (1 if event == "SessionStart" else 2)
    instances = sorted(len(document["instances"]) for document in found.values())
    assert instances[-1] == (1 if event == "SessionStart" else 2)
    command(invocation, "verify", "artifacts")


def test_a_session_that_goes_on_and_its_fork_are_two_records(tmp_path: Path) -> None:
    with scripted_upstream() as upstream:
        invocation = claude_code(tmp_path, upstream.url)
        command(invocation, "install", "claude-code", "--hooks", "--yes")
        first = str(json.loads(run_agent(invocation).out)["session_id"])
        again = claude_code(tmp_path, upstream.url, "--resume", first, prompt="Go on.")
        assert json.loads(run_agent(again).out)["session_id"] == first
        fork = claude_code(tmp_path, upstream.url, "--resume", first, "--fork-session", prompt="Elsewhere.")
        other = str(json.loads(run_agent(fork).out)["session_id"])
    wait_until_done(invocation)
    command(invocation, "doctor")
    found = stored(invocation)
    assert set(found) == {first, other}
    assert (found[first]["instances"][0]["calls"], found[other]["instances"][0]["calls"]) == (2, 1)
    assert os.listdir(invocation.cwd / "artifacts")
