"""Sessions that the real Claude Code made: its agents, who started them, what they did, and how they ended."""

import json
import subprocess
from pathlib import Path

import pytest

from meter.agents import claude_code, run_agent
from meter.scripted_upstream import LoggedRequest, ScriptedUpstream, Step, scripted_upstream
from meter.vendor_replies import Tool
from runcard.transcripts.calls import MAIN
from transcripts.read_sessions import ReadSession, read_sessions
from transcripts.session_files import calls

pytestmark = [pytest.mark.long, pytest.mark.needs("npm programs")]

TOOL = "claude-code"
FAILING: Tool = ("Bash", {"command": "exit 3", "description": "Fail"})
SCRIPT = """
export const meta = {name: 'pair', description: 'Two agents', phases: [{title: 'A', detail: 'a'}]}
const one = await agent('Do the first part.', {label: 'first'})
return {one, two: await agent('Do the second part.', {label: 'second'})}
"""
TEXT = "The quick brown fox."


def task(name: str) -> Tool:
    return "Agent", {"description": name, "prompt": f"Do {name}.", "subagent_type": "general-purpose"}


def _has_tools(request: LoggedRequest) -> bool:
    return bool(request.tools)


class RealHome:
    """The home of a user, in which sessions are made one after the other."""

    def __init__(self, folder: Path, upstream: ScriptedUpstream) -> None:
        self.folder, self._upstream = folder, upstream
        self.sessions: dict[str, str] = {}  # ids, by name

    def run(self, name: str, *steps: Step, resume: str | None = None, fork: bool = False) -> str:
        self._upstream.plan(*steps)
        options = ["--allowedTools", "Bash,Agent,Workflow"]
        options += ["--resume", self.sessions[resume]] if resume else []
        options += ["--fork-session"] if fork else []
        outcome = run_agent(claude_code(self.folder, self._upstream.url, *options, prompt=f"This is {name}."))
        self.sessions[name] = json.loads(outcome.out)["session_id"]
        return self.sessions[name]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> RealHome:
    folder = tmp_path_factory.mktemp("claude")
    (folder / "work").mkdir()
    subprocess.run(["git", "init", "-q", "-b", "trunk"], cwd=folder / "work", check=True)
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *identity, "commit", "-qm", "x", "--allow-empty"], cwd=folder / "work", check=True)
    with scripted_upstream() as upstream:
        made = RealHome(folder, upstream)
        made.run("nested", Step(tool=task("outer")), Step(tool=task("inner")), Step(tool=FAILING))
        made.run("plain")
        made.run("resumed", resume="plain")
        made.run("fork", resume="plain", fork=True)
        made.run("failed", Step(status=400, when=_has_tools))
        made.run(
            "workflow",
            Step(tool=("Workflow", {"script": SCRIPT})),
            Step(tool=("Bash", {"command": "sleep 3"})),
        )
    return made


@pytest.fixture(scope="module")
def sessions(home: RealHome) -> dict[str, ReadSession]:
    read = read_sessions(TOOL, home.folder / "home" / ".claude")
    assert set(read) == set(home.sessions.values())
    return {name: read[session] for name, session in home.sessions.items()}


def test_sub_agents_with_their_parents(sessions: dict[str, ReadSession]) -> None:
    found = sessions["nested"]
    outer, inner = sorted(
        (agent for agent in found.activity.agents.values() if agent.id != MAIN),
        key=lambda agent: agent.started,
    )
    assert (outer.parent, outer.description, outer.role) == (MAIN, "outer", "general-purpose")
    assert (inner.parent, inner.description, inner.role) == (outer.id, "inner", "general-purpose")
    assert [kind for kind, _ in found.steps(inner.id)] == ["user", "tool use", "tool result", "assistant"]
    assert (inner.failed_tool_uses, outer.failed_tool_uses) == ({"Bash": 1}, {})
    assert {agent.final_status for agent in found.activity.agents.values()} == {"completed"}


def test_all_agents_with_calls_have_steps(home: RealHome, sessions: dict[str, ReadSession]) -> None:
    found = {
        (call.origin.session, call.origin.agent_id) for call in calls(TOOL, home.folder / "home" / ".claude")
    }
    known = {(read.files.session, agent) for read in sessions.values() for agent in read.activity.agents}
    assert found <= known
    assert known - found == {(home.sessions["failed"], MAIN)}


def test_facts_about_the_session(home: RealHome, sessions: dict[str, ReadSession]) -> None:
    found = sessions["plain"].activity
    assert (found.folder, found.branch) == (str(home.folder / "work"), "trunk")
    assert found.tool_version is not None


def test_a_session_that_was_resumed_goes_on(home: RealHome, sessions: dict[str, ReadSession]) -> None:
    assert home.sessions["resumed"] == home.sessions["plain"]
    prompts = [words for kind, words in sessions["plain"].steps() if kind == "user"]
    assert prompts == ["This is plain.", "This is resumed."]


def test_a_fork_has_only_its_own_steps(home: RealHome, sessions: dict[str, ReadSession]) -> None:
    assert [step for step in sessions["fork"].steps() if step[0] != "note"] == [
        ("user", "This is fork."),
        ("assistant", TEXT),
    ]
    assert sessions["fork"].activity.resumed_from == home.sessions["plain"]


def test_a_call_that_failed(sessions: dict[str, ReadSession]) -> None:
    agent = sessions["failed"].agent()
    assert (agent.final_status, len(agent.errors)) == ("error", 1)
    assert "400" in agent.errors[0].message


def test_the_agents_of_a_workflow(sessions: dict[str, ReadSession]) -> None:
    agents = [agent for agent in sessions["workflow"].activity.agents.values() if agent.id != MAIN]
    assert sorted((agent.name, agent.role, agent.parent, agent.final_status) for agent in agents) == [
        ("first", "workflow-subagent", MAIN, "completed"),
        ("second", "workflow-subagent", MAIN, "completed"),
    ]
