"""Replies of Anthropic, OpenAI and Gemini in their wire formats, each with counts of its own.

The counts of a reply follow from its number, so that no two replies of a test can be mistaken for each other. `SentCall` has
what runcard should record: the same counts in runcard's classes.
"""

from dataclasses import dataclass, field
from json import dumps
from typing import Any

Json = dict[str, Any]
Tool = tuple[str, Json]  # a name and the arguments

TEXT = "The quick brown fox."


@dataclass
class SentCall:
    """A call that was answered, or refused, and the usage that the reply stated."""

    api: str
    requested_model: str | None
    model: str | None = None  # as the reply names it
    response_id: str | None = None
    request_id: str | None = None
    status: int = 200
    streamed: bool = False
    tokens: Json = field(default_factory=dict)  # by class
    token_source: str | None = None  # `reported`, `partial` for a reply that was cut, None without counts
    request: Any = None  # the number of the logged request


def returned_model(requested: str) -> str:
    """The name in the reply: that of the request without `-latest`."""
    return requested.removesuffix("-latest")


class AnthropicReply:
    """A message."""

    api = "messages"

    def __init__(self, number: int, body: Json, tool: Tool | None = None) -> None:
        self.model = returned_model(body["model"])
        self.response_id = f"msg_{number:04}"
        self._number, self._tool = number, tool
        self._input = {
            "input_tokens": 20 + number,
            "cache_creation_input_tokens": 1030 + 3 * number,
            "cache_read_input_tokens": 4000 + number,
            "cache_creation": {
                "ephemeral_5m_input_tokens": 1000 + 2 * number,
                "ephemeral_1h_input_tokens": 30 + number,
            },
        }
        self._output = {
            "output_tokens": 300 + number,
            "output_tokens_details": {"thinking_tokens": 100 + number},
        }

    @property
    def tokens(self) -> Json:
        number = self._number
        return {**self.early_tokens, "output": 300 + number, "reasoning": 100 + number}

    @property
    def early_tokens(self) -> Json:
        """What the first event states: the output is a placeholder."""
        number = self._number
        return {
            "input": 5050 + 5 * number,
            "output": 1,
            "cache_read": 4000 + number,
            "cache_write_5m": 1000 + 2 * number,
            "cache_write_1h": 30 + number,
        }

    def whole(self) -> Json:
        return self._message([self._block(whole=True)], self._stop_reason, {**self._input, **self._output})

    def events(self) -> list[Json]:
        delta: Json = {"type": "text_delta", "text": TEXT}
        if self._tool is not None:
            delta = {"type": "input_json_delta", "partial_json": dumps(self._tool[1])}
        start = self._message([], None, {**self._input, "output_tokens": 1})
        end = {"stop_reason": self._stop_reason, "stop_sequence": None}
        usage = self._output if self._number % 2 else {**self._input, **self._output}
        return [
            {"type": "message_start", "message": start},
            {"type": "ping"},
            {"type": "content_block_start", "index": 0, "content_block": self._block(whole=False)},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": end, "usage": usage},
            {"type": "message_stop"},
        ]

    @property
    def _stop_reason(self) -> str:
        return "end_turn" if self._tool is None else "tool_use"

    def _block(self, *, whole: bool) -> Json:
        if self._tool is None:
            return {"type": "text", "text": TEXT if whole else ""}
        name, arguments = self._tool
        block = {"type": "tool_use", "id": f"toolu_{self._number:04}", "name": name}
        return {**block, "input": arguments if whole else {}}

    def _message(self, content: list[Json], stop_reason: str | None, usage: Json) -> Json:
        return {
            "id": self.response_id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": usage,
        }


