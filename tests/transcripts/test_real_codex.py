"""Sessions that the real Codex made: each call on the wire is counted once, but for kinds that it never writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from meter.agents import codex
from meter.scripted_upstream import LoggedRequest, Step, scripted_upstream
from meter.vendor_replies import Extra, SentCall, Tool
from transcripts.client_home import (
    ENDED_EARLY,
    NOT_SAVED,
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

SHELL: Tool = ("exec_command", {"cmd": "echo hello"})
FAILING: Tool = ("exec_command", {"cmd": "echo no; exit 3"})
WAIT: Tool = ("exec_command", {"cmd": "sleep 2"})
SLEEP: Tool = ("exec_command", {"cmd": "sleep 60"})
CLASSES = ("input", "output", "cache_read", "reasoning")
SOL = "gpt-5.6-sol"  # a model that has service tiers


def _spawn(message: str, **more: object) -> Tool:
    return "multi_agent_v1.spawn_agent", {"message": message, **more}


def _metadata(request: LoggedRequest) -> dict[str, Any]:
    """What a request says of its turn."""
    text = (request.body.get("client_metadata") or {}).get("x-codex-turn-metadata")
    return dict(json.loads(text or request.header("x-codex-turn-metadata") or "{}"))


def _is_main(request: LoggedRequest) -> bool:
    return _metadata(request).get("thread_source") == "user"


def _is_agent(request: LoggedRequest) -> bool:
    return not _is_main(request)


def _has_parent_history(call: SentCall) -> bool:
    """Whether a sub-agent began with the conversation of its parent."""
    return "Say ho." in json.dumps(call.request.body)


def _is_compaction(request: LoggedRequest) -> bool:
    return _metadata(request).get("request_kind") == "compaction"


def session_of(run: ClientRun) -> str:
    return str(json.loads(run.outcome.out.splitlines()[0])["thread_id"])


class CodexScript(ClientScript):
    """Codex by WebSocket, or by SSE where it has a provider of the user's own."""

    def codex(
        self,
        name: str,
        *steps: Step,
        options: tuple[str, ...] = (),
        prompt: str = "Say hello.",
        model: str = "gpt-5",
        provider: bool = False,
        code: int = 0,
        cancel: Condition | None = None,
    ) -> ClientRun:
        url = self.upstream.url
        invocation = codex(self.home.folder, url, *options, provider=provider, model=model, prompt=prompt)
        return self.run(name, invocation, *steps, code=code, cancel=cancel)


def write_sessions(home: ClientHome) -> None:
    with scripted_upstream() as upstream:
        script = CodexScript(home, upstream)
        _plain(script)
        _sub_agents(script)
        _errors(script)
        _continued(script)


def _plain(script: CodexScript) -> None:
    script.codex("plain")
    script.codex("tool", Step(tool=SHELL))
    script.codex("two tools at once", Step(tool=FAILING, extra=Extra(tools=(SHELL,), thinking=True)))
    script.codex("own provider", Step(tool=SHELL), provider=True)
    flex = Step(extra=Extra(service_tier="flex"))
    first = script.codex("service tier", flex, options=("-c", 'service_tier="flex"'), model=SOL)
    resume = ("resume", session_of(first))
    script.codex("service tier of a resumed session", Step(extra=flex.extra), options=resume, model=SOL)
    fast = Step(extra=Extra(service_tier="priority"))
    script.codex("fast mode", fast, options=("-c", 'service_tier="fast"'), model=SOL)
    script.codex("not saved", Step(label=NOT_SAVED), options=("--ephemeral",))


def _sub_agents(script: CodexScript) -> None:
    """The main agent does not wait for its sub-agents, so it works until they are done."""
    one = (Step(tool=_spawn("Say hi."), when=_is_main), Step(tool=SHELL, when=_is_agent))
    script.codex("sub-agent", *one, Step(tool=WAIT, when=_is_main))
    fork = Extra(tools=(_spawn("Say ho.", fork_context=True),))
    two = Step(tool=_spawn("Say hi."), extra=fork, when=_is_main)
    script.codex(
        "two sub-agents at once", two, Step(tool=SHELL, when=_is_agent), Step(tool=WAIT, when=_is_main)
    )
    script.codex("review", options=("review", "--uncommitted"), prompt="")


def _errors(script: CodexScript) -> None:
    now = {"retry-after": "0"}
    script.codex("rate limit", Step(status=429, headers=now), provider=True)
    script.codex("server error", Step(status=500, headers=now, times=2), provider=True)
    script.codex("bad request", Step(status=400), provider=True, code=1)
    script.codex("cut", Step(fault="cut", events=4, label=ENDED_EARLY))
    begun = Step(fault="stall", events=4, label=ENDED_EARLY)
    script.codex("interrupted reply", begun, cancel=lambda calls: any(call.response_id for call in calls))
    done = lambda calls: any(call.token_source == "reported" for call in calls)  # noqa: E731, S105
    script.codex("interrupted tool", Step(tool=SLEEP), cancel=done)


