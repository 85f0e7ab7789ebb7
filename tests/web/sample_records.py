"""Records to look at: a run, and a session with a team that was imported."""

import json
from pathlib import Path

import runcard
from runcard.store.find_record import open_record
from runcard.store.record import Record
from transcripts.session_files import assistant, claude, usage

SESSION = "11111111-2222-4333-8444-555555555555"


def record_run(**config: object) -> Record:
    """A closed run with calls, an input, and files of each kind that a page shows."""
    Path("question.txt").write_text("what is it?\n")
    with runcard.record(
        model="claude-sonnet-4-5",
        provider="anthropic",
        config={"temperature": 0.2, **config},
        experiment="personas",
        inputs=["question.txt"],
    ) as run:
        run.add_usage({"input": 1000, "output": 200}, step="draft")
        run.add_usage({"input": 2000, "output": 300}, step="polish")
        run.log_metric("accuracy", 0.9)
        (run.path / "report.md").write_text(
            "# Report\n\n<script>alert(1)</script> [x](javascript:alert(1)) **bold**\n"
        )
        (run.path / "table.csv").write_text("name,score\nAda,0.9\n")
        (run.path / "data.json").write_text('{"a": [1, null]}')
        (run.path / "note.html").write_text("<script>alert(2)</script>")
        (run.path / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    return open_record(run.path)


def _user(content: object, time: str) -> dict[str, object]:
    return {
        "parentUuid": None,
        "isSidechain": False,
        "type": "user",
        "message": {"role": "user", "content": content},
        "uuid": f"u-{time}",
        "sessionId": SESSION,
        "timestamp": time,
    }


def write_session(home: Path, steps: int = 5, text: str = "I look at the **checkout**.") -> None:
    """A session of Claude Code with a sub-agent, in its own folder."""
    records: list[dict[str, object]] = [_user("Fix the total", "2026-11-02T10:00:00.000Z")]
    for number in range(steps):
        time = f"2026-11-02T10:{number // 60 % 60:02}:{number % 60:02}.500Z"
        tool = {
            "type": "tool_use",
            "id": f"toolu_{number}",
            "name": "Bash",
            "input": {"command": f"make {number}"},
        }
        records.append(
            assistant(
                f"msg_{number}",
                usage(100, 50, 3000, 10, 0),
                request=f"req_{number}",
                time=time,
                stop="tool_use",
                content=[{"type": "text", "text": f"{text} Step {number}."}, tool],
                sessionId=SESSION,
            )
        )
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"done {number}"}
        records.append(_user([result], time))
    claude(home / ".claude", *records, name=f"{SESSION}.jsonl")
    helper = assistant(
        "msg_helper", request="req_helper", sessionId=SESSION, isSidechain=True, agentId="helper"
    )
    claude(home / ".claude", helper, name=f"{SESSION}/subagents/agent-helper.jsonl")


def import_session(home: Path, **options: object) -> Record:
    write_session(home, **options)  # type: ignore[arg-type]
    report = runcard.import_sessions("claude-code", everywhere=True)
    path = report.sessions[0].path
    assert path is not None, json.dumps(report.to_dict())
    return open_record(path)
