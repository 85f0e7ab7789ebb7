"""Sessions of Claude Code on disk that grow, and what a store must look like after they were imported."""

import json
from pathlib import Path
from typing import Any

import runcard
from runcard.operations.checks.verify import summary, verify
from runcard.operations.sessions.import_sessions import import_sessions
from runcard.operations.sessions.session_import import ImportedSession
from transcripts.session_files import assistant, lines, usage, user
from whole_ledgers import entries, ledgers

ID = "5a1c9f3e-0000-4000-8000-00000000000a"


class Session:
    """The files of one session, to which turns can be added."""

    def __init__(self, folder: Path, session_id: str = ID) -> None:
        self.id = session_id
        self.project = folder / ".claude" / "projects" / "-home-u-shop"
        self.main = self.project / f"{session_id}.jsonl"
        self.turns = 0
        self.grow()

    def grow(self, turns: int = 1, agent: str | None = None) -> None:
        """Add turns to the main file, or to that of a sub-agent."""
        path = self.main if agent is None else self.project / self.id / "subagents" / f"agent-{agent}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        more = {} if agent is None else {"agentId": agent, "isSidechain": True}
        with path.open("ab") as file:
            for _ in range(turns):
                self.turns += 1
                minute = f"2026-10-02T10:{self.turns % 60:02}"
                facts: dict[str, Any] = {
                    "sessionId": self.id,
                    "cwd": "/home/u/shop",
                    "version": "2.1.200",
                    **more,
                }
                asked = user(f"question {self.turns}") | facts | {"timestamp": f"{minute}:00.000Z"}
                reply = assistant(
                    f"msg_{self.id}_{self.turns}",
                    usage(),
                    request=f"req_{self.turns}",
                    time=f"{minute}:05.000Z",
                    **facts,
                )
                file.write(lines([asked, reply]))


def imported(session: Session, store: Path, **options: Any) -> ImportedSession:
    """What became of the session, which is the only one in its folder."""
    report = import_sessions("claude-code", [session.project], artifacts=store, **options)
    assert report.unread == []
    (result,) = report.sessions
    return result


def stored(store: Path) -> list[Path]:
    """The directories and archives of sessions in a store."""
    found = [path for path in store.iterdir() if path.name[:1] == "2"] if store.is_dir() else []
    return sorted([*found, *store.glob("archive/*/*.tar.gz")])


def events(store: Path) -> list[str]:
    return [entry.event for _, journal, _ in ledgers(str(store)) for entry in entries(journal)]


def ledger_lines(store: Path) -> list[dict[str, Any]]:
    (path,) = store.glob(".runcard/ledger-*.jsonl")
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def calls_in(path: Path) -> int:
    document = json.loads((path / "metadata.json").read_bytes())
    return sum(entry["calls"] for entry in document["instances"])


def assert_clean(store: Path) -> None:
    """Nothing is missing, changed or unknown, and nothing was left behind."""
    found = summary(list(verify(store)))
    assert (found["intact"], found["complete"], found["findings"]) == (True, True, []), found
    assert list((store / ".open").iterdir()) == []
    assert [path.name for path in (store / ".runcard").iterdir() if not path.name.startswith("ledger-")] == []
    for path in stored(store):
        if path.is_dir():
            assert all(checked.report.valid for checked in runcard.validate(path))
