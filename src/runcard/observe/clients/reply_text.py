"""The text of a reply: whether an event brings the first token, and all text for those who keep content.

A whole reply has its text in one field. Of a stream it is put together as far as it came: text is appended, tool calls
keep their arguments as text.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from runcard.encoding import JsonObject

_CONTENT_FIELDS = ("content", "output", "choices", "candidates", "completion", "steps", "outputs")
_LONGEST_KEPT = 16 << 20  # characters of a stream; an event has room for much less
_APPENDED_FIELDS = (
    "text",
    "partial_json",
    "thinking",
    "content",
    "reasoning_content",
    "arguments",
    "refusal",
    "signature",
)


class ReplyText:
    """The text of a reply, as far as it came."""

    def __init__(self, *, keep: bool) -> None:
        self._is_kept = keep
        self._room = _LONGEST_KEPT
        self._content: Any = None
        self._parts: dict[str, JsonObject] = {}

    @property
    def content(self) -> Any:
        return self._content if self._content is not None else list(self._parts.values()) or None

    def whole(self, reply: Mapping[str, Any]) -> None:
        """Use the text of a complete reply: one without a stream, or repeated at the end of its stream."""
        if self._is_kept:
            self._content = next(
                (reply[name] for name in _CONTENT_FIELDS if reply.get(name) is not None), None
            )

    def add(self, event: Mapping[str, Any]) -> bool:
        """Add an event of a stream; True when it has text."""
        ends = event.get("type") in {"response.completed", "response.incomplete"}
        if ends and isinstance(response := event.get("response"), Mapping):
            self.whole(response)
        pieces = list(_pieces(event))
        if self._is_kept:
            for key, piece in pieces:
                self._room -= sum(len(part) for part in piece.values() if isinstance(part, str))
                if self._room < 0:
                    break
                _append(self._parts.setdefault(key or f"+{len(self._parts)}", {}), piece)
        return bool(pieces)


def _pieces(event: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The pieces of text in an event, each with the key of the part that it continues; "" for a new part."""
    kind = event.get("type") or event.get("event_type") or ""
    if kind in {"content_block_start", "content_block_delta", "step.delta"}:
        yield from _with_text(f"{event.get('index')}", event.get("delta") or event.get("content_block"))
    elif kind.startswith("response.") and kind.endswith(".delta"):
        name = kind.removeprefix("response.").removesuffix(".delta")
        key = f"{name} {event.get('output_index')} {event.get('content_index')}"
        yield from _with_text(key, {"type": name, "text": event.get("delta")})
    elif not kind and isinstance(inner := event.get("response"), Mapping):  # Gemini Code Assist
        yield from _pieces(inner)
    elif "done" in event:  # Ollama
        yield from _with_text("0", event.get("message") or {"text": event.get("response")})
    for number, choice in enumerate(_objects(event.get("choices"))):
        key = f"{choice.get('index', number)}"
        delta = choice.get("delta") or {"text": choice.get("text")}
        yield from _with_text(key, {name: part for name, part in delta.items() if name != "tool_calls"})
        for call in _objects(delta.get("tool_calls")):
            header = {name: part for name, part in call.items() if name != "function"}
            yield from _with_text(f"{key} {call.get('index')}", {**header, **(call.get("function") or {})})
    for number, candidate in enumerate(_objects(event.get("candidates"))):
        for part in _objects((candidate.get("content") or {}).get("parts")):
            key = f"{candidate.get('index', number)} {part.get('thought')}" if "text" in part else ""
            yield from _with_text(key, part)


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _with_text(key: str, piece: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A piece with text: the start of a part, and its role, are not text yet."""
    if isinstance(piece, Mapping):
        fields = {name: part for name, part in piece.items() if part not in (None, "", [], {})}
        if fields.keys() - {"type", "role", "index"}:
            yield key, fields


def _append(whole: JsonObject, piece: Mapping[str, Any]) -> None:
    for name, part in piece.items():
        if name in _APPENDED_FIELDS and isinstance(part, str) and isinstance(whole.get(name), str):
            whole[name] += part
        elif name == "type":
            whole.setdefault(name, str(part).removesuffix("_delta"))
        else:
            whole[name] = part
