"""A small session, put together from the documented format: two agents, a failed one, workspaces, links, a journal."""

import json
import os
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from runcard import checksums
from runcard.documents import chain
from runcard.documents.instance import Instance
from runcard.documents.manifest import Manifest
from runcard.documents.team import Team
from runcard.encoding import COMPACT, encode_json
from runcard.store.ledger import CLOSED, Ledger

Fields = dict[str, Any]

NOT_LISTED = {"SHA256SUMS", "metadata.json"}
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
    TESTER: {},
}
OUTPUTS = {LEAD: b"hello\nworld\n", CODER: b"no newline at the end", TESTER: None}
TYPES = {LEAD: {".md": 1, ".txt": 1, "": 2}, CODER: {".py": 1, ".json": 1}, TESTER: {}}
LINKS = {f"instances/{LEAD}/workspace/latest": "notes/a.TXT"}


def make_session(
    store: Path, session_id: str = "team-1", *, version: str = "2.0.0", second: int = 45, ledger: bool = True
) -> Path:
    """A closed session in a store; its directory."""
    session = store / f"2025-11-06_14-32-{second}-{session_id}"
    session.mkdir(parents=True)
    created = f"2025-11-06T14:32:{second}Z"
    for agent in AGENTS:
        _make_instance(session, agent, version)
    for path, target in LINKS.items():
        os.symlink(target, session / path)
    (session / "summary.md").write_text("# Team Artifacts Summary\n")
    _write(session / "manifest.json", Manifest.from_dict(_manifest(session_id, created)).to_bytes())
    heads = _journal(session)
    contents = checksums.make(session, exclude=NOT_LISTED)
    (session / "SHA256SUMS").write_bytes(contents.listing.to_bytes())
    document = _team(session_id, created, version)
    if version == "2.0.0":
        document |= {
            "symlinks": [{"path": link.path, "target": link.target} for link in contents.symlinks],
            "event_chains": [head.to_dict() for head in heads],
            "checksums": {"session": str(contents.listing.digest)},
        }
    if not ledger:
        _write(session / "metadata.json", Team.from_dict(document).to_bytes())
        return session
    with Ledger(str(store)) as book:
        if version == "2.0.0" and book.head:
            document["ledger_head"] = book.head
        data = Team.from_dict(document).to_bytes()
        _write(session / "metadata.json", data)
        said = {"kind": "session", "id": session_id, "path": session.name, "sha256": sha256(data).hexdigest()}
        book.append(CLOSED, created, {**said, "time": created})
    return session


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _make_instance(session: Path, agent: Fields, version: str) -> None:
    own = agent["instance_id"]
    folder, files, output = session / "instances" / own, FILES[own], OUTPUTS[own]
    (folder / "workspace").mkdir(parents=True)
    for path, data in files.items():
        _write(folder / "workspace" / path, data)
    entry = {key: value for key, value in agent.items() if key not in {"children_count", "error_message"}}
    document: Fields = {
        "version": version,
        **entry,
        "children_instance_ids": [one["instance_id"] for one in AGENTS if one["parent_instance_id"] == own],
        "workspace": {
            "path": f"/tmp/{own}",  # noqa: S108 - nothing is there
            "files_count": len(files),
            "total_size_bytes": sum(map(len, files.values())),
            "file_types": TYPES[own],
        },
        "error": agent["error_message"],
    }
    digests: Fields = {"workspace": str(checksums.make(folder / "workspace").listing.digest)}
    if output is not None:
        _write(folder / "output.log", output)
        document["output"] = {
            "file": "output.log",
            "lines": len(output.splitlines()),
            "size_bytes": len(output),
        }
        digests["output"] = f"sha256:{sha256(output).hexdigest()}"
    if version == "2.0.0":
        document["checksums"] = digests
    else:
        document.pop("error_details", None)
    _write(folder / "metadata.json", Instance.from_dict(document).to_bytes())


def _manifest(session_id: str, created: str) -> Fields:
    said = ("instance_id", "name", "role", "status", "tokens_used", "cost")
    return {
        "version": "1.0.0",
        "team_session_id": session_id,
        "timestamp": created,
        "instances_index": [
            {key: one[key] for key in said}
            | {"metadata_file": f"instances/{one['instance_id']}/metadata.json"}
            for one in AGENTS
        ],
        "summary": {"total_instances": 3, "completed": 2, "failed": 1, "total_cost": 0.78},
    }


def _journal(session: Path) -> tuple[chain.Head, ...]:
    prev, lines = chain.first_link(session.name, "w-1"), []
    for seq, event in enumerate(("collection.started", "instance.collected", "collection.ended"), 1):
        fields = {"seq": seq, "timestamp": "2025-11-06T14:32:45Z", "event": event, "writer": "w-1"}
        line = chain.make_line(fields, {"number": seq}, f"{seq:032x}", prev)
        prev = line["hash"]
        lines.append(line)
    data = b"".join(encode_json(line, COMPACT) for line in lines)
    _write(session / "audit.jsonl", data)
    return chain.heads(chain.parse(data).entries)


def _team(session_id: str, created: str, version: str) -> Fields:
    drop = set() if version == "2.0.0" else {"error_details"}
    return {
        "version": version,
        "created_at": created,
        "team_session_id": session_id,
        "total_instances": 3,
        "instances": [{key: value for key, value in one.items() if key not in drop} for one in AGENTS],
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


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def change(path: Path, **fields: Any) -> None:
    """Change fields of a document as somebody with an editor would."""
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | fields, indent=2))
