"""The reply that the events of a stream make up, in the shape that its vendor gives a whole one.

Events come as the wire has them or as a vendor's library makes them. Only what tells of usage is kept: names, counts, reasons
to stop; of the words nothing. A stream that was cut leaves a reply without a reason to stop, which reads as partial.
"""

from collections.abc import Callable, Iterable
from typing import Any

from runcard.accounting.vendors.google import METADATA
from runcard.accounting.vendors.reply_fields import ReplyFields, as_mapping

_FACTS = ("id", "model", "service_tier", "modelVersion", "model_version", "responseId", "response_id")
_ENDS = {"response.completed", "response.incomplete", "response.failed", "response.cancelled"}
_REASON = ("finishReason", "finish_reason")
_FEEDBACK = ("promptFeedback", "prompt_feedback")


class StreamedReply:
    """What a stream has said so far."""

    def __init__(self) -> None:
        self.reply: dict[str, Any] = {}
        self.complete = False  # it said that this was all
        self.error: ReplyFields | None = None  # it broke off and said why
        self._reasons: dict[int, str | None] = {}

    def add(self, event: ReplyFields) -> bool:
        """Take in one event; False when no vendor sends such."""
        if said := self._taker(event):
            said(event)
        return said is not None

    def _taker(self, event: ReplyFields) -> Callable[[ReplyFields], None] | None:
        kind = event.text("type", "event_type") or ""
        if kind == "error" or event.get("error") is not None:
            return self._broken
        if kind.startswith("response."):
            return self._response
        if kind.startswith("interaction."):
            return self._interaction
        if kind.startswith("message_"):
            return {"message_start": self._start, "message_delta": self._delta}.get(kind, self._stop)
        if event.has("choices"):
            return self._chunk
        if event.has(*METADATA, "candidates", *_FEEDBACK):
            return self._candidates
        return self._nothing if kind else None

    def _nothing(self, event: ReplyFields) -> None:
        """A piece of the words, or a sign of life."""

    def _broken(self, event: ReplyFields) -> None:
        self.error = event.part("error") if as_mapping(event.get("error")) is not None else event

    def _start(self, event: ReplyFields) -> None:
        self.reply = dict(event.part("message").data)

    def _delta(self, event: ReplyFields) -> None:
        """Counts are those of the whole message so far; one that is left out stays as it was."""
        counts = {name: count for name, count in event.part("usage").data.items() if count is not None}
        usage = {**ReplyFields(self.reply).part("usage").data, **counts}
        said = event.part("delta").text("stop_reason")
        self.reply |= {
            "type": "message",
            "usage": usage,
            "stop_reason": said or self.reply.get("stop_reason"),
        }

    def _stop(self, _: ReplyFields) -> None:
        self.complete = True

    def _response(self, event: ReplyFields) -> None:
        if event.has("response"):
            response = event.part("response")
            self.reply = dict(response.data)
            if response.get("error") is not None:
                self.error = response.part("error")
        self.complete = self.complete or event.text("type") in _ENDS

    def _interaction(self, event: ReplyFields) -> None:
        said = event.part("interaction").data
        self.reply |= {name: value for name, value in said.items() if value is not None}
        self.reply["object"] = "interaction"
        self.complete = self.complete or event.text("type", "event_type") == "interaction.completed"

    def _chunk(self, event: ReplyFields) -> None:
        self.reply |= {name: event.get(name) for name in _FACTS if event.get(name) is not None}
        self._note(event.parts("choices"))
        if event.get("usage") is not None:
            self.reply["usage"] = event.get("usage")
        choices = [{"finish_reason": reason} for reason in self._reasons.values()]
        self.reply |= {"object": "chat.completion", "choices": choices}

    def _candidates(self, event: ReplyFields) -> None:
        self.reply |= {name: event.get(name) for name in _FACTS if event.get(name) is not None}
        self._note(event.parts("candidates"))
        for name in (*METADATA, *_FEEDBACK):
            if event.get(name) is not None:
                self.reply[name] = event.get(name)
        self.reply["candidates"] = [{"finish_reason": reason} for reason in self._reasons.values()]
        told = ReplyFields(self.reply)
        stopped = all(self._reasons.values()) and (self._reasons or told.has(*_FEEDBACK))
        self.complete = bool(stopped) and told.has(*METADATA)

    def _note(self, parts: list[ReplyFields]) -> None:
        """Why each of the alternatives ended, for those that have."""
        for place, part in enumerate(parts):
            index = part.count("index")
            index = place if index is None else index
            self._reasons[index] = part.text(*_REASON) or self._reasons.get(index)


def joined(events: Iterable[object]) -> StreamedReply | None:
    """A stream from its events; None when something among them is no event, or they say nothing."""
    stream = StreamedReply()
    for event in events:
        data = as_mapping(event)
        if data is None or not stream.add(ReplyFields(data)):
            return None
    return stream if stream.reply else None
