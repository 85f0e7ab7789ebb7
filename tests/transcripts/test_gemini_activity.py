"""What the agents of Gemini CLI said and did: messages that are written again, tools, sub-agents, older files, bad input."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runcard.transcripts.activity import SessionFiles
from runcard.transcripts.calls import MAIN, NO_TIME
from runcard.transcripts.content import milliseconds
from runcard.transcripts.line_reader import LONGEST
from transcripts.read_sessions import ReadSession, read_session, read_sessions
from transcripts.session_files import Json, calls, lines, read, write

TOOL = "gemini"
TOKENS = {"input": 100, "output": 10, "cached": 60, "thoughts": 5, "tool": 3, "total": 118}


def at(second: float) -> str:
    return f"2026-11-02T10:00:{second:06.3f}Z"


META = {"sessionId": "g-1", "projectHash": "0f", "startTime": at(0), "lastUpdated": at(0), "kind": "main"}


def record(kind: str, name: str, content: object, second: float = 1, **fields: Any) -> Json:
    return {"id": name, "timestamp": at(second), "type": kind, "content": content, **fields}


def user(text: str, name: str = "u1", second: float = 1) -> Json:
    return record("user", name, [{"text": text}], second)


def reply(text: object, name: str = "m1", second: float = 3, **fields: Any) -> Json:
    return record("gemini", name, text, second, model="gemini-2.5-pro", tokens=TOKENS, **fields)


def answer(use_id: str = "use-1", **response: Any) -> Json:
    return {"functionResponse": {"id": use_id, "name": "read_file", "response": response}}


def use(use_id: str = "use-1", status: str = "success", second: float = 4, **fields: Any) -> Json:
    inputs = {"file_path": "a.txt"}
    result = [answer(use_id, output="hello")]
    known = {"id": use_id, "name": "read_file", "args": inputs, "result": result, "status": status}
    return {**known, "timestamp": at(second), **fields}


def path_of(folder: Path, name: str = "session-2026-11-02T10-00-g-1.jsonl") -> Path:
    return folder / "tmp" / "shop" / "chats" / name


def chat(folder: Path, *records: Json | bytes, name: str = "session-2026-11-02T10-00-g-1.jsonl") -> Path:
    return write(path_of(folder, name), *records)


def session(folder: Path, *records: Json | bytes) -> ReadSession:
    chat(folder, META, *records)
    (found,) = read_sessions(TOOL, folder).values()
    return found


def test_the_steps_of_an_agent_with_what_joins_them(tmp_path: Path) -> None:
    """A message is written again when its tool uses are known, and their results once more in the name of the user."""
    thoughts = [{"subject": "Reading", "description": "the file", "timestamp": at(2)}]
    found = session(
        tmp_path,
        {"$set": {"messages": [user("<session_context>\n" + "x" * 500, "c")], "lastUpdated": at(1)}},
        user("Read a.txt."),
        reply("", thoughts=thoughts),
        reply("", thoughts=thoughts, toolCalls=[use()]),
        record("user", "u2", [answer(output="hello")], 4.1),
        reply("It says hello.", "m2", 6),
        {"$set": {"lastUpdated": at(6)}},
    )
    assert found.steps() == [
        ("note", "<session_context> … (518 characters)"),
        ("user", "Read a.txt."),
        ("thinking", "Reading: the file"),
        ("tool use", '{"file_path":"a.txt"}'),
        ("tool result", "hello"),
        ("assistant", "It says hello."),
    ]
    assert [entry.call for entry in found.entries] == [None, None, "m1", "m1", None, "m2"]
    agent = found.agent()
    assert (agent.final_status, dict(agent.tool_uses)) == ("completed", {"read_file": 1})
    assert (agent.started, agent.ended) == (milliseconds(at(0)), milliseconds(at(6)))
    assert agent.replies.seconds() == [2, 2]
    assert found.activity.owners == {found.files.paths[0]: MAIN}


def test_a_resumed_session_repeats_its_messages_with_new_times(tmp_path: Path) -> None:
    again = [
        user("One.", "u1", 30),
        record("gemini", "m1", [{"text": "Hm.", "thought": True}, {"functionCall": {"id": "use-1"}}], 30),
        record("user", "m1_response", [answer(output="hello")], 30),
    ]
    records = [user("One."), reply("1", toolCalls=[use()]), META, {"$set": {"messages": again}}]
    found = session(tmp_path, *records, user("Two.", "u2", 31))
    kinds = ["user", "assistant", "tool use", "tool result", "user"]
    assert [kind for kind, _ in found.steps()] == kinds
    assert found.entries[0].time == milliseconds(at(1))


def test_a_compacted_conversation_has_copies_with_new_ids(tmp_path: Path) -> None:
    compacted = [
        user("<session_context>x", "c"),
        user("A summary.", "s1", 30),
        record("gemini", "s2", [{"text": "Got it."}], 30),
        user("One.", "s3", 30),
        reply("1", "m1", 30),
    ]
    found = session(
        tmp_path, user("One."), reply("1"), {"$set": {"messages": compacted}}, user("Two.", "u2", 31)
    )
    assert found.steps() == [
        ("user", "One."),
        ("assistant", "1"),
        ("note", "<session_context>x"),
        ("note", "The conversation was written anew: 3 of its 5 messages are new."),
        ("user", "Two."),
    ]


def test_an_older_file_and_the_newer_one_that_was_made_from_it(tmp_path: Path) -> None:
    messages = [user("One."), reply("1", toolCalls=[use()])]
    chat(tmp_path, META, *messages, user("Two.", "u2"))
    path_of(tmp_path, "session-2026-11-02T10-00-g-1.json").write_text(
        json.dumps(META | {"messages": messages})
    )
    (found,) = read_sessions(TOOL, tmp_path).values()
    assert [text for _, text in found.steps()] == ["One.", "1", '{"file_path":"a.txt"}', "hello", "Two."]
    assert len(found.files.paths) == 2


def test_facts_about_the_session(tmp_path: Path) -> None:
    path = chat(tmp_path, META, user("One."), {"$set": {"summary": "Reads a file"}})
    (path.parents[1] / ".project_root").write_text("/home/u/shop")
    (found,) = read_sessions(TOOL, tmp_path).values()
    assert (found.activity.title, found.activity.folder) == ("Reads a file", "/home/u/shop")
    assert found.files.folder == "/home/u/shop"


def test_what_the_user_typed_is_shown(tmp_path: Path) -> None:
    """Not what Gemini CLI put into it."""
    found = session(
        tmp_path, record("user", "u1", [{"text": "a.txt: hello"}], displayContent=[{"text": "@a.txt"}])
    )
    assert found.steps() == [("user", "@a.txt")]


@pytest.mark.parametrize(("status", "kinds"), [("error", []), ("cancelled", ["interruption"])])
def test_a_tool_that_failed(tmp_path: Path, status: str, kinds: list[str]) -> None:
    result = [answer(error="no such file")]
    found = session(
        tmp_path, user("Go."), reply("Let me see.", toolCalls=[use(status=status, result=result)])
    )
    assert (found.entries[3].text, found.entries[3].is_error) == ("no such file", status == "error")
    assert found.agent().final_status == "terminated"
    assert [entry.kind for entry in found.entries[4:]] == kinds
    assert dict(found.agent().failed_tool_uses) == ({"read_file": 1} if status == "error" else {})


@pytest.mark.parametrize(
    ("output", "has_failed"),
    [
        ("Output: no\nExit Code: 3\nProcess Group PGID: 7", True),
        ("<untrusted_context>\nOutput: no\nExit Code: 3\nSignal: 9\n</untrusted_context>", True),
        ("Output: Exit Code: 3\nProcess Group PGID: 7", False),
        ("Output: no\nExit Code: 3\nand more of it\nProcess Group PGID: 7", False),
        ("Output: yes\nExit Code: 0", False),
        ("Exit Code: 1\n" * 20_000 + "x", False),
    ],
)
def test_a_command_that_failed(tmp_path: Path, output: str, *, has_failed: bool) -> None:
    """Its tool did its work: the exit code is in the result."""
    done = use(name="run_shell_command", result=[answer(output=output)])
    found = session(
        tmp_path, user("Go."), reply("", toolCalls=[done, {**use("use-2"), "result": done["result"]}])
    )
    assert dict(found.agent().failed_tool_uses) == ({"run_shell_command": 1} if has_failed else {})


def test_a_tool_use_without_its_end(tmp_path: Path) -> None:
    found = session(tmp_path, user("Go."), reply("", toolCalls=[use(status="executing", result=None)]))
    assert [kind for kind, _ in found.steps()] == ["user", "tool use"]
    assert found.agent().final_status == "terminated"
    ended = reply("", toolCalls=[use(second=9)])
    found = session(tmp_path, reply("", toolCalls=[use(status="executing", result=None)]), ended)
    assert [(entry.kind, entry.time) for entry in found.entries] == [
        ("tool use", milliseconds(at(3))),
        ("tool result", milliseconds(at(9))),
    ]


def test_tools_in_the_content_of_a_message(tmp_path: Path) -> None:
    part = {"functionCall": {"id": "use-1", "name": "read_file", "args": {"file_path": "a.txt"}}}
    records = [reply([{"text": "Let me see."}, part]), record("user", "u2", [answer(output="hello")], 4)]
    found = session(tmp_path, *records)
    assert [kind for kind, _ in found.steps()] == ["assistant", "tool use", "tool result"]
    assert found.entries[2].name == "read_file"
    assert found.agent().final_status == "terminated"


def test_messages_of_gemini_cli(tmp_path: Path) -> None:
    found = session(
        tmp_path,
        record("info", "i1", "Update available."),
        record("warning", "w1", "Slow."),
        record("error", "e1", "[API Error: 429 Too Many Requests]", 2),
    )
    assert [kind for kind, _ in found.steps()] == ["note", "note", "error"]
    assert (found.agent().final_status, dict(found.agent().error_categories)) == ("error", {"rate_limit": 1})
    found = session(tmp_path, user("Go."), record("info", "i1", "Request cancelled.", 2))
    assert found.steps()[-1] == ("interruption", "Request cancelled.")


def test_a_conversation_that_was_taken_back(tmp_path: Path) -> None:
    found = session(tmp_path, user("One."), reply("1"), {"$rewindTo": "u1"}, user("Other.", "u2", 5))
    assert [text for _, text in found.steps()] == [
        "One.",
        "1",
        "The conversation was taken back to before message u1.",
        "Other.",
    ]


# Sub-agents

SUB_META = {"sessionId": "sub-7", "projectHash": "0f", "startTime": at(3), "kind": "subagent"}


def delegation(reason: str | None, state: str = "success") -> Json:
    shown: Json = {"agentName": "investigator"} | ({"terminateReason": reason} if reason else {})
    text = "Subagent 'investigator' finished.\nTermination Reason: TIMEOUT\nResult:\n3"
    inputs = {"agent_name": "investigator", "prompt": "Count the files."}
    result = [answer(output=text)]
    return use(
        name="invoke_agent", args=inputs, agentId="sub-7", resultDisplay=shown, result=result, status=state
    )


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("GOAL", "completed"),
        ("TIMEOUT", "timeout"),
        ("MAX_TURNS", "terminated"),
        ("ABORTED", "terminated"),
        ("ERROR", "error"),
        (None, "timeout"),
        ("NEW_REASON", "terminated"),
    ],
)
def test_a_sub_agent_is_named_by_its_parent(tmp_path: Path, reason: str | None, status: str) -> None:
    chat(tmp_path, META, user("Go."), reply("", toolCalls=[delegation(reason)]))
    chat(tmp_path, SUB_META, user("Your task: count.", "s1", 3), reply("3", "s2", 4), name="g-1/sub-7.jsonl")
    (found,) = read_sessions(TOOL, tmp_path).values()
    agent = found.agent("sub-7")
    assert (agent.name, agent.role, agent.parent) == ("investigator", "investigator", MAIN)
    assert agent.description == "Count the files."
    assert agent.final_status == ("completed" if reason == "NEW_REASON" else status)
    assert found.steps("sub-7") == [("user", "Your task: count."), ("assistant", "3")]
    assert {call.origin.agent_id for call in calls(TOOL, tmp_path)} == {MAIN, "sub-7"}


def test_a_sub_agent_whose_file_is_missing(tmp_path: Path) -> None:
    agent = session(tmp_path, user("Go."), reply("", toolCalls=[delegation("GOAL")])).agent("sub-7")
    assert (agent.final_status, agent.parent, agent.started) == ("completed", MAIN, NO_TIME)


def test_a_sub_agent_without_its_session(tmp_path: Path) -> None:
    done = use(name="complete_task", result=[answer(output="Task completed.")])
    chat(tmp_path, SUB_META, user("Count.", "s1"), reply("", toolCalls=[done]), name="g-1/sub-7.jsonl")
    (found,) = read_sessions(TOOL, tmp_path).values()
    agent = found.agent("sub-7")
    assert (found.files.session, list(found.activity.agents)) == ("g-1", ["sub-7"])
    assert (agent.parent, agent.final_status, agent.description) == (None, "completed", "Count.")


# Older files, bad input


def test_the_object_of_an_older_version(tmp_path: Path) -> None:
    path = path_of(tmp_path, "session-2.json")
    path.parent.mkdir(parents=True)
    document = META | {"messages": [user("One."), reply("1")], "summary": "A title"}
    path.write_text("\ufeff" + json.dumps(document, indent=2))
    (found,) = read_sessions(TOOL, tmp_path).values()
    assert (found.steps(), found.activity.title) == ([("user", "One."), ("assistant", "1")], "A title")
    path.write_text(json.dumps(document)[:-30])
    found = read_session(found.files)
    assert (found.steps(), [part.reason for part in found.unread]) == ([], ["the line is cut off"])


def test_bad_lines_cost_no_other_line(tmp_path: Path) -> None:
    torn = json.dumps(reply("1")).encode()[:-20]
    bad = [b"{", b"[]", b"\xff\xfe", b"", b'{"type": "dream"}', b'{"type": []}']
    chat(tmp_path).write_bytes(b"\xef\xbb\xbf" + lines([META, *bad, user("A \ud83d half.")]) + torn)
    (found,) = read_sessions(TOOL, tmp_path).values()
    assert (found.files.session, found.steps()) == ("g-1", [("user", "A ? half.")])
    assert [part.line for part in found.unread] == [2, 3, 4, 9]
    assert dict(read(TOOL, tmp_path).unknown_types) == {"dream": 1, "a list": 1}


@pytest.mark.parametrize("value", [None, 7, "x", [], [3], {}, {"type": []}, [{"functionResponse": 3}], True])
def test_a_field_may_be_of_any_type(tmp_path: Path, value: object) -> None:
    whole = [user("x", "o1"), reply("x", "o2", thoughts=[], toolCalls=[use("o3", agentId="sub")]), SUB_META]
    odd = [message | {name: value} for message in whole for name in message if name != "kind"]
    odd += [reply("x", "o4", toolCalls=[use() | {name: value}]) for name in use()]
    odd += [{"$set": value}, {"$set": {"messages": value}}, {"$rewindTo": value}]
    odd += [record("info", "o5", value), reply(value, "o6", thoughts=[value])]
    found = session(tmp_path, *odd, user("The last step.", "z"))
    assert (found.steps()[-1], found.unread) == (("user", "The last step."), [])
    read(TOOL, tmp_path)


def test_a_line_that_is_too_long_is_named(tmp_path: Path) -> None:
    found = session(tmp_path, user("x" * LONGEST), user("two", "u2"))
    assert found.steps() == [("note", "[a line that is too long was left out]"), ("user", "two")]
    assert [(part.line, part.reason) for part in found.unread] == [(2, "the line is too long")]


def test_a_file_that_is_gone_or_no_file_is_named(tmp_path: Path) -> None:
    path, fifo = chat(tmp_path, META, user("one")), tmp_path / "session-2.jsonl"
    os.mkfifo(fifo)
    found = read_session(SessionFiles(TOOL, "g-1", (str(tmp_path / "no"), str(fifo), str(path)), 0))
    assert found.steps() == [("user", "one")]
    assert [os.path.basename(part.path) for part in found.unread] == ["no", "session-2.jsonl"]


def test_messages_without_ids_and_times_are_all_shown(tmp_path: Path) -> None:
    bare = {"type": "user", "content": "Go."}
    found = session(tmp_path, bare, bare, {"type": "gemini", "content": "1"})
    assert [text for _, text in found.steps()] == ["Go.", "Go.", "1"]
    assert {entry.time for entry in found.entries} == {NO_TIME}


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "", "x" * 5000, "\ud800", "\x00\n"])
def test_an_id_may_be_hostile(tmp_path: Path, name: str) -> None:
    chat(
        tmp_path,
        META | {"sessionId": name},
        user("One.", name),
        reply("", name, toolCalls=[use(name, agentId=name)]),
    )
    (found,) = read_sessions(TOOL, tmp_path).values()
    assert [kind for kind, _ in found.steps()] == ["user", "tool use", "tool result"]


_PEAK = """
import sys
from resource import RUSAGE_SELF, getrusage
from runcard.transcripts.activity import SessionActivity, SessionFiles
from runcard.transcripts.gemini import read_activity

activity = SessionActivity("gemini", "g-1", lambda entry: None)
before = getrusage(RUSAGE_SELF).ru_maxrss
read_activity(SessionFiles("gemini", "g-1", (sys.argv[1],), 0), activity)
print(activity.agents["main"].tool_uses["read_file"], getrusage(RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.long
def test_a_large_file_is_read_in_flat_memory(tmp_path: Path) -> None:
    pattern = lines([user("x" * 900, "u-N"), reply("y" * 900, "m-N", toolCalls=[use("use-N")])])
    path = tmp_path / "session-1.jsonl"
    with open(path, "wb") as file:
        file.write(lines([META]))
        file.writelines(pattern.replace(b"-N", b"-%d" % number) for number in range(20_000))
    done = subprocess.run([sys.executable, "-c", _PEAK, path], capture_output=True, check=True)
    count, grown = map(int, done.stdout.split())
    assert (count, path.stat().st_size > 40 << 20) == (20_000, True)
    assert grown < 25 << 10  # KiB: the ids of messages and tool uses, the times of replies
