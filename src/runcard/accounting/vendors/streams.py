"""Joining the events of a stream into a reply, in the format of a reply without a stream.

Events come as they are sent, or as a vendor's library parses them. Only the fields about usage are kept: names, counts, stop
reasons, tools that the vendor runs; no text. A stream that was cut gives a reply without a stop reason, which is read as partial.

To add a vendor, choose a handler in `_handler` and add it below.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from runcard.accounting.vendors.google import METADATA
from runcard.accounting.vendors.langchain import CHUNK
from runcard.accounting.vendors.reply_fields import ReplyFields, as_mapping

_KEPT_FIELDS = (
    "id",
    "model",
    "service_tier",
    "modelVersion",
    "model_version",
    "responseId",
    "response_id",
    "system_fingerprint",
)
_LAST_EVENTS = {"response.completed", "response.incomplete", "response.failed", "response.cancelled"}
_REASON = ("finishReason", "finish_reason")
_GROUNDING = ("groundingMetadata", "grounding_metadata")
_FEEDBACK = ("promptFeedback", "prompt_feedback")
_BEDROCK_EVENTS = (
    "messageStart",
    "contentBlockStart",
    "contentBlockDelta",
    "contentBlockStop",
    "messageStop",
    "metadata",
)
_RESULTS = {"result", "turn.completed"}  # the last event of Claude Code and Gemini CLI, and of Codex


class StreamedReply:
    """The reply of a stream, as far as its events came."""

    def __init__(self) -> None:
        self.reply: dict[str, Any] = {}
        self.complete = False  # whether the stream ended
        self.error: ReplyFields | None = None  # the error that ended it
        self._reasons: dict[int, str | None] = {}
        self._grounding: dict[int, dict[str, Any]] = {}  # of each candidate
        self._items: list[dict[str, Any]] = []  # of a response: the tools that the vendor ran

    @property
    def has_stop_reason(self) -> bool:
        """Whether all alternatives of a stream with `choices` or `candidates` said why they ended."""
        return bool(self._reasons) and all(self._reasons.values())

    def add(self, event: ReplyFields) -> bool:
        """Add an event; False when it is not the event of any vendor."""
        handler = self._handler(event)
        if handler is not None:
            handler(event)
        return handler is not None

    def _handler(self, event: ReplyFields) -> Callable[[ReplyFields], None] | None:
        kind = event.text("type", "event_type") or ""
        if kind == "error" or event.get("error") is not None:
            return self._add_error
        if kind.startswith("response."):
            return self._add_openai_response
        if kind.startswith("interaction."):
            return self._add_google_interaction
        if kind == "content_block_start":
            return self._add_anthropic_block
        if kind.startswith("message_"):
            return {
                "message_start": self._start_anthropic,
                "message_delta": self._add_anthropic_delta,
            }.get(kind, self._stop_anthropic)
        if kind == CHUNK:
            return self._add_langchain_chunk
        if event.has("choices"):
            return self._add_openai_chunk
        if event.has(*METADATA, "candidates", *_FEEDBACK):
            return self._add_google_chunk
        return self._handler_of_others(event, kind)

    def _handler_of_others(self, event: ReplyFields, kind: str) -> Callable[[ReplyFields], None] | None:
        """For clients that cannot be watched."""
        if kind in _RESULTS:
            return self._add_result
        if kind in {"message-start", "message-end", "stream-end"}:
            return self._add_cohere_event
        if event.has("done") and event.has("model"):
            return self._add_ollama_chunk
        if event.has(*_BEDROCK_EVENTS) and not kind:
            return self._add_bedrock_event
        if not kind and as_mapping(event.get("response")) is not None:
            return self._add_wrapped
        return self._ignore if kind else None

    def _ignore(self, event: ReplyFields) -> None:
        """A piece of text, or a keep-alive."""

    def _add_error(self, event: ReplyFields) -> None:
        self.error = event.part("error") if as_mapping(event.get("error")) is not None else event

    def _start_anthropic(self, event: ReplyFields) -> None:
        self.reply = dict(event.part("message").data)

    def _add_anthropic_delta(self, event: ReplyFields) -> None:
        """Counts are those of the message so far; a missing one stays as it was."""
        counts = {name: count for name, count in event.part("usage").data.items() if count is not None}
        usage = {**ReplyFields(self.reply).part("usage").data, **counts}
        stop_reason = event.part("delta").text("stop_reason")
        self.reply |= {
            "type": "message",
            "usage": usage,
            "stop_reason": stop_reason or self.reply.get("stop_reason"),
        }

    def _add_anthropic_block(self, event: ReplyFields) -> None:
        """The start of a block: of a tool that the vendor runs, its name."""
        block = event.optional_part("content_block")
        if block.text("type") == "server_tool_use":
            tool = {"type": "server_tool_use", "name": block.text("name")}
            self.reply["content"] = [*(self.reply.get("content") or []), tool]

    def _stop_anthropic(self, _: ReplyFields) -> None:
        self.complete = True

    def _add_openai_response(self, event: ReplyFields) -> None:
        if event.has("response"):
            response = event.part("response")
            self.reply = dict(response.data)
            if response.get("error") is not None:
                self.error = response.part("error")
            if self._items and not response.get("output"):  # servers that do not repeat the items at the end
                self.reply["output"] = self._items
        elif event.text("type") == "response.output_item.done":
            self._add_openai_item(event.optional_part("item"))
        self.complete = self.complete or event.text("type") in _LAST_EVENTS

    def _add_openai_item(self, item: ReplyFields) -> None:
        kind = item.text("type") or ""
        if kind.endswith("_call"):
            self._items.append({"type": kind, "action": {"type": item.optional_part("action").text("type")}})

    def _add_google_interaction(self, event: ReplyFields) -> None:
        interaction = event.part("interaction").data
        self.reply |= {name: value for name, value in interaction.items() if value is not None}
        self.reply["object"] = "interaction"
        self.complete = self.complete or event.text("type", "event_type") == "interaction.completed"

    def _add_openai_chunk(self, event: ReplyFields) -> None:
        self.reply |= {name: event.get(name) for name in _KEPT_FIELDS if event.get(name) is not None}
        self._add_reasons(event.parts("choices"))
        if event.get("usage") is not None:
            self.reply["usage"] = event.get("usage")
        choices = [{"finish_reason": reason} for reason in self._reasons.values()]
        self.reply |= {"object": "chat.completion", "choices": choices}

    def _add_google_chunk(self, event: ReplyFields) -> None:
        self.reply |= {name: event.get(name) for name in _KEPT_FIELDS if event.get(name) is not None}
        self._add_reasons(event.parts("candidates"))
        for name in (*METADATA, *_FEEDBACK):
            if event.get(name) is not None:
                self.reply[name] = event.get(name)
        self._add_grounding(event.parts("candidates"))
        self.reply["candidates"] = [
            {"finish_reason": reason, "grounding_metadata": self._grounding.get(index)}
            for index, reason in self._reasons.items()
        ]
        reply = ReplyFields(self.reply)
        stopped = all(self._reasons.values()) and (self._reasons or reply.has(*_FEEDBACK))
        self.complete = bool(stopped) and reply.has(*METADATA)

    def _add_langchain_chunk(self, event: ReplyFields) -> None:
        """Chunks have the counts since the chunk before: they are added up."""
        reply = ReplyFields(self.reply)
        facts = {**reply.part("response_metadata").data, **event.part("response_metadata").data}
        counts = _sum_counts(reply.part("usage_metadata").data, event.part("usage_metadata").data)
        own = {"type": CHUNK, "response_metadata": facts, "usage_metadata": counts}
        position = event.text("chunk_position") or reply.text("chunk_position")
        self.reply = {"id": event.text("id") or reply.text("id"), "chunk_position": position, **own}

    def _add_result(self, event: ReplyFields) -> None:
        self.reply, self.complete = dict(event.data), True

    def _add_cohere_event(self, event: ReplyFields) -> None:
        """Version 1 has the whole reply in its last event, version 2 what it adds to the first."""
        self.reply |= {"id": event.get("id")} if event.get("id") is not None else {}
        self.reply |= {**event.part("delta").data, **event.part("response").data}
        self.complete = event.text("type", "event_type") != "message-start"

    def _add_ollama_chunk(self, event: ReplyFields) -> None:
        self.reply, self.complete = dict(event.data), event.get("done") is True

    def _add_wrapped(self, event: ReplyFields) -> None:
        """A chunk of Gemini Code Assist: that of Gemini, in a field."""
        if (handler := self._handler(event.part("response"))) is not None:
            handler(event.part("response"))

    def _add_bedrock_event(self, event: ReplyFields) -> None:
        """The stop reason comes before the counts."""
        self.reply |= {**event.part("messageStop").data, **event.part("metadata").data}
        self.complete = self.complete or event.has("metadata")

    def _add_grounding(self, candidates: list[ReplyFields]) -> None:
        """The grounding of each candidate: what later chunks say of it is added."""
        for position, candidate in enumerate(candidates):
            grounding = candidate.optional_part(*_GROUNDING).data
            known = self._grounding.setdefault(_index(candidate, position), {})
            known |= {name: value for name, value in grounding.items() if value}

    def _add_reasons(self, parts: list[ReplyFields]) -> None:
        """The stop reasons of the alternatives that ended."""
        for position, part in enumerate(parts):
            index = _index(part, position)
            self._reasons[index] = part.text(*_REASON) or self._reasons.get(index)


def _sum_counts(before: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Counts, and counts inside, by name."""
    counts = dict(before)
    for name, value in more.items():
        known = counts.get(name)
        if isinstance(value, Mapping):
            counts[name] = _sum_counts(known if isinstance(known, Mapping) else {}, value)
        elif value is not None:
            counts[name] = value + known if isinstance(known, int) and isinstance(value, int) else value
    return counts


def _index(part: ReplyFields, position: int) -> int:
    index = part.count("index")
    return position if index is None else index


def join_events(events: Iterable[object]) -> StreamedReply | None:
    """A stream from its events; None when one of them is not an event, or they are all empty."""
    stream = StreamedReply()
    for event in events:
        data = as_mapping(event)
        if data is None or not stream.add(ReplyFields(data)):
            return None
    return stream if stream.reply else None
