"""Madrox, which runs teams of other agents: its logs, in `$MADROX_LOG_DIR`, `$LOG_DIR` or `/tmp/madrox_logs`.

It counts words, not tokens, and makes no calls of its own. The calls of its agents are in their own session files.

    log_folder         the folders of logs, and what each file is
    instances          the agents, and the session of each
    steps              what they said, and what went wrong
    session_rows       what is stored of the files that all sessions share
    agent_transcripts  the session files of the agents, and the calls in them
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from runcard.transcripts.activity import SessionActivity, SessionFiles
from runcard.transcripts.content import FileContent, TranscriptFile, UnreadPart
from runcard.transcripts.madrox.instances import TeamInstance, audit_events, read_instances
from runcard.transcripts.madrox.log_folder import LogFolder, folders, log_file, log_folders, subfolders
from runcard.transcripts.madrox.session_rows import export_lines
from runcard.transcripts.madrox.steps import add_agent, add_event, add_steps

if TYPE_CHECKING:
    from runcard.transcripts.reading import TranscriptCalls

__all__ = [
    "IS_DIVISIBLE",
    "NAME",
    "NOT_WRITTEN",
    "TITLE",
    "agent_calls",
    "export",
    "folders",
    "is_exported",
    "is_session_file",
    "is_session_record",
    "read",
    "read_activity",
    "sessions",
    "subfolders",
    "workspaces",
]

NAME = "madrox"
TITLE = "Madrox"
NOT_WRITTEN = (
    "calls of agents whose own session files are not on this machine",
    "titles of sessions and other helper calls of the agents",
    "calls that ended before their usage was reported",
)
IS_DIVISIBLE = False

_COPIED = frozenset({"communication.jsonl", "tmux_output.log"})  # they only grow; the others are exported


def is_session_file(path: str) -> bool:
    """Whether a file in one of these folders is read."""
    return log_file(path) is not None


def is_session_record(record: Mapping[str, Any]) -> bool:
    """Whether the first record of a file is of Madrox."""
    return "event_type" in record and "instance_id" in record


def read(path: str, file: BinaryIO, start: int = 0, end: int | None = None) -> FileContent:  # noqa: ARG001 - as of all tools
    """A file of Madrox has no calls."""
    return FileContent()


def sessions(files: Sequence[TranscriptFile]) -> tuple[list[SessionFiles], list[UnreadPart]]:
    """The sessions in some folders of logs, with the session files of their agents; one in two folders is one."""
    unread: list[UnreadPart] = []
    found: dict[str, SessionFiles] = {}
    for folder in log_folders(file.path for file in files).values():
        by_session: dict[str, list[TeamInstance]] = {}
        for instance in read_instances(folder, unread).values():
            by_session.setdefault(instance.session, []).append(instance)
        for name, instances in by_session.items():
            session = _session_files(name, instances, folder)
            earlier = found.get(name)
            found[name] = session if earlier is None else _joined(earlier, session)
    return list(found.values()), unread


def _session_files(name: str, instances: list[TeamInstance], folder: LogFolder) -> SessionFiles:
    paths = dict.fromkeys(path for path in (folder.state, folder.server) if path is not None)
    paths |= dict.fromkeys(path for instance in instances for path in instance.audit)
    for instance in instances:
        own = folder.instances.get(instance.id, {})
        paths |= dict.fromkeys(path for kind in sorted(own) for path in own[kind])
    paths |= dict.fromkeys(_agent_files(instances))
    ended = max(max(instance.created, instance.end) for instance in instances)
    return SessionFiles(NAME, name, tuple(paths), ended)


def _joined(first: SessionFiles, second: SessionFiles) -> SessionFiles:
    paths = tuple(dict.fromkeys((*first.paths, *second.paths)))
    return first._replace(paths=paths, modified=max(first.modified, second.modified))


def _agent_files(instances: Iterable[TeamInstance]) -> dict[str, str | None]:
    """The session files of agents, with the instance that made each; None where several may have."""
    from runcard.transcripts.madrox.agent_transcripts import agent_sessions  # noqa: PLC0415 - it needs all tools

    found: dict[str, str | None] = {}
    for session in agent_sessions(instances, os.environ):
        owner = None if session.instance is None else session.instance.id
        found |= dict.fromkeys(session.files.paths, owner)
    return found


def _instances_of(
    files: SessionFiles, unread: list[UnreadPart]
) -> Iterator[tuple[LogFolder, dict[str, TeamInstance]]]:
    """The instances of a session, by the folder of logs that they are in."""
    for folder in log_folders(files.paths).values():
        found = read_instances(folder, unread)
        yield folder, {name: each for name, each in found.items() if each.session == files.session}


def read_activity(files: SessionFiles, activity: SessionActivity) -> list[UnreadPart]:
    """Add the instances of a session, and what they said. What all sessions share was read by `sessions` already."""
    unread: list[UnreadPart] = []
    for folder, instances in _instances_of(files, []):
        for instance in instances.values():
            add_agent(instance, activity)
        for event in audit_events(folder, []):
            if any(name in instances for name in event.instances):
                add_event(event, activity)
        for name, instance in instances.items():
            unread += add_steps(instance, folder, activity)
            own = folder.instances.get(name, {})
            activity.owners |= {path: name for kind in own for path in own[kind]}
        owners = _agent_files(instances.values())
        activity.owners |= {path: owner for path, owner in owners.items() if owner is not None}
    return unread


def is_exported(path: str) -> bool:
    """Whether `export` has what is stored of a file; any other is stored as it is."""
    file = log_file(path)
    return file is not None and file.kind not in _COPIED


def export(files: SessionFiles) -> Iterator[bytes]:
    """The facts, events and logs of the instances of a session as JSON lines."""
    for folder, instances in _instances_of(files, []):
        yield from export_lines(folder, instances)


def workspaces(files: SessionFiles) -> dict[str, str]:
    """The folder of each instance in which it works."""
    found = [instance for _, instances in _instances_of(files, []) for instance in instances.values()]
    return {instance.id: instance.workspace for instance in found if instance.workspace is not None}


def agent_calls(sessions: Sequence[SessionFiles]) -> "TranscriptCalls":
    """The calls in the session files of the agents of these sessions, each as one of its instance."""
    from runcard.transcripts.madrox.agent_transcripts import agent_calls as calls_of  # noqa: PLC0415 - it needs all tools
    from runcard.transcripts.madrox.agent_transcripts import agent_sessions  # noqa: PLC0415

    return calls_of(
        each
        for files in sessions
        for _, instances in _instances_of(files, [])
        for each in agent_sessions(instances.values(), os.environ)
    )
