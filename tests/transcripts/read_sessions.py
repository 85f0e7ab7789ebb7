"""The sessions in some files, with all that is said of them beside their calls."""

from dataclasses import dataclass
from pathlib import Path

from runcard.transcripts.activity import Entry, SessionActivity, SessionAgent, SessionFiles
from runcard.transcripts.content import UnreadPart
from runcard.transcripts.sources import SESSION_TOOLS, find_files


@dataclass
class ReadSession:
    """A session that was read."""

    files: SessionFiles
    activity: SessionActivity
    entries: list[Entry]
    unread: list[UnreadPart]

    def agent(self, name: str = "main") -> SessionAgent:
        return self.activity.agents[name]

    def steps(self, agent: str = "main") -> list[tuple[str, str]]:
        """The kind and the text of each step of an agent."""
        return [(entry.kind, entry.text) for entry in self.entries if entry.agent == agent]


def read_sessions(tool: str, *paths: Path) -> dict[str, ReadSession]:
    """All sessions in files or folders, by their ids."""
    files, _ = find_files([tool], [str(path) for path in paths])
    found, unread = SESSION_TOOLS[tool].sessions(files)
    assert not unread
    assert len({session.session for session in found}) == len(found)
    return {session.session: read_session(session) for session in found}


def read_session(files: SessionFiles) -> ReadSession:
    entries: list[Entry] = []
    activity = SessionActivity(files.tool, files.session, entries.append)
    unread = SESSION_TOOLS[files.tool].read_activity(files, activity)
    return ReadSession(files, activity, entries, unread)