class ResponsesReply:
    """A response of OpenAI's Responses API."""

    api = "responses"
    early_tokens: Json = {}  # noqa: RUF012 - the first events have no counts

    def __init__(self, number: int, body: Json, tool: Tool | None = None) -> None:
        self.model = returned_model(body["model"])
        self.response_id = f"resp_{number:04}"
        self._number, self._tool = number, tool

    @property
    def tokens(self) -> Json:
        number = self._number
        return {
            "input": 2600 + number,
            "output": 1100 + number,
            "cache_read": 2000 + number,
            "reasoning": 1000 + number,
        }

    def whole(self) -> Json:
        number, tokens = self._number, self.tokens
        usage = {
            "input_tokens": tokens["input"],
            "input_tokens_details": {"cached_tokens": tokens["cache_read"]},
            "output_tokens": tokens["output"],
            "output_tokens_details": {"reasoning_tokens": tokens["reasoning"]},
            "total_tokens": tokens["input"] + tokens["output"],
        }
        return self._response("completed", [self._item()], usage) | {"created_at": 1763200000 + number}

    def events(self) -> list[Json]:
        begun = self._response("in_progress", [], None)
        item = self._item()
        events: list[Json] = [
            {"type": "response.created", "response": begun},
            {"type": "response.in_progress", "response": begun},
            {"type": "response.output_item.added", "output_index": 0, "item": _begun(item)},
        ]
        if self._tool is None:
            at = {"item_id": item["id"], "output_index": 0, "content_index": 0}
            part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            events += [
                {"type": "response.content_part.added", **at, "part": part},
                {"type": "response.output_text.delta", **at, "delta": TEXT, "logprobs": []},
                {"type": "response.output_text.done", **at, "text": TEXT, "logprobs": []},
                {"type": "response.content_part.done", **at, "part": {**part, "text": TEXT}},
            ]
        else:
            at = {"item_id": item["id"], "output_index": 0}
            arguments = item["arguments"]
            events += [
                {"type": "response.function_call_arguments.delta", **at, "delta": arguments},
                {
                    "type": "response.function_call_arguments.done",
                    **at,
                    "name": item["name"],
                    "arguments": arguments,
                },
            ]
        events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
        events.append({"type": "response.completed", "response": self.whole()})
        return [{**event, "sequence_number": number} for number, event in enumerate(events)]

    def _item(self) -> Json:
        if self._tool is not None:
            name, arguments = self._tool
            return {
                "type": "function_call",
                "id": f"fc_{self._number:04}",
                "call_id": f"call_{self._number:04}",
                "name": name,
                "arguments": dumps(arguments),
                "status": "completed",
            }
        text = {"type": "output_text", "text": TEXT, "annotations": [], "logprobs": []}
        return {
            "type": "message",
            "id": f"item_{self._number:04}",
            "status": "completed",
            "role": "assistant",
            "content": [text],
        }

    def _response(self, status: str, output: list[Json], usage: Json | None) -> Json:
        return {
            "id": self.response_id,
            "object": "response",
            "created_at": 1763200000,
            "status": status,
            "model": self.model,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "error": None,
            "incomplete_details": None,
            "usage": usage,
        }


def _begun(item: Json) -> Json:
    empty: Json = {"arguments": ""} if "arguments" in item else {"content": []}
    return {**item, "status": "in_progress", **empty}


