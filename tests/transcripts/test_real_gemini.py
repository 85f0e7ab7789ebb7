"""Sessions that the real Gemini CLI made: each call on the wire is counted once, but for kinds that it never writes."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from conftest import Cli
from meter.agents import gemini_cli
from meter.scripted_upstream import LoggedRequest, Step, scripted_upstream
from meter.vendor_replies import Extra, Tool
from transcripts.client_home import (
    COMPACTION,
    ENDED_EARLY,
    ROUTER,
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

SHELL: Tool = ("run_shell_command", {"command": "echo hello"})
FAILING: Tool = ("run_shell_command", {"command": "echo no; exit 3"})
SEARCH: Tool = ("google_web_search", {"query": "foxes"})
CLASSES = ("input", "output", "cache_read", "reasoning")
CHOICE = {"reasoning": "x", "complexity_reasoning": "x", "complexity_score": 90, "model_choice": "pro"}


def _is_turn(request: LoggedRequest) -> bool:
    """Whether a request is part of the conversation."""
    return len(request.tools) > 1


def session_of(run: ClientRun) -> str:
    return str(json.loads(run.outcome.out)["session_id"])


class GeminiScript(ClientScript):
    """Gemini CLI with an API key."""

    def gemini(
        self,
        name: str,
        *steps: Step,
        options: tuple[str, ...] = (),
        model: str | None = "gemini-2.5-pro",
        settings: Mapping[str, object] | None = None,
        cancel: Condition | None = None,
    ) -> ClientRun:
        url = self.upstream.url
        invocation = gemini_cli(self.home.folder, url, *options, model=model, settings=settings)
        return self.run(name, invocation, *steps, cancel=cancel)


def write_sessions(home: ClientHome) -> None:
    """The session that is resumed is the last: Gemini CLI 0.61 may delete it when a new one is started."""
    with scripted_upstream() as upstream:
        script = GeminiScript(home, upstream)
        choice = Step(
            when=lambda request: "flash-lite" in request.path,
            extra=Extra(text=json.dumps(CHOICE)),
            label=ROUTER,
        )
        found = Step(when=lambda request: request.tools == ["None"], label=WEB_TOOLS)
        script.gemini("router and web search", choice, Step(tool=SEARCH), found, model=None)
        begin = Step(tool=("invoke_agent", {"agent_name": "generalist", "prompt": "Say hi."}))
        end = Step(tool=("complete_task", {"result": {"response": "Hi."}}))
        script.gemini("sub-agent", begin, end)
        early = Step(fault="stall", label=ENDED_EARLY)
        script.gemini(
            "interrupted reply", early, cancel=lambda calls: any(call.response_id for call in calls)
        )
        script.gemini("two tools at once", Step(tool=SHELL, extra=Extra(tools=(FAILING,))))
        script.gemini(
            "resumed", Step(status=429, headers={"retry-after": "0"}), options=("--resume", "latest")
        )
        small = {"model": {"compressionThreshold": 0.000001}}
        summary = Step(when=lambda request: not _is_turn(request), label=COMPACTION, times=2)
        script.gemini("compacted", summary, options=("--resume", "latest"), settings=small)


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> ClientHome:
    home = client_home("gemini", tmp_path_factory, write_sessions)
    home_environment(home, monkeypatch)
    return home


def test_each_call_on_the_wire_is_counted_once(home: ClientHome) -> None:
    assert differences(home, classes=CLASSES) == {}


def test_the_kinds_of_calls_that_it_does_not_write(home: ClientHome) -> None:
    assert unwritten(home) == kinds_of("gemini")


def test_the_sum_of_the_home(cli: Cli, home: ClientHome) -> None:
    assert counted_tokens(cli, home.tool) == sent_tokens(home.written)


def test_ccusage_counts_the_output_without_thoughts(home: ClientHome) -> None:
    sent = sent_tokens(home.written)
    without_thoughts = {**sent, "output": sent["output"] - sent["reasoning"]}
    assert ccusage_tokens(home) == without(without_thoughts, "reasoning", "calls")


@pytest.fixture
def imported(cli: Cli, home: ClientHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ImportedHome:
    return import_home(cli, home, tmp_path / "store", monkeypatch)


def test_the_sum_of_the_imported_sessions(cli: Cli, home: ClientHome, imported: ImportedHome) -> None:
    assert imported.tokens == counted_tokens(cli, home.tool)
    assert all(document["usage_incomplete"] for document in imported.documents.values())


def test_the_agents_of_imported_sessions(home: ClientHome, imported: ImportedHome) -> None:
    agents = imported.agents(session_of(home["sub-agent"]))
    main = agents.pop("main")
    assert (main["calls"], main["tool_uses"], main["status"]) == (2, {"invoke_agent": 1}, "completed")
    (agent,) = agents.values()
    facts = [agent[name] for name in ("role_title", "parent_instance_id", "calls", "tool_uses", "status")]
    assert facts == ["generalist", "main", 1, {"complete_task": 1}, "completed"]


def test_how_imported_sessions_ended(home: ClientHome, imported: ImportedHome) -> None:
    main = imported.main(session_of(home["two tools at once"]))
    assert (main["calls"], main["tool_uses"]) == (4, {"run_shell_command": 2})
    assert (main["status"], main["errors_by_category"]) == ("completed", {"tool_error": 1})
    assert len(imported.documents) == 4
    (interrupted,) = [
        document["instances"][0]
        for document in imported.documents.values()
        if not document["instances"][0]["calls"]
    ]
    assert interrupted["status"] == "terminated"
