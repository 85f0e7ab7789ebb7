"""The files of Gemini CLI: lines of today, and the one object of older versions."""

import json
from pathlib import Path
from typing import Any

from transcripts.session_files import calls, read, sums, write

TOOL = "gemini"
META = {"sessionId": "g-1", "projectHash": "0f", "startTime": "2026-11-02T10:00:00Z", "kind": "main"}


def message(name: str = "m1", sent: int = 100, output: int = 10, **fields: Any) -> dict[str, Any]:
    tokens = {
        "input": sent,
        "output": output,
        "cached": 60,
        "thoughts": 5,
        "tool": 3,
        "total": sent + output + 8,
    }
    return {
        "id": name,
        "timestamp": "2026-11-02T10:00:01Z",
        "type": "gemini",
        "content": "x",
        "tokens": tokens,
        "model": "gemini-2.5-pro",
        **fields,
    }


def chat(folder: Path, *records: dict[str, Any] | bytes, name: str = "session-1.jsonl") -> Path:
    return write(folder / "tmp" / "shop" / "chats" / name, *records)


def test_the_last_record_of_a_message_counts(tmp_path: Path) -> None:
    chat(tmp_path, META, message("m1"), message("m1", 200, 20), message("m2"))
    assert sums(calls(TOOL, tmp_path)) == (2, 306, 40, 120, 0, 0, 10)


def test_calls_that_were_taken_out_of_the_conversation_were_billed(tmp_path: Path) -> None:
    chat(tmp_path, META, message("m1"), message("m2"), {"$rewindTo": "m1"}, message("m3"))
    assert len(calls(TOOL, tmp_path)) == 3


def test_messages_that_are_set_at_once_count(tmp_path: Path) -> None:
    chat(
        tmp_path,
        META,
        {"$set": {"messages": [message("m1"), {"type": "user"}], "lastUpdated": "x"}},
        message("m1"),
    )
    assert len(calls(TOOL, tmp_path)) == 1


def test_the_project_is_in_a_file_beside_the_chats(tmp_path: Path) -> None:
    path = chat(tmp_path, META, message())
    (call,) = calls(TOOL, tmp_path)
    assert call.origin.project == "0f"
    (path.parents[1] / ".project_root").write_text("/home/u/shop")
    (call,) = calls(TOOL, tmp_path)
    assert call.origin.project == "/home/u/shop"


def test_a_sub_agent_belongs_to_the_session_of_its_parent(tmp_path: Path) -> None:
    chat(tmp_path, META, message("m1"))
    chat(tmp_path, META | {"sessionId": "own", "kind": "subagent"}, message("m2"), name="g-1/sub-7.jsonl")
    origins = [call.origin for call in calls(TOOL, tmp_path)]
    assert {(origin.session, origin.agent, origin.agent_id) for origin in origins} == {
        ("g-1", "main", "main"),
        ("g-1", "sub-7", "sub-7"),
    }


def test_the_object_of_an_older_version(tmp_path: Path) -> None:
    document = META | {
        "messages": [{"type": "user", "content": "x"}, message("m1"), message("m2"), {"type": "info"}]
    }
    path = chat(tmp_path, b"", name="session-2.json")
    path.write_text("\ufeff" + json.dumps(document, indent=2))
    (tmp_path / "tmp/shop/logs.json").write_text("[]")
    found = read(TOOL, tmp_path)
    assert (len(found.table), found.unread) == (2, [])
    path.write_text(json.dumps(document)[:-50])
    assert [part.reason for part in read(TOOL, tmp_path).unread] == ["the line is cut off"]


def test_bad_lines_and_unknown_types(tmp_path: Path) -> None:
    odd = [
        message("m2", sent=-1),
        {"type": "dream"},
        {"$set": 7},
        {"$set": {"messages": [3]}},
        message("m3", tokens=None),
    ]
    chat(tmp_path, META, b"{", *odd, message("m1"))
    found = read(TOOL, tmp_path)
    assert (len(found.table), [part.line for part in found.unread]) == (1, [2, 3])
    assert dict(found.unknown_types) == {"dream": 1, "no type": 1}
