"""What is stored of the files that all sessions of Madrox share, as JSON lines: only what is named here, since the rest may be secret."""

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from runcard.transcripts.madrox.instances import TeamInstance, audit_events
from runcard.transcripts.madrox.log_folder import LogFolder
from runcard.transcripts.session_file import file_lines

if TYPE_CHECKING:
    from runcard.transcripts.content import UnreadPart

_NOT_EXPORTED = frozenset({"audit", "is_suspended"})
_DETAILS = (
    "instance_name",
    "role",
    "instance_type",
    "model",
    "message_id",
    "message_length",
    "response_length",
    "response_time_seconds",
    "force",
    "final_state",
    "total_requests",
    "uptime_seconds",
    "retry_count",
    "state",
    "affected_instances_count",
    "affected_instances",
    "failure_reason",
)


def export_lines(folder: LogFolder, instances: dict[str, TeamInstance]) -> Iterator[bytes]:
    """The facts of each instance, its events, and its log. The same content gives the same bytes."""
    unread: list[UnreadPart] = []
    ordered = sorted(instances.values(), key=lambda each: (each.created, each.id))
    for instance in ordered:
        facts = {each.name: getattr(instance, each.name) for each in fields(instance)}
        yield _line("instance", {name: facts[name] for name in facts if name not in _NOT_EXPORTED})
    for event in audit_events(folder, unread):
        if any(name in instances for name in event.instances):
            details = {name: event.details[name] for name in _DETAILS if name in event.details}
            facts = {"timestamp": event.timestamp, "event_type": event.type, "instance_id": event.instance}
            yield _line("event", facts | {"details": details})
    for instance in ordered:
        for path in folder.files_of(instance.id, "instance.log"):
            for _, line, _ in file_lines(path, unread):
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                yield _line("log", {"instance_id": instance.id, "text": text})


def _line(kind: str, values: dict[str, Any]) -> bytes:
    record = {"kind": kind} | values
    try:
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate
        return json.dumps(record, separators=(",", ":")).encode() + b"\n"
