"""Replies of Anthropic, OpenAI and Gemini in their wire formats, each with counts of its own.

The counts of a reply follow from its number, so that no two replies of a test can be mistaken for each other. `SentCall` has
what runcard should record: the same counts in runcard's classes.
"""

from dataclasses import dataclass, field
from hashlib import sha256
from json import dumps
from typing import Any

Json = dict[str, Any]
Tool = tuple[str, Json]  # a name and the arguments

TEXT = "The quick brown fox."
THOUGHT = "Foxes are quick."
PAGE = "https://example.com/fox"


@dataclass(frozen=True)
class Extra:
    """What a reply has beside its text or its tool."""

    text: str = TEXT
    tools: tuple[Tool, ...] = ()  # further tools that it calls at once
    thinking: bool = False
    searches: int = 0  # web searches that the vendor ran (Anthropic)
    input: int = 0  # tokens more of input, none of them cached
    service_tier: str | None = None
    compaction: bool = False  # an item with the compacted conversation, in place of a text (OpenAI)


NO_EXTRA = Extra()


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
    label: str | None = None  # that of the step
    extra: Extra = NO_EXTRA


def returned_model(requested: str) -> str:
    """The name in the reply: that of the request without `-latest`."""
    return requested.removesuffix("-latest")


class AnthropicReply:
    """A message."""

    api = "messages"

    def __init__(self, number: int, body: Json, tool: Tool | None = None, extra: Extra = NO_EXTRA) -> None:
        self.model = returned_model(body["model"])
        self.response_id = f"msg_{number:04}"
        self._depth = len(body.get("messages", ()))  # of the conversation
        self._number, self._tool, self._extra = number, tool, extra
        self._input = {
            "input_tokens": 20 + number + extra.input,
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
        if extra.service_tier is not None:
            self._input["service_tier"] = extra.service_tier
        if extra.searches:
            self._output["server_tool_use"] = {"web_search_requests": extra.searches}

    @property
    def tokens(self) -> Json:
        number = self._number
        return {**self.early_tokens, "output": 300 + number, "reasoning": 100 + number}

    @property
    def early_tokens(self) -> Json:
        """What the first event states: the output is a placeholder."""
        number = self._number
        return {
            "input": 5050 + 5 * number + self._extra.input,
            "output": 1,
            "cache_read": 4000 + number,
            "cache_write_5m": 1000 + 2 * number,
            "cache_write_1h": 30 + number,
        }

    def whole(self) -> Json:
        return self._message(self._blocks(), self._stop_reason, {**self._input, **self._output})

    def events(self) -> list[Json]:
        start = self._message([], None, {**self._input, "output_tokens": 1})
        end = {"stop_reason": self._stop_reason, "stop_sequence": None}
        usage = self._output if self._number % 2 else {**self._input, **self._output}
        return [
            {"type": "message_start", "message": start},
            {"type": "ping"},
            *(event for index, block in enumerate(self._blocks()) for event in _block_events(index, block)),
            {"type": "message_delta", "delta": end, "usage": usage},
            {"type": "message_stop"},
        ]

    @property
    def _stop_reason(self) -> str:
        return "end_turn" if self._tool is None else "tool_use"

    def _blocks(self) -> list[Json]:
        blocks: list[Json] = []
        if self._extra.thinking:
            blocks.append({"type": "thinking", "thinking": THOUGHT, "signature": "c2lnbmVk"})
        for search in range(self._extra.searches):
            blocks += _search_blocks(f"srvtoolu_{self._number:04}_{search}")
        tools = (*([self._tool] if self._tool is not None else ()), *self._extra.tools)
        for position, (name, arguments) in enumerate(tools):
            # Not by the number of the reply: agents send requests at the same time, and the order of those is by chance.
            place = dumps([self._depth, position, name, arguments])
            use_id = f"toolu_{sha256(place.encode()).hexdigest()[:12]}"
            blocks.append({"type": "tool_use", "id": use_id, "name": name, "input": arguments})
        return blocks if tools else [*blocks, {"type": "text", "text": self._extra.text}]

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


_DELTAS = {  # of a block: what its delta has, and how
    "text": ("text", "text_delta", "text"),
    "thinking": ("thinking", "thinking_delta", "thinking"),
    "tool_use": ("input", "input_json_delta", "partial_json"),
    "server_tool_use": ("input", "input_json_delta", "partial_json"),
}


def _block_events(index: int, block: Json) -> list[Json]:
    start = {"type": "content_block_start", "index": index}
    stop = {"type": "content_block_stop", "index": index}
    if block["type"] not in _DELTAS:
        return [{**start, "content_block": block}, stop]
    field_name, delta_type, delta_field = _DELTAS[block["type"]]
    value = block[field_name]
    is_text = isinstance(value, str)
    delta = {"type": delta_type, delta_field: value if is_text else dumps(value)}
    deltas = [{"type": "content_block_delta", "index": index, "delta": delta}]
    empty = {**block, field_name: "" if is_text else {}}
    if "signature" in block:
        empty["signature"] = ""
        signed = {"type": "signature_delta", "signature": block["signature"]}
        deltas.append({"type": "content_block_delta", "index": index, "delta": signed})
    return [{**start, "content_block": empty}, *deltas, stop]


def _search_blocks(use_id: str) -> list[Json]:
    result = {"type": "web_search_result", "title": "Foxes", "url": PAGE, "encrypted_content": "Zm94"}
    result["page_age"] = "1 day"
    return [
        {"type": "server_tool_use", "id": use_id, "name": "web_search", "input": {"query": "foxes"}},
        {"type": "web_search_tool_result", "tool_use_id": use_id, "content": [result]},
    ]


class ResponsesReply:
    """A response of OpenAI's Responses API."""

    api = "responses"
    early_tokens: Json = {}  # noqa: RUF012 - the first events have no counts

    def __init__(self, number: int, body: Json, tool: Tool | None = None, extra: Extra = NO_EXTRA) -> None:
        self.model = returned_model(body["model"])
        self.response_id = f"resp_{number:04}"
        self._number, self._tool, self._extra = number, tool, extra

    @property
    def tokens(self) -> Json:
        number = self._number
        return {
            "input": 2600 + number + self._extra.input,
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
        return self._response("completed", self._items(), usage) | {"created_at": 1763200000 + number}

    def events(self) -> list[Json]:
        begun = self._response("in_progress", [], None)
        events: list[Json] = [
            {"type": "response.created", "response": begun},
            {"type": "response.in_progress", "response": begun},
            *(event for index, item in enumerate(self._items()) for event in _item_events(index, item)),
            {"type": "response.completed", "response": self.whole()},
        ]
        return [{**event, "sequence_number": number} for number, event in enumerate(events)]

    def _items(self) -> list[Json]:
        number, items = self._number, []
        if self._extra.thinking:
            summary = {"type": "summary_text", "text": THOUGHT}
            items.append({"type": "reasoning", "id": f"rs_{number:04}", "summary": [summary], "content": []})
        tools = (*([self._tool] if self._tool is not None else ()), *self._extra.tools)
        for position, (name, arguments) in enumerate(tools):
            use_id = f"{number:04}" + (f"_{position}" if position else "")
            call = {"type": "function_call", "id": f"fc_{use_id}", "call_id": f"call_{use_id}"}
            namespace, _, own_name = name.rpartition(".")
            call |= {"namespace": namespace} if namespace else {}
            items.append({**call, "name": own_name, "arguments": dumps(arguments), "status": "completed"})
        if self._extra.compaction:
            items.append({"type": "compaction", "id": f"cmp_{number:04}", "encrypted_content": "Zm94"})
        elif not tools:
            text = {"type": "output_text", "text": self._extra.text, "annotations": [], "logprobs": []}
            message = {"type": "message", "id": f"item_{number:04}", "status": "completed"}
            items.append({**message, "role": "assistant", "content": [text]})
        return items

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
            **({"service_tier": self._extra.service_tier} if self._extra.service_tier else {}),
        }


def _item_events(index: int, item: Json) -> list[Json]:
    at = {"item_id": item["id"], "output_index": index}
    empty: Json = {"arguments": ""} if "arguments" in item else {"content": []}
    added = {"type": "response.output_item.added", "output_index": index}
    events: list[Json] = [{**added, "item": {**item, "status": "in_progress", **empty}}]
    if item["type"] == "message":
        at |= {"content_index": 0}
        text = item["content"][0]["text"]
        part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        events += [
            {"type": "response.content_part.added", **at, "part": part},
            {"type": "response.output_text.delta", **at, "delta": text, "logprobs": []},
            {"type": "response.output_text.done", **at, "text": text, "logprobs": []},
            {"type": "response.content_part.done", **at, "part": {**part, "text": text}},
        ]
    elif item["type"] == "function_call":
        name, arguments = item["name"], item["arguments"]
        done = {"type": "response.function_call_arguments.done", "name": name, "arguments": arguments}
        events += [
            {"type": "response.function_call_arguments.delta", **at, "delta": arguments},
            {**done, **at},
        ]
    return [*events, {"type": "response.output_item.done", "output_index": index, "item": item}]


class ChatReply:
    """A chat completion."""

    api = "chat"
    early_tokens: Json = {}  # noqa: RUF012

    def __init__(self, number: int, body: Json, tool: Tool | None = None, extra: Extra = NO_EXTRA) -> None:  # noqa: ARG002 - as the others
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

    def __init__(self, number: int, body: Json, tool: Tool | None = None, extra: Extra = NO_EXTRA) -> None:  # noqa: ARG002 - as the others
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

    def __init__(self, number: int, body: Json, tool: Tool | None = None, extra: Extra = NO_EXTRA) -> None:
        self.model = returned_model(body["model"])  # from the path
        self.response_id = f"gem-{number:04}"
        self._number, self._tool, self._extra = number, tool, extra

    @property
    def tokens(self) -> Json:
        number = self._number
        return {
            "input": 3000 + number + self._extra.input,
            "output": 1020 + 2 * number,
            "cache_read": 2000 + number,
            "reasoning": 900 + number,
        }

    @property
    def early_tokens(self) -> Json:
        return {"input": self.tokens["input"], "output": 0}  # the total says so

    def whole(self) -> Json:
        number = self._number
        usage = {
            "promptTokenCount": self.tokens["input"],
            "cachedContentTokenCount": 2000 + number,
            "candidatesTokenCount": 120 + number,
            "thoughtsTokenCount": 900 + number,
            "totalTokenCount": self.tokens["input"] + self.tokens["output"],
        }
        tools = (*([self._tool] if self._tool is not None else ()), *self._extra.tools)
        calls: list[Json] = [{"functionCall": {"name": name, "args": arguments}} for name, arguments in tools]
        return self._reply(calls or [{"text": self._extra.text}], usage, "STOP")

    def events(self) -> list[Json]:
        count = self.tokens["input"]
        early = {"promptTokenCount": count, "totalTokenCount": count}
        return [self._reply([{"text": "Hm. ", "thought": True}], early, None), self.whole()]

    def _reply(self, parts: list[Json], usage: Json, reason: str | None) -> Json:
        candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
        return {
            "candidates": [candidate | ({"finishReason": reason} if reason else {})],
            "usageMetadata": usage,
            "modelVersion": self.model,
            "responseId": self.response_id,
        }


VendorReply = AnthropicReply | ResponsesReply | ChatReply | EmbeddingsReply | GeminiReply
