"""The audit trail of a session: what was done when it was stored."""

from typing import NamedTuple

from runcard.encoding import JsonObject, decode_json
from runcard.errors import RuncardError
from runcard.store import layout
from runcard.store.record import Record

_LONGEST_LINE = 1 << 20
_LONGEST_TEXT = 300  # characters of a description


class AuditEntry(NamedTuple):
    """One entry, in short."""

    time: str
    event: str
    about: str


def audit_trail(session: Record, most: int) -> tuple[list[AuditEntry], bool]:
    """The first entries of a session's audit trail, and whether there are more. A line that cannot be read is left out."""
    file = session.open(layout.AUDIT)
    entries: list[AuditEntry] = []
    if file is None:
        return entries, False
    with file:
        while line := file.readline(_LONGEST_LINE):
            if len(entries) == most:
                return entries, True
            try:
                event = decode_json(line)
            except RuncardError:
                continue  # `verify` reports it
            if isinstance(event, dict):
                time, name = str(event.get("timestamp") or ""), str(event.get("event") or "")
                entries.append(AuditEntry(time, name, _about(event)))
    return entries, False


def _about(event: JsonObject) -> str:
    payload = event.get("payload")
    if not isinstance(payload, dict):
        return ""
    plain = {key: value for key, value in payload.items() if isinstance(value, str | int | float)}
    return ", ".join(f"{key}: {value}" for key, value in plain.items())[:_LONGEST_TEXT]
