"""The sessions of Codex: which files are one, whose history a fork or a sub-agent repeats, who started whom."""

import json
from pathlib import Path
from typing import Any

import pytest

from runcard.transcripts.calls import MAIN
from runcard.transcripts.sources import find_files
from transcripts.read_sessions import ReadSession, read_sessions
from transcripts.session_files import Json, calls, event, meta, rollout, token_counts, turn, write

TOOL = "codex"
OLD, CREATED, LATER = "2026-11-02T10:00:05.000Z", "2026-11-02T11:00:00.000Z", "2026-11-02T11:00:30.000Z"
AT_ONCE = "2026-11-02T11:00:00.050Z"
USAGE = token_counts(100, 10)


def said(text: str, time: str = OLD, role: str = "user", **fields: Any) -> Json:
    part = {"type": "input_text", "text": text}
    return rollout("response_item", {"type": "message", "role": role, "content": [part], **fields}, time)


def thread(folder: Path, name: str, *records: Json | bytes, below: str = "sessions/2026/11/02") -> Path:
    return write(folder / below / f"rollout-2026-11-02T10-00-00-{name}.jsonl", *records)


def spawned(parent: str, **names: Any) -> Json:
    return {"source": {"subagent": {"thread_spawn": {"parent_thread_id": parent, "depth": 1, **names}}}}


def the_one(folder: Path) -> ReadSession:
    (found,) = read_sessions(TOOL, folder).values()
    return found


def test_sub_agents_belong_to_the_session_of_their_parent(tmp_path: Path) -> None:
    names = {"agent_nickname": "Hubble", "agent_role": "explorer"}
    thread(
        tmp_path,
        "t-2",
        meta("t-2", CREATED, session_id="t-1", **spawned("t-1", **names)),
        said("Count.", LATER),
    )
    thread(tmp_path, "t-1", meta("t-1"), said("Go."))
    found = the_one(tmp_path)
    assert [Path(path).name[-9:] for path in found.files.paths] == ["t-1.jsonl", "t-2.jsonl"]
    agent = found.agent("t-2")
    assert (agent.name, agent.role, agent.parent, agent.description) == ("Hubble", "explorer", MAIN, "Count.")
    assert (found.steps(), found.steps("t-2")) == ([("user", "Go.")], [("user", "Count.")])
    assert found.activity.owners == dict(zip(found.files.paths, (MAIN, "t-2"), strict=True))


def test_a_sub_agent_of_a_sub_agent(tmp_path: Path) -> None:
    """Older versions name only the parent; newer ones the session too. The calls are in the same session."""
    counted = [turn(), event(USAGE, USAGE, LATER)]
    thread(tmp_path, "t-1", meta("t-1"), said("Go."))
    thread(tmp_path, "t-2", meta("t-2", CREATED, **spawned("t-1")), said("Two.", LATER), *counted)
    thread(tmp_path, "t-3", meta("t-3", CREATED, **spawned("t-2")), said("Three.", LATER), *counted)
    found = the_one(tmp_path)
    assert {name: agent.parent for name, agent in found.activity.agents.items()} == {
        MAIN: None,
        "t-2": MAIN,
        "t-3": "t-2",
    }
    assert {(call.origin.session, call.origin.agent_id) for call in calls(TOOL, tmp_path)} == {
        ("t-1", "t-2"),
        ("t-1", "t-3"),
    }


@pytest.mark.parametrize("source", ["review", {"other": "guardian"}])
def test_sub_agents_that_codex_starts_by_itself(tmp_path: Path, source: object) -> None:
    fields = {"source": {"subagent": source}, "parent_thread_id": "t-1", "session_id": "t-1"}
    thread(tmp_path, "t-1", meta("t-1"), said("Go."))
    thread(
        tmp_path,
        "t-2",
        meta("t-2", CREATED, **fields),
        said("Look.", LATER),
        turn(),
        event(USAGE, USAGE, LATER),
    )
    agent = the_one(tmp_path).agent("t-2")
    role = source if isinstance(source, str) else "guardian"
    assert (agent.role, agent.name, agent.parent) == (role, role, MAIN)
    (call,) = calls(TOOL, tmp_path)
    assert (call.origin.agent, call.origin.agent_id) == (role, "t-2")


