"""Sessions that OpenCode itself wrote: a sub-agent, a call that failed, a continued and a forked session."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from meter.agents import opencode, run_agent
from meter.scripted_upstream import LoggedRequest, ScriptedUpstream, Step, scripted_upstream
from transcripts.opencode_files import SessionReading, all_sessions
from transcripts.session_files import calls, sums

pytestmark = [pytest.mark.long, pytest.mark.needs("npm programs")]

TASK = {"description": "count files", "prompt": "Count them.", "subagent_type": "general"}
BASH = {"command": "echo hello", "description": "Say hello"}


@dataclass
class OpenCodeHome:
    """What several runs left behind."""

    folder: Path
    sessions: list[SessionReading]  # by time
    sent: list[
        tuple[int, int]
    ]  # the tokens of all calls but those for titles: all that was sent, and the output


def has_tools(request: LoggedRequest) -> bool:
    """Whether it is no call for a title."""
    return bool(request.tools)


def run(upstream: ScriptedUpstream, folder: Path, prompt: str, *options: str) -> None:
    invocation = opencode(folder, upstream.url, prompt=prompt)
    command = [*invocation.command[:-1], *options, prompt]
    run_agent(replace(invocation, command=command))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> OpenCodeHome:
    folder = tmp_path_factory.mktemp("opencode")
    with scripted_upstream() as upstream:
        upstream.plan(Step(tool=("task", TASK)), Step(tool=("bash", BASH)))
        run(upstream, folder, "first")
        upstream.plan(Step(status=400, when=has_tools))
        run(upstream, folder, "second")
        run(upstream, folder, "third", "--continue")
        run(upstream, folder, "fourth", "--continue", "--fork")
        sent = [
            (call.tokens["input"], call.tokens["output"])
            for call in upstream.calls
            if call.request.tools and call.tokens
        ]
    data = folder / "home" / ".local" / "share" / "opencode"
    sessions, unread = all_sessions(data)
    assert unread == []
    return OpenCodeHome(
        data, sorted(map(SessionReading, sessions), key=lambda each: each.files.modified), sent
    )


def test_calls_are_those_of_the_wire(home: OpenCodeHome) -> None:
    """But those for titles. A fork has copies of two messages of the session before it: they count once."""
    found = calls("opencode", home.folder)
    assert sums(found)[:3] == (len(home.sent), *map(sum, zip(*home.sent, strict=True)))


def test_the_sub_agent_of_the_first_session(home: OpenCodeHome) -> None:
    first = home.sessions[0]
    main, child = first.activity.agents.values()
    assert (child.parent, child.role, child.description) == ("main", "general", "count files")
    assert (main.tool_uses, child.tool_uses) == ({"task": 1}, {"bash": 1})
    assert [kind for kind, _ in first.steps(child.id)] == ["user", "tool use", "tool result", "assistant"]
    assert (main.final_status, child.final_status) == ("completed", "completed")
    assert first.unread == []
    assert first.activity.tool_version
    assert first.activity.folder == str(home.folder.parents[3] / "work")


def test_a_call_that_failed_and_a_session_that_was_continued(home: OpenCodeHome) -> None:
    second = home.sessions[1]
    assert [kind for kind, _ in second.steps()] == ["user", "error", "user", "assistant"]
    assert "400" in second.steps()[1][1]


def test_a_fork_has_only_its_own_steps(home: OpenCodeHome) -> None:
    second, fork = home.sessions[1:]
    assert [kind for kind, _ in fork.steps()] == ["note", "user", "assistant"]
    assert fork.activity.resumed_from == second.files.session


def test_the_export_has_every_row(home: OpenCodeHome) -> None:
    for session in home.sessions:
        lines = session.exported
        assert not [line for line in lines if "unread" in line]
        assert {line["table"] for line in lines} == {"session", "message", "part"}
