"""Who made a call, as programs say in the headers of their requests."""

import json
from typing import NamedTuple

from runcard.observe.meter.exchange import Headers
from runcard.observe.meter.wire_endpoints import header

_LONGEST = 200  # characters of an id
_LONGEST_METADATA = 1 << 16


class Caller(NamedTuple):
    """The session and the agent of a call; None where the program does not say."""

    session: str | None = None
    agent: str | None = None
    parent_agent: str | None = None


def caller_of(headers: Headers) -> Caller:
    """The caller by the headers of Claude Code or Codex."""
    session = _id(header(headers, "x-claude-code-session-id"))
    agent = _id(header(headers, "x-claude-code-agent-id"))
    if session or agent:
        return Caller(session, agent, _id(header(headers, "x-claude-code-parent-agent-id")))
    turn = _turn(header(headers, "x-codex-turn-metadata"))
    session = _id(turn.get("session_id")) or _id(
        header(headers, "session_id") or header(headers, "session-id")
    )
    thread = _id(turn.get("thread_id")) or _id(header(headers, "thread-id"))
    parent = _id(turn.get("parent_thread_id")) or _id(header(headers, "x-codex-parent-thread-id"))
    return Caller(session, thread, parent)


def _turn(text: str | None) -> dict[str, object]:
    """What Codex says about the turn that a request belongs to."""
    try:
        data = json.loads(text) if text and len(text) <= _LONGEST_METADATA else None
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _id(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= _LONGEST and value.isprintable() else None
