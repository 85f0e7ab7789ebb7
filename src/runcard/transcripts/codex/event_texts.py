"""What Codex itself writes into a conversation, and into its index: context, errors, titles."""

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from runcard.transcripts.content import decode_record, object_of, text_of
from runcard.transcripts.session_file import file_lines
from runcard.transcripts.step_text import beginning

if TYPE_CHECKING:
    from runcard.transcripts.content import UnreadPart

_TAGS = (
    "environment_context",
    "ENVIRONMENT_CONTEXT",
    "user_instructions",
    "permissions instructions",
    "skills_instructions",
    "skill",
    "apps_instructions",
    "plugins_instructions",
    "collaboration_mode",
    "model_switch",
    "multi_agent_mode",
    "personality_spec",
    "token_budget",
    "turn_aborted",
    "subagent_notification",
    "user_action",
)
_TOOL_TEXT = re.compile(rf"\s*(?:<(?:{'|'.join(_TAGS)})>|# AGENTS\.md instructions for )")
_SHOWN_WHOLE = "<subagent_notification>"
_CATEGORIES = {
    "usage_limit_exceeded": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "server_overloaded": "rate_limit",
    "context_window_exceeded": "context_length",
    "unauthorized": "authentication",
    "http_connection_failed": "network",
    "response_stream_connection_failed": "network",
    "response_stream_disconnected": "network",
    "sandbox_error": "tool_error",
    "cyber_policy": "refusal",
    "misalignment_policy_violation": "refusal",
}
_STATUS_CATEGORIES = {401: "authentication", 403: "authentication", 429: "rate_limit", 529: "rate_limit"}
_LARGEST_INDEX = 64 << 20  # bytes


def is_from_tool(item: dict[str, Any], text: str) -> bool:
    """Whether a message with the role of a user was written by Codex."""
    metadata = object_of(item.get("internal_chat_message_metadata_passthrough"))
    kinds = metadata.get("content_item_kinds")
    if isinstance(kinds, list) and kinds:
        return not any(isinstance(kind, str) and kind.startswith("user.") for kind in kinds)
    return _TOOL_TEXT.match(text) is not None


def short_note(text: str) -> str:
    """A text that Codex wrote, in a few words."""
    return text if text.startswith(_SHOWN_WHOLE) else beginning(text)


def error_text(error: dict[str, Any]) -> str:
    """The message of an error."""
    message = error.get("message")
    details = text_of(error.get("additional_details"))
    text = message if isinstance(message, str) and message else "unknown error"
    return f"{text}: {details}" if details else text


def error_category(error: dict[str, Any]) -> str | None:
    """The category of an error, where Codex names its kind; None: by its message."""
    info = error.get("codex_error_info")
    if isinstance(info, str):
        return _CATEGORIES.get(info)
    for name, fields in object_of(info).items():
        status = object_of(fields).get("http_status_code")
        by_status = _STATUS_CATEGORIES.get(status) if isinstance(status, int) else None
        return by_status or _CATEGORIES.get(name)
    return None


def thread_title(path: str, thread: str) -> str | None:
    """The name that the user gave a thread, in the index beside the folder of the sessions."""
    folder = os.path.dirname(path)
    while os.path.basename(folder) not in {"sessions", "archived_sessions"}:
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)
    index = os.path.join(os.path.dirname(folder), "session_index.jsonl")
    try:
        found = os.stat(index)
    except OSError:
        return None
    if found.st_size > _LARGEST_INDEX:
        return None
    return _titles(index, found.st_mtime_ns, found.st_size).get(thread)


@lru_cache(maxsize=2)
def _titles(index: str, _modified: int, _size: int) -> dict[str, str]:
    """The names of all threads; the last one of each counts."""
    titles: dict[str, str] = {}
    unread: list[UnreadPart] = []
    for _, line, is_complete in file_lines(index, unread):
        try:
            record = decode_record(line) if is_complete else {}
        except ValueError:
            continue
        thread, title = text_of(record.get("id")), text_of(record.get("thread_name"))
        if thread and title:
            titles[thread] = title
    return titles
