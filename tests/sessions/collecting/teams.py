"""A team on disk: workspaces, transcripts and a SPEC, as the tests of collecting use it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import runcard
from runcard import checksums
from runcard.documents import chain
from whole_ledgers import entries, ledgers

KEY = "sk-ant-api03-" + "Zx9" * 30  # a secret that must not get anywhere
LOG = f"hello\nusing {KEY} now\nthe end"

COORDINATOR = {
    "instance_id": "coordinator-1",
    "name": "coordinator",
    "role": "architect",
    "model": "claude-sonnet-4-5",
    "status": "completed",
    "created_at": "2025-11-06T14:00:00Z",
    "terminated_at": "2025-11-06T14:32:00Z",
    "usage": {"input": 41000, "output": 4230, "cache_read": 12000},
    "workspace": "workspaces/coordinator",
    "output": "logs/coordinator.log",
}
RESEARCHER = {
    "name": "researcher",
    "parent": "coordinator",
    "role": "data_scientist",
    "model": "claude-sonnet-4-5",
    "status": "completed",
    "created_at": "2025-11-06T15:05:00+01:00",
    "terminated_at": "2025-11-06T15:28:00.900+01:00",
    "tokens_used": 32100,
    "cost": 0.32,
    "workspace": "workspaces/researcher",
    "output": "logs/researcher.log",
}


def team(*instances: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"team_session_id": "research-team-001", "instances": list(instances), **more}


def instance(name: str = "a", **more: Any) -> dict[str, Any]:
    """The least that a SPEC says about an instance, and more."""
    return {"name": name, "status": "completed", "created_at": "2025-11-06T14:00:00Z"} | (
        {"terminated_at": "2025-11-06T14:10:00Z"} | more
    )


def lay_out(folder: Path, spec: dict[str, Any] | None = None) -> Path:
    """The files of the team in a folder; the path of its SPEC."""
    for name in ("coordinator", "researcher"):
        workspace = folder / "workspaces" / name
        (workspace / "sub").mkdir(parents=True)
        (workspace / "report.md").write_text(f"# What {name} found\n")
        (workspace / "sub" / "Data.CSV").write_text("a,b\n1,2\n")
        (workspace / "latest").symlink_to("report.md")
        (workspace / ".env").write_text(f"ANTHROPIC_API_KEY={KEY}\n")
    logs = folder / "logs"
    logs.mkdir()
    (logs / "coordinator.log").write_text(LOG)
    (logs / "researcher.log").write_text("one\ntwo\n")
    return write_spec(folder, spec or team(COORDINATOR, RESEARCHER))


def write_spec(folder: Path, spec: dict[str, Any], name: str = "spec.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(spec, indent=2))
    return path


def document(session: Path, name: str = "metadata.json") -> dict[str, Any]:
    data: dict[str, Any] = json.loads((session / name).read_bytes())
    return data


def sessions(store: Path) -> list[Path]:
    return sorted(path for path in store.iterdir() if not path.name.startswith(".")) if store.is_dir() else []


def everything(folder: Path) -> bytes:
    """All bytes below a folder, names included."""
    found = b""
    for path in sorted(folder.rglob("*")):
        found += str(path.relative_to(folder)).encode()
        found += path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    return found


def state(folder: Path) -> dict[str, Any]:
    """What can be seen of a tree without reading it: to prove that nobody wrote there."""
    return {
        str(path): (path.lstat().st_mode, path.lstat().st_mtime_ns, path.lstat().st_ino, path.lstat().st_size)
        for path in folder.rglob("*")
    }


def assert_whole(session: Path) -> None:
    """Documents are valid, every file has the digest that is listed, and the journal is whole."""
    for checked in runcard.validate(session):
        assert checked.report.valid, checked
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=session, check=True)
    listed = checksums.read((session / "SHA256SUMS").read_bytes())
    contents = checksums.make(session, exclude={"SHA256SUMS", "metadata.json"})
    assert contents.listing == listed
    assert contents.others == ()
    journal = chain.parse((session / "audit.jsonl").read_bytes())
    data = document(session)
    stated = data.get("event_chains", ())
    names = {each["record"] for each in stated if "record" in each}
    checker = chain.ChainChecker(session.name, earlier_ids=names)
    assert [fault for entry in journal.entries for fault in checker.add(entry)] == []
    assert journal.damaged == ()
    assert (
        session.name
        == f"{data['created_at'][:19].replace('T', '_').replace(':', '-')}-{data['team_session_id']}"
    )
    if data["version"] == "2.0.0":
        heads = [{name: each[name] for name in ("writer", "count", "head")} for each in stated]
        assert heads == [head.to_dict() for head in chain.heads(entry.line for entry in journal.entries)]


def assert_tidy(store: Path) -> None:
    """Every session is whole and stands in the ledger once, and nothing else is left."""
    for session in sessions(store):
        assert_whole(session)
    assert list((store / ".open").iterdir()) == []
    entered = []
    for _, journal, checked in ledgers(str(store)):
        assert checked.faults == ()
        entered += [entry.path for entry in entries(journal)]
    assert sorted(entered) == [session.name for session in sessions(store)]
