"""What the agents of Codex said and did: steps that are in a file twice, turns, errors, older formats, bad input."""

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
from transcripts.session_files import (
    Json,
    calls,
    event,
    lines,
    meta,
    read,
    rollout,
    token_counts,
    turn,
    write,
)
from zstd_of_python import zstd

TOOL = "codex"
FIRST, SECOND = token_counts(100, 10), token_counts(300, 30)


def at(second: float) -> str:
    return f"2026-11-02T10:00:{second:06.3f}Z"


def item(kind: str, second: float = 1, **fields: Any) -> Json:
    return rollout("response_item", {"type": kind, **fields}, at(second))


def message(role: str, text: str, second: float = 1, **fields: Any) -> Json:
    part = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
    return item("message", second, role=role, content=[part], **fields)


def screen(kind: str, second: float = 1, **fields: Any) -> Json:
    """An event."""
    return rollout("event_msg", {"type": kind, **fields}, at(second))


def completed(kind: str, second: float = 1, thread: str = "t-1", **fields: Any) -> Json:
    return screen("item_completed", second, thread_id=thread, item={"type": kind, **fields})


def usage(response: str, second: float = 1) -> Json:
    payload = {"thread_id": "t-1", "session_id": "t-1", "response_id": response, "usage": FIRST}
    return rollout("token_usage_record", payload, at(second))


def call(command: str = "ls", use_id: str = "c-1", second: float = 1, name: str = "shell") -> Json:
    return item(
        "function_call", second, name=name, call_id=use_id, arguments=json.dumps({"command": command})
    )


def output(text: object, use_id: str = "c-1", second: float = 1) -> Json:
    return item("function_call_output", second, call_id=use_id, output=text)


def path_of(folder: Path, name: str = "t-1") -> Path:
    return folder / "sessions/2026/11/02" / f"rollout-2026-11-02T10-00-00-{name}.jsonl"


def session(folder: Path, *records: Json | bytes) -> ReadSession:
    write(path_of(folder), *records)
    (found,) = read_sessions(TOOL, folder).values()
    return found


def test_the_steps_of_an_agent_with_what_joins_them(tmp_path: Path) -> None:
    found = session(
        tmp_path,
        meta(),
        message("user", "List the files.", 1),
        item("reasoning", 2, summary=[{"type": "summary_text", "text": "Use ls."}], encrypted_content="x"),
        call("ls", second=3),
        usage("resp_1", 3),
        output("a.txt", second=4),
        message("assistant", "One file.", 6),
        usage("resp_2", 6),
    )
    assert found.steps() == [
        ("user", "List the files."),
        ("thinking", "Use ls."),
        ("tool use", '{"command": "ls"}'),
        ("tool result", "a.txt"),
        ("assistant", "One file."),
    ]
    assert [entry.call for entry in found.entries] == [None, "resp_1", "resp_1", None, "resp_2"]
    assert {(entry.name, entry.use_id) for entry in found.entries[2:4]} == {("shell", "c-1")}
    agent = found.agent()
    assert (agent.final_status, dict(agent.tool_uses)) == ("completed", {"shell": 1})
    assert (agent.started, agent.ended) == (milliseconds(at(0)), milliseconds(at(6)))
    assert agent.replies.seconds() == [2, 2]


def test_facts_about_the_session(tmp_path: Path) -> None:
    git = {"commit_hash": "0f" * 20, "branch": "main", "repository_url": "https://example.org/shop.git"}
    found = session(
        tmp_path, meta(git=git, cli_version="0.166.0", forked_from_id="t-0"), message("user", "x")
    )
    activity = found.activity
    assert (activity.folder, found.files.folder) == ("/home/u/shop", "/home/u/shop")
    assert (activity.commit, activity.branch, activity.repository) == tuple(git.values())
    assert (activity.tool_version, activity.resumed_from) == ("0.166.0", "t-0")
    assert activity.owners == {found.files.paths[0]: MAIN}


SAID_TWICE = [
    [screen("user_message", message="Go."), message("user", "Go.")],
    [message("user", "Go."), screen("user_message", message="Go.")],
    [message("user", "Go."), completed("UserMessage", content=[{"type": "text", "text": "Go."}])],
    [
        screen("user_message", message="Go."),
        completed("UserMessage", content=[{"type": "text", "text": "Go."}]),
        message("user", "Go."),
    ],
    [screen("user_message", message="Go.")],
    [message("user", "Go.")],
]


