"""The model call in a message of OpenCode.

A fork copies the messages of another session under new ids, with their times. Such a copy, which is older than its session, has a key
without an id: it counts only where the message itself is not there.
"""

from typing import Any

from runcard.accounting.vendors import opencode
from runcard.accounting.vendors.reply_fields import ReplyFields
from runcard.transcripts.calls import MAIN, Call, CallOrigin, call_key, kind_and_counts
from runcard.transcripts.content import FileContent, milliseconds, object_of, text_of
from runcard.transcripts.opencode.records import SessionFacts

NAME = "opencode"


def add_call(
    content: FileContent,
    message: dict[str, Any],
    name: str,
    session: str,
    root: str,
    facts: SessionFacts | None,
    created: object = None,
) -> bool:
    """Add the call in a message; whether it has one. Raises UsageError for counts that cannot be."""
    tokens = message.get("tokens")
    if message.get("role", "assistant") != "assistant" or not isinstance(tokens, dict):
        return False
    usage = opencode.read(ReplyFields(message), ReplyFields(tokens, "tokens"))
    if not usage.tokens.input and not usage.tokens.output and usage.stop_reason is None:
        return False  # it failed, or is not answered yet
    facts = facts or SessionFacts()
    time = message_time(message, created)
    kind, counts = kind_and_counts(
        usage, source="reported", model=text_of(usage.model), provider=text_of(usage.provider)
    )
    agent = MAIN if session == root else text_of(message.get("agent") or message.get("mode")) or session
    agent_id = MAIN if session == root else session
    origin = CallOrigin(
        NAME, root, agent, _project(message, facts), None, is_copy(facts, time), agent_id=agent_id
    )
    same = f"{time}:{kind.model}:{message.get('agent')}:{message.get('path')}" if time > 0 else name
    key = call_key(f"{NAME}:{same}", None if origin.is_copy else name)
    content.calls.add(key, Call(time, origin, kind, counts))
    return True


def message_time(message: dict[str, Any], created: object) -> int:
    """When a message was begun: by its own words, or by its row."""
    time = milliseconds(object_of(message.get("time")).get("created"))
    return time if time > 0 else milliseconds(created)


def is_copy(facts: SessionFacts | None, time: int) -> bool:
    """Whether a message is older than its session, which is a fork then."""
    return facts is not None and 0 < time < facts.created


def _project(message: dict[str, Any], facts: SessionFacts) -> str | None:
    path = object_of(message.get("path"))
    return facts.folder or text_of(path.get("cwd")) or text_of(path.get("root"))
