"""Sessions that the real Claude Code made: each call on the wire is counted once, but for kinds that it never writes."""

import json
from pathlib import Path

import pytest

from conftest import Cli
from meter.agents import claude_code
from meter.certificates import make_authority
from meter.forward_proxy import forward_proxy
from meter.scripted_upstream import LoggedRequest, ScriptedUpstream, Step, scripted_upstream
from meter.vendor_replies import Extra, SentCall, Tool
from transcripts.client_home import (
    COMPACTION,
    ENDED_EARLY,
    HELPERS,
    HOOKS,
    NOT_SAVED,
    TITLES,
    WEB_TOOLS,
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

BASH: Tool = ("Bash", {"command": "echo hello", "description": "Say hello"})
FAILING: Tool = ("Bash", {"command": "echo no; exit 3", "description": "Fail"})
SLEEP: Tool = ("Bash", {"command": "sleep 60", "description": "Sleep"})
PAGE_HOST = "api.openai.com"  # a host with a certificate
OPUS, HAIKU = "claude-opus-4-8", "claude-haiku-4-5-20251001"
SONNET = ("--model", "claude-sonnet-4-5")
CLASSES = (
    "input",
    "output",
    "cache_read",
    "cache_write_5m",
    "cache_write_1h",
)  # it does not write the reasoning


def _task(**more: object) -> Tool:
    task = {"description": "greet", "prompt": "Say hi.", "subagent_type": "general-purpose"}
    return "Agent", {**task, "run_in_background": False, **more}


def _is_agent(request: LoggedRequest) -> bool:
    return request.header("x-claude-code-agent-id") is not None


def _is_turn(request: LoggedRequest) -> bool:
    """Whether a request is part of the conversation."""
    return len(request.tools) > 1


def session_of(run: ClientRun) -> str:
    return str(json.loads(run.outcome.out)["session_id"])


class ClaudeScript(ClientScript):
    """Claude Code as most have it: at Anthropic itself, here through a company's proxy."""

    def __init__(self, home: ClientHome, upstream: ScriptedUpstream, env: dict[str, str]) -> None:
        titles = Step(when=lambda request: not request.tools, times=0, label=TITLES)
        super().__init__(home, upstream, titles)
        self._env = env

    def claude(
        self,
        name: str,
        *steps: Step,
        options: tuple[str, ...] = (),
        prompt: str = "Say hello.",
        env: dict[str, str] | None = None,
        code: int = 0,
        cancel: Condition | None = None,
    ) -> ClientRun:
        invocation = claude_code(self.home.folder, "", *options, prompt=prompt)
        del invocation.env["ANTHROPIC_BASE_URL"]
        invocation.env.update(self._env | (env or {}))
        return self.run(name, invocation, *steps, code=code, cancel=cancel)


def write_sessions(home: ClientHome) -> None:
    authority = make_authority(home.folder / "ca")
    with (
        scripted_upstream(tls=authority.context) as upstream,
        forward_proxy(upstream, {"api.anthropic.com", PAGE_HOST}) as proxy,
    ):
        env = {"HTTPS_PROXY": proxy.url, "NODE_EXTRA_CA_CERTS": str(authority.ca_file)}
        script = ClaudeScript(home, upstream, env)
        _plain(script)
        _sub_agents(script)
        _errors(script)
        _interruptions(script)
        _helpers(script)
        _continued(script)


def _plain(script: ClaudeScript) -> None:
    script.claude("plain")
    script.claude("tool", Step(tool=BASH))
    script.claude("failing tool", Step(tool=FAILING))
    script.claude("two tools at once", Step(tool=BASH, extra=Extra(tools=(FAILING,))))
    script.claude("thinking", Step(tool=BASH, extra=Extra(thinking=True)))
    script.claude("server tool", Step(when=_is_turn, extra=Extra(searches=2)))
    script.claude("service tier", Step(when=_is_turn, extra=Extra(service_tier="priority")))
    not_saved = Step(when=_is_turn, label=NOT_SAVED)
    script.claude("not saved", not_saved, options=("--no-session-persistence",))


def _sub_agents(script: ClaudeScript) -> None:
    script.claude("sub-agent", Step(tool=_task()), Step(tool=BASH, when=_is_agent))
    two = Extra(tools=(_task(description="greet again", model="haiku"),))
    steps = (Step(tool=_task(), extra=two), Step(tool=BASH, when=_is_agent, times=2))
    script.claude("two sub-agents at once", *steps)
    inner = _task(description="greet once more")  # the scripted model numbers its tool uses by what they say
    script.claude("sub-agent of a sub-agent", Step(tool=_task()), Step(tool=inner, when=_is_agent))
    background = Step(tool=_task(run_in_background=True))
    script.claude("sub-agent in the background", background, Step(tool=BASH, when=_is_agent))
    explorer = Step(tool=_task(subagent_type="Explore"))
    script.claude("sub-agent of another type", explorer, Step(tool=BASH, when=_is_agent))
    script.claude("sub-agent that fails", Step(tool=_task()), Step(status=400, when=_is_agent))


def _errors(script: ClaudeScript) -> None:
    now = {"retry-after": "0"}
    script.claude("rate limit", Step(status=429, headers=now, when=_is_turn))
    script.claude("server error", Step(status=500, headers=now, when=_is_turn, times=2))
    script.claude("overloaded", Step(status=529, headers=now, when=_is_turn))
    script.claude("bad request", Step(status=400, when=_is_turn), code=1)
    refused = Step(status=529, headers=now, when=_is_turn, times=3)
    script.claude("fallback to another model", refused, options=("--fallback-model", "claude-sonnet-4-5"))


def _interruptions(script: ClaudeScript) -> None:
    early = Step(fault="cut", when=_is_turn, label=ENDED_EARLY)
    script.claude("cut at the start", early)
    script.claude("cut", Step(fault="cut", events=5, when=_is_turn), code=1)
    stalled = Step(fault="stall", events=4, when=_is_turn, label=ENDED_EARLY)
    script.claude("interrupted reply", stalled, cancel=lambda calls: any(map(_has_begun, calls)))
    script.claude("interrupted tool", Step(tool=SLEEP), cancel=lambda calls: any(map(_is_done, calls)))


def _has_begun(call: SentCall) -> bool:
    return _is_turn(call.request) and call.response_id is not None


def _is_done(call: SentCall) -> bool:
    return _is_turn(call.request) and call.token_source == "reported"  # noqa: S105


def _helpers(script: ClaudeScript) -> None:
    """Calls beside the conversation. A session with a name gets no title."""
    extra = Extra(searches=1)
    found = Step(when=lambda request: request.tools == ["web_search"], extra=extra, label=WEB_TOOLS)
    search = Step(tool=("WebSearch", {"query": "foxes"}))
    all_tools = {"ENABLE_TOOL_SEARCH": "false"}  # offered at once
    script.claude("web search", search, found, options=("WebSearch",), env=all_tools)
    settings = json.dumps({"skipWebFetchPreflight": True})
    fetch = Step(tool=("WebFetch", {"url": f"https://{PAGE_HOST}/v1/models", "prompt": "What is there?"}))
    read = Step(when=lambda request: not request.tools, label=WEB_TOOLS)
    script.claude(
        "web page", fetch, read, options=("WebFetch", "--settings", settings, "-n", "page"), env=all_tools
    )
    for kind, calls in (("prompt", 1), ("agent", 2)):
        hooks = {"Stop": [{"hooks": [{"type": kind, "prompt": "Done? $ARGUMENTS"}]}]}
        options = ("--settings", json.dumps({"hooks": hooks}), "-n", kind)
        script.claude(
            f"hook of type {kind}", Step(when=_is_turn), Step(times=calls, label=HOOKS), options=options
        )


def _continued(script: ClaudeScript) -> None:
    first = ("--resume", session_of(script.claude("several turns", Step(tool=BASH))))
    script.claude("continued", options=("-c",))
    script.claude("resumed with another model", options=(*first, *SONNET))
    script.claude("forked", Step(tool=BASH), options=(*first, "--fork-session"))
    script.claude("compacted", Step(label=COMPACTION), options=first, prompt="/compact")
    script.claude("after the compaction", options=first)
    window = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}
    large = Step(tool=BASH, extra=Extra(input=190_000))
    steps = (Step(tool=BASH), large, Step(when=_is_turn, label=COMPACTION))
    script.claude("compacted by itself", *steps, options=SONNET, env=window)


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> ClientHome:
    home = client_home("claude-code", tmp_path_factory, write_sessions)
    home_environment(home, monkeypatch)
    return home


