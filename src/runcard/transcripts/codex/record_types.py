"""The records of Codex by type, in the versions with an envelope `{timestamp, type, payload}` and in the two before it."""

from collections.abc import Mapping
from typing import Any

from runcard.transcripts.content import text_of

NAME = "codex"

KNOWN_TYPES = frozenset(
    [
        "session_meta",
        "response_item",
        "event_msg",
        "turn_context",
        "compacted",
        "world_state",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
        "security_risk_score",
        "token_usage_record",
    ]
)
OLD_TYPES = frozenset(
    [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "local_shell_call",
        "custom_tool_call",
        "custom_tool_call_output",
    ]
)
_HEADER_FIELDS = frozenset(["instructions", "git", "cwd", "cli_version"])


def is_session_record(record: Mapping[str, Any]) -> bool:
    """Whether the first record of a file is of Codex."""
    is_enveloped = "payload" in record and text_of(record.get("type")) in KNOWN_TYPES
    return is_enveloped or is_old_header(record) or is_old_document(record)


def is_old_header(record: Mapping[str, Any]) -> bool:
    """Whether a record is the first one of a file with a record in each line, but without the envelope."""
    return (
        "id" in record
        and "timestamp" in record
        and not _HEADER_FIELDS.isdisjoint(record)
        and "type" not in record
    )


def is_old_document(record: Mapping[str, Any]) -> bool:
    """Whether a record is a whole session, as the first versions wrote it."""
    return isinstance(record.get("session"), dict) and isinstance(record.get("items"), list)
