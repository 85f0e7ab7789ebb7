"""Sessions that the real Codex and the real Gemini CLI made: their agents, what they did, and how they ended."""

import pytest

from runcard.transcripts.calls import MAIN
from transcripts import test_real_codex as codex
from transcripts import test_real_gemini as gemini
from transcripts.client_home import ClientHome, client_home, home_environment, stored_calls
from transcripts.read_sessions import ReadSession, read_sessions

pytestmark = [pytest.mark.long, pytest.mark.needs("npm programs")]

TEXT = "The quick brown fox."


def steps(found: ReadSession, agent: str = MAIN) -> list[str]:
    return [kind for kind, _ in found.steps(agent) if kind not in {"note", "thinking"}]


def _sessions(home: ClientHome, patch: pytest.MonkeyPatch) -> dict[str, ReadSession]:
    """All of a home, by their ids. No call is of an agent that is not known."""
    home_environment(home, patch)
    found = read_sessions(home.tool)
    assert [session.unread for session in found.values() if session.unread] == []
    agents = {(name, agent) for name, session in found.items() for agent in session.activity.agents}
    assert {(call.origin.session, call.origin.agent_id) for call in stored_calls(home)} <= agents
    return found


class TestCodex:
    @pytest.fixture
    def home(self, tmp_path_factory: pytest.TempPathFactory) -> ClientHome:
        return client_home("codex", tmp_path_factory, codex.write_sessions)

    @pytest.fixture
    def sessions(self, home: ClientHome, monkeypatch: pytest.MonkeyPatch) -> dict[str, ReadSession]:
        """By the name of the run."""
        found = _sessions(home, monkeypatch)
        names = {
            name: codex.session_of(run) for name, run in home.runs.items() if '"thread_id"' in run.outcome.out
        }
        return {name: found[session] for name, session in names.items() if session in found}

    def test_each_step_is_shown_once(self, sessions: dict[str, ReadSession]) -> None:
        tool = ["user", "tool use", "tool result", "assistant"]
        assert (steps(sessions["plain"]), steps(sessions["tool"])) == (["user", "assistant"], tool)
        both = sessions["two tools at once"]
        assert steps(both) == ["user", *["tool use"] * 2, *["tool result"] * 2, "assistant"]
        assert (both.agent().failed_tool_uses, both.agent().tool_uses) == (
            {"exec_command": 1},
            {"exec_command": 2},
        )
        assert ("thinking", "Foxes are quick.") in both.steps()

    def test_sub_agents(self, sessions: dict[str, ReadSession]) -> None:
        found = sessions["two sub-agents at once"]
        agents = {agent.description: agent for agent in found.activity.agents.values() if agent.id != MAIN}
        assert {agent.parent for agent in agents.values()} == {MAIN}
        assert all(agent.name for agent in agents.values())
        assert steps(found, agents["Say hi."].id) == ["user", "tool use", "tool result", "assistant"]
        forked = agents["Say ho."]
        assert steps(found, forked.id) == ["user", "assistant"]
        assert found.steps(forked.id)[0][1].endswith(f"lines of session {found.files.session}.")
        assert {agent.final_status for agent in found.activity.agents.values()} == {"completed"}

    def test_a_review_is_a_sub_agent(self, sessions: dict[str, ReadSession]) -> None:
        found = next(
            each for each in sessions.values() if len(each.files.paths) > 1 and not each.agent().has_called
        )
        (agent,) = (agent for agent in found.activity.agents.values() if agent.id != MAIN)
        assert (agent.role, agent.parent, agent.final_status) == ("review", MAIN, "completed")

    def test_how_sessions_ended(self, sessions: dict[str, ReadSession]) -> None:
        status = {name: session.agent().final_status for name, session in sessions.items()}
        assert status["bad request"] == "error"
        assert sessions["bad request"].agent().errors[0].message
        for name in ("interrupted reply", "interrupted tool"):
            assert (status[name], steps(sessions[name])[-1]) == ("terminated", "interruption")
        assert {status[name] for name in ("rate limit", "server error", "cut", "compacted")} == {"completed"}

    def test_a_resumed_session_goes_on_and_a_fork_has_its_own_steps(
        self, sessions: dict[str, ReadSession]
    ) -> None:
        first, fork = sessions["several turns"], sessions["forked"]
        assert sessions["resumed"].files.session == first.files.session
        assert steps(first).count("user") == 3
        assert steps(fork) == ["user", "tool use", "tool result", "assistant"]
        assert fork.activity.resumed_from == first.files.session

    @pytest.mark.parametrize("name", ["compacted", "compacted by the vendor"])
    def test_a_compaction_is_a_note(self, sessions: dict[str, ReadSession], name: str) -> None:
        assert ("note", "The conversation was compacted.") in sessions[name].steps()

    def test_each_call_with_a_step_is_measured_once(self, sessions: dict[str, ReadSession]) -> None:
        found = sessions["several turns"]
        assert len(found.agent().replies.seconds()) == 4


class TestGemini:
    @pytest.fixture
    def sessions(
        self, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
    ) -> list[ReadSession]:
        home = client_home("gemini", tmp_path_factory, gemini.write_sessions)
        return list(_sessions(home, monkeypatch).values())

    def test_each_step_is_shown_once(self, sessions: list[ReadSession]) -> None:
        """The first session used two tools, was resumed, and was compacted when it was resumed again."""
        (found,) = (each for each in sessions if any("anew" in text for _, text in each.steps()))
        tools = ["tool use", "tool result"] * 2
        assert steps(found) == ["user", *tools, "assistant", "user", "assistant", "user", "assistant"]
        assert len(found.agent().replies.seconds()) == 4

    def test_a_sub_agent(self, sessions: list[ReadSession]) -> None:
        (found,) = (each for each in sessions if len(each.activity.agents) > 1)
        (agent,) = (agent for agent in found.activity.agents.values() if agent.id != MAIN)
        assert (agent.role, agent.parent, agent.description) == ("generalist", MAIN, "Say hi.")
        assert agent.status is not None
        assert "tool use" in steps(found, agent.id)

    def test_an_interrupted_session(self, sessions: list[ReadSession]) -> None:
        (found,) = (each for each in sessions if "assistant" not in steps(each))
        assert (steps(found), found.agent().final_status) == (["user"], "terminated")