@pytest.mark.parametrize("records", SAID_TWICE)
def test_a_step_is_shown_once_whatever_records_have_it(tmp_path: Path, records: list[Json]) -> None:
    found = session(tmp_path, meta(), *records, *records)
    assert found.steps() == [("user", "Go."), ("user", "Go.")]


def test_replies_and_thoughts_are_shown_once(tmp_path: Path) -> None:
    found = session(
        tmp_path,
        meta(),
        screen("agent_reasoning", text="Hm."),
        item("reasoning", summary=[{"type": "summary_text", "text": "Hm."}], content=None),
        completed("Reasoning", summary_text=["Hm."], raw_content=[]),
        screen("agent_message", message="Done."),
        message("assistant", "Done."),
        completed("AgentMessage", content=[{"type": "Text", "text": "Done."}]),
        screen("task_complete", last_agent_message="Done."),
    )
    assert found.steps() == [("thinking", "Hm."), ("assistant", "Done.")]


def test_an_image_is_named_and_costs_no_second_step(tmp_path: Path) -> None:
    parts = [
        {"type": "input_text", "text": "<image name=[Image #1]>"},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
        {"type": "input_text", "text": "</image>"},
        {"type": "input_text", "text": "Look."},
    ]
    records = [
        item("message", role="user", content=parts),
        screen("user_message", message="Look.", images=["x"]),
    ]
    assert session(tmp_path, meta(), *records).steps() == [("user", "[image]\nLook.")]


@pytest.mark.parametrize(
    "text",
    [
        "<environment_context>\n<cwd>/x</cwd></environment_context>",
        "<user_instructions>\nBe brief.",
        "# AGENTS.md instructions for /home/u/shop\n",
    ],
)
def test_what_codex_says_in_the_name_of_the_user_is_a_note(tmp_path: Path, text: str) -> None:
    found = session(tmp_path, meta(), message("user", text), message("developer", "y" * 500))
    assert [kind for kind, _ in found.steps()] == ["note", "note"]
    assert found.steps()[1][1].endswith("… (500 characters)")
    assert found.agent().final_status == "terminated"


def test_newer_versions_say_who_wrote_a_message(tmp_path: Path) -> None:
    texts = {"user.text": "<environment_context> what is this?", "host_skills.instructions": "Be brief."}
    records = [message("user", text) for text in texts.values()]
    for record, kind in zip(records, texts, strict=True):
        record["payload"]["internal_chat_message_metadata_passthrough"] = {"content_item_kinds": [kind]}
    assert [kind for kind, _ in session(tmp_path, meta(), *records).steps()] == ["user", "note"]


def test_tools_of_every_kind(tmp_path: Path) -> None:
    found = session(
        tmp_path,
        meta(),
        item("custom_tool_call", name="apply_patch", call_id="c-1", input="*** Begin Patch"),
        item("custom_tool_call_output", call_id="c-1", output=[{"type": "input_text", "text": "ok"}]),
        item("local_shell_call", call_id="c-2", action={"type": "exec", "command": ["ls"]}),
        item("web_search_call", id="ws_1", action={"type": "search", "query": "runcard"}),
        item("function_call", name="search", namespace="mcp__docs", call_id="c-3", arguments="{}"),
        item("image_generation_call", id="ig_1", revised_prompt="a fox", result="AAAA"),
    )
    assert found.steps() == [
        ("tool use", "*** Begin Patch"),
        ("tool result", "ok"),
        ("tool use", '{"type":"exec","command":["ls"]}'),
        ("tool use", '{"type":"search","query":"runcard"}'),
        ("tool use", "{}"),
        ("tool use", "a fox"),
    ]
    names = ["apply_patch", "local_shell", "web_search", "mcp__docs.search", "image_generation"]
    assert list(found.agent().tool_uses) == names


@pytest.mark.parametrize(
    "result",
    [
        '{"output":"no such file\\n","metadata":{"exit_code":1,"duration_seconds":0.1}}',
        {"content": "no such file\n", "success": False},
        "Exit code: 1\nWall time: 0.1 seconds\nOutput:\nno such file\n",
        "Chunk ID: 1\nWall time: 0.0 seconds\nProcess exited with code 1\nOutput:\nno such file\n",
    ],
)
def test_a_tool_that_failed(tmp_path: Path, result: object) -> None:
    found = session(
        tmp_path, meta(), call(), output(result), call("pwd", "c-2"), output("Exit code: 0\n/", "c-2")
    )
    results = [entry for entry in found.entries if entry.kind == "tool result"]
    assert [entry.is_error for entry in results] == [True, False]
    assert "no such file" in results[0].text
    assert dict(found.agent().failed_tool_uses) == {"shell": 1}


