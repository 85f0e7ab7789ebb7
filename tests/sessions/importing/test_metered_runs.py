"""A session that a run has metered: its calls are joined, and count once."""

import json
from pathlib import Path
from typing import Any

import pytest

import runcard
from conftest import Cli
from meter.exchanges import ANTHROPIC, answer, pass_exchange, post
from runcard.operations.sessions.import_sessions import import_sessions
from runcard.recording.metered_calls import make_observer
from runcard.recording.recorder import events_of
from sessions.importing.sample_sessions import AGENT, FIRST, reply, said, session_with_sub_agent, text
from transcripts.session_files import SONNET, claude, usage

Json = dict[str, Any]
TOOL = "claude-code"


def metered_run(*calls: tuple[str, Json, str | None], session: str = FIRST) -> runcard.Run:
    """A closed run whose relay saw these calls: the id, the usage and the agent of each."""
    run = runcard.start("outputs")
    meter = make_observer(events_of(run))
    for call, counts, agent in calls:
        message = {"id": call, "type": "message", "role": "assistant", "model": SONNET, "content": []}
        body = json.dumps(message | {"stop_reason": "end_turn", "usage": counts}).encode()
        names = {"x-claude-code-session-id": session} | ({"x-claude-code-agent-id": agent} if agent else {})
        request = post("/v1/messages", **names)
        pass_exchange(
            meter.observe(ANTHROPIC, request), {"model": SONNET}, answer(request_id=f"req_{call}"), [body]
        )
    meter.close()
    run.finish()
    return run


def imported(home: Path) -> Json:
    (session,) = import_sessions(TOOL, [home]).sessions
    assert session.document is not None
    return session.document.to_dict()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    session_with_sub_agent(tmp_path / "home")
    return tmp_path / "home"


def test_a_run_that_metered_everything_makes_the_totals_exact(cli: Cli, home: Path) -> None:
    """With a call that the transcripts lack, and one whose transcript has too few output tokens."""
    calls: list[tuple[str, Json, str | None]] = [(f"msg_{number}", usage(), None) for number in (1, 2, 3)]
    calls += [("msg_4", usage(output=90), AGENT), ("msg_5", usage(service_tier="batch"), AGENT)]
    run = metered_run(*calls, ("msg_title", usage(output=7), None))
    team = imported(home)
    digest = json.loads((run.path / "metadata.json").read_bytes())["generation"]["run_id"]
    (joined,) = team["metered_runs"]
    assert joined.pop("sha256")
    assert joined == {
        "run_id": digest,
        "calls_in_both": 5,
        "only_metered": 1,
        "only_in_transcript": 0,
        "differing": [{"id": "msg_4", "field": "output", "metered": 90, "in_transcript": 20}],
    }
    assert [(each["type"], each["id"]) for each in team["relations"]] == [("run", digest)]
    assert "usage_incomplete" not in team
    main, agent = team["instances"]
    assert (main["calls"], main["tokens"]["output"]) == (4, 67)
    assert (agent["calls"], agent["tokens"]["output"]) == (2, 110)
    assert cli("verify", "artifacts", "outputs").code == 0
    assert cli("validate", "artifacts").code == 0
    assert "≥" not in cli("show", FIRST).out


def test_a_run_that_metered_a_part_leaves_the_totals_lower_bounds(home: Path) -> None:
    metered_run(("msg_1", usage(), None))
    team = imported(home)
    (joined,) = team["metered_runs"]
    assert (joined["calls_in_both"], joined["only_metered"], joined["only_in_transcript"]) == (1, 0, 4)
    assert "usage_incomplete" in team


def test_a_run_of_another_session_changes_nothing(home: Path) -> None:
    metered_run(("msg_1", usage(output=900), None), session="another")
    team = imported(home)
    assert "metered_runs" not in team
    assert team["instances"][0]["tokens"]["output"] == 60


def test_two_runs_that_saw_the_same_call_count_it_once(home: Path) -> None:
    for _ in range(2):
        metered_run(("msg_title", usage(output=7), None))
    team = imported(home)
    assert [run["only_metered"] for run in team["metered_runs"]] == [1, 1]
    assert team["instances"][0]["calls"] == 4


def test_a_call_without_its_request_id_in_the_transcript_is_joined_by_its_own(tmp_path: Path) -> None:
    line = reply("msg_1", 1, text("x")) | {"requestId": None}
    claude(tmp_path, said("Hi", 0), line, name=f"{FIRST}.jsonl")
    metered_run(("msg_1", usage(), None))
    team = imported(tmp_path)
    assert team["metered_runs"][0]["calls_in_both"] == 1
    assert team["instances"][0]["calls"] == 1
