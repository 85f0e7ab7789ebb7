"""`runcard import codex` and `runcard import gemini`: agents, forks, older formats, and the sum of all calls."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from runcard.operations.sessions.costs import costs
from transcripts.session_files import Json, event, lines, meta, rollout, token_counts, turn, write

CODEX, GEMINI = "codex", "gemini"
FIRST, SECOND = token_counts(100, 10, 60, 4), token_counts(200, 20, 160, 8)
TOTAL = token_counts(300, 30, 220, 12)
GIT = {"commit_hash": "0f" * 20, "branch": "main", "repository_url": "https://example.org/shop.git"}


def at(minute: int, second: int = 0) -> str:
    return f"2026-11-02T10:{minute:02}:{second:02}.000Z"


def run(cli: Cli, tool: str, *arguments: str | Path, code: int = 0) -> list[Json]:
    outcome = cli("import", tool, *arguments, "--json")
    assert outcome.code == code, outcome.err
    assert cli("verify", "artifacts").code == cli("validate", "artifacts").code == 0
    sessions: list[Json] = json.loads(outcome.out)["sessions"]
    return sessions


def document(path: str | Path, *name: str) -> Json:
    data: Json = json.loads(Path(path, *name, "metadata.json").read_bytes())
    return data


# Codex


def item(kind: str, time: str, **fields: Any) -> Json:
    return rollout("response_item", {"type": kind, **fields}, time)


def said(role: str, text: str, time: str) -> Json:
    return item("message", time, role=role, content=[{"type": "input_text", "text": text}])


def thread(home: Path, name: str, *records: Json) -> None:
    write(home / "sessions/2026/11/02" / f"rollout-2026-11-02T10-00-00-{name}.jsonl", *records)


def codex_home(home: Path) -> Path:
    """A session with a tool that fails and a sub-agent, and a fork of it."""
    work = [
        said("user", "Count the files.", at(0)),
        turn("gpt-5"),
        item("function_call", at(0, 3), name="shell", call_id="c-1", arguments='{"command":["ls"]}'),
        event(FIRST, FIRST, at(0, 3)),
        item("function_call_output", at(1), call_id="c-1", output="Exit code: 1\nOutput:\nno"),
        said("assistant", "None.", at(1, 9)),
        event(TOTAL, SECOND, at(1, 9)),
    ]
    spawn = {"thread_spawn": {"parent_thread_id": "t-1", "depth": 1, "agent_nickname": "Hubble"}}
    thread(home, "t-1", meta("t-1", at(0), git=GIT, cli_version="0.50.0"), *work)
    thread(
        home,
        "t-2",
        meta("t-2", at(2), source={"subagent": spawn | {"agent_role": "tester"}}),
        turn("gpt-5-mini"),
        said("user", "Look.", at(2)),
        said("assistant", "Seen.", at(2, 5)),
        event(FIRST, FIRST, at(2, 5)),
        rollout("event_msg", {"type": "task_complete"}, at(2, 6)),
    )
    own = [
        said("user", "Again.", at(9)),
        said("assistant", "None.", at(9, 4)),
        event(token_counts(400, 40, 280, 16), FIRST, at(9, 4)),
    ]
    thread(home, "t-3", meta("t-3", at(8), forked_from_id="t-1"), meta("t-1", at(0)), *work, *own)
    return home


def test_a_session_of_codex(cli: Cli, tmp_path: Path) -> None:
    session, fork = run(cli, CODEX, codex_home(tmp_path / "home"))
    team = document(session["path"])
    assert (session["session"], session["instances"], session["calls"]) == ("t-1", 2, 3)
    assert {
        name: team["origin_session"][name] for name in ("commit", "branch", "repository", "tool_version")
    } == {
        **dict(zip(("commit", "branch", "repository"), GIT.values(), strict=True)),
        "tool_version": "0.50.0",
    }
    main, agent = team["instances"]
    assert (main["model"], main["calls"], main["tool_uses"]) == ("gpt-5", 2, {"shell": 1})
    assert (main["status"], main["errors_by_category"]) == ("completed", {"tool_error": 1})
    assert (agent["name"], agent["parent_instance_id"], agent["model"]) == ("Hubble", "main", "gpt-5-mini")
    assert agent["status"] == "completed"
    times = document(session["path"], "instances", "main")["performance"]["response_times"]
    assert (times["count"], times["max"]) == (2, 9)
    assert document(fork["path"])["origin_session"]["resumed_from"] == "t-1"


def test_the_history_of_a_fork_is_in_its_copy_and_not_in_its_log(cli: Cli, tmp_path: Path) -> None:
    _, fork = run(cli, CODEX, codex_home(tmp_path / "home"))
    assert fork["calls"] == 1
    main = Path(fork["path"], "instances", "main")
    assert (main / "output.log").read_text() == (
        "[2026-11-02 10:08:00Z] note\n  The file begins with 8 lines of session t-1.\n\n"
        "[2026-11-02 10:09:00Z] user\n  Again.\n\n"
        "[2026-11-02 10:09:04Z] assistant\n  None.\n\n"
    )
    assert b"Count the files." in next((main / "transcripts").iterdir()).read_bytes()
    assert document(fork["path"])["instances"][0]["created_at"] == "2026-11-02T10:08:00Z"


def test_the_older_formats_of_codex_have_no_counts(cli: Cli, tmp_path: Path) -> None:
    """Their tokens and costs are unknown, not zero; what was said is kept."""
    parts: list[Json] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    ]
    header = {"id": "t-1", "timestamp": at(0), "instructions": None, "git": GIT}
    thread(tmp_path, "t-1", header, {"record_type": "state"}, *parts)
    whole = {"session": {"id": "t-0", "timestamp": at(0), "instructions": ""}, "items": parts}
    (tmp_path / "sessions" / "rollout-2025-04-20-t-0.json").write_text(json.dumps(whole, indent=2))
    found = run(cli, CODEX, tmp_path, code=2)
    assert sorted(session["session"] for session in found) == ["t-0", "t-1"]
    for session in found:
        assert (session["calls"], session["cost_usd"]) == (None, None)
        (main,) = document(session["path"])["instances"]
        assert {"cost", "tokens", "tokens_used", "calls"}.isdisjoint(main)
        assert (main["status"], main["created_at"]) == ("completed", "2026-11-02T10:00:00Z")
        assert "Done." in Path(session["path"], "instances/main/output.log").read_text()


def test_what_a_sub_agent_used_is_unknown_without_its_file(cli: Cli, tmp_path: Path) -> None:
    codex_home(tmp_path)
    (tmp_path / "sessions/2026/11/02/rollout-2026-11-02T10-00-00-t-2.jsonl").unlink()
    started = {"type": "collab_agent_spawn_end", "new_thread_id": "t-2", "prompt": "Look."}
    path = tmp_path / "sessions/2026/11/02/rollout-2026-11-02T10-00-00-t-1.jsonl"
    path.write_bytes(path.read_bytes() + lines([rollout("event_msg", started, at(2))]))
    session, _ = run(cli, CODEX, tmp_path)
    main, agent = document(session["path"])["instances"]
    assert (main["calls"], agent["instance_id"], agent["parent_instance_id"]) == (2, "t-2", "main")
    assert {"cost", "tokens", "calls"}.isdisjoint(agent)
    assert session["cost_usd"] is None
    assert session["known_cost_usd"] == main["cost"] > 0


# Gemini CLI


def message(kind: str, name: str, text: str, time: str, **fields: Any) -> Json:
    return {"id": name, "timestamp": time, "type": kind, "content": text, **fields}


def reply(name: str, text: str, time: str, **fields: Any) -> Json:
    tokens = {"input": 100, "output": 10, "cached": 60, "thoughts": 5, "tool": 0, "total": 115}
    return message("gemini", name, text, time, model="gemini-2.5-pro", tokens=tokens, **fields)


def gemini_home(home: Path) -> Path:
    """A session with a sub-agent."""
    chats = home / "tmp" / "shop" / "chats"
    facts = {"projectHash": "0f", "startTime": at(0)}
    use = {
        "id": "use-1",
        "name": "invoke_agent",
        "args": {"agent_name": "investigator", "prompt": "Count."},
        "result": [{"functionResponse": {"id": "use-1", "response": {"output": "3"}}}],
        "status": "success",
        "timestamp": at(3),
        "agentId": "sub-7",
        "resultDisplay": {"agentName": "investigator", "terminateReason": "TIMEOUT"},
    }
    write(
        chats / "session-2026-11-02T10-00-g-1.jsonl",
        {"sessionId": "g-1", "kind": "main", **facts},
        message("user", "u1", "How many files?", at(0)),
        reply("m1", "", at(0, 2)),
        reply("m1", "", at(0, 2), toolCalls=[use]),
        reply("m2", "Three.", at(3, 4)),
    )
    write(
        chats / "g-1" / "sub-7.jsonl",
        {"sessionId": "sub-7", "kind": "subagent", **facts, "startTime": at(1)},
        message("user", "u2", "Count.", at(1)),
        reply("m3", "3", at(2)),
    )
    (chats.parent / ".project_root").write_text("/home/u/shop")
    return home


def test_a_session_of_gemini_cli(cli: Cli, tmp_path: Path) -> None:
    (session,) = run(cli, GEMINI, gemini_home(tmp_path / "home"))
    team = document(session["path"])
    assert (session["session"], session["calls"]) == ("g-1", 3)
    assert team["origin_session"]["folder"] == "/home/u/shop"
    main, agent = team["instances"]
    assert (main["calls"], main["tool_uses"], main["status"]) == (2, {"invoke_agent": 1}, "completed")
    assert (agent["instance_id"], agent["name"], agent["role_title"]) == (
        "sub-7",
        "investigator",
        "investigator",
    )
    assert (agent["parent_instance_id"], agent["status"], agent["calls"]) == ("main", "timeout", 1)
    assert {Path(each["path"]).parts[1] for each in team["sources"]} == {"main", "sub-7"}


@pytest.mark.parametrize(("tool", "make"), [(CODEX, codex_home), (GEMINI, gemini_home)])
def test_the_sum_over_all_sessions_is_what_costs_says(cli: Cli, tmp_path: Path, tool: str, make: Any) -> None:
    home = make(tmp_path / "home")
    sessions, expected = run(cli, tool, home), costs(tool, [str(home)]).totals
    assert sum(session["calls"] for session in sessions) == expected.calls > 0
    assert sum(Decimal(str(session["known_cost_usd"])) for session in sessions) == expected.known_cost
    tokens = [document(session["path"])["resources"]["tokens"] for session in sessions]
    assert sum(each["output"] for each in tokens) == expected.tokens["output"]
