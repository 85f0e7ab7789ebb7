"""The rows of one session as JSON lines: `{"table", "id", "session_id", "time_created", "type", "data"}`, in the order of the conversation."""

import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from runcard.transcripts.content import decode_record
from runcard.transcripts.opencode.records import SessionSource, StoredRecord, family

MESSAGE_TABLES = ("message", "session_message")


def export_lines(source: SessionSource, root: str) -> Iterator[bytes]:
    """The session, its messages with their parts, then its sub-agents. The same content gives the same bytes."""
    for session, _ in family(source, root):
        if row := source.row(session):
            yield _line(
                {"table": "session", "id": session, "data": {name: _plain(row[name]) for name in row}}
            )
        for record in source.records(session):
            yield _line(_object(record))


def _object(record: StoredRecord) -> dict[str, Any]:
    fields: dict[str, Any] = {"table": record.table, "id": record.id, "session_id": record.session}
    if record.created >= 0:
        fields["time_created"] = record.created
    if record.type is not None:
        fields["type"] = record.type
    if record.data is None:
        return fields | {"unread": record.reason}
    try:
        return fields | {"data": decode_record(record.data)}
    except ValueError:
        return fields | {"data": _plain(record.data)}


def _plain(value: object) -> object:
    """A value of a column: JSON in a text as what it is, bytes that are no text in base64."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": b64encode(value).decode()}
    if isinstance(value, str) and value.startswith(("{", "[")):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _line(fields: dict[str, Any]) -> bytes:
    try:
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, or a byte that is not UTF-8
        return json.dumps(fields, separators=(",", ":")).encode() + b"\n"
    except RecursionError:
        return _line(
            {name: fields[name] for name in fields if name != "data"} | {"unread": "nested too deeply"}
        )