def test_a_sub_agent_without_its_session(tmp_path: Path) -> None:
    thread(tmp_path, "t-2", meta("t-2", CREATED, session_id="t-1", **spawned("t-1")), said("Count.", LATER))
    found = the_one(tmp_path)
    assert (found.files.session, list(found.activity.agents)) == ("t-1", ["t-2"])
    assert found.agent("t-2").parent is None


SPAWNS = [
    rollout(
        "event_msg",
        {
            "type": "item_completed",
            "thread_id": "t-1",
            "item": {
                "type": "CollabAgentToolCall",
                "id": "c-1",
                "tool": "spawn_agent",
                "prompt": "Count.",
                "receiver_agents": [
                    {"thread_id": "t-2", "agent_nickname": "Hubble", "agent_role": "explorer"}
                ],
            },
        },
    ),
    rollout(
        "event_msg",
        {
            "type": "collab_agent_spawn_end",
            "call_id": "c-1",
            "new_thread_id": "t-2",
            "new_agent_nickname": "Hubble",
            "new_agent_role": "explorer",
            "prompt": "Count.",
        },
    ),
]


@pytest.mark.parametrize("spawn", SPAWNS)
@pytest.mark.parametrize(
    ("state", "status"),
    [
        ({"completed": "3"}, "completed"),
        ({"errored": "x"}, "error"),
        ("shutdown", "terminated"),
        (7, "terminated"),
    ],
)
def test_a_sub_agent_whose_file_is_missing_is_known_by_its_parent(
    tmp_path: Path, spawn: Json, state: object, status: str
) -> None:
    told = json.dumps({"agent_path": "t-2", "status": state})
    note = said(f"<subagent_notification>\n{told}\n</subagent_notification>", LATER)
    thread(tmp_path, "t-1", meta("t-1"), said("Go."), spawn, note)
    agent = the_one(tmp_path).agent("t-2")
    assert (agent.name, agent.role, agent.parent, agent.description) == ("Hubble", "explorer", MAIN, "Count.")
    assert (agent.final_status, agent.started) == (status, -1)


def test_a_sub_agent_is_known_by_the_result_of_the_tool_that_started_it(tmp_path: Path) -> None:
    use = {
        "type": "function_call",
        "name": "spawn_agent",
        "call_id": "c-1",
        "arguments": '{"message": "Count."}',
    }
    result = {
        "type": "function_call_output",
        "call_id": "c-1",
        "output": '{"agent_id":"t-2","nickname":"Hubble"}',
    }
    thread(tmp_path, "t-1", meta("t-1"), rollout("response_item", use), rollout("response_item", result))
    agent = the_one(tmp_path).agent("t-2")
    assert (agent.name, agent.description, agent.parent) == ("Hubble", "Count.", MAIN)


HISTORY = [said("One."), said("1", OLD, "assistant"), said("Two."), said("2", OLD, "assistant")]
LINKS: list[Json] = [{"forked_from_id": "t-1"}, {"session_id": "t-1", **spawned("t-1")}]


def copied(time: str) -> list[Json]:
    return [record | {"timestamp": time} for record in HISTORY[:3]]


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("time", [OLD, AT_ONCE, LATER])
def test_the_history_of_a_parent_is_not_the_work_of_its_child(tmp_path: Path, link: Json, time: str) -> None:
    """With old times, with new ones, and with new ones of a slow disk: the file of the parent has it too."""
    thread(tmp_path, "t-1", meta("t-1"), *HISTORY)
    own = [said("Mine.", LATER), said("One.", LATER)]
    thread(tmp_path, "t-2", meta("t-2", CREATED, **link), meta("t-1", time), *copied(time), *own)
    found = read_sessions(TOOL, tmp_path)
    is_fork = "forked_from_id" in link
    session, agent = (found["t-2"], MAIN) if is_fork else (found["t-1"], "t-2")
    note = ("note", "The file begins with 4 lines of session t-1.")
    assert session.steps(agent) == [note, ("user", "Mine."), ("user", "One.")]
    assert session.activity.resumed_from == ("t-1" if is_fork else None)
    assert len(found["t-1"].steps()) == 4


@pytest.mark.parametrize("time", [OLD, AT_ONCE])
def test_the_history_of_a_parent_that_is_missing(tmp_path: Path, time: str) -> None:
    """What was written at once with the beginning of the file."""
    thread(
        tmp_path,
        "t-2",
        meta("t-2", CREATED, forked_from_id="t-1"),
        meta("t-1", time),
        *copied(time),
        said("Mine.", LATER),
    )
    assert the_one(tmp_path).steps()[1:] == [("user", "Mine.")]


