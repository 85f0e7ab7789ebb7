"""The texts of messages, thoughts, tool uses and their results, as a log shows them."""

import re
from collections.abc import Iterator
from typing import Any

from runcard.transcripts.content import object_of, text_of
from runcard.transcripts.step_text import beginning, json_text

_TOOL_TEXT = re.compile(r"\s*<(?:session_context|state_snapshot|context_summary)>")


def content_text(content: object) -> str:
    """The text of a message: a string, a part, or a list of parts; thoughts and functions are left out."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    texts = [_part_text(part) for part in parts]
    return "\n".join(text for text in texts if text)


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    fields = object_of(part)
    text = fields.get("text")
    if isinstance(text, str):
        return "" if fields.get("thought") else text
    if "inlineData" in fields or "fileData" in fields:
        data = object_of(fields.get("inlineData") or fields.get("fileData"))
        return f"[{text_of(data.get('mimeType')) or 'data'}]"
    return ""


def short_note(text: str) -> str | None:
    """A text that Gemini CLI wrote in the name of the user, in a few words; None for what the user wrote."""
    return beginning(text) if _TOOL_TEXT.match(text) else None


def has_model(message: dict[str, Any]) -> bool:
    """Whether a message is a reply of a model, and not a text that Gemini CLI wrote."""
    return bool(text_of(message.get("model")) or message.get("toolCalls")) or isinstance(
        message.get("tokens"), dict
    )


def thought_text(thought: object) -> str:
    """A thought: its subject and its text."""
    fields = object_of(thought)
    texts = (fields.get("subject"), fields.get("description"))
    return ": ".join(text for text in texts if isinstance(text, str) and text)


def tool_calls_in(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The tool uses of a message, each with its input as `text`; in the content where they are not apart."""
    calls = message.get("toolCalls")
    uses = [object_of(call) for call in calls] if isinstance(calls, list) else []
    if not uses and isinstance(content := message.get("content"), list):
        parts = (object_of(object_of(part).get("functionCall")) for part in content)
        uses = [part for part in parts if part]
    return [use | {"text": json_text(use.get("args"))} for use in uses]


def response_texts(content: object) -> Iterator[tuple[str, str, bool]]:
    """The results of tools among the parts of a message: the id of the use, the text, and whether it is an error."""
    for part in content if isinstance(content, list) else [content]:
        answer = object_of(object_of(part).get("functionResponse"))
        if not answer:
            continue
        response = object_of(answer.get("response"))
        error = response.get("error")
        value = response.get("output", error)
        text = value if isinstance(value, str) else json_text(response) if response else ""
        yield text_of(answer.get("id")) or "", text, error is not None