@pytest.mark.parametrize(
    "failure",
    [
        screen("exec_command_end", call_id="c-1", exit_code=2, aggregated_output="no"),
        screen("patch_apply_end", call_id="c-1", success=False),
        screen("mcp_tool_call_end", call_id="c-1", result={"Err": "no"}),
        completed("CommandExecution", id="c-1", status="failed", exit_code=2),
        completed("FileChange", id="c-1", status="declined"),
    ],
)
def test_a_failure_that_only_an_event_states(tmp_path: Path, failure: Json) -> None:
    found = session(tmp_path, meta(), call(), failure, output("no"), call("pwd", "c-2"), output("/", "c-2"))
    assert [entry.is_error for entry in found.entries] == [False, True, False, False]


# How a turn ends


def test_an_interrupted_turn(tmp_path: Path) -> None:
    aborted = [
        screen("task_started", turn_id="a"),
        message("user", "Go."),
        message(
            "user", "<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>", 2
        ),
        screen("turn_aborted", 2, turn_id="a", reason="interrupted"),
        screen("task_complete", 2, turn_id="a", last_agent_message=None),
    ]
    found = session(tmp_path, meta(), *aborted)
    assert found.steps() == [("user", "Go."), ("interruption", "Turn aborted: interrupted")]
    assert found.agent().final_status == "terminated"
    more = [screen("task_started", 3), message("user", "Go on.", 3), message("assistant", "Done.", 4)]
    found = session(tmp_path, meta(), *aborted, *more, screen("task_complete", 4))
    assert found.agent().final_status == "completed"


@pytest.mark.parametrize(
    ("info", "text", "category"),
    [
        ("usage_limit_exceeded", "You have hit your limit.", "rate_limit"),
        ("context_window_exceeded", "Start a new thread.", "context_length"),
        ({"http_connection_failed": {"http_status_code": 401}}, "No.", "authentication"),
        ({"response_stream_disconnected": {"http_status_code": None}}, "No.", "network"),
        ("other", "exceeded retry limit, last status: 429 Too Many Requests", "rate_limit"),
        (None, "something", "other"),
    ],
)
def test_a_turn_that_failed(tmp_path: Path, info: object, text: str, category: str) -> None:
    error = {"message": text, "codex_error_info": info}
    records = [screen("error", 2, **error), screen("task_complete", 2, error=error, last_agent_message=None)]
    found = session(tmp_path, meta(), message("user", "Go."), *records)
    agent = found.agent()
    assert (found.steps()[1:], agent.final_status) == ([("error", text)], "error")
    assert dict(agent.error_categories) == {category: 1}


def test_a_call_that_was_tried_again(tmp_path: Path) -> None:
    found = session(
        tmp_path, meta(), screen("stream_error", 2, message="stream disconnected"), message("assistant", "x")
    )
    (error,) = found.agent().errors
    assert (error.message, error.is_retried) == ("stream disconnected", True)
    assert found.steps() == [("note", "stream disconnected"), ("assistant", "x")]


def test_a_turn_without_an_end_is_no_success(tmp_path: Path) -> None:
    found = session(tmp_path, meta(), screen("task_started"), message("user", "Go."), call())
    assert found.agent().final_status == "terminated"


def test_commentary_is_not_the_end(tmp_path: Path) -> None:
    found = session(tmp_path, meta(), message("assistant", "Let me look.", phase="commentary"))
    assert found.agent().final_status == "terminated"


def test_notes(tmp_path: Path) -> None:
    found = session(
        tmp_path,
        meta(),
        turn("gpt-5"),
        turn("gpt-5"),
        turn("gpt-5-mini"),
        rollout("compacted", {"message": "a summary", "replacement_history": []}, at(2)),
        screen("context_compacted", 2),
        screen("thread_rolled_back", 3, num_turns=1),
        screen("thread_name_updated", 3, thread_name="My work"),
    )
    assert found.steps() == [
        ("note", "Model: gpt-5"),
        ("note", "Model: gpt-5-mini"),
        ("note", "The conversation was compacted."),
        ("note", "Turns taken back: 1"),
    ]
    assert found.activity.title == "My work"