class ChatReply:
    """A chat completion."""

    api = "chat"
    early_tokens: Json = {}  # noqa: RUF012

    def __init__(self, number: int, body: Json, tool: Tool | None = None) -> None:
        self.model = returned_model(body["model"])
        self.response_id = f"chatcmpl-{number:04}"
        self._number, self._tool = number, tool
        self._with_usage = not body.get("stream") or bool(
            (body.get("stream_options") or {}).get("include_usage")
        )

    @property
    def tokens(self) -> Json:
        """None where a stream was requested without usage."""
        number = self._number
        counts = {
            "input": 2000 + number,
            "output": 300 + number,
            "cache_read": 1900 + number,
            "reasoning": 190 + number,
        }
        return counts if self._with_usage else {}

    def _usage(self) -> Json:
        tokens = self.tokens
        return {
            "prompt_tokens": tokens["input"],
            "completion_tokens": tokens["output"],
            "total_tokens": tokens["input"] + tokens["output"],
            "prompt_tokens_details": {"cached_tokens": tokens["cache_read"]},
            "completion_tokens_details": {"reasoning_tokens": tokens["reasoning"]},
        }

    def whole(self) -> Json:
        message: Json = {"role": "assistant", "content": TEXT, "refusal": None}
        if self._tool is not None:
            message |= {"content": None, "tool_calls": [self._tool_call()]}
        choice = {"index": 0, "message": message, "finish_reason": self._finish_reason, "logprobs": None}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self._usage()}

    def events(self) -> list[Any]:
        deltas: list[Json] = [{"role": "assistant", "content": ""}, {"content": TEXT}]
        if self._tool is not None:
            deltas[1] = {"tool_calls": [{"index": 0, **self._tool_call()}]}
        head = self._head("chat.completion.chunk") | ({"usage": None} if self._with_usage else {})
        events: list[Any] = [
            {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
        ]
        events.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": self._finish_reason}]})
        if self._with_usage:
            events.append({**head, "choices": [], "usage": self._usage()})
        return [*events, "[DONE]"]

    @property
    def _finish_reason(self) -> str:
        return "stop" if self._tool is None else "tool_calls"

    def _tool_call(self) -> Json:
        name, arguments = self._tool or ("", {})
        return {
            "id": f"call_{self._number:04}",
            "type": "function",
            "function": {"name": name, "arguments": dumps(arguments)},
        }

    def _head(self, kind: str) -> Json:
        return {"id": self.response_id, "object": kind, "created": 1763200000, "model": self.model}


class EmbeddingsReply:
    """Embeddings: they have no id."""

    api = "embeddings"
    early_tokens: Json = {}  # noqa: RUF012
    response_id = None

    def __init__(self, number: int, body: Json, tool: Tool | None = None) -> None:  # noqa: ARG002 - as the others
        self.model = returned_model(body["model"])
        self._number = number

    @property
    def tokens(self) -> Json:
        return {"input": 8 + self._number, "output": 0}

    def whole(self) -> Json:
        count = 8 + self._number
        vector = {"object": "embedding", "index": 0, "embedding": [0.25, -0.5]}
        usage = {"prompt_tokens": count, "total_tokens": count}
        return {"object": "list", "data": [vector], "model": self.model, "usage": usage}

    def events(self) -> list[Json]:
        raise NotImplementedError


class GeminiReply:
    """A reply of `generateContent`."""

    api = "generateContent"

    def __init__(self, number: int, body: Json, tool: Tool | None = None) -> None:
        self.model = returned_model(body["model"])  # from the path
        self.response_id = f"gem-{number:04}"
        self._number, self._tool = number, tool

    @property
    def tokens(self) -> Json:
        number = self._number
        return {
            "input": 3000 + number,
            "output": 1020 + 2 * number,
            "cache_read": 2000 + number,
            "reasoning": 900 + number,
        }

    @property
    def early_tokens(self) -> Json:
        return {"input": 3000 + self._number, "output": 0}  # the total says so

    def whole(self) -> Json:
        number = self._number
        usage = {
            "promptTokenCount": 3000 + number,
            "cachedContentTokenCount": 2000 + number,
            "candidatesTokenCount": 120 + number,
            "thoughtsTokenCount": 900 + number,
            "totalTokenCount": 4020 + 3 * number,
        }
        part: Json = {"text": TEXT}
        if self._tool is not None:
            part = {"functionCall": {"name": self._tool[0], "args": self._tool[1]}}
        return self._reply(part, usage, "STOP")

    def events(self) -> list[Json]:
        count = 3000 + self._number
        early = {"promptTokenCount": count, "totalTokenCount": count}
        return [self._reply({"text": "Hm. ", "thought": True}, early, None), self.whole()]

    def _reply(self, part: Json, usage: Json, reason: str | None) -> Json:
        candidate: Json = {"content": {"role": "model", "parts": [part]}, "index": 0}
        return {
            "candidates": [candidate | ({"finishReason": reason} if reason else {})],
            "usageMetadata": usage,
            "modelVersion": self.model,
            "responseId": self.response_id,
        }


VendorReply = AnthropicReply | ResponsesReply | ChatReply | EmbeddingsReply | GeminiReply
