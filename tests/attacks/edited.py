"""Records to tamper with, and the command that a victim runs."""

import contextlib
import json
import re
import shutil
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import runcard
from attacks.command_server import runcard as command
from runcard.documents import chain
from runcard.encoding import COMPACT, encode_json

Fields = dict[str, Any]

USAGE = {
    "id": "msg_01",
    "type": "message",
    "model": "claude-sonnet-4-5-20250929",
    "usage": {"input_tokens": 45230, "output_tokens": 8750},
}
LEAD, HELPER = "lead-1", "helper-2"


def failed_run(outputs: Path) -> Path:
    """A run that did much and failed; its directory."""
    (outputs.parent / "in.md").write_text("Q: How are you?\n")
    recording = runcard.record(
        outputs,
        model="claude-sonnet-4-5",
        provider="anthropic",
        config={"seed": 7},
        inputs=[str(outputs.parent / "in.md")],
        labels={"team": "ux"},
        strict=True,
    )
    with contextlib.suppress(SystemExit), recording as run:
        run.add_usage(USAGE, step="generate")
        run.add_warning("the tone is off")
        (run.path / "notes.txt").write_text("two\nlines\n")
        sys.exit(3)
    return Path(run.path)


def small_run(outputs: Path) -> Path:
    with runcard.record(outputs, strict=True) as run:
        run.log("page.read", number=1)
        (run.path / "notes.txt").write_text("notes\n")
    return Path(run.path)


def session(folder: Path, name: str = "team-1", **options: Any) -> Path:
    """A session of two agents, one of which failed; its directory."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    (work / "plan.md").write_text("# Plan\n")
    (work / ".env").write_text("A=1\n")
    (folder / "lead.log").write_text("hello\nworld\n")
    lead = {
        "instance_id": LEAD,
        "name": "lead",
        "role": "architect",
        "model": "claude-sonnet-4-5",
        "status": "completed",
        "created_at": "2025-11-06T14:00:00Z",
        "terminated_at": "2025-11-06T14:32:00Z",
        "usage": {"input": 41000, "output": 4230},
        "workspace": str(work),
        "output": str(folder / "lead.log"),
        "performance": {"active_seconds": 3},
    }
    helper = {
        "instance_id": HELPER,
        "name": "helper",
        "parent": "lead",
        "status": "error",
        "created_at": "2025-11-06T14:05:00Z",
        "terminated_at": "2025-11-06T14:28:00Z",
        "error_message": "429: too many requests",
        "tokens_used": 900,
        "cost": 0.01,
        "workspace": str(folder / "nowhere"),
    }
    spec = {"team_session_id": name, "labels": {"team": "ux"}, "instances": [lead, helper]}
    return Path(runcard.collect(spec, artifacts=folder / "artifacts", **options).path)


def alone(record: Path, folder: Path) -> Path:
    """A copy of a record with no ledger beside it, as a stranger would get it."""
    return Path(shutil.copytree(record, folder / "copy" / record.name, symlinks=True))


def edit(record: Path, pattern: str, new: str, name: str = "metadata.json") -> None:
    """Change a document as `sed` would, once; the change must be one."""
    path = record / name
    text = path.read_text()
    changed = re.sub(pattern, new, text, count=1)
    assert changed != text, pattern
    path.write_text(changed)


def change(document: Path, keys: str, value: object) -> None:
    """Set one value of a JSON document, in the layout that runcard writes."""
    data = json.loads(document.read_bytes())
    at: Any = data
    *above, last = [int(key) if key.isdigit() else key for key in keys.split("/")]
    for key in above:
        at = at[key]
    at[last] = value
    document.write_bytes(encode_json(data))


def verify(*arguments: str | Path, cwd: Path | None = None) -> tuple[int, Fields]:
    """The exit code and the report of the real `runcard verify --json`."""
    done = command(cwd or Path.cwd(), "verify", "--json", *arguments)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout) if done.stdout else {"error": done.stderr}


def kinds(report: Fields) -> set[str]:
    return {found["kind"] for found in report["findings"]}


def messages(report: Fields, kind: str) -> list[str]:
    return [found["message"] for found in report["findings"] if found["kind"] == kind]


def ledger_of(store: Path) -> Path:
    (path,) = (store / ".runcard").glob("ledger-*.jsonl")
    return path


def ledger_lines(*entries: tuple[str, Fields], host: str) -> bytes:
    """A ledger that holds in itself, as anybody can write one."""
    name = f"ledger-{host}"
    prev, raw = chain.first_link(name, name), b""
    for seq, (event, payload) in enumerate(entries, 1):
        fields = {"seq": seq, "timestamp": "2026-01-01T00:00:00Z", "event": event, "writer": name}
        line = chain.make_line(fields, payload, f"{seq:032x}", prev)
        prev = line["hash"]
        raw += encode_json(line, COMPACT)
    return raw


def closed_entry(record: Path, kind: str = "run") -> tuple[str, Fields]:
    data = (record / "metadata.json").read_bytes()
    document = json.loads(data)
    own = document["team_session_id"] if kind == "session" else document["generation"]["run_id"]
    payload = {"kind": kind, "id": own, "path": record.name, "sha256": sha256(data).hexdigest()}
    return "record.closed", payload | {"time": "2026-01-01T00:00:00Z"}
