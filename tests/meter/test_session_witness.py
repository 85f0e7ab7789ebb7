"""Calls in session files that the meter has not seen: which sessions are those of a run, and which of their calls are missing."""

import hashlib
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from meter.agents import agent_environment
from meter.records import RUNCARD, MeteredRun, run_metered
from meter.scripted_upstream import ScriptedUpstream
from meter.test_stand_ins import PRETEND, install
from runcard.observe.process_tree import ProcessTree
from runcard.operations.runs.session_witness import RunTraces, unmetered_calls

TITLES = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "opencode": "OpenCode",
}
SINCE = 1_700_000_000.0
AFTER, BEFORE = SINCE + 60, SINCE - 60
PROGRAM = Path(__file__).with_name("session_program.py")


def _stamp(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(moment))


def write_session(
    home: Path, tool: str, folder: str, number: int = 1, *, moment: float = AFTER, tokens: int = 7
) -> None:
    """A session with one call of this tool."""
    stamp, session = _stamp(moment), f"s-{number}"
    match tool:
        case "claude-code":
            path = home / f".claude/projects/p/{session}.jsonl"
            usage = {"input_tokens": tokens, "output_tokens": 3}
            message = {"id": f"msg_{number}", "model": "claude-sonnet-4-5", "usage": usage}
            line = {"type": "assistant", "sessionId": session, "cwd": folder, "timestamp": stamp}
            lines = [line | {"requestId": f"req_{number}", "message": message}]
        case "codex":
            path = home / f".codex/sessions/2023/11/14/rollout-2023-11-14T22-13-20-{session}.jsonl"
            usage = {"input_tokens": tokens, "output_tokens": 3, "total_tokens": tokens + 3}
            lines = [
                {"timestamp": stamp, "type": "session_meta", "payload": {"id": session, "cwd": folder}},
                {"timestamp": stamp, "type": "turn_context", "payload": {"model": "gpt-5", "cwd": folder}},
                {
                    "timestamp": stamp,
                    "type": "token_usage_record",
                    "payload": {
                        "session_id": session,
                        "thread_id": session,
                        "response_id": f"resp_{number}",
                        "usage": usage,
                    },
                },
            ]
        case "gemini":
            path = home / f".gemini/tmp/p/chats/session-{number}.jsonl"
            project = hashlib.sha256(folder.encode()).hexdigest()
            lines = [
                {"sessionId": session, "projectHash": project, "startTime": stamp},
                {
                    "id": f"m-{number}",
                    "type": "gemini",
                    "model": "gemini-2.5-pro",
                    "timestamp": stamp,
                    "tokens": {"input": tokens, "output": 3, "cached": 0, "thoughts": 0, "tool": 0},
                },
            ]
        case _:
            path = home / f".local/share/opencode/storage/message/{session}/m-{number}.json"
            milliseconds = int(moment * 1000)
            lines = [
                {
                    "id": f"m-{number}",
                    "sessionID": session,
                    "role": "assistant",
                    "modelID": "claude-sonnet-4-5",
                    "providerID": "anthropic",
                    "time": {"created": milliseconds, "completed": milliseconds},
                    "path": {"cwd": folder, "root": folder},
                    "tokens": {
                        "input": tokens,
                        "output": 3,
                        "reasoning": 0,
                        "cache": {"read": 0, "write": 0},
                    },
                    "finish": "stop",
                }
            ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def missed(folder: str, *metered: dict[str, Any], **traces: Any) -> dict[str, int]:
    known = {"others": frozenset(), "sessions": frozenset(), "environment": {}} | traces
    return unmetered_calls(RunTraces("/store/run", SINCE, folder, **known), metered)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("tool", TITLES)
class TestOneTool:
    def test_a_call_that_was_not_metered(self, tool: str, home: Path) -> None:
        write_session(home, tool, "/project")
        assert missed("/project") == {TITLES[tool]: 1}
        assert missed("/project", {"tokens": {"input": 8, "output": 3}, "response_id": "x"}) == {
            TITLES[tool]: 1
        }

    def test_a_call_that_was_metered(self, tool: str, home: Path) -> None:
        write_session(home, tool, "/project")
        ids = {"response_id": "msg_1" if tool == "claude-code" else "resp_1", "client_session": "s-1"}
        assert missed("/project", {"tokens": {"input": 7, "output": 3}} | ids) == {}

    def test_a_session_of_another_folder(self, tool: str, home: Path) -> None:
        write_session(home, tool, "/elsewhere")
        assert missed("/project") == {}
        assert missed("/project", others=frozenset({"/elsewhere"})) == {TITLES[tool]: 1}
        assert missed("/project", sessions=frozenset({"s-1"})) == {TITLES[tool]: 1}

    def test_a_session_that_was_there_before(self, tool: str, home: Path) -> None:
        write_session(home, tool, "/project", moment=BEFORE)
        assert missed("/project", sessions=frozenset({"s-1"})) == {}

    def test_a_file_that_was_not_written_during_the_run(self, tool: str, home: Path) -> None:
        write_session(home, tool, "/project")
        for path in home.rglob("*"):
            os.utime(path, (BEFORE, BEFORE))
        assert missed("/project") == {}


def test_each_metered_call_stands_for_one(home: Path) -> None:
    for number in (1, 2):
        write_session(home, "gemini", "/project", number)
    same = {"tokens": {"input": 7, "output": 3}}
    assert missed("/project", same) == {"Gemini CLI": 1}
    assert missed("/project", same, same) == {}
    assert missed("/project", same, {"tokens": {"input": 7}}) == {}  # one that was cut may be any


def test_a_session_below_the_folder_of_the_run(home: Path) -> None:
    write_session(home, "codex", "/project/part")
    write_session(home, "codex", "/project-2", 2)
    assert missed("/project") == {"Codex": 1}


def test_session_files_that_cannot_be_read_stop_nothing(home: Path) -> None:
    write_session(home, "codex", "/project")
    (home / ".claude/projects/p").mkdir(parents=True)
    os.mkfifo(home / ".claude/projects/p/s.jsonl")
    (home / ".local/share/opencode").mkdir(parents=True)
    (home / ".local/share/opencode/opencode.db").write_bytes(b"SQLite format 3\0 broken")
    assert missed("/project") == {"Codex": 1}


def test_the_processes_of_a_command_show_where_agents_ran(tmp_path: Path) -> None:
    program = "import time; print(flush=True); time.sleep(60)"
    process = subprocess.Popen(
        ["codex", "-c", program], executable=sys.executable, cwd=tmp_path, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        tree = ProcessTree(process.pid)
        tree.sample()
    finally:
        process.kill()
        process.communicate()
    expected = {("Codex", str(tmp_path))} if os.path.isdir("/proc/self") else set()
    assert tree.agents == expected


def gaps(run: MeteredRun) -> list[tuple[str, int | None]]:
    found = [event["payload"] for event in run.events if event["event"] == "usage.incomplete"]
    return [(payload["reason"], payload["calls"]) for payload in found]


def test_an_agent_that_goes_around_the_meter_makes_the_total_a_lower_bound(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    """One call is metered, one is not: `1 model call, $0.007` as a whole would be wrong."""
    env = agent_environment(tmp_path) | {"ANTHROPIC_BASE_URL": upstream.url}
    program = f"{sys.executable} {PROGRAM}"
    script = f"{program} call; mkdir part; cd part; {program} session {tmp_path}/home"
    run = run_metered(["sh", "-c", script], env, tmp_path / "work")
    assert run.code == 0, run.err
    assert gaps(run) == [("a session file of Codex has a call that did not pass the meter", 1)]
    assert run.document["performance"]["calls"] == 1
    assert "≥ $" in run.err
    assert "Codex" in run.err


def test_calls_that_a_run_inside_has_metered_are_not_missing(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    """Nor are those of a run at the same time in the same folder."""
    install(tmp_path / "bin", "claude", program=PRETEND)
    plan = json.dumps({"calls": 1, "transcript": ["call-1"]})
    env = agent_environment(tmp_path) | {"ANTHROPIC_BASE_URL": upstream.url, "PLAN": plan}
    env["PATH"] = f"{tmp_path}/bin:/usr/bin:/bin"
    inner = shlex.join([*RUNCARD, "run", "--outputs", str(tmp_path / "inner"), "--", "claude", "-p", "x"])
    outer = run_metered(["sh", "-c", f"{inner} >{tmp_path}/out"], env, tmp_path / "work")
    assert outer.code == 0, outer.err
    assert (gaps(outer), len(upstream.calls)) == ([], 1)


def test_calls_that_another_run_has_metered_at_the_same_time_are_not_missing(home: Path) -> None:
    write_session(home, "codex", "/project")
    call = {"observer": "meter", "response_id": "resp_1", "client_session": "s-1"}
    payload = call | {"tokens": {"input": 7, "output": 3}}
    journal = home / "store/other/experiment.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text(json.dumps({"event": "model.called", "payload": payload}) + "\n")
    traces = RunTraces(str(home / "store/run"), SINCE, "/project", frozenset(), frozenset(), {})
    assert unmetered_calls(traces, []) == {}
    journal.unlink()
    assert unmetered_calls(traces, []) == {"Codex": 1}
