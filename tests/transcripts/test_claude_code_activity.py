"""What the agents of a session of Claude Code said and did: every kind of record, and every kind of bad line."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runcard.transcripts.activity import AgentError, SessionFiles
from runcard.transcripts.calls import MAIN, NO_TIME
from runcard.transcripts.line_reader import LONGEST
from transcripts.read_sessions import ReadSession, read_session, read_sessions
from transcripts.session_files import Json, assistant, claude, lines, user

TOOL = "claude-code"
START = "2026-11-02T10:00:00.000Z"
START_MS = 1793613600000


def record(record_type: str, uuid: str, time: str | None = START, **fields: Any) -> Json:
    base = {"parentUuid": None, "isSidechain": False, "type": record_type, "uuid": uuid, "sessionId": "s-1"}
    known = {"cwd": "/home/u/shop", "gitBranch": "main", "version": "2.1.197", "timestamp": time}
    return {**base, **known, **fields}


def said(text: object, uuid: str = "u-1", **fields: Any) -> Json:
    return record("user", uuid, message={"role": "user", "content": text}, **fields)


def reply(*blocks: Json, uuid: str = "r-1", call: str = "msg_1", **fields: Any) -> Json:
    return assistant(call, content=blocks, uuid=uuid, **{"time": START, **fields})


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def used(tool: str, use_id: str = "toolu_1", **arguments: Any) -> Json:
    return {"type": "tool_use", "id": use_id, "name": tool, "input": arguments}


def result(content: object, use_id: str = "toolu_1", **fields: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": use_id, "content": content, **fields}


def session(folder: Path, *records: Json | bytes) -> ReadSession:
    claude(folder, *records)
    (found,) = read_sessions(TOOL, folder).values()
    return found


def test_the_steps_of_an_agent_with_what_joins_them(tmp_path: Path) -> None:
    found = session(
        tmp_path,
        said("List the files."),
        reply({"type": "thinking", "thinking": "Hm.", "signature": "x"}, uuid="r-1", stop="tool_use"),
        reply(used("Bash", command="ls"), uuid="r-2", stop="tool_use"),
        said([result("a.txt\nb.txt")], "u-2"),
        reply(text("Two files."), uuid="r-3", call="msg_2", request="req_2"),
    )
    assert found.steps() == [
        ("user", "List the files."),
        ("thinking", "Hm."),
        ("tool use", '{"command":"ls"}'),
        ("tool result", "a.txt\nb.txt"),
        ("assistant", "Two files."),
    ]
    assert [entry.call for entry in found.entries] == [None, "msg_1", "msg_1", None, "msg_2"]
    assert [entry.use_id for entry in found.entries] == [None, None, "toolu_1", "toolu_1", None]
    assert [entry.is_end for entry in found.entries] == [False, False, False, False, True]
    assert {entry.time for entry in found.entries} == {START_MS}
    agent = found.agent()
    assert (agent.tool_uses, agent.final_status) == ({"Bash": 1}, "completed")
    assert found.unread == []


def test_facts_about_the_session_are_those_of_its_start(tmp_path: Path) -> None:
    found = session(
        tmp_path,
        {"type": "mode", "mode": "normal", "sessionId": "s-1"},
        said("one", "u-1", cwd="/home/u/shop", gitBranch="HEAD"),
        said("two", "u-2", cwd="/home/u/shop/src", gitBranch="trunk", version="2.1.198"),
        said("three", "u-3", cwd="/elsewhere", gitBranch="other"),
    ).activity
    assert (found.folder, found.branch, found.tool_version) == ("/home/u/shop", "trunk", "2.1.197")
    assert (found.commit, found.repository, found.resumed_from) == (None, None, None)


@pytest.mark.parametrize(
    ("records", "title"),
    [
        ([{"type": "summary", "summary": "Sum", "leafUuid": "u-1"}], "Sum"),
        ([{"type": "summary", "summary": "Of another session", "leafUuid": "x"}], None),
        ([{"type": "agent-name", "agentName": "bee", "sessionId": "s-1"}], "bee"),
        (
            [
                {"type": "custom-title", "customTitle": "Mine", "sessionId": "s-1"},
                {"type": "ai-title", "aiTitle": "AI", "sessionId": "s-1"},
            ],
            "Mine",
        ),
        ([{"type": "ai-title", "aiTitle": "AI", "sessionId": "s-2"}], None),
        ([{"type": "ai-title", "aiTitle": ["AI"], "sessionId": "s-1"}], None),
        (
            [
                {"type": "ai-title", "aiTitle": "First", "sessionId": "s-1"},
                {"type": "ai-title", "aiTitle": "Second", "sessionId": "s-1"},
            ],
            "Second",
        ),
    ],
)
def test_the_title_of_a_session(tmp_path: Path, records: list[Json], title: str | None) -> None:
    assert session(tmp_path, said("hello"), *records).activity.title == title


@pytest.mark.parametrize(
    ("content", "fields", "kind"),
    [
        ("hello", {}, "user"),
        ("hello", {"isMeta": True}, "note"),
        ("This session is being continued", {"isCompactSummary": True}, "note"),
        ("<local-command-stdout>ok</local-command-stdout>", {}, "note"),
        ("<command-name>/exit</command-name>", {}, "note"),  # no model is asked
        ("<command-message>init</command-message><command-name>/init</command-name>", {}, "user"),
        ("<bash-input>ls</bash-input>", {}, "note"),
        ("[Request interrupted by user]", {}, "interruption"),
        ([text("[Request interrupted by user for tool use]")], {}, "interruption"),
        ("<task-notification>x</task-notification>", {}, "note"),
    ],
)
def test_what_is_said_in_the_name_of_the_user(
    tmp_path: Path, content: object, fields: Json, kind: str
) -> None:
    (step,) = session(tmp_path, said(content, **fields)).steps()
    assert step[0] == kind


def test_a_session_that_the_user_left_is_completed(tmp_path: Path) -> None:
    leave = said("<command-name>/exit</command-name>", "u-2", timestamp="2026-11-02T10:00:09Z")
    assert session(tmp_path, said("go"), reply(text("Done.")), leave).agent().final_status == "completed"


def test_an_interruption_ends_the_work_unless_it_goes_on(tmp_path: Path) -> None:
    stopped = [said("go"), said("[Request interrupted by user]", "u-2", time="2026-11-02T10:00:01Z")]
    assert session(tmp_path / "a", *stopped).agent().final_status == "terminated"
    later = reply(text("Done."), time="2026-11-02T10:00:02Z")
    assert session(tmp_path / "b", *stopped, later).agent().final_status == "completed"


@pytest.mark.parametrize(
    ("stop", "content", "status"),
    [
        ("end_turn", text("Done."), "completed"),
        ("stop_sequence", text("Done."), "completed"),
        (None, text("Done."), "completed"),  # older versions write no stop reason
        ("max_tokens", text("Don"), "terminated"),
        ("tool_use", used("Bash"), "terminated"),
        (None, used("Bash"), "terminated"),
        ("refusal", text("No."), "error"),
    ],
)
def test_how_an_agent_ended(tmp_path: Path, stop: str | None, content: Json, status: str) -> None:
    assert session(tmp_path, said("go"), reply(content, stop=stop)).agent().final_status == status


def test_a_refusal_is_one_error(tmp_path: Path) -> None:
    blocks = [reply(text(word), uuid=word, stop="refusal") for word in ("I", "will", "not")]
    agent = session(tmp_path, *blocks).agent()
    assert agent.errors == [AgentError(START_MS, "[stopped: refusal]", "refusal")]


def test_a_tool_that_failed(tmp_path: Path) -> None:
    found = session(
        tmp_path,
        reply(used("Bash", command="false"), stop="tool_use"),
        said([result("Exit code 1", is_error=True)], toolUseResult="Error: Exit code 1"),
    )
    assert [(entry.kind, entry.is_error) for entry in found.entries] == [
        ("tool use", False),
        ("tool result", True),
    ]
    assert found.agent().failed_tool_uses == {"Bash": 1}


def test_blocks_that_are_no_text_are_named(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    found = session(
        tmp_path,
        said([text("Look:"), image]),
        reply(used("Read"), stop="tool_use"),
        said([result([image, text("and more"), {"type": "tool_reference"}])], "u-2"),
        reply({"type": "redacted_thinking", "data": "abc"}, {"type": "new_block"}, uuid="r-2"),
    )
    assert found.steps() == [
        ("user", "Look:"),
        ("user", "[image: image/png]"),
        ("tool use", "{}"),
        ("tool result", "[image: image/png]\nand more\n[tool_reference]"),
        ("assistant", "[new_block]"),
    ]


def test_tools_of_the_vendor(tmp_path: Path) -> None:
    search = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}}
    answer = {
        "type": "web_search_tool_result",
        "tool_use_id": "srv_1",
        "content": [{"type": "web_search_result"}],
    }
    found = session(tmp_path, reply(search, answer, text("Found.")))
    assert found.agent().tool_uses == {"web_search": 1}
    assert [kind for kind, _ in found.steps()] == ["tool use", "tool result", "assistant"]


# Errors


@pytest.mark.parametrize(
    ("fields", "category"),
    [
        ({"error": "rate_limit", "apiErrorStatus": 429}, "rate_limit"),
        ({"error": "authentication_failed"}, "authentication"),
        ({"error": "unknown", "apiErrorStatus": 529}, "rate_limit"),
        ({"error": "unknown", "apiErrorStatus": 400}, None),
        ({"error": {"x": 1}, "apiErrorStatus": [429]}, None),
        ({}, None),
    ],
)
def test_a_call_that_failed_for_good(tmp_path: Path, fields: Json, category: str | None) -> None:
    failed = reply(
        text("You've hit your session limit"), model="<synthetic>", isApiErrorMessage=True, **fields
    )
    found = session(tmp_path, said("go"), failed)
    assert found.steps()[1:] == [("error", "You've hit your session limit")]
    assert found.agent().errors == [AgentError(START_MS, "You've hit your session limit", category)]
    assert found.agent().final_status == "error"


def test_a_message_that_the_tool_made_up_is_a_note(tmp_path: Path) -> None:
    made = reply(text("No response requested."), model="<synthetic>", isApiErrorMessage=False)
    assert session(tmp_path, said("go"), made).steps()[1:] == [("note", "No response requested.")]


@pytest.mark.parametrize(
    ("error", "message", "category"),
    [
        ({"status": 529, "message": "overloaded"}, "API error 529 overloaded", "rate_limit"),
        (
            {"status": 503, "error": {"error": {"type": "x", "message": "try later"}}},
            "API error 503 try later",
            None,
        ),
        ({"cause": {"code": "FailedToOpenSocket"}}, "API error FailedToOpenSocket", None),
        ("gone", "API error gone", None),
        (None, "API error", None),
        ({"status": "x", "error": [1]}, "API error", None),
    ],
)
def test_a_call_that_failed_and_was_tried_again(
    tmp_path: Path, error: object, message: str, category: str | None
) -> None:
    failed = record("system", "x-1", subtype="api_error", error=error, retryAttempt=1, maxRetries=10)
    found = session(tmp_path, said("go"), failed, reply(text("Done.")))
    assert found.steps()[1] == ("note", f"[{message} (attempt 1 of 10)]")
    assert found.agent().errors == [AgentError(START_MS, message, category, is_retried=True)]
    assert found.agent().final_status == "completed"


def test_compaction_is_a_note(tmp_path: Path) -> None:
    facts = {"trigger": "auto", "preTokens": 171705}
    found = session(
        tmp_path,
        said("go"),
        record("system", "x-1", subtype="compact_boundary", compactMetadata=facts),
        record("system", "x-2", subtype="compact_boundary", compactMetadata={"preTokens": "many"}),
        record("system", "x-3", subtype="turn_duration", durationMs=12),
        record("system", "x-4", subtype="informational", content="Usage limit reached"),
        record("system", "x-5", subtype=["?"], content={"a": 1}),
    )
    assert found.steps()[1:] == [
        ("note", "[conversation compacted: auto, 171,705 tokens before]"),
        ("note", "[conversation compacted: unknown trigger]"),
        ("note", "Usage limit reached"),
    ]


def test_a_prompt_that_was_typed_while_the_agent_worked(tmp_path: Path) -> None:
    queued = {"type": "queued_command", "prompt": "also push it", "commandMode": "prompt"}
    notice = {"type": "queued_command", "prompt": "Ready.", "commandMode": "task-notification"}
    found = session(
        tmp_path,
        record("attachment", "x-1", attachment=queued),
        record("attachment", "x-3", attachment=notice),
        record("attachment", "x-2", attachment={"type": "skill_listing", "content": "many"}),
        {"type": "queue-operation", "operation": "enqueue", "content": "also push it", "sessionId": "s-1"},
    )
    assert found.steps() == [("user", "also push it"), ("note", "Ready.")]


# Copies


def fork_records(fork: str) -> list[Json]:
    old = "2026-11-02T09:00:00Z"
    copied = [
        said("First.", "u-0", time=old, timestamp=old, sessionId=fork),
        reply(text("Hello."), uuid="r-0", call="msg_0", time=old, sessionId=fork),
    ]
    own = [
        said("Second.", "u-9", sessionId=fork),
        reply(text("Again."), uuid="r-9", call="msg_9", sessionId=fork),
    ]
    return [*copied, *own]


def test_the_history_that_a_fork_copied_is_not_its_own(tmp_path: Path) -> None:
    began = {"type": "queue-operation", "timestamp": "2026-11-02T09:59:59Z", "sessionId": "s-1"}
    found = session(tmp_path, {"type": "mode", "sessionId": "s-1"}, began, *fork_records("s-1"))
    assert found.steps() == [
        ("note", "[2 records of another session before]"),
        ("user", "Second."),
        ("assistant", "Again."),
    ]
    assert found.agent().started == START_MS


def test_a_branch_names_the_session_that_it_was_made_from(tmp_path: Path) -> None:
    copied = [
        each | {"forkedFrom": {"sessionId": "s-0", "messageUuid": each["uuid"]}}
        for each in fork_records("s-1")[:2]
    ]
    found = session(tmp_path, *copied, *fork_records("s-1")[2:])
    assert found.activity.resumed_from == "s-0"
    assert found.steps() == [
        ("note", "[2 records of s-0 before]"),
        ("user", "Second."),
        ("assistant", "Again."),
    ]


def test_a_first_prompt_that_is_a_little_older_than_its_file_is_no_copy(tmp_path: Path) -> None:
    """Records are not in the order of their times."""
    began = {"type": "queue-operation", "timestamp": "2026-11-02T10:00:00.050Z", "sessionId": "s-1"}
    later = reply(text("Done."), time="2026-11-02T10:00:01Z")
    assert session(tmp_path, began, said("Go."), later).steps() == [("user", "Go."), ("assistant", "Done.")]


def test_records_that_are_not_in_order_are_all_read(tmp_path: Path) -> None:
    times = [f"2026-11-02T10:00:0{second}Z" for second in (5, 3, 9, 1)]
    found = session(tmp_path, *(said(time, f"u-{time}", time=time, timestamp=time) for time in times))
    assert [words for _, words in found.steps()] == times
    agent = found.agent()
    assert (agent.ended - agent.started, agent.started - START_MS) == (8000, 1000)


def test_parents_that_are_not_there_cost_nothing(tmp_path: Path) -> None:
    found = session(
        tmp_path, said("a", parentUuid="gone"), said("b", "u-2", parentUuid=7, logicalParentUuid=[])
    )
    assert [words for _, words in found.steps()] == ["a", "b"]


def test_a_resumed_session_goes_on_in_the_same_file(tmp_path: Path) -> None:
    later = "2026-11-09T10:00:00Z"
    found = session(tmp_path, said("one"), said("two", "u-2", timestamp=later, version="2.2.0"))
    assert [words for _, words in found.steps()] == ["one", "two"]
    assert (found.activity.resumed_from, found.activity.tool_version) == (None, "2.2.0")


def test_two_files_of_one_session_are_read_once(tmp_path: Path) -> None:
    """Somebody kept a copy of the file, and the session went on."""
    records = [said("one", "u-1"), said("two", "u-2"), said("three", "u-3")]
    claude(tmp_path, *records)
    claude(tmp_path, *records[:2], name="s-1 before.jsonl")
    (found,) = read_sessions(TOOL, tmp_path).values()
    assert [os.path.basename(path) for path in found.files.paths] == ["s-1.jsonl", "s-1 before.jsonl"]
    assert [words for _, words in found.steps()] == ["one", "two", "three"]


# Bad input


def test_bad_lines_cost_no_other_line(tmp_path: Path) -> None:
    path = claude(
        tmp_path,
        b"\xef\xbb\xbf" + json.dumps(said("with a mark", "u-0")).encode(),
        b"not json",
        said("one", "u-1"),
        b"[1]",
        b"",
        b"{}",
        b'{"type": {"a": 1}, "uuid": []}',
        b'{"type": "user"}',
        b'{"type": "user", "message": 7, "uuid": {}, "timestamp": [], "sessionId": 7}',
        b'{"type": "assistant", "message": {"content": {"a": 1}, "stop_reason": [], "model": {}}}',
        b'{"type": "brand-new", "content": "x"}',
        b'{"type":"user","uuid":"u-s","message":{"content":"a lone \\ud800 one"}}',
        b'{"type":"user","uuid":"u-b","message":{"content":"not UTF-8: \xff"}}',
    )
    path.write_bytes(path.read_bytes() + json.dumps(said("cut off", "u-9")).encode()[:-20])
    (found,) = read_sessions(TOOL, tmp_path).values()
    assert [words for _, words in found.steps()] == ["with a mark", "one", "a lone ? one", "not UTF-8: ?"]
    assert [(line, reason.partition(":")[0]) for _, line, reason in found.unread] == [
        (2, "not JSON"),
        (4, "not a JSON object"),
        (14, "the line is cut off"),
    ]


@pytest.mark.parametrize(
    "value", [None, 7, 1.5, True, [], [7], {}, {"a": {}}, "x", "../../etc", "\x00"], ids=str
)
@pytest.mark.parametrize(
    "field",
    [
        *(
            "agentId",
            "attachment",
            "attributionAgent",
            "compactMetadata",
            "cwd",
            "data",
            "error",
            "forkedFrom",
        ),
        *(
            "gitBranch",
            "isApiErrorMessage",
            "isMeta",
            "isSidechain",
            "message",
            "parentToolUseID",
            "requestId",
        ),
        *("sessionId", "subtype", "teamName", "timestamp", "toolUseResult", "uuid", "version", "content"),
    ],
)
def test_a_field_may_be_of_any_type(tmp_path: Path, field: str, value: object) -> None:
    records = [
        said([result("x"), text("y")], toolUseResult={"agentId": "a7"}),
        reply(used("Agent"), text("z")),
        record("system", "x-1", subtype="api_error", error={"status": 500}),
        record("progress", "x-2", data={"agentId": "a8", "message": said("w", "u-8")}),
        record("attachment", "x-3", attachment={"type": "queued_command", "prompt": "v"}),
    ]
    claude(tmp_path, *(each | {field: value} for each in records), said("last", "u-9"))
    assert any(("user", "last") in found.steps() for found in read_sessions(TOOL, tmp_path).values())


@pytest.mark.parametrize("value", [None, 7, True, [], [7, None], {}, {"a": 1}, "x"], ids=str)
@pytest.mark.parametrize(
    "field", ["type", "text", "id", "name", "input", "content", "tool_use_id", "thinking"]
)
def test_a_field_of_a_block_may_be_of_any_type(tmp_path: Path, field: str, value: object) -> None:
    blocks = [text("a"), used("Agent"), result("b"), {"type": "thinking", "thinking": "c"}]
    changed = [block | {field: value} for block in blocks]
    found = session(tmp_path, said(changed), reply(*changed), said("last", "u-9"))
    assert ("user", "last") in found.steps()
    assert all(isinstance(entry.text, str) for entry in found.entries)


def test_a_line_that_is_too_long_is_named(tmp_path: Path) -> None:
    long = json.dumps(said("x" * LONGEST, "u-2")).encode()
    found = session(tmp_path, said("one"), long, said("two", "u-3"))
    assert found.steps() == [
        ("user", "one"),
        ("note", "[a line that is too long was left out]"),
        ("user", "two"),
    ]
    assert [(part.line, part.reason) for part in found.unread] == [(2, "the line is too long")]


def test_a_large_record_is_read_whole(tmp_path: Path) -> None:
    (step,) = session(tmp_path, said("y" * (LONGEST // 2))).steps()
    assert len(step[1]) == LONGEST // 2


def test_a_file_that_is_gone_or_no_file_is_named(tmp_path: Path) -> None:
    path = claude(tmp_path, said("one"))
    fifo = tmp_path / "s-2.jsonl"
    os.mkfifo(fifo)
    found = read_session(SessionFiles(TOOL, "s-1", (str(tmp_path / "no"), str(fifo), str(path)), 0))
    assert found.steps() == [("user", "one")]
    assert [os.path.basename(part.path) for part in found.unread] == ["no", "s-2.jsonl"]


def test_steps_without_a_time(tmp_path: Path) -> None:
    (entry,) = session(tmp_path, user("hello")).entries
    assert (entry.time, entry.agent) == (NO_TIME, MAIN)


# Memory

_PEAK = """
import sys
from resource import RUSAGE_SELF, getrusage
from runcard.transcripts.activity import SessionActivity, SessionFiles
from runcard.transcripts.claude_code import read_activity

activity = SessionActivity("claude-code", "s-1", lambda entry: None)
before = getrusage(RUSAGE_SELF).ru_maxrss
read_activity(SessionFiles("claude-code", "s-1", (sys.argv[1],), 0), activity)
print(activity.agents["main"].tool_uses["Bash"], getrusage(RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.long
def test_a_large_file_is_read_in_flat_memory(tmp_path: Path) -> None:
    pattern = lines(
        [
            said("x" * 900, "u-N"),
            reply(used("Bash", command="y" * 900), uuid="r-N", call="msg_N", stop="tool_use"),
        ]
    )
    path = tmp_path / "s-1.jsonl"
    with open(path, "wb") as file:
        file.writelines(pattern.replace(b"-N", b"-%d" % number) for number in range(25_000))
    done = subprocess.run([sys.executable, "-c", _PEAK, path], capture_output=True, check=True)
    count, grown = map(int, done.stdout.split())
    assert (count, path.stat().st_size > 50 << 20) == (25_000, True)
    assert grown < 30 << 10  # KiB: the ids of records, and the times of replies
