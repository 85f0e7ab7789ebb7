"""The steps in the blocks of a message, as text: what was said, which tools were used, and what they gave.

Blocks are hostile: any value may be of any type. What is no text (an image, a document) is named, not copied.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from runcard.transcripts.activity import EntryKind
from runcard.transcripts.content import object_of, text_of

_INTERRUPTED = "[Request interrupted by user"
_BY_THE_TOOL = (  # how messages begin that the tool writes in the name of the user
    "<local-command-",
    "<command-name>",  # a command of the tool itself, such as /exit
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
    "<system-reminder>",
    "Caveat: ",
)
_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_ENDS = frozenset(["end_turn", "stop_sequence"])


class MessageStep(NamedTuple):
    """A step in a message: an entry without its time, agent and call."""

    kind: EntryKind
    text: str
    name: str | None = None
    use_id: str | None = None
    is_error: bool = False
    tool_input: object = None


def blocks(content: object) -> list[dict[str, Any]]:
    """The blocks of a message; a text is one block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [object_of(block) for block in content] if isinstance(content, list) else []


def user_steps(content: object, *, is_note: bool) -> Iterator[MessageStep]:
    """The steps in a message in the name of the user: a prompt, results of tools, notes of the tool."""
    for block in blocks(content):
        if block.get("type") == "tool_result":
            result = shown(block.get("content"))
            yield MessageStep(
                "tool result",
                result,
                use_id=text_of(block.get("tool_use_id")),
                is_error=block.get("is_error") is True,
            )
        elif text := shown_block(block):
            if text.startswith(_INTERRUPTED):
                yield MessageStep("interruption", text)
            else:
                yield MessageStep("note" if is_note or text.startswith(_BY_THE_TOOL) else "user", text)


def assistant_steps(content: object) -> Iterator[MessageStep]:
    """The steps in a reply."""
    for block in blocks(content):
        kind = text_of(block.get("type")) or ""
        if kind in {"thinking", "redacted_thinking"}:
            if thought := block.get("thinking"):
                yield MessageStep("thinking", plain(thought))
        elif kind.endswith("tool_use"):
            used = block.get("input")
            yield MessageStep(
                "tool use", as_json(used), text_of(block.get("name")), text_of(block.get("id")), False, used
            )
        elif kind.endswith("tool_result"):
            yield MessageStep(
                "tool result", shown(block.get("content")), use_id=text_of(block.get("tool_use_id"))
            )
        elif text := shown_block(block):
            yield MessageStep("assistant", text)


def is_end(message: dict[str, Any]) -> bool:
    """Whether the agent is done with its task after this reply; older versions write no stop reason."""
    reason = message.get("stop_reason")
    return reason is None or reason in _ENDS if isinstance(reason, str | None) else False


def shown(content: object) -> str:
    """The text of the content of a block, which is a text or a list of blocks."""
    return "\n".join(filter(None, map(shown_block, blocks(content))))


def shown_block(block: dict[str, Any]) -> str:
    """The text of a block; of any other block, what it is."""
    text = block.get("text")
    if isinstance(text, str):
        return plain(text)
    source = object_of(block.get("source"))
    name = text_of(block.get("type")) or "block"
    media = text_of(source.get("media_type"))
    return f"[{name}: {media}]" if media else f"[{name}]"


def as_json(value: object) -> str:
    """A value as JSON, in one line."""
    try:
        return plain(_to_json(value))
    except (ValueError, RecursionError):
        return ""


def plain(value: object) -> str:
    """A text in UTF-8; nothing for anything else."""
    if not isinstance(value, str) or value.isascii():
        return value if isinstance(value, str) else ""
    try:
        value.encode()
    except UnicodeEncodeError:  # lone surrogates, and bytes that are not UTF-8
        return value.encode("utf-8", "replace").decode()
    return value
