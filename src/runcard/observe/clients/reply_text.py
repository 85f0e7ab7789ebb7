"""The words of a reply: whether an event brings the first of them, and all of them for those who keep content.

A whole reply has its words under one name; of a stream they are put together as far as it came: texts grow, tool calls are
kept with their arguments as text.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from runcard.encoding import JsonObject

_WHOLE = ("content", "output", "choices", "candidates", "completion", "steps", "outputs")
_GROWING = (
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
    """What a reply says, as far as it came."""

    def __init__(self, *, kept: bool) -> None:
        self._kept = kept
        self._whole: Any = None
        self._parts: dict[str, JsonObject] = {}

    @property
    def content(self) -> Any:
        return self._whole if self._whole is not None else list(self._parts.values()) or None

    def whole(self, reply: Mapping[str, Any]) -> None:
        """Take the words of a reply that came in one piece, or was repeated at the end of its stream."""
        if self._kept:
            self._whole = next((reply[name] for name in _WHOLE if reply.get(name) is not None), None)

    def add(self, event: Mapping[str, Any]) -> bool:
        """Take in an event of a stream; True when it brings words."""
        ends = event.get("type") in {"response.completed", "response.incomplete"}
        if ends and isinstance(response := event.get("response"), Mapping):
            self.whole(response)
        found = list(_pieces(event))
        if self._kept:
            for place, piece in found:
                _grow(self._parts.setdefault(place or f"+{len(self._parts)}", {}), piece)
        return bool(found)


def _pieces(event: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The pieces of words in an event, each with the place in the reply where it goes on; "" for one of its own."""
    kind = event.get("type") or event.get("event_type") or ""
    if kind in {"content_block_start", "content_block_delta", "step.delta"}:
        yield from _filled(f"{event.get('index')}", event.get("delta") or event.get("content_block"))
    elif kind.startswith("response.") and kind.endswith(".delta"):
        name = kind.removeprefix("response.").removesuffix(".delta")
        place = f"{name} {event.get('output_index')} {event.get('content_index')}"
        yield from _filled(place, {"type": name, "text": event.get("delta")})
    for number, choice in enumerate(_objects(event.get("choices"))):
        place = f"{choice.get('index', number)}"
        delta = choice.get("delta") or {"text": choice.get("text")}
        yield from _filled(place, {name: part for name, part in delta.items() if name != "tool_calls"})
        for call in _objects(delta.get("tool_calls")):
            named = {name: part for name, part in call.items() if name != "function"}
            yield from _filled(f"{place} {call.get('index')}", {**named, **(call.get("function") or {})})
    for number, candidate in enumerate(_objects(event.get("candidates"))):
        for part in _objects((candidate.get("content") or {}).get("parts")):
            place = f"{candidate.get('index', number)} {part.get('thought')}" if "text" in part else ""
            yield from _filled(place, part)


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _filled(place: str, piece: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A piece that says something: the beginning of a text, and who speaks, are no words yet."""
    if isinstance(piece, Mapping):
        said = {name: part for name, part in piece.items() if part not in (None, "", [], {})}
        if said.keys() - {"type", "role", "index"}:
            yield place, said


def _grow(whole: JsonObject, piece: Mapping[str, Any]) -> None:
    for name, part in piece.items():
        if name in _GROWING and isinstance(part, str) and isinstance(whole.get(name), str):
            whole[name] += part
        elif name == "type":
            whole.setdefault(name, str(part).removesuffix("_delta"))
        else:
            whole[name] = part