def test_the_title_is_in_an_index_beside_the_sessions(tmp_path: Path) -> None:
    names = [{"id": "t-1", "thread_name": "Old"}, {"id": "t-1", "thread_name": "New"}, {"id": "t-2"}]
    write(tmp_path / "session_index.jsonl", b"{", *names)
    assert session(tmp_path, meta(), message("user", "x")).activity.title == "New"


# Response times


def test_a_reply_without_a_usage_is_not_measured(tmp_path: Path) -> None:
    """It was interrupted, or Codex wrote it: it is no call."""
    found = session(
        tmp_path,
        meta(),
        message("user", "One.", 1),
        message("assistant", "1", 3),
        usage("resp_1", 3),
        message("user", "Two.", 4),
        screen("turn_aborted", 5, reason="interrupted"),
        message("assistant", "The review of another agent.", 9),
    )
    assert [entry.call for entry in found.entries if entry.kind == "assistant"] == ["resp_1", None]
    assert found.agent().replies.seconds() == [2]


def test_the_reply_after_a_compaction_is_not_measured(tmp_path: Path) -> None:
    """The call that made the summary is in no step, or in one of its own."""
    summary = [message("assistant", "A summary.", 5), usage("resp_2", 5)]
    compacted = rollout("compacted", {"message": "A summary."}, at(5))
    for made in ([], summary):
        records = [
            output("a.txt", second=4),
            *made,
            compacted,
            message("assistant", "Done.", 9),
            usage("resp_3", 9),
        ]
        found = session(
            tmp_path, meta(), message("user", "Go.", 1), call(second=3), usage("resp_1", 3), *records
        )
        assert found.agent().replies.seconds() == ([2, 1] if made else [2])


def test_a_reply_whose_usage_is_not_stated_is_a_call_all_the_same(tmp_path: Path) -> None:
    """So what the agent used is unknown, and not nothing. Codex itself writes the reply of a review."""
    ended = [completed("EnteredReviewMode"), completed("ExitedReviewMode", second=2)]
    found = session(tmp_path, meta(), *ended, message("assistant", "A review.", 2))
    assert found.steps() == [("note", "Review begins."), ("note", "Review ends."), ("assistant", "A review.")]
    assert not found.agent().has_called
    found = session(
        tmp_path, meta(), *ended, message("assistant", "A review.", 2), message("assistant", "More.", 3)
    )
    assert found.agent().has_called


@pytest.mark.parametrize("place", ["before", "within", "after"])
def test_the_usage_of_older_versions_may_be_anywhere_in_a_reply(tmp_path: Path, place: str) -> None:
    records: list[Json] = [meta(), message("user", "One.", 1)]
    for number, total in enumerate((FIRST, SECOND), 1):
        reply = [
            screen("agent_reasoning", 3 * number, text=f"{number}"),
            call(use_id=f"c-{number}", second=3 * number),
        ]
        reply.insert({"before": 0, "within": 1, "after": 2}[place], event(total, FIRST, at(3 * number)))
        records += [*reply, event(total, FIRST, at(3 * number)), output("x", f"c-{number}", 3 * number + 1)]
    found = session(tmp_path, *records)
    uses = [entry.call for entry in found.entries if entry.kind in {"thinking", "tool use"}]
    assert uses == ["t-1:1", "t-1:1", "t-1:2", "t-1:2"]
    assert found.agent().replies.seconds() == [2, 2]


def test_steps_that_were_written_at_once_are_not_measured(tmp_path: Path) -> None:
    """Which input a reply answers is not known then."""
    records = [
        call(use_id="c-1"),
        output("x", "c-1"),
        call(use_id="c-2"),
        output("x", "c-2"),
        event(FIRST, FIRST, at(1)),
    ]
    assert session(tmp_path, meta(), *records).agent().replies.seconds() == []


# Older formats

ITEMS: list[Json] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
    {"type": "function_call", "name": "shell", "call_id": "c-1", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c-1", "output": '{"output":"x","metadata":{"exit_code":0}}'},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
]
STEPS = [
    ("user", "Go."),
    ("thinking", "Hm."),
    ("tool use", "{}"),
    ("tool result", "x"),
    ("assistant", "Done."),
]
GIT = {"commit_hash": "0f", "branch": "main", "repository_url": "https://example.org/shop.git"}


