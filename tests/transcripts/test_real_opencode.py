"""Sessions that the real OpenCode made: each call on the wire is counted once, but for kinds that it never writes."""

import json
from pathlib import Path

import pytest

from conftest import Cli
from meter.agents import opencode
from meter.scripted_upstream import LoggedRequest, Step, scripted_upstream
from meter.vendor_replies import Extra, Tool
from transcripts.client_home import (
    ENDED_EARLY,
    TITLES,
    ClientHome,
    ClientRun,
    ClientScript,
    Condition,
    ImportedHome,
    ccusage_tokens,
    client_home,
    counted_tokens,
    differences,
    home_environment,
    import_home,
    kinds_of,
    sent_tokens,
    unwritten,
    without,
)

pytestmark = [pytest.mark.long, pytest.mark.needs("npm programs")]

BASH: Tool = ("bash", {"command": "echo hello", "description": "Say hello"})
FAILING: Tool = ("bash", {"command": "echo no; exit 3", "description": "Fail"})
CLASSES = (
    "input",
    "output",
    "cache_read",
    "cache_write",
    "reasoning",
)  # it does not write how long a cache lives


def _task(kind: str) -> Tool:
    return "task", {"description": "greet", "prompt": "Say hi.", "subagent_type": kind}


def _is_turn(request: LoggedRequest) -> bool:
    return bool(request.tools)


def _is_agent(request: LoggedRequest) -> bool:
    return _is_turn(request) and "task" not in request.tools


def session_of(run: ClientRun) -> str:
    return str(json.loads(run.outcome.out.splitlines()[0])["sessionID"])


class OpenCodeScript(ClientScript):
    """OpenCode at Anthropic."""

    def opencode(
        self,
        name: str,
        *steps: Step,
        options: tuple[str, ...] = (),
        model: str = "anthropic/claude-sonnet-4-5",
        code: int = 0,
        cancel: Condition | None = None,
    ) -> ClientRun:
        invocation = opencode(self.home.folder, self.upstream.url, *options, model=model)
        return self.run(name, invocation, *steps, code=code, cancel=cancel)


def write_sessions(home: ClientHome) -> None:
    titles = Step(when=lambda request: not request.tools, times=0, label=TITLES)
    with scripted_upstream() as upstream:
        script = OpenCodeScript(home, upstream, titles)
        script.opencode("two tools at once", Step(tool=BASH, extra=Extra(tools=(FAILING,), thinking=True)))
        two = Step(tool=_task("general"), extra=Extra(tools=(_task("explore"),)))
        script.opencode("two sub-agents at once", two, Step(tool=BASH, when=_is_agent, times=2))
        script.opencode("continued", Step(status=429, headers={"retry-after": "0"}), options=("-c",))
        fork = ("-c", "--fork")
        script.opencode("forked", options=fork, model="anthropic/claude-haiku-4-5")
        script.opencode("bad request", Step(status=400, when=_is_turn), code=1)
        script.opencode("cut", Step(fault="cut", events=5, when=_is_turn, label=ENDED_EARLY))
        early = Step(fault="stall", events=5, when=_is_turn, label=ENDED_EARLY)
        begun: Condition = lambda calls: any(_is_turn(call.request) and call.response_id for call in calls)  # noqa: E731
        script.opencode("interrupted reply", early, cancel=begun)


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> ClientHome:
    home = client_home("opencode", tmp_path_factory, write_sessions)
    home_environment(home, monkeypatch)
    return home


def test_each_call_on_the_wire_is_counted_once(home: ClientHome) -> None:
    assert differences(home, classes=CLASSES) == {}


def test_it_asks_for_caches_of_five_minutes(home: ClientHome) -> None:
    """It does not write how long a cache lives, so all of them are counted as those."""
    bodies = [json.dumps(call.request.body) for call in home.calls]
    assert any('"cache_control"' in body for body in bodies)
    assert not any('"ttl"' in body for body in bodies)


def test_the_kinds_of_calls_that_it_does_not_write(home: ClientHome) -> None:
    assert unwritten(home) == kinds_of("opencode")


def test_the_sum_of_the_home(cli: Cli, home: ClientHome) -> None:
    assert counted_tokens(cli, home.tool) == sent_tokens(home.written)


def test_ccusage_counts_the_calls_of_a_fork_twice(home: ClientHome) -> None:
    """And the output without the reasoning."""
    main = [call for call in home["two sub-agents at once"].written if not _is_agent(call.request)]
    sent = sent_tokens([*home.written, *main, *home["continued"].written])
    without_reasoning = {**sent, "output": sent["output"] - sent["reasoning"]}
    assert ccusage_tokens(home) == without(without_reasoning, "reasoning", "calls")


@pytest.fixture
def imported(cli: Cli, home: ClientHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ImportedHome:
    return import_home(cli, home, tmp_path / "store", monkeypatch)


def test_the_sum_of_the_imported_sessions(cli: Cli, home: ClientHome, imported: ImportedHome) -> None:
    assert imported.tokens == counted_tokens(cli, home.tool)
    assert all(document["usage_incomplete"] for document in imported.documents.values())


def test_the_agents_of_imported_sessions(home: ClientHome, imported: ImportedHome) -> None:
    agents = imported.agents(session_of(home["two sub-agents at once"]))
    main = agents.pop("main")
    assert (main["calls"], main["tool_uses"], main["status"]) == (3, {"task": 2}, "completed")
    names = ("name", "parent_instance_id", "calls", "tool_uses", "status")
    assert sorted([agent[name] for name in names] for agent in agents.values()) == [
        ["explore", "main", 2, {"bash": 1}, "completed"],
        ["general", "main", 2, {"bash": 1}, "completed"],
    ]


@pytest.mark.parametrize(
    ("name", "status", "errors"),
    [
        ("two tools at once", "completed", {"tool_error": 1}),
        ("bad request", "error", {"other": 1}),
    ],
)
def test_how_imported_sessions_ended(
    home: ClientHome, imported: ImportedHome, name: str, status: str, errors: dict[str, int]
) -> None:
    main = imported.main(session_of(home[name]))
    assert (main["status"], main["errors_by_category"]) == (status, errors)


def test_an_interrupted_reply(imported: ImportedHome) -> None:
    """OpenCode may end before it prints the id of the session."""
    mains = [document["instances"][0] for document in imported.documents.values()]
    assert sorted(main["status"] for main in mains if not main.get("calls")) == ["error", "terminated"]


def test_a_fork_has_its_own_calls(home: ClientHome, imported: ImportedHome) -> None:
    fork = imported.documents[session_of(home["forked"])]
    assert fork["origin_session"]["resumed_from"] == session_of(home["two sub-agents at once"])
    assert fork["instances"][0]["calls"] == 1
