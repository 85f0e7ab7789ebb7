"""The agents of Madrox, which it calls instances: from its state, its audit trail, and the files of each.

The state has only what is named here taken from it: the rest may be secret. It forgets instances a day after their end; the
audit trail keeps them, without their parents and workspaces.

A session is the life of one server. Its id is in the path of a workspace. Where that is not known, an instance belongs to the
session of the server that runs now if it was started in it, else to a session for its day.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from runcard.transcripts.activity import Status
from runcard.transcripts.calls import NO_TIME
from runcard.transcripts.content import UnreadPart, decode_record, object_of, text_of
from runcard.transcripts.madrox.log_folder import LogFolder, local_time, utc_time
from runcard.transcripts.session_file import file_lines, read_document

_SESSION = re.compile(r"session_(\d{8}_\d{6})")
_AT_WORK = frozenset({"initializing", "running", "idle", "busy"})
_KNOWN_EVENTS = frozenset(
    [
        "instance_spawn",
        "message_exchange",
        "instance_terminate",
        "instance_suspended",
        "instance_resumed",
        "instance_recovered",
        "instance_reconnected",
        "manager_daemon_failure",
    ]
)


@dataclass
class TeamInstance:
    """What is known about an instance."""

    id: str
    name: str | None = None
    role: str | None = None
    model: str | None = None
    harness: str | None = None  # `claude`, `codex`, `grok`
    state: str | None = None
    parent: str | None = None
    workspace: str | None = None
    created: int = NO_TIME
    ended: int = NO_TIME
    last_activity: int = NO_TIME
    requests: int | None = None
    error: str | None = None
    is_suspended: bool = False  # by the audit trail
    session: str = ""
    audit: dict[str, None] = field(default_factory=dict)  # the files that name it

    @property
    def status(self) -> Status:
        """How it ended. Madrox does not say it: it is derived from its state."""
        if self.state == "error":
            return "error"
        if self.state in _AT_WORK:
            return "running"
        is_done = self.state == "terminated" and bool(self.requests) and self.error is None
        return "completed" if is_done else "terminated"

    @property
    def end(self) -> int:
        """When it ended, or else when it was last at work."""
        return self.ended if self.ended >= 0 else self.last_activity

    def fill(self, **facts: object) -> None:
        """Add facts that are not known yet."""
        for name, value in facts.items():
            if value is not None and value != NO_TIME and getattr(self, name) in {None, NO_TIME}:
                setattr(self, name, value)


class AuditEvent(NamedTuple):
    """A line of the audit trail."""

    path: str
    time: int
    type: str
    instance: str
    details: dict[str, Any]
    timestamp: str | None  # as it was written

    @property
    def instances(self) -> list[str]:
        """Those that it is about: one, or all that a failure of Madrox affected."""
        if self.type != "manager_daemon_failure":
            return [self.instance]
        affected = self.details.get("affected_instances")
        return [name for name in affected if isinstance(name, str)] if isinstance(affected, list) else []


def audit_events(folder: LogFolder, unread: list[UnreadPart]) -> Iterator[AuditEvent]:
    """The events of all files; a line that is there twice, since a file was copied, is one event."""
    seen: set[int] = set()
    for path in folder.audit:
        for number, line, is_complete in file_lines(path, unread):
            if line.isspace() or hash(line) in seen:
                continue
            seen.add(hash(line))
            try:
                if not is_complete:
                    raise ValueError("the line is too long")  # noqa: TRY301
                record = decode_record(line)
            except ValueError as error:
                unread.append(UnreadPart(path, number, str(error)))
                continue
            kind, instance = text_of(record.get("event_type")), text_of(record.get("instance_id"))
            if kind not in _KNOWN_EVENTS or instance is None:
                unread.append(
                    UnreadPart(path, number, f"an event of unknown type {(kind or 'no type')[:80]}")
                )
                continue
            stamp = text_of(record.get("timestamp"))
            yield AuditEvent(path, local_time(stamp), kind, instance, object_of(record.get("details")), stamp)


def read_instances(folder: LogFolder, unread: list[UnreadPart]) -> dict[str, TeamInstance]:
    """All instances of a folder, by id, each with its session."""
    found = _read_state(folder, unread)
    _read_audit(folder, found, unread)
    for name in folder.instances:
        _add_metadata(found.setdefault(name, TeamInstance(name)), folder, unread)
    _assign_sessions(folder, found, unread)
    return found


def _read_state(folder: LogFolder, unread: list[UnreadPart]) -> dict[str, TeamInstance]:
    found: dict[str, TeamInstance] = {}
    if folder.state is not None:
        for name, record in read_document(folder.state, unread).items():
            if isinstance(record, dict) and name:
                found[name] = _of_state(name, record)
            else:
                unread.append(UnreadPart(folder.state, None, f"instance {name[:80]} is not an object"))
    return found


def _read_audit(folder: LogFolder, found: dict[str, TeamInstance], unread: list[UnreadPart]) -> None:
    """Add what the audit trail says, also about instances that the state has forgotten."""
    failures = []
    for event in audit_events(folder, unread):
        if event.type == "manager_daemon_failure":
            failures.append(event)
        else:
            _add_event(found.setdefault(event.instance, TeamInstance(event.instance)), event)
    for event in failures:
        for instance in filter(None, map(found.get, event.instances)):
            instance.audit[event.path] = None
    for instance in found.values():
        if instance.is_suspended:
            instance.fill(state="suspended", ended=instance.last_activity)


def _of_state(name: str, record: dict[str, Any]) -> TeamInstance:
    requests = record.get("request_count")
    return TeamInstance(
        name,
        name=text_of(record.get("name")),
        role=text_of(record.get("role")),
        model=text_of(record.get("model")),
        harness=text_of(record.get("instance_type")),
        state=text_of(record.get("state")),
        parent=text_of(record.get("parent_instance_id")),
        workspace=text_of(record.get("workspace_dir")),
        created=utc_time(record.get("created_at")),
        ended=max(utc_time(record.get("terminated_at")), utc_time(record.get("suspended_at"))),
        last_activity=utc_time(record.get("last_activity")),
        requests=requests if isinstance(requests, int) else None,
        error=text_of(record.get("error_message")),
    )


def _add_event(instance: TeamInstance, event: AuditEvent) -> None:
    details = event.details
    instance.audit[event.path] = None
    instance.last_activity = max(instance.last_activity, event.time)
    instance.is_suspended = event.type == "instance_suspended"
    instance.fill(name=text_of(details.get("instance_name")))
    if event.type == "instance_spawn":
        instance.fill(
            role=text_of(details.get("role")),
            model=text_of(details.get("model")),
            harness=text_of(details.get("instance_type")),
            created=event.time,
        )
    elif event.type == "instance_terminate":
        requests = details.get("total_requests")
        last_state = text_of(details.get("final_state"))
        instance.fill(
            state="error" if last_state == "error" else "terminated",
            ended=event.time,
            requests=requests if isinstance(requests, int) else None,
        )


def _add_metadata(instance: TeamInstance, folder: LogFolder, unread: list[UnreadPart]) -> None:
    """Add what the file beside the logs of an instance says; one with a `version` is of another kind."""
    for path in folder.files_of(instance.id, "metadata.json"):
        record = read_document(path, unread)
        if "version" not in record:
            instance.fill(
                name=text_of(record.get("instance_name")), created=local_time(record.get("created_at"))
            )


def _assign_sessions(folder: LogFolder, found: dict[str, TeamInstance], unread: list[UnreadPart]) -> None:
    server = text_of(read_document(folder.server, unread).get("session_id")) if folder.server else None
    for instance in found.values():
        _add_workspace(instance, folder)
        match = _SESSION.search(instance.workspace or "")
        start = _start(server)
        if match is not None:
            instance.session = match[0]
        elif server is not None and 0 <= start <= instance.created:
            instance.session = server
    for instance in found.values():
        parent = found.get(instance.parent or "")
        if not instance.session:
            instance.session = (parent.session if parent is not None else "") or _day(instance)


def _start(session: str | None) -> int:
    """When a server was started: its session is named after it, in local time."""
    match = _SESSION.fullmatch(session or "")
    return NO_TIME if match is None else local_time(match[1].replace("_", "T"))


def _day(instance: TeamInstance) -> str:
    """A session for the instances of a day whose server is not known."""
    if (time := instance.created if instance.created >= 0 else instance.last_activity) < 0:
        return "madrox"
    return f"madrox_{datetime.fromtimestamp(time / 1000).astimezone():%Y%m%d}"


def _add_workspace(instance: TeamInstance, folder: LogFolder) -> None:
    """Find the workspace of an instance that the state has forgotten, and what older versions kept there."""
    safe = instance.id not in {".", ".."} and "/" not in instance.id and "\0" not in instance.id
    for base in dict.fromkeys([os.path.join(folder.root, "artifacts"), _artifacts(folder)]) if safe else ():
        if instance.workspace is None:
            instance.workspace = _workspace_in(base, instance.id)
        older = os.path.join(base, instance.id, "_metadata.json")
        if os.path.isfile(older) and not os.path.islink(older):
            record = read_document(older, [])
            instance.fill(
                name=text_of(record.get("instance_name") or record.get("name")),
                role=text_of(record.get("role")),
                model=text_of(record.get("model")),
                parent=text_of(record.get("parent_instance_id")),
                workspace=text_of(record.get("workspace_dir")),
            )


def _artifacts(folder: LogFolder) -> str:
    return os.environ.get("ARTIFACTS_DIR") or os.path.join(os.path.dirname(folder.root), "artifacts")


def _workspace_in(base: str, name: str) -> str | None:
    try:
        with os.scandir(base) as entries:
            sessions = sorted(entry.path for entry in entries if _SESSION.fullmatch(entry.name))
    except OSError:
        return None
    paths = [os.path.join(session, name) for session in sessions]
    return next((path for path in paths if os.path.isdir(path)), None)