def test_lines_without_an_envelope(tmp_path: Path) -> None:
    header = {
        "id": "t-1",
        "timestamp": at(0),
        "instructions": None,
        "git": GIT,
        "cwd": "/w",
        "cli_version": "0.2",
    }
    state = {"record_type": "state"}
    found = session(tmp_path, header, state, *ITEMS[:3], state, *ITEMS[3:])
    assert (found.steps(), found.agent().final_status) == (STEPS, "completed")
    assert {entry.time for entry in found.entries} == {NO_TIME}
    assert found.agent().started == milliseconds(at(0))
    activity = found.activity
    assert (activity.commit, activity.branch, activity.folder, activity.tool_version) == (
        "0f",
        "main",
        "/w",
        "0.2",
    )
    assert [part.reason for part in read(TOOL, tmp_path).unread] == ["an old format without token counts"]


def test_lines_without_an_envelope_may_have_times(tmp_path: Path) -> None:
    header = {"id": "t-1", "timestamp": at(0), "cwd": "/w"}
    found = session(
        tmp_path, header, *[part | {"timestamp": at(second)} for second, part in enumerate(ITEMS, 1)]
    )
    assert found.agent().ended == milliseconds(at(5))


def test_the_one_object_of_the_first_versions(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / "rollout-2025-04-20-t-1.json"
    document = {"session": {"id": "t-1", "timestamp": at(0), "instructions": ""}, "items": ITEMS}
    path.parent.mkdir()
    path.write_text("\ufeff" + json.dumps(document, indent=2))
    (found,) = read_sessions(TOOL, tmp_path).values()
    assert (found.files.session, found.steps(), found.unread) == ("t-1", STEPS, [])
    assert [part.reason for part in read(TOOL, tmp_path).unread] == ["an old format without token counts"]
    path.write_text(json.dumps(document)[:-9])
    found = read_session(found.files)
    assert (found.steps(), [part.reason for part in found.unread]) == ([], ["the line is cut off"])


# Bad input


def test_bad_lines_cost_no_other_line(tmp_path: Path) -> None:
    torn = json.dumps(message("assistant", "Done.")).encode()[:-20]
    bad = [b"{", b"[]", b"\xff\xfe", b"", b'{"type": "dream"}', b'{"type": [], "payload": 3}']
    data = b"\xef\xbb\xbf" + lines([meta(), *bad, message("user", "A \ud83d half.")]) + torn
    write(path_of(tmp_path)).write_bytes(data)
    (found,) = read_sessions(TOOL, tmp_path).values()
    assert found.activity.folder == "/home/u/shop"
    assert found.steps() == [("user", "A ? half.")]
    assert [part.line for part in found.unread] == [2, 3, 4, 9]
    assert dict(read(TOOL, tmp_path).unknown_types) == {"dream": 1, "a list": 1}


PAYLOADS: list[tuple[str, Json]] = [
    ("response_item", {"type": "message", "role": "user", "content": "x", "phase": "x"}),
    ("response_item", {"type": "reasoning", "summary": "x", "content": "x"}),
    ("response_item", {"type": "function_call", "name": "spawn_agent", "arguments": "{}", "call_id": "c"}),
    ("response_item", {"type": "function_call_output", "call_id": "c", "output": "x"}),
    ("response_item", {"type": "agent_message", "author": "x", "content": "x"}),
    ("event_msg", {"type": "user_message", "message": "x", "kind": "plain"}),
    ("event_msg", {"type": "error", "message": "x", "codex_error_info": "x", "additional_details": "x"}),
    ("event_msg", {"type": "turn_aborted", "reason": "x", "turn_id": "a"}),
    ("event_msg", {"type": "task_complete", "error": {}, "last_agent_message": "x", "turn_id": "a"}),
    ("event_msg", {"type": "token_count", "info": {"total_token_usage": {"input_tokens": []}}}),
    ("event_msg", {"type": "exec_command_end", "call_id": "c", "exit_code": 1, "status": "x", "result": {}}),
    ("event_msg", {"type": "collab_agent_spawn_end", "new_thread_id": "a", "prompt": "x"}),
    ("event_msg", {"type": "item_completed", "thread_id": "t-1", "item": {"type": "Plan", "text": 3}}),
    ("turn_context", {"model": "x", "cwd": "x"}),
    ("token_usage_record", {"response_id": "x", "session_id": "x", "usage": {}}),
    ("inter_agent_communication", {"author": "x", "recipient": "x", "content": "x"}),
    ("compacted", {"message": "x"}),
]


@pytest.mark.parametrize("value", [None, 7, "x", [], [3], {}, {"type": []}, True])
def test_a_field_may_be_of_any_type(tmp_path: Path, value: object) -> None:
    odd = [rollout(kind, payload | {name: value}) for kind, payload in PAYLOADS for name in payload]
    items = [
        {
            "type": name,
            "id": value,
            "tool": "spawn_agent",
            "receiver_agents": value,
            "agent_thread_id": value,
            "content": value,
            "status": value,
            "kind": value,
        }
        for name in ("AgentMessage", "CollabAgentToolCall")
    ]
    odd += [screen("item_completed", item=part) for part in items]
    odd.append({"timestamp": value, "type": "response_item", "payload": value})
    found = session(tmp_path, meta(), *odd, message("user", "The last step."))
    assert (found.steps()[-1], found.unread) == (("user", "The last step."), [])
    read(TOOL, tmp_path)


def test_a_line_that_is_too_long_is_named(tmp_path: Path) -> None:
    found = session(tmp_path, meta(), message("user", "x" * LONGEST), message("user", "two"))
    assert found.steps() == [("note", "[a line that is too long was left out]"), ("user", "two")]
    assert [(part.line, part.reason) for part in found.unread] == [(2, "the line is too long")]


def test_a_file_that_is_gone_or_no_file_is_named(tmp_path: Path) -> None:
    path = write(path_of(tmp_path), meta(), message("user", "one"))
    fifo = tmp_path / "t-2.jsonl"
    os.mkfifo(fifo)
    found = read_session(SessionFiles(TOOL, "t-1", (str(tmp_path / "no"), str(fifo), str(path)), 0))
    assert found.steps() == [("user", "one")]
    assert [os.path.basename(part.path) for part in found.unread] == ["no", "t-2.jsonl"]


def test_times_that_are_out_of_order_or_absent(tmp_path: Path) -> None:
    late = message("user", "late", 9)
    absent = message("assistant", "absent") | {"timestamp": None}
    found = session(tmp_path, meta(), late, absent, message("user", "early", 2))
    assert [entry.time for entry in found.entries] == [milliseconds(at(9)), NO_TIME, milliseconds(at(2))]
    assert (found.agent().started, found.agent().ended) == (milliseconds(at(0)), milliseconds(at(9)))


def test_a_compressed_file(tmp_path: Path) -> None:
    whole = lines([meta(), *[message("user", f"{number:05}" * 9) for number in range(5000)]])
    path = path_of(tmp_path).with_suffix(".jsonl.zst")
    path.parent.mkdir(parents=True)
    path.write_bytes(zstd.compress(whole))
    (found,) = read_sessions(TOOL, tmp_path).values()
    assert (len(found.entries), found.unread, found.files.session) == (5000, [], "t-1")
    path.write_bytes(path.read_bytes()[:-9])
    (found,) = read_sessions(TOOL, tmp_path).values()
    assert 0 < len(found.entries) < 5000
    assert found.unread[-1].reason == "the compressed file is cut off"


_PEAK = """
import sys
from resource import RUSAGE_SELF, getrusage
from runcard.transcripts.activity import SessionActivity, SessionFiles
from runcard.transcripts.codex import read_activity

activity = SessionActivity("codex", "t-1", lambda entry: None)
before = getrusage(RUSAGE_SELF).ru_maxrss
read_activity(SessionFiles("codex", "t-1", (sys.argv[1],), 0), activity)
print(activity.agents["main"].tool_uses["shell"], getrusage(RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.long
def test_a_large_file_is_read_in_flat_memory(tmp_path: Path) -> None:
    pattern = lines(
        [message("user", "x" * 900), call("y" * 900, "c-N"), usage("resp-N"), output("z" * 100, "c-N")]
    )
    path = tmp_path / "t-1.jsonl"
    with open(path, "wb") as file:
        file.write(lines([meta()]))
        file.writelines(pattern.replace(b"-N", b"-%d" % number) for number in range(20_000))
    done = subprocess.run([sys.executable, "-c", _PEAK, path], capture_output=True, check=True)
    count, grown = map(int, done.stdout.split())
    assert (count, path.stat().st_size > 40 << 20) == (20_000, True)
    assert grown < 20 << 10  # KiB: the times of replies


def test_every_call_is_of_an_agent_of_its_session(tmp_path: Path) -> None:
    write(
        path_of(tmp_path), meta(), turn(), message("user", "Go."), message("assistant", "x"), usage("resp_1")
    )
    (found,) = read_sessions(TOOL, tmp_path).values()
    (counted,) = calls(TOOL, tmp_path)
    assert counted.origin.session == found.files.session
    assert counted.origin.agent_id in found.activity.agents
