"""A small session: an agent that started two others, one of which failed; workspaces, transcripts, a link."""

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import runcard

Fields = dict[str, Any]

LEAD, CODER, TESTER = "a1-lead", "b2-coder", "c3-tester"

AGENTS: list[Fields] = [
    {
        "instance_id": LEAD,
        "name": "coordinator",
        "role": "architect",
        "model": "claude-sonnet-4-5",
        "status": "completed",
        "created_at": "2025-11-06T14:00:00Z",
        "terminated_at": "2025-11-06T14:32:00Z",
        "execution_time_seconds": 1920,
        "tokens_used": 45230,
        "cost": 0.45,
        "parent_instance_id": None,
        "children_count": 2,
        "error_message": None,
    },
    {
        "instance_id": CODER,
        "name": "coder",
        "role": "backend_developer",
        "model": "claude-sonnet-4-5",
        "status": "completed",
        "created_at": "2025-11-06T14:05:00Z",
        "terminated_at": "2025-11-06T14:28:00Z",
        "execution_time_seconds": 1380,
        "tokens_used": 32100,
        "cost": 0.32,
        "parent_instance_id": LEAD,
        "children_count": 0,
        "error_message": None,
    },
    {
        "instance_id": TESTER,
        "name": "tester",
        "role": "qa_engineer",
        "model": "claude-haiku-4-5",
        "status": "error",
        "created_at": "2025-11-06T14:10:00Z",
        "terminated_at": "2025-11-06T14:12:30Z",
        "execution_time_seconds": 150,
        "tokens_used": 900,
        "cost": 0.01,
        "parent_instance_id": LEAD,
        "children_count": 0,
        "error_message": "429: too many requests",
        "error_details": {"category": "rate_limit", "message": "429: too many requests", "retryable": True},
    },
]

FILES: dict[str, dict[str, bytes]] = {
    LEAD: {"plan.md": b"# Plan\n", "notes/a.TXT": b"one\ntwo", ".hidden": b"h", "Makefile": b"all:\n"},
    CODER: {"src/main.py": b"print(1)\n", "src/metadata.json": b'{"metadata_version": 3}\n'},
    TESTER: {"empty": b""},
}
OUTPUTS = {LEAD: b"hello\nworld\n", CODER: b"no newline at the end"}


def make_session(
    store: Path, session_id: str = "team-1", *, version: str = "2.0.0", ledger: bool = True
) -> Path:
    """Collect the team into a store; the directory of the session."""
    source = store.parent / f"source-of-{session_id}"
    for agent in AGENTS:
        workspace = source / agent["instance_id"]
        workspace.mkdir(parents=True)
        for path, data in FILES[agent["instance_id"]].items():
            (workspace / path).parent.mkdir(exist_ok=True)
            (workspace / path).write_bytes(data)
    (source / LEAD / "latest").symlink_to("notes/a.TXT")
    for own, data in OUTPUTS.items():
        (source / f"{own}.log").write_bytes(data)
    place = store if ledger else source / "store"
    session = runcard.collect(_spec(session_id, source), artifacts=place, schema=version, again=True).path
    if not ledger:  # a store that never heard of it
        session = session.rename(_made(store) / session.name)
    shutil.rmtree(source)
    return session


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _spec(session_id: str, source: Path) -> Fields:
    left_out = {"children_count", "error_details", "execution_time_seconds"}
    return {
        "team_session_id": session_id,
        "instances": [
            {key: value for key, value in agent.items() if key not in left_out and value is not None}
            | {"workspace": str(source / agent["instance_id"])}
            | ({"output": f"{source}/{agent['instance_id']}.log"} if agent["instance_id"] in OUTPUTS else {})
            for agent in AGENTS
        ],
    }


def team_document() -> Fields:
    """The team document of such a session, with the least that it says."""
    return {
        "version": "2.0.0",
        "created_at": "2025-11-06T14:32:45Z",
        "team_session_id": "team-1",
        "total_instances": 3,
        "instances": copy.deepcopy(AGENTS),
        "execution_summary": {
            "total_instances": 3,
            "completed_instances": 2,
            "failed_instances": 1,
            "total_tokens": 78230,
            "total_cost": 0.78,
            "execution_start": "2025-11-06T14:00:00Z",
            "execution_end": "2025-11-06T14:32:00Z",
            "total_execution_time_seconds": 1920,
            "average_tokens_per_instance": 26076.67,
            "all_completed": False,
        },
        "system_info": {"hostname": "build-7"},
        "errors": ["tester: 429: too many requests"],
    }


def change(path: Path, **fields: Any) -> None:
    """Change fields of a document as somebody with an editor would."""
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | fields, indent=2))