def test_each_call_on_the_wire_is_counted_once(home: ClientHome) -> None:
    assert differences(home, classes=CLASSES) == {}


def test_the_kinds_of_calls_that_it_does_not_write(home: ClientHome) -> None:
    assert unwritten(home) == kinds_of("claude-code") - {HELPERS}


def test_the_sum_of_the_home(cli: Cli, home: ClientHome) -> None:
    """It does not write the reasoning."""
    assert counted_tokens(cli, home.tool) == without(sent_tokens(home.written), "reasoning")


def test_ccusage_counts_the_same_tokens(home: ClientHome) -> None:
    assert ccusage_tokens(home) == without(sent_tokens(home.written), "reasoning", "calls")


@pytest.fixture
def imported(cli: Cli, home: ClientHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ImportedHome:
    return import_home(cli, home, tmp_path / "store", monkeypatch)


def test_the_sum_of_the_imported_sessions(cli: Cli, home: ClientHome, imported: ImportedHome) -> None:
    assert imported.tokens == counted_tokens(cli, home.tool)
    assert all(document["usage_incomplete"] for document in imported.documents.values())


def test_the_agents_of_imported_sessions(home: ClientHome, imported: ImportedHome) -> None:
    """Who started whom, what each did, with which model, and how it ended."""

    def facts(name: str) -> list[tuple[object, ...]]:
        names = ("parent_instance_id", "role_title", "model", "calls", "tool_uses", "status")
        agents = imported.agents(session_of(home[name])).values()
        return sorted(tuple(str(agent.get(name)) for name in names) for agent in agents)

    general, main = "general-purpose", "None"
    done = "completed"
    assert facts("sub-agent") == [
        (main, "None", OPUS, "2", "{'Agent': 1}", done),
        ("main", general, OPUS, "2", "{'Bash': 1}", done),
    ]
    assert facts("two sub-agents at once") == [
        (main, "None", OPUS, "2", "{'Agent': 2}", done),
        ("main", general, HAIKU, "2", "{'Bash': 1}", done),
        ("main", general, OPUS, "2", "{'Bash': 1}", done),
    ]
    nested = imported.agents(session_of(home["sub-agent of a sub-agent"]))
    (child,) = [name for name, agent in nested.items() if agent["parent_instance_id"] == "main"]
    (grandchild,) = [agent for agent in nested.values() if agent["parent_instance_id"] == child]
    assert (grandchild["calls"], nested[child]["tool_uses"], len(nested)) == (1, {"Agent": 1}, 3)
    assert facts("sub-agent in the background") == [
        (main, "None", OPUS, "3", "{'Agent': 1}", done),
        ("main", general, OPUS, "2", "{'Bash': 1}", done),
    ]
    assert facts("sub-agent of another type")[1] == ("main", "Explore", HAIKU, "2", "{'Bash': 1}", done)
    assert facts("sub-agent that fails")[1] == ("main", general, "unknown", "0", "{}", "error")


@pytest.mark.parametrize(
    ("name", "status", "errors"),
    [
        ("plain", "completed", {}),
        ("failing tool", "completed", {"tool_error": 1}),
        ("two tools at once", "completed", {"tool_error": 1}),
        ("rate limit", "completed", {}),  # it does not write a call that it repeated
        ("bad request", "error", {"other": 1}),
        ("cut", "error", {"network": 1}),
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
    assert {row["model"]: row["calls"] for row in models} == {OPUS: 3, "claude-sonnet-4-5": 2}
    (row,) = imported.main(session_of(home["service tier"]))["models"]
    assert row["service_tier"] == "priority"
    fork = imported.documents[session_of(home["forked"])]
    assert fork["origin_session"]["resumed_from"] == session_of(home["several turns"])
    assert fork["instances"][0]["calls"] == 2  # without those of the first session
