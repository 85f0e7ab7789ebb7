"""Calls in the transcripts of Claude Code that did not pass the meter."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from runcard.observe.meter.transcripts import TranscriptSearch, transcripts_folder

WORK = "/home/anna/my project"
PROJECT = "projects/-home-anna-my-project"
SINCE = 1_000_000.0  # 1970-01-12T13:46:40Z
BEFORE, AFTER = "1970-01-12T13:46:39Z", "1970-01-12T13:46:41.5Z"


def reply(number: int, time: str = AFTER, **more: Any) -> dict[str, Any]:
    line = {"type": "assistant", "timestamp": time, "requestId": f"req_{number}"}
    return {**line, "message": {"id": f"msg_{number}", "model": "claude"}, **more}


def write(folder: Path, name: str, *lines: object) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))


def unmetered(folder: Path, *metered: str, sessions: tuple[str, ...] = ("s",)) -> int:
    search = TranscriptSearch(str(folder), WORK, SINCE)
    return search.unmetered_calls(sessions, lambda some_id: some_id in metered)


def test_a_reply_is_known_by_its_request_or_by_its_response(tmp_path: Path) -> None:
    write(tmp_path, f"{PROJECT}/s.jsonl", reply(1), reply(2), reply(2), reply(3, requestId=None))
    assert unmetered(tmp_path) == 3
    assert unmetered(tmp_path, "req_1", "msg_2", "msg_3") == 0
    assert unmetered(tmp_path, "req_1", "req_3") == 2


def test_agents_have_files_of_their_own(tmp_path: Path) -> None:
    write(tmp_path, f"{PROJECT}/s.jsonl", reply(1))
    write(tmp_path, f"{PROJECT}/s/subagents/agent-a.jsonl", reply(2))
    write(tmp_path, f"{PROJECT}/s/subagents/notes.txt", reply(3))
    assert unmetered(tmp_path, "req_1") == 1


def test_what_was_written_before_the_run_does_not_count(tmp_path: Path) -> None:
    """A session can be resumed."""
    write(
        tmp_path, f"{PROJECT}/s.jsonl", reply(1, BEFORE), reply(2), reply(3, "soon"), reply(4, timestamp=None)
    )
    assert unmetered(tmp_path) == 1


def test_messages_that_are_no_replies_of_a_model(tmp_path: Path) -> None:
    synthetic = reply(1) | {"message": {"id": "x", "model": "<synthetic>"}}
    lines = [
        synthetic,
        reply(2, isApiErrorMessage=True),
        reply(3, type="user"),
        reply(4, message="x"),
        {},
        [],
        1,
    ]
    write(tmp_path, f"{PROJECT}/s.jsonl", *lines, "{", "\x00", reply(5, requestId=7, message={"id": None}))
    assert unmetered(tmp_path) == 0


def test_without_a_session_only_new_ones_of_this_directory_count(tmp_path: Path) -> None:
    write(tmp_path, f"{PROJECT}/new.jsonl", {"timestamp": AFTER}, reply(1))
    write(tmp_path, f"{PROJECT}/old.jsonl", {"timestamp": BEFORE}, reply(2))
    write(tmp_path, "projects/-home-anna-other/new-too.jsonl", reply(3))
    assert unmetered(tmp_path, sessions=()) == 1
    assert unmetered(tmp_path, sessions=("old",)) == 1


@pytest.mark.parametrize("session", ["../../etc/passwd", "", "a/b", "x" * 200, "\x00"])
def test_a_session_with_a_hostile_name_is_not_looked_for(tmp_path: Path, session: str) -> None:
    assert unmetered(tmp_path, sessions=(session,)) == 0


def test_a_pipe_in_place_of_a_transcript_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / PROJECT).mkdir(parents=True)
    os.mkfifo(tmp_path / PROJECT / "s.jsonl")
    assert unmetered(tmp_path) == 0


def test_the_folder_of_claude_code() -> None:
    assert transcripts_folder({"HOME": "/home/anna"}) == "/home/anna/.claude"
    assert transcripts_folder({"HOME": "/home/anna", "CLAUDE_CONFIG_DIR": "/c"}) == "/c"
