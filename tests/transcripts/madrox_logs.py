"""Folders of logs as Madrox writes them."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runcard.transcripts import madrox
from runcard.transcripts.activity import SessionActivity, SessionFiles
from runcard.transcripts.content import UnreadPart
from runcard.transcripts.sources import find_files
from transcripts.session_files import write

if TYPE_CHECKING:
    from runcard.transcripts.activity import Entry

SESSION = "session_20261116_120000"
FRAME = "=" * 80


class MadroxLogs:
    """A folder of logs, and the workspaces beside them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._state: dict[str, Any] = {}

    def workspace(self, instance: str, session: str = SESSION) -> str:
        return str(self.root / "artifacts" / session / instance)

    def server(self, session: str = SESSION) -> None:
        write(self.root / "state" / "server.json", {"session_id": session})

    def instance(self, name: str, **fields: Any) -> None:
        """An instance in the state of the server."""
        self._state[name] = {
            "id": name,
            "name": f"the {name}",
            "role": "architect",
            "model": "claude-sonnet-4-5",
            "state": "terminated",
            "system_prompt": "a secret prompt",
            "workspace_dir": self.workspace(name),
            "instance_type": "claude",
            "created_at": "2026-11-16T12:00:05+00:00",
            "last_activity": "2026-11-16T12:05:00+00:00",
            "terminated_at": "2026-11-16T12:06:00+00:00",
            "total_tokens_used": 999,
            "request_count": 2,
            "environment_vars": {"OTHER": "a secret value"},
            "mcp_servers": {"x": {"env": {"TOKEN": "a secret token"}}},
            "parent_instance_id": None,
            "error_message": None,
        } | fields
        self.state(self._state)

    def state(self, content: Any) -> None:
        write(self.root / "state" / "instances.json", content)

    def event(
        self, kind: str, instance: str, time: str, *, file: str = "audit_20261116.jsonl", **details: Any
    ) -> None:
        record = {
            "timestamp": time,
            "level": "INFO",
            "event": kind,
            "logger": "orchestrator.audit",
            "event_type": kind,
            "instance_id": instance,
            "details": details,
        }
        self.append(f"audit/{file}", json.dumps(record))

    def message(self, instance: str, kind: str, time: str, content: str, **fields: Any) -> None:
        record = {"timestamp": time, "event_type": kind, "message": kind, "content": content} | fields
        self.append(f"instances/{instance}/communication.jsonl", json.dumps(record))

    def screen(self, instance: str, time: str, text: str) -> None:
        self.append(f"instances/{instance}/tmux_output.log", f"\n{FRAME}\n[{time}]\n{FRAME}\n{text}")

    def append(self, name: str, line: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


class TeamReading:
    """What was read of one session."""

    def __init__(self, files: SessionFiles) -> None:
        self.files = files
        self.entries: list[Entry] = []
        self.activity = SessionActivity(files.tool, files.session, self.entries.append)
        self.unread = madrox.read_activity(files, self.activity)
        self.exported = [json.loads(line) for line in madrox.export(files)]

    def steps(self, agent: str) -> list[tuple[str, str]]:
        return [(entry.kind, entry.text) for entry in self.entries if entry.agent == agent]


def team_sessions(*paths: Path) -> tuple[dict[str, TeamReading], list[UnreadPart]]:
    files, left_out = find_files(["madrox"], [str(path) for path in paths])
    sessions, unread = madrox.sessions(files)
    return {session.session: TeamReading(session) for session in sessions}, left_out + unread


def only_team(*paths: Path) -> TeamReading:
    sessions, unread = team_sessions(*paths)
    assert unread == []
    (session,) = sessions.values()
    return session


def claude_project(home: Path, workspace: str) -> Path:
    """Where Claude Code keeps the sessions of a folder."""
    return home / ".claude" / "projects" / re.sub(r"[^a-zA-Z0-9]", "-", workspace)