def _continued(script: CodexScript) -> None:
    first = session_of(script.codex("several turns", Step(tool=SHELL)))
    script.codex("resumed", options=("resume", first))
    script.codex("resumed with another model", options=("resume", "--last"), model="gpt-5-mini")
    script.codex("forked", Step(tool=SHELL), options=("fork", first))
    limit = ("-c", "model_auto_compact_token_limit=100000")
    large = Extra(input=200_000)
    script.codex("compacted", Step(tool=SHELL, extra=large), options=limit, provider=True)
    compact = Step(when=_is_compaction, extra=Extra(compaction=True))
    script.codex("compacted by the vendor", Step(tool=SHELL, extra=large), compact, options=limit)


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> ClientHome:
    home = client_home("codex", tmp_path_factory, write_sessions)
    home_environment(home, monkeypatch)
    return home


def test_each_call_on_the_wire_is_counted_once(home: ClientHome) -> None:
    assert differences(home, classes=CLASSES) == {}


def test_the_kinds_of_calls_that_it_does_not_write(home: ClientHome) -> None:
    assert unwritten(home) == kinds_of("codex")


def test_the_sum_of_the_home(cli: Cli, home: ClientHome) -> None:
    assert counted_tokens(cli, home.tool) == sent_tokens(home.written)


def test_ccusage_leaves_calls_out(home: ClientHome) -> None:
    """Those of new sub-agents and forks, and compactions by the vendor."""
    agents = [*home["sub-agent"].written, *home["two sub-agents at once"].written]
    new = [call for call in agents if _is_agent(call.request) and not _has_parent_history(call)]
    left_out = [*new, *home["forked"].written]
    left_out += [call for call in home["compacted by the vendor"].written if _is_compaction(call.request)]
    assert len(left_out) == 7
    counted = [call for call in home.written if all(call is not other for other in left_out)]
    assert ccusage_tokens(home) == without(sent_tokens(counted), "reasoning", "calls")


@pytest.fixture
def imported(cli: Cli, home: ClientHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ImportedHome:
    return import_home(cli, home, tmp_path / "store", monkeypatch)


def test_the_sum_of_the_imported_sessions(cli: Cli, home: ClientHome, imported: ImportedHome) -> None:
    assert imported.tokens == counted_tokens(cli, home.tool)
    assert all(document["usage_incomplete"] for document in imported.documents.values())


def test_the_agents_of_imported_sessions(home: ClientHome, imported: ImportedHome) -> None:
    one, two = (imported.agents(session_of(home[name])) for name in ("sub-agent", "two sub-agents at once"))
    assert sorted(agent["calls"] for agent in one.values()) == [2, 3]
    assert sorted(agent["calls"] for agent in two.values()) == [1, 2, 3]
    for agents in (one, two):
        assert {agent["status"] for agent in agents.values()} == {"completed"}
        parents = [agent["parent_instance_id"] for name, agent in agents.items() if name != "main"]
        assert set(parents) == {"main"}
        assert agents["main"]["tool_uses"] == {"multi_agent_v1.spawn_agent": len(parents), "exec_command": 1}
    review = imported.agents(session_of(home["review"]))
    assert sorted(
        (agent.get("role_title"), agent["calls"]) for agent in review.values() if agent["calls"]
    ) == [("review", 1)]


@pytest.mark.parametrize(
    ("name", "status", "errors"),
    [
        ("plain", "completed", {}),
        ("two tools at once", "completed", {"tool_error": 1}),
        ("rate limit", "completed", {}),  # it does not write a call that it repeated
        ("bad request", "error", {"other": 1}),
        ("cut", "completed", {}),
        ("interrupted reply", "terminated", {}),
    ],
)
def test_how_imported_sessions_ended(
    home: ClientHome, imported: ImportedHome, name: str, status: str, errors: dict[str, int]
) -> None:
    main = imported.main(session_of(home[name]))
    assert (main["status"], main["errors_by_category"]) == (status, errors)


def test_an_interrupted_tool(home: ClientHome, imported: ImportedHome) -> None:
    """The command gets the signal as well, so its tool may have failed before the agent was stopped."""
    main = imported.main(session_of(home["interrupted tool"]))
    assert main["status"] == "terminated"
    assert main["errors_by_category"] in ({}, {"tool_error": 1})


def test_several_models_and_tiers_of_imported_sessions(home: ClientHome, imported: ImportedHome) -> None:
    models = imported.main(session_of(home["several turns"]))["models"]
    assert {row["model"]: row["calls"] for row in models} == {"gpt-5": 3, "gpt-5-mini": 1}
    tiers = {
        name: [row["service_tier"] for row in imported.main(session_of(home[name]))["models"]]
        for name in ("service tier", "fast mode")
    }
    assert tiers == {"service tier": ["flex"], "fast mode": ["priority"]}
    fork = imported.documents[session_of(home["forked"])]
    assert fork["origin_session"]["resumed_from"] == session_of(home["several turns"])
    assert fork["instances"][0]["calls"] == 2  # without those of the first session