def test_newer_versions_say_where_the_history_ends(tmp_path: Path) -> None:
    fields = {
        "session_id": "t-1",
        "forked_from_id": "t-1",
        "subagent_history_start_ordinal": 3,
        **spawned("t-1"),
    }
    records = [
        meta("t-2", CREATED, **fields),
        meta("t-1", CREATED),
        said("One.", CREATED),
        said("Two.", CREATED),
    ]
    thread(tmp_path, "t-1", meta("t-1"), said("One."), said("Two."))
    thread(tmp_path, "t-2", *[record | {"ordinal": number} for number, record in enumerate(records)])
    note = ("note", "The file begins with 2 lines of session t-1.")
    assert the_one(tmp_path).steps("t-2") == [note, ("user", "Two.")]


def test_newer_versions_leave_the_history_where_it_is(tmp_path: Path) -> None:
    base = {"thread_id": "t-1", "end_ordinal_exclusive": 5}
    thread(tmp_path, "t-1", meta("t-1"), said("One."))
    thread(
        tmp_path, "t-2", meta("t-2", CREATED, forked_from_id="t-1", history_base=base), said("One.", AT_ONCE)
    )
    found = read_sessions(TOOL, tmp_path)["t-2"]
    assert (found.steps(), found.activity.resumed_from) == ([("user", "One.")], "t-1")


def test_what_a_sub_agent_says_in_the_file_of_its_parent_is_not_said_twice(tmp_path: Path) -> None:
    part = {"type": "AgentMessage", "content": [{"type": "Text", "text": "Found."}]}
    copy = {"type": "item_completed", "thread_id": "t-2", "item": part}
    thread(tmp_path, "t-1", meta("t-1"), said("Go."), rollout("event_msg", copy))
    assert the_one(tmp_path).steps() == [("user", "Go.")]


def test_two_files_of_one_session_are_read_once(tmp_path: Path) -> None:
    """One was moved to the archive and restored, and went on."""
    records = [meta("t-1"), said("One."), said("Two.")]
    thread(tmp_path, "t-1", *records[:2], below="archived_sessions")
    thread(tmp_path, "t-1", *records)
    found = the_one(tmp_path)
    assert (len(found.files.paths), found.steps()) == (2, [("user", "One."), ("user", "Two.")])


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "", "x" * 5000, "\ud800", "\x00\n", "t-1"])
def test_an_id_may_be_hostile(tmp_path: Path, name: str) -> None:
    """The id of a thread, of its parent, of its session: each is kept as it is, or is left out."""
    thread(tmp_path, "t-1", meta(name), said("One."))
    thread(tmp_path, "t-2", meta("t-2", forked_from_id=name, session_id=name, **spawned(name)), said("Two."))
    found = read_sessions(TOOL, tmp_path)
    assert sorted(entry.text for session in found.values() for entry in session.entries) == ["One.", "Two."]


def test_threads_that_name_each_other_as_parents(tmp_path: Path) -> None:
    thread(tmp_path, "t-1", meta("t-1", **spawned("t-2")), said("One."))
    thread(tmp_path, "t-2", meta("t-2", **spawned("t-1")), said("Two."))
    thread(tmp_path, "t-3", meta("t-3", **spawned("t-3")), said("Three."))
    found = read_sessions(TOOL, tmp_path).values()
    assert sorted(entry.text for session in found for entry in session.entries) == ["One.", "Three.", "Two."]


def test_a_file_without_a_first_record_is_known_by_its_name(tmp_path: Path) -> None:
    thread(tmp_path, "t-1", b"{", said("One."))
    found = the_one(tmp_path)
    assert (found.files.session, found.steps()) == ("t-1", [("user", "One.")])


def test_other_files_of_codex_are_no_sessions(tmp_path: Path) -> None:
    thread(tmp_path / ".codex", "t-1", meta("t-1"), said("One."))
    for name in ("session_index.jsonl", "history.jsonl"):
        write(tmp_path / ".codex" / name, {"id": "t-1"})
    files, left_out = find_files([TOOL], [str(tmp_path)])
    assert ([Path(file.path).name[-9:] for file in files], left_out) == (["t-1.jsonl"], [])
