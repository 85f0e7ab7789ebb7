"""The sessions of Claude Code: which files belong together, and who started whom."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from runcard.transcripts import claude_code
from runcard.transcripts.calls import MAIN
from runcard.transcripts.content import TranscriptFile
from transcripts.read_sessions import ReadSession, read_sessions
from transcripts.session_files import Json, assistant, calls, claude, write
from transcripts.test_claude_code_activity import record, reply, result, said, text, used

TOOL = "claude-code"
BELOW = "s-1/subagents"


def sub_agent(folder: Path, agent: str, *records: Json, at: str | None = None, **meta: Any) -> None:
    """The file of a sub-agent, and the facts beside it."""
    path = at or f"{BELOW}/agent-{agent}.jsonl"
    own = records or (
        said("Do it.", f"u-{agent}"),
        reply(text("Done."), uuid=f"r-{agent}", call=f"msg_{agent}"),
    )
    claude(folder, *(each | {"agentId": agent, "isSidechain": True} for each in own), name=path)
    if meta:
        write(folder / "projects/-home-u-shop" / f"{path.removesuffix('.jsonl')}.meta.json", meta)


def only(folder: Path) -> ReadSession:
    (found,) = read_sessions(TOOL, folder).values()
    return found


def names(found: ReadSession) -> list[str]:
    return [os.path.basename(path) for path in found.files.paths]


def test_a_session_with_its_sub_agents(tmp_path: Path) -> None:
    """As the tool writes it: the inner sub-agent is linked by the tool use in the file of the outer one."""
    claude(
        tmp_path,
        said("Go."),
        reply(used("Agent", "toolu_1", description="Outer", subagent_type="Explore"), stop="tool_use"),
        said([result("ok", "toolu_1")], "u-2", toolUseResult={"status": "completed", "agentId": "zz"}),
    )
    inner = used("Agent", "toolu_2", description="Inner", subagent_type="Plan")
    sub_agent(tmp_path, "aa", agentType="Plan", description="Inner", toolUseId="toolu_2", spawnDepth=2)
    sub_agent(
        tmp_path,
        "zz",
        reply(inner, uuid="r-zz"),
        agentType="Explore",
        description="Outer",
        toolUseId="toolu_1",
    )
    found = only(tmp_path)
    assert names(found) == ["s-1.jsonl", "agent-aa.jsonl", "agent-zz.jsonl"]
    assert (found.files.session, found.files.folder) == ("s-1", "/home/u/shop")
    agents = {
        agent.id: (agent.role, agent.description, agent.parent) for agent in found.activity.agents.values()
    }
    assert agents == {
        MAIN: (None, None, None),
        "zz": ("Explore", "Outer", MAIN),
        "aa": ("Plan", "Inner", "zz"),
    }
    assert found.agent("zz").final_status == "completed"
    assert found.steps("aa") == [("user", "Do it."), ("assistant", "Done.")]
    assert set(found.activity.owners.values()) == {MAIN, "aa", "zz"}


def test_a_sub_agent_without_facts_beside_it_is_linked_by_the_result_of_its_tool(tmp_path: Path) -> None:
    """Of older versions: the tool was called Task, the files are beside that of the session."""
    claude(
        tmp_path,
        reply(used("Task", description="Look", subagent_type="Explore"), stop="tool_use"),
        said([result("ok")], toolUseResult={"status": "completed", "agentId": "a7", "totalTokens": 5}),
    )
    sub_agent(tmp_path, "a7", at="agent-a7.jsonl")
    agent = only(tmp_path).agent("a7")
    assert (agent.role, agent.description, agent.parent) == ("Explore", "Look", MAIN)


def test_the_result_may_come_before_the_tool_use(tmp_path: Path) -> None:
    claude(
        tmp_path,
        said([result("ok")], toolUseResult={"agentId": "a7"}),
        reply(used("Task", description="Look", subagent_type="Explore"), stop="tool_use"),
    )
    sub_agent(tmp_path, "a7")
    agent = only(tmp_path).agent("a7")
    assert (agent.role, agent.description, agent.parent) == ("Explore", "Look", MAIN)


def progress(agent: str | None, inner: object, uuid: str = "p-1", **data: Any) -> Json:
    facts = {"type": "agent_progress", "agentId": agent, "message": inner, **data}
    return record("progress", uuid, data=facts, parentToolUseID="toolu_1")


def test_the_messages_of_a_sub_agent_may_only_be_in_progress_lines(tmp_path: Path) -> None:
    claude(
        tmp_path,
        reply(used("Task", description="Look", subagent_type="Explore"), stop="tool_use"),
        progress("a7", said("Do it.", "i-1")),
        progress("a7", said("Do it.", "i-1"), "p-2"),  # lines may repeat what was said
        progress(
            "a7", None, "p-3", normalizedMessages=[said("Do it.", "i-1"), reply(text("Done."), uuid="i-2")]
        ),
        progress("a7", {"timestamp": "x", "message": {"role": "user", "content": "More."}}, "p-4"),
        record("progress", "p-5", data={"type": "bash_progress", "output": "x"}),
    )
    found = only(tmp_path)
    assert found.steps("a7") == [("user", "Do it."), ("assistant", "Done."), ("user", "More.")]
    agent = found.agent("a7")
    assert (agent.role, agent.description, agent.parent) == ("Explore", "Look", MAIN)
    assert agent.final_status == "terminated"


def test_progress_lines_of_a_sub_agent_with_a_file_are_not_repeated(tmp_path: Path) -> None:
    claude(tmp_path, said("Go."), progress("a7", said("Do it.", "other-id")))
    sub_agent(tmp_path, "a7")
    assert only(tmp_path).steps("a7") == [("user", "Do it."), ("assistant", "Done.")]


def test_steps_belong_to_the_agent_of_their_calls(tmp_path: Path) -> None:
    """An import joins both by the id of the agent."""
    claude(
        tmp_path,
        reply(text("a"), uuid="1"),
        progress("a8", reply(text("c"), uuid="3", call="msg_3"), "p-1"),
        reply(text("d"), uuid="4", call="msg_4", agentId="a9", isSidechain=True),
    )
    sub_agent(tmp_path, "a7")
    found = only(tmp_path)
    ids = {call.origin.agent_id for call in calls(TOOL, tmp_path)}
    assert ids == set(found.activity.agents) == {MAIN, "a7", "a8", "a9"}


def test_a_side_chain_without_an_id_is_unattributed(tmp_path: Path) -> None:
    claude(tmp_path, said("Go."), reply(text("x"), isSidechain=True))
    found = only(tmp_path)
    assert found.steps("unattributed") == [("assistant", "x")]


@pytest.mark.parametrize(
    ("word", "status"), [("completed", "completed"), ("failed", "error"), ("killed", "terminated")]
)
def test_how_a_sub_agent_in_the_background_ended(tmp_path: Path, word: str, status: str) -> None:
    notice = (
        f"<task-notification>\n<task-id>a7</task-id>\n<output-file>/tmp/x</output-file>\n<status>{word}</status>\n"
        "<summary>Agent finished</summary></task-notification>"
    )
    claude(tmp_path, said([result("started")], toolUseResult={"status": "async_launched", "agentId": "a7"}))
    sub_agent(tmp_path, "a7", reply(text("half"), uuid="r-7", stop="max_tokens"))
    assert only(tmp_path).agent("a7").final_status == "terminated"
    claude(tmp_path, said([result("started")], toolUseResult={"agentId": "a7"}), said(notice, "u-2"))
    assert only(tmp_path).agent("a7").final_status == status


def test_a_sub_agent_whose_call_failed_is_not_complete(tmp_path: Path) -> None:
    """Its task is, in the words of the tool."""
    claude(tmp_path, said([result("API Error: 400")], toolUseResult={"status": "completed", "agentId": "a7"}))
    failed = reply(text("API Error: 400"), uuid="r-7", model="<synthetic>", isApiErrorMessage=True)
    sub_agent(tmp_path, "a7", failed)
    assert only(tmp_path).agent("a7").final_status == "error"


def test_an_agent_that_names_itself_as_its_parent(tmp_path: Path) -> None:
    claude(tmp_path, said("Go."))
    own = reply(used("Agent", "toolu_1"), uuid="r-7", stop="tool_use")
    sub_agent(tmp_path, "a7", own, agentType="x", toolUseId="toolu_1")
    assert only(tmp_path).agent("a7").parent == MAIN


def test_a_sub_agent_whose_parent_is_missing_belongs_to_the_main_agent(tmp_path: Path) -> None:
    claude(tmp_path, said("Go."))
    sub_agent(tmp_path, "a7", toolUseId="toolu_gone", agentType="Explore")
    assert only(tmp_path).agent("a7").parent == MAIN


@pytest.mark.parametrize("name", [f"{BELOW}/agent-a7.jsonl", "agent-a7.jsonl"])
def test_a_sub_agent_without_its_session_is_a_session(tmp_path: Path, name: str) -> None:
    sub_agent(tmp_path, "a7", at=name)
    found = only(tmp_path)
    assert (found.files.session, names(found)) == ("s-1", ["agent-a7.jsonl"])
    assert list(found.activity.agents) == ["a7"]
    assert found.agent("a7").parent is None
    assert found.activity.folder == "/home/u/shop"


def test_the_agents_of_a_workflow_belong_to_who_started_it(tmp_path: Path) -> None:
    started = {"status": "async_launched", "taskId": "w1", "runId": "wf_1"}
    claude(tmp_path, said("Go."))
    sub_agent(tmp_path, "a1", said([result("started")], "u-9", toolUseResult=started), toolUseId="x")
    for agent, run in (("a2", "wf_1"), ("a3", "wf_2")):
        sub_agent(tmp_path, agent, at=f"{BELOW}/workflows/{run}/agent-{agent}.jsonl")
        claude(tmp_path, {"type": "started"}, name=f"{BELOW}/workflows/{run}/journal.jsonl")
    found = only(tmp_path)
    assert "journal.jsonl" not in names(found)
    assert (found.agent("a2").parent, found.agent("a3").parent) == ("a1", MAIN)


@pytest.mark.parametrize(
    "meta",
    [b"", b"{", b"[]", b'{"agentType": 7, "toolUseId": [], "name": {}}', b"\xff", b"{}" + b" " * (2 << 20)],
)
def test_bad_facts_beside_a_sub_agent(tmp_path: Path, meta: bytes) -> None:
    claude(tmp_path, said("Go."))
    sub_agent(tmp_path, "a7")
    (tmp_path / "projects/-home-u-shop" / BELOW / "agent-a7.meta.json").write_bytes(meta)
    agent = only(tmp_path).agent("a7")
    assert (agent.role, agent.name, agent.parent) == (None, None, MAIN)


def test_facts_beside_a_sub_agent_that_are_a_link_or_a_pipe(tmp_path: Path) -> None:
    claude(tmp_path, said("Go."))
    below = tmp_path / "projects/-home-u-shop" / BELOW
    for agent in ("a1", "a2"):
        sub_agent(tmp_path, agent)
    (tmp_path / "secret").write_text(json.dumps({"agentType": "secret"}))
    (below / "agent-a1.meta.json").symlink_to(tmp_path / "secret")
    os.mkfifo(below / "agent-a2.meta.json")
    found = only(tmp_path)
    assert (found.agent("a1").role, found.agent("a2").role) == (None, None)


def test_ids_that_look_like_paths_are_only_names(tmp_path: Path) -> None:
    claude(
        tmp_path, said("Go.", sessionId="../../s"), reply(text("x"), agentId="../../a", sessionId="../../s")
    )
    found = read_sessions(TOOL, tmp_path)
    assert set(found) == {"../../s"}
    assert list(found["../../s"].activity.agents) == [MAIN, "../../a"]


# Files of several sessions


def test_a_file_that_begins_with_another_session(tmp_path: Path) -> None:
    """Older versions resumed a session in a new file, with its lines."""
    old = [said("one", "u-1"), reply(text("first"), uuid="r-1")]
    new = [
        said("two", "u-2", sessionId="s-2"),
        reply(text("second"), uuid="r-2", call="msg_2", sessionId="s-2"),
    ]
    claude(tmp_path, *old)
    claude(tmp_path, *old, *new, name="s-2.jsonl")
    found = read_sessions(TOOL, tmp_path)
    assert {session: names(read) for session, read in found.items()} == {
        "s-1": ["s-1.jsonl"],
        "s-2": ["s-2.jsonl"],
    }
    assert found["s-2"].steps() == [
        ("note", "[2 records of s-1 before]"),
        ("user", "two"),
        ("assistant", "second"),
    ]
    assert found["s-2"].activity.resumed_from == "s-1"


def test_a_session_continues_the_last_one_before_it(tmp_path: Path) -> None:
    records = [said(str(number), f"u-{number}", sessionId=f"s-{number}") for number in (1, 2, 3)]
    for number in (1, 2, 3):
        claude(tmp_path, *records[:number], name=f"s-{number}.jsonl")
    found = {session: read.activity.resumed_from for session, read in read_sessions(TOOL, tmp_path).items()}
    assert found == {"s-1": None, "s-2": "s-1", "s-3": "s-2"}


def test_where_the_first_file_is_gone_its_lines_are_in_the_other(tmp_path: Path) -> None:
    claude(
        tmp_path,
        said("one"),
        reply(text("first"), uuid="r-1"),
        said("two", "u-2", sessionId="s-2"),
        name="s-2.jsonl",
    )
    found = read_sessions(TOOL, tmp_path)
    assert {session: names(read) for session, read in found.items()} == {
        "s-1": ["s-2.jsonl"],
        "s-2": ["s-2.jsonl"],
    }
    assert found["s-1"].steps() == [("user", "one"), ("assistant", "first")]
    assert (found["s-1"].activity.resumed_from, found["s-2"].activity.resumed_from) == (None, "s-1")
    assert {call.origin.session for call in calls(TOOL, tmp_path)} == {"s-1"}


def fork(session: str, began: str) -> list[Json]:
    return [
        {"type": "queue-operation", "timestamp": began, "sessionId": session},
        said("First.", "first", sessionId=session, timestamp="2026-11-02T09:00:00Z"),
        reply(text("Hello."), uuid="second", time="2026-11-02T09:00:01Z", sessionId=session),
        said(session, f"u-{session}", sessionId=session, timestamp="2026-11-02T12:00:00Z"),
    ]


def test_the_session_that_a_fork_was_made_from_begins_with_the_same_message(tmp_path: Path) -> None:
    """The fork of a fork may be made from either."""
    claude(tmp_path, *fork("s-1", "2026-11-02T09:00:00Z"))
    claude(tmp_path, *fork("s-2", "2026-11-02T10:00:00Z"), name="s-2.jsonl")
    assert read_sessions(TOOL, tmp_path)["s-2"].activity.resumed_from == "s-1"
    claude(tmp_path, *fork("s-3", "2026-11-02T11:00:00Z"), name="s-3.jsonl")
    found = {session: read.activity.resumed_from for session, read in read_sessions(TOOL, tmp_path).items()}
    assert found == {"s-1": None, "s-2": "s-1", "s-3": None}


def test_the_same_session_in_two_projects(tmp_path: Path) -> None:
    claude(tmp_path, said("one", "u-1"))
    write(tmp_path / "projects/-other/s-1.jsonl", said("two", "u-2"))
    found = only(tmp_path)
    assert sorted(words for _, words in found.steps()) == ["one", "two"]


def test_a_branch_does_not_take_the_calls_of_its_first_session(tmp_path: Path) -> None:
    """The copies have the times of the first records of the file, so that only their own words tell."""
    old = assistant("msg_1", time="2026-11-02T10:00:00Z")
    claude(tmp_path, old)
    copy = old | {"sessionId": "z", "forkedFrom": {"sessionId": "s-1", "messageUuid": "u"}}
    claude(tmp_path, copy, copy, name="z.jsonl")
    assert [call.origin.session for call in calls(TOOL, tmp_path)] == ["s-1"]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = claude(tmp_path, said("Go."))
    os.mkfifo(tmp_path / "pipe.jsonl")
    paths = [path, tmp_path / "gone.jsonl", tmp_path / "pipe.jsonl"]
    found, unread = claude_code.sessions([TranscriptFile(TOOL, str(each), 0) for each in paths])
    assert [session.session for session in found] == ["s-1"]
    assert [(os.path.basename(part.path), part.line) for part in unread] == [
        ("gone.jsonl", None),
        ("pipe.jsonl", None),
    ]


def test_the_parts_of_a_large_file_are_one_file(tmp_path: Path) -> None:
    path = str(claude(tmp_path, said("Go.")))
    parts = [TranscriptFile(TOOL, path, 100, 0, 50), TranscriptFile(TOOL, path, 100, 50, 100)]
    ((session,), _) = claude_code.sessions(parts)
    assert session.paths == (path,)
    assert session.modified == os.stat(path).st_mtime_ns // 1_000_000


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xff\xfe", b"{", b'{"sessionId": 7}', b"[]\n" * 10])
def test_a_file_that_says_nothing_is_a_session_by_its_name(tmp_path: Path, content: bytes) -> None:
    path = claude(tmp_path)
    path.write_bytes(content)
    found = only(tmp_path)
    assert (found.files.session, found.files.folder, found.entries) == ("s-1", None, [])


# Teams


def team(folder: Path, config: object, name: str = "crew") -> None:
    path = folder / "teams" / name / "config.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(config))


CONFIG = {
    "name": "crew",
    "createdAt": 1793613600000,
    "leadAgentId": "team-lead@crew",
    "leadSessionId": "s-1",
    "members": [
        {"agentId": "team-lead@crew", "name": "team-lead", "agentType": "team-lead", "cwd": "/home/u/shop"},
        {"agentId": "bee@crew", "name": "bee", "agentType": "Explore", "tmuxPaneId": "in-process"},
    ],
}
MATE = {"agentType": "bee", "name": "bee", "teamName": "crew", "taskKind": "in_process_teammate"}


def test_a_member_of_a_team_has_the_role_it_was_started_with(tmp_path: Path) -> None:
    """The facts beside its file have its name in place of its type."""
    spawned = {"status": "teammate_spawned", "name": "bee", "agent_type": "Plan", "team_name": "crew"}
    claude(
        tmp_path,
        reply(used("Agent", name="bee", description="Help", subagent_type="Plan"), stop="tool_use"),
        said([result("Spawned successfully.")], toolUseResult=spawned),
    )
    sub_agent(tmp_path, "abee-1", **MATE)
    agent = only(tmp_path).agent("abee-1")
    assert (agent.name, agent.role, agent.parent, agent.description) == ("bee", "Plan", MAIN, "Help")


def test_the_file_of_a_team_names_the_roles_of_its_members(tmp_path: Path) -> None:
    claude(tmp_path, said("Go."))
    sub_agent(tmp_path, "abee-1", **MATE)
    team(tmp_path, CONFIG)
    found = only(tmp_path)
    assert (found.agent("abee-1").role, found.agent().role) == ("Explore", "team-lead")


def test_a_member_with_a_session_of_its_own(tmp_path: Path) -> None:
    claude(tmp_path, said("Go.", teamName="crew", agentName="bee", sessionId="s-2"), name="s-2.jsonl")
    team(tmp_path, CONFIG)
    agent = read_sessions(TOOL, tmp_path)["s-2"].agent()
    assert (agent.name, agent.role) == ("bee", "Explore")


@pytest.mark.parametrize(
    "name", ["../crew", "..", "crew/../crew", "", "/etc", ".crew", "x" * 300, "a\x00b", "gone"]
)
def test_a_team_with_a_hostile_name_is_not_looked_for(tmp_path: Path, name: str) -> None:
    claude(tmp_path, said("Go.", teamName=name, agentName="bee"))
    team(tmp_path, CONFIG)
    agent = only(tmp_path).agent()
    assert (agent.name, agent.role) == ("bee", None)


@pytest.mark.parametrize(
    "config",
    [
        *(None, [], {}, {"members": 7}, {"members": [7, None, {}, {"name": 7}]}),
        {**CONFIG, "members": [{"name": "bee", "agentType": ["x"]}]},
        {**CONFIG, "leadSessionId": [], "leadAgentId": {}, "members": [{"name": [], "agentType": "x"}]},
    ],
    ids=str,
)
def test_a_bad_file_of_a_team(tmp_path: Path, config: object) -> None:
    claude(tmp_path, said("Go.", teamName="crew", agentName="bee"))
    team(tmp_path, config)
    agent = only(tmp_path).agent()
    assert (agent.name, agent.role) == ("bee", None)


def test_links_and_pipes_in_place_of_a_team(tmp_path: Path) -> None:
    claude(tmp_path, said("Go.", teamName="link", agentName="bee"), said("Go.", "u-2", teamName="pipe"))
    sub_agent(tmp_path, "a7", **{**MATE, "teamName": "link"})
    team(tmp_path / "elsewhere", CONFIG)
    (tmp_path / "teams" / "pipe").mkdir(parents=True)
    (tmp_path / "teams" / "link").symlink_to(tmp_path / "elsewhere" / "teams" / "crew")
    os.mkfifo(tmp_path / "teams" / "pipe" / "config.json")
    found = only(tmp_path)
    assert (found.agent().role, found.agent("a7").role) == (None, None)
