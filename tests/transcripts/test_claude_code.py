"""The files of Claude Code: every rule of counting, and every kind of bad line."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from runcard.transcripts import claude_code
from runcard.transcripts.calls import MAIN
from runcard.transcripts.reading import read_files
from runcard.transcripts.sources import find_files
from transcripts.session_files import OPUS, SONNET, assistant, calls, claude, read, sums, usage, user, write

TOOL = "claude-code"


def test_a_call_with_a_line_for_each_block_counts_once(tmp_path: Path) -> None:
    blocks = [assistant(content=[{"type": "text", "text": text}]) for text in ("a", "b", "c")]
    claude(tmp_path, user(), *blocks)
    assert sums(calls(TOOL, tmp_path)) == (1, 355, 20, 300, 40, 5, 0)


@pytest.mark.parametrize("order", [(1, 2, 400), (400, 2, 1), (2, 400, 1)])
def test_the_record_with_the_largest_usage_counts_wherever_it_stands(
    tmp_path: Path, order: tuple[int, ...]
) -> None:
    """The early lines of a streamed message hold a placeholder."""
    claude(tmp_path, *(assistant(counts=usage(output=output), stop=None) for output in order))
    (call,) = calls(TOOL, tmp_path)
    assert call.counts[1] == 400
    assert call.kind.source == "reported"


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("output", "stop", "block", "source"),
    [
        (2, None, text("Oh, no"), "partial"),
        (2, "end_turn", text("Oh, no"), "reported"),
        (3, None, text("Oh, no"), "reported"),
        (2, "end_turn", text("Oh, no, not"), "partial"),
        (3, "end_turn", text("Oh, no, not you again"), "reported"),
        (1, "end_turn", {"type": "thinking", "thinking": "I think"}, "partial"),
        (1, "tool_use", {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}, "partial"),
        (1, "end_turn", {"type": "server_tool_use", "id": "t", "name": "web_search", "input": {}}, "partial"),
        (1, "end_turn", 7, "reported"),
    ],
)
def test_a_call_that_only_began_is_partial(
    tmp_path: Path, output: int, stop: str | None, block: Any, source: str
) -> None:
    """Claude Code adds a stop reason to a message that was cut off: then its content needs more tokens than it has."""
    claude(tmp_path, assistant(counts=usage(output=output), stop=stop, content=[block]))
    (call,) = calls(TOOL, tmp_path)
    assert call.kind.source == source


def test_the_stop_reason_may_be_in_another_line_of_the_call(tmp_path: Path) -> None:
    stops = (None, "end_turn", None)
    records = [assistant(counts=usage(output=2), stop=stop, content=[text("OK.")]) for stop in stops]
    claude(tmp_path, *records)
    (call,) = calls(TOOL, tmp_path)
    assert call.kind.source == "reported"


def test_calls_differ_by_message_or_by_request(tmp_path: Path) -> None:
    claude(
        tmp_path,
        assistant("msg_1", request="req_1"),
        assistant("msg_1", request="req_2"),
        assistant("msg_2", request="req_2"),
    )
    assert len(calls(TOOL, tmp_path)) == 3


def test_synthetic_messages_and_api_errors_are_no_calls(tmp_path: Path) -> None:
    claude(
        tmp_path,
        assistant("msg_1", model="<synthetic>"),
        assistant("msg_2", isApiErrorMessage=True),
        assistant("msg_3", isApiErrorMessage=False),
    )
    assert len(calls(TOOL, tmp_path)) == 1


def test_a_call_in_two_files_counts_once_and_belongs_to_the_sub_agent(tmp_path: Path) -> None:
    claude(tmp_path, assistant("msg_1"), assistant("msg_2", isSidechain=True))
    folder = "s-1/subagents"
    claude(tmp_path, assistant("msg_2", isSidechain=True, agentId="a7"), name=f"{folder}/agent-a7.jsonl")
    write(tmp_path / "projects/-home-u-shop" / folder / "agent-a7.meta.json", {"agentType": "Explore"})
    found = calls(TOOL, tmp_path)
    assert sorted((str(call.origin.agent), call.origin.agent_id) for call in found) == [
        ("Explore", "a7"),
        (MAIN, MAIN),
    ]
    assert {call.origin.session for call in found} == {"s-1"}


def test_a_message_of_a_sub_agent_may_only_be_in_a_progress_line(tmp_path: Path) -> None:
    inner = assistant("msg_2")
    progress = {
        "type": "progress",
        "sessionId": "s-1",
        "data": {"type": "agent_progress", "agentId": "a7", "message": inner},
    }
    claude(tmp_path, assistant("msg_1"), progress)
    found = calls(TOOL, tmp_path)
    assert {call.origin.agent for call in found} == {call.origin.agent_id for call in found} == {MAIN, "a7"}
    claude(tmp_path, assistant("msg_2", isSidechain=True, agentId="a7"), name="agent-a7.jsonl")
    assert len(calls(TOOL, tmp_path)) == 2


def test_a_progress_line_without_a_request_id_is_the_call_with_the_same_message_id(tmp_path: Path) -> None:
    progress = {"type": "progress", "data": {"agentId": "a7", "message": assistant("msg_2", request=None)}}
    claude(tmp_path, progress, assistant("msg_2", request="req_9"))
    (call,) = calls(TOOL, tmp_path)
    assert call.origin.agent == "a7"


@pytest.mark.parametrize("fork", ["a-fork", "z-fork"])
def test_a_call_that_a_fork_copied_belongs_to_the_first_session(tmp_path: Path, fork: str) -> None:
    """A fork has the messages of the first session, under its own id and with the old times."""
    first, second = (
        assistant("msg_1", time="2026-11-02T10:00:00Z"),
        assistant("msg_2", time="2026-11-02T11:00:00Z"),
    )
    claude(tmp_path, first)
    begin = {"type": "queue-operation", "timestamp": "2026-11-02T10:59:59Z", "sessionId": fork}
    claude(tmp_path, begin, first | {"sessionId": fork}, second | {"sessionId": fork}, name=f"{fork}.jsonl")
    found = {(call.counts[0], call.origin.session) for call in calls(TOOL, tmp_path)}
    assert found == {(355, "s-1"), (355, fork)}


def test_a_copied_call_may_be_in_a_later_part_of_a_large_file(tmp_path: Path) -> None:
    begin = {"type": "queue-operation", "timestamp": "2026-11-02T10:59:59Z", "sessionId": "s-1"}
    path = claude(tmp_path, begin, assistant("msg_1"), assistant("msg_2", time="2026-11-02T11:00:00Z"))
    with path.open("rb") as file:
        found = list(claude_code.read(str(path), file, 50).calls)
    assert sorted(call.origin.is_copy for call in found) == [False, True]


@pytest.mark.parametrize("value", [None, 7, True, [], [1], {}, {"a": 1}], ids=str)
def test_a_type_may_be_of_any_type(tmp_path: Path, value: object) -> None:
    claude(tmp_path, {"type": value}, assistant("msg_1"), assistant("msg_2") | {"type": value})
    for tool in (TOOL, "all"):
        files, unread = find_files([TOOL, "codex"] if tool == "all" else [TOOL], [str(tmp_path)])
        assert len(list(read_files(files).table)) == (tool == TOOL)
        assert len(unread) == (tool == "all")


def test_a_side_chain_without_an_agent_is_not_the_main_agent(tmp_path: Path) -> None:
    claude(tmp_path, assistant(isSidechain=True))
    (call,) = calls(TOOL, tmp_path)
    assert call.origin.agent is call.origin.agent_id is None


def test_a_project_is_where_the_session_started_not_where_a_command_ran(tmp_path: Path) -> None:
    claude(
        tmp_path,
        assistant("msg_1"),
        assistant("msg_2", cwd="/home/u/shop/src/deep"),
        assistant("msg_3", cwd="/srv"),
    )
    assert sorted(str(call.origin.project) for call in calls(TOOL, tmp_path)) == [
        "/home/u/shop",
        "/home/u/shop",
        "/srv",
    ]


@pytest.mark.parametrize(
    ("more", "tier"),
    [
        ({}, None),
        ({"service_tier": "batch"}, "batch"),
        ({"speed": "fast"}, "fast"),
        ({"inference_geo": "us"}, "us"),
    ],
)
def test_the_service_tier_is_read(tmp_path: Path, more: dict[str, Any], tier: str | None) -> None:
    claude(tmp_path, assistant(counts=usage(**more)))
    (call,) = calls(TOOL, tmp_path)
    assert call.kind.service_tier == tier


def test_searches_count_by_the_usage_and_other_tools_by_their_blocks(tmp_path: Path) -> None:
    used = usage(server_tool_use={"web_search_requests": 3, "web_fetch_requests": 0})
    block = {"type": "server_tool_use", "id": "x", "name": "code_execution", "input": {}}
    claude(tmp_path, assistant("msg_1", used), assistant("msg_2", content=[block]))
    assert {call.kind.server_tools for call in calls(TOOL, tmp_path)} == {
        (("web_search", 3),),
        (("code_execution", 1),),
    }


def test_calls_within_a_call_count(tmp_path: Path) -> None:
    nested = {"type": "advisor_message", "model": OPUS, "input_tokens": 7, "output_tokens": 8}
    claude(tmp_path, assistant(counts=usage(iterations=[{"type": "message", **usage()}, nested])))
    found = calls(TOOL, tmp_path)
    assert {(call.kind.model, call.counts[:2]) for call in found} == {(SONNET, (355, 20)), (OPUS, (7, 8))}


def test_a_count_that_no_reader_knows_is_named(tmp_path: Path) -> None:
    claude(tmp_path, assistant(counts=usage(dream_tokens=5)))
    (call,) = calls(TOOL, tmp_path)
    assert call.kind.unknown == ("usage.dream_tokens",)


def test_a_call_without_usage_has_unknown_counts(tmp_path: Path) -> None:
    record = assistant()
    del record["message"]["usage"]
    claude(tmp_path, record)
    (call,) = calls(TOOL, tmp_path)
    assert (call.kind.known, call.kind.source, call.usage.tokens.input) == (0, None, None)


def test_what_json_allows_is_read(tmp_path: Path) -> None:
    """A byte order mark, spaces after colons, lone surrogates, an empty model, empty lines, CRLF, bytes that are not UTF-8."""
    spaced = json.dumps(assistant("msg_1")).encode()
    surrogate = json.dumps(assistant("msg_2", cwd="/home/\ud83d")).encode()
    latin = json.dumps(assistant("msg_3", gitBranch="XX")).encode().replace(b"XX", b"\xe9")
    claude(tmp_path, b"\xef\xbb\xbf" + spaced, b"", surrogate + b"\r", latin, assistant("msg_4", model=""))
    found = read(TOOL, tmp_path)
    assert (len(found.table), found.unread, dict(found.unknown_types)) == (4, [], {})


def test_a_bad_line_costs_no_other_line(tmp_path: Path) -> None:
    good = json.dumps(assistant("msg_1")).encode()
    bad = [
        good[:-40],
        b"{not json",
        b"[1]",
        b'"text"',
        b'{"type":"user","message":{"a"',
        b"\x00\xff",
        b"[" * 5000,
    ]
    path = claude(tmp_path, *bad, good, b'{"type":"assistant","message":{"usage":{"input_tok')
    path.write_bytes(path.read_bytes()[:-1])  # the last line is torn
    found = read(TOOL, tmp_path)
    assert len(found.table) == 1
    assert [part.line for part in found.unread] == [1, 2, 3, 4, 5, 6, 7, 9]
    assert {part.reason for part in found.unread} >= {"the line is cut off", "not a JSON object"}


@pytest.mark.parametrize("value", [-1, 1.5, "12", True, [], {}, 2**70, None], ids=str)
@pytest.mark.parametrize("name", ["input_tokens", "output_tokens", "cache_read_input_tokens"])
def test_a_count_that_is_no_count_is_reported_or_unknown(tmp_path: Path, name: str, value: Any) -> None:
    claude(tmp_path, assistant("msg_1", usage(**{name: value})), assistant("msg_2", request="req_2"))
    found = read(TOOL, tmp_path)
    if value is None:
        assert (len(found.table), found.unread) == (2, [])
    else:
        assert (len(found.table), [part.line for part in found.unread]) == (1, [1])
        assert name in found.unread[0].reason


@pytest.mark.parametrize("value", [None, 7, [], {}, "", True, "../../etc"], ids=str)
def test_fields_of_any_type_are_no_problem(tmp_path: Path, value: Any) -> None:
    names = (
        "sessionId",
        "cwd",
        "gitBranch",
        "agentId",
        "isSidechain",
        "requestId",
        "timestamp",
        "uuid",
        "attributionAgent",
    )
    records = [assistant(f"msg_{n}", request=f"r{n}") | {name: value} for n, name in enumerate(names)]
    models = [assistant(f"m_{n}", request="x", model=value) for n in range(1)]
    claude(
        tmp_path,
        *records,
        *models,
        {"type": "assistant", "message": value},
        {"type": "progress", "data": value},
    )
    found = read(TOOL, tmp_path)
    assert found.unread == []
    assert len(found.table) == len(names) + 1


def test_unknown_types_are_counted_by_name(tmp_path: Path) -> None:
    claude(
        tmp_path,
        {"type": "dream"},
        {"type": "dream"},
        {"a": 1},
        {"type": 5},
        {"message": {"type": "user"}, "type": "later"},
    )
    assert dict(read(TOOL, tmp_path).unknown_types) == {"dream": 2, "no type": 1, "a int": 1, "later": 1}


@pytest.mark.parametrize(
    "torn",
    [
        b'{"type":"user","sessionId":"s-1","message":{"role":"user"}',
        b'{"sessionId":"s-1","message":{"content":[{"type":"text","text":"hi"}',
    ],
)
def test_a_line_that_is_cut_off_after_a_brace_is_named(tmp_path: Path, torn: bytes) -> None:
    path = claude(tmp_path, assistant())
    path.write_bytes(path.read_bytes() + torn)
    found = read(TOOL, tmp_path)
    assert (len(found.table), [part.line for part in found.unread], dict(found.unknown_types)) == (1, [2], {})


def test_a_text_about_usage_is_no_usage(tmp_path: Path) -> None:
    text = json.dumps({"usage": usage(), "type": "assistant", "id": "msg_9"})
    tool = {
        "type": "tool_use",
        "id": "t",
        "name": "Write",
        "input": {"content": [1], "stop_reason": "x", "usage": usage(1000)},
    }
    claude(tmp_path, user(text), assistant("msg_1", content=[{"type": "text", "text": text}, tool]))
    assert sums(calls(TOOL, tmp_path)) == (1, 355, 20, 300, 40, 5, 0)


def test_links_and_pipes_are_named_and_not_opened(tmp_path: Path) -> None:
    secret = write(tmp_path / "elsewhere" / "s-2.jsonl", assistant("msg_2"))
    path = claude(tmp_path, assistant())
    os.symlink(secret, path.with_name("link.jsonl"))
    os.symlink(secret.parent, path.with_name("folder"))
    os.symlink(path.parent, path.with_name("here"))
    os.mkfifo(path.with_name("pipe.jsonl"))
    found = read(TOOL, tmp_path / "projects")
    assert len(found.table) == 1
    assert [(Path(part.path).name, part.reason) for part in found.unread] == [
        ("folder", "a symbolic link, not followed"),
        ("link.jsonl", "a symbolic link, not followed"),
        ("pipe.jsonl", "not a regular file"),
    ]


def test_a_sub_agent_without_its_session_counts(tmp_path: Path) -> None:
    record = assistant(agentId="a7")
    del record["sessionId"]
    claude(tmp_path, record, name="s-9/subagents/workflows/w/agent-a7.jsonl")
    claude(tmp_path, {"type": "x"}, name="s-9/subagents/workflows/w/journal.jsonl")
    found = read(TOOL, tmp_path)
    (call,) = found.table
    assert (call.origin.session, call.origin.agent, dict(found.unknown_types)) == ("s-9", "a7", {})
