"""The vendors' clients, pointed at a server of this machine, and the ways to make one call with each."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from importlib import import_module
from typing import Any

import runcard
from observe.clients import replies
from observe.clients.server import Answer, Json, ModelServer

anthropic: Any = import_module("anthropic")
openai: Any = import_module("openai")
genai: Any = import_module("google.genai")

MESSAGES = [{"role": "user", "content": "What does the fox do?"}]
TOOL = {"name": "weather", "description": "of a city", "input_schema": {"type": "object", "properties": {}}}
CLAUDE: Json = {"model": "claude-latest", "max_tokens": 99, "messages": MESSAGES}
CHAT: Json = {"model": "gpt-latest", "messages": MESSAGES}
RESPONSES: Json = {"model": "gpt-latest", "input": "What does the fox do?"}
GEMINI: Json = {"model": "gemini-latest", "contents": "What does the fox do?"}

Client = Any
Use = Callable[[Client], Any]


_lasting: dict[tuple[str, str], Client] = {}  # to make a client takes longer than to use it


def _made(vendor: str, server: ModelServer, **settings: Any) -> Client:
    if vendor == "claude":
        return anthropic.Anthropic(api_key="k", base_url=server.url, **settings)
    if vendor == "gpt":
        return openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", **settings)
    return genai.Client(api_key="k", http_options={"base_url": server.url, **settings})


@contextmanager
def _watched(vendor: str, server: ModelServer, settings: Json) -> Iterator[Client]:
    """A watched client: one of its own where it has settings, else the one that all tests share."""
    if settings:
        with _made(vendor, server, **settings) as client:
            yield runcard.watch(client)
        return
    if (vendor, server.url) not in _lasting:
        _lasting[vendor, server.url] = _made(vendor, server)
    yield runcard.watch(_lasting[vendor, server.url])


def claude(server: ModelServer, **settings: Any) -> AbstractContextManager[Client]:
    return _watched("claude", server, settings)


def gpt(server: ModelServer, **settings: Any) -> AbstractContextManager[Client]:
    return _watched("gpt", server, settings)


def gemini(server: ModelServer, **options: Any) -> AbstractContextManager[Client]:
    return _watched("gemini", server, options)


def close_all() -> None:
    while _lasting:
        _lasting.popitem()[1].close()


@asynccontextmanager
async def async_claude(server: ModelServer, **settings: Any) -> AsyncIterator[Client]:
    async with anthropic.AsyncAnthropic(api_key="k", base_url=server.url, **settings) as client:
        yield runcard.watch(client)


@asynccontextmanager
async def async_gpt(server: ModelServer, **settings: Any) -> AsyncIterator[Client]:
    async with openai.AsyncOpenAI(api_key="k", base_url=f"{server.url}/v1", **settings) as client:
        yield runcard.watch(client)


@asynccontextmanager
async def async_gemini(server: ModelServer, **options: Any) -> AsyncIterator[Client]:
    """The async half alone: watching it is watching the client."""
    with genai.Client(api_key="k", http_options={"base_url": server.url, **options}) as client:
        yield runcard.watch(client.aio)
        await client.aio.aclose()


async def collected(stream: Any) -> list[Any]:
    return [event async for event in stream]


MESSAGE, MESSAGE_EVENTS = Answer(replies.message()), Answer(events=replies.message_events())
COMPLETION, CHUNKS = Answer(replies.completion()), Answer(events=replies.chunks())
RESPONSE, RESPONSE_EVENTS = Answer(replies.response()), Answer(events=replies.response_events())
GENERATED, GENERATED_EVENTS = Answer(replies.generated()), Answer(events=replies.generated_events())


def _claude_helper(client: Client) -> Any:
    with client.messages.stream(**CLAUDE) as stream:
        assert "".join(stream.text_stream) == replies.WORDS
        return stream.get_final_message()


def _claude_streaming(client: Client) -> Any:
    with client.messages.with_streaming_response.create(**CLAUDE) as response:
        return response.parse()


def _claude_lines(client: Client) -> list[str]:
    with client.messages.with_streaming_response.create(**CLAUDE, stream=True) as response:
        return list(response.iter_lines())


def _chat_helper(client: Client) -> Any:
    with client.chat.completions.stream(**CHAT) as stream:
        return stream.get_final_completion()


def _response_helper(client: Client) -> Any:
    with client.responses.stream(**RESPONSES) as stream:
        return stream.get_final_response()


def _chat_streaming(client: Client) -> bytes:
    with client.chat.completions.with_streaming_response.create(**CHAT) as response:
        return b"".join(response.iter_bytes(7))


SYNC: dict[str, tuple[Any, Answer, Use]] = {
    "claude": (claude, MESSAGE, lambda c: c.messages.create(**CLAUDE)),
    "claude-beta": (claude, MESSAGE, lambda c: c.beta.messages.create(**CLAUDE)),
    "claude-copy": (claude, MESSAGE, lambda c: c.with_options(timeout=50).messages.create(**CLAUDE)),
    "claude-raw": (claude, MESSAGE, lambda c: c.messages.with_raw_response.create(**CLAUDE).parse()),
    "claude-streaming-response": (claude, MESSAGE, _claude_streaming),
    "claude-stream": (claude, MESSAGE_EVENTS, lambda c: list(c.messages.create(**CLAUDE, stream=True))),
    "claude-stream-helper": (claude, MESSAGE_EVENTS, _claude_helper),
    "claude-stream-lines": (claude, MESSAGE_EVENTS, _claude_lines),
    "chat": (gpt, COMPLETION, lambda c: c.chat.completions.create(**CHAT)),
    "chat-parse": (gpt, COMPLETION, lambda c: c.chat.completions.parse(**CHAT)),
    "chat-raw": (gpt, COMPLETION, lambda c: c.chat.completions.with_raw_response.create(**CHAT).parse()),
    "chat-streaming-response": (gpt, COMPLETION, _chat_streaming),
    "chat-stream": (gpt, CHUNKS, lambda c: list(c.chat.completions.create(**CHAT, stream=True))),
    "chat-stream-helper": (gpt, CHUNKS, _chat_helper),
    "responses": (gpt, RESPONSE, lambda c: c.responses.create(**RESPONSES)),
    "responses-copy": (gpt, RESPONSE, lambda c: c.copy(max_retries=1).responses.create(**RESPONSES)),
    "responses-stream": (gpt, RESPONSE_EVENTS, lambda c: list(c.responses.create(**RESPONSES, stream=True))),
    "responses-stream-helper": (gpt, RESPONSE_EVENTS, _response_helper),
    "gemini": (gemini, GENERATED, lambda c: c.models.generate_content(**GEMINI)),
    "gemini-talk": (gemini, GENERATED, lambda c: c.chats.create(model="gemini-latest").send_message("hi")),
    "gemini-stream": (gemini, GENERATED_EVENTS, lambda c: list(c.models.generate_content_stream(**GEMINI))),
}


async def _async_claude_stream(client: Client) -> Any:
    return await collected(await client.messages.create(**CLAUDE, stream=True))


async def _async_claude_helper(client: Client) -> Any:
    async with client.beta.messages.stream(**CLAUDE) as stream:
        return await stream.get_final_message()


async def _async_chat_stream(client: Client) -> Any:
    return await collected(await client.chat.completions.create(**CHAT, stream=True))


async def _async_chat_helper(client: Client) -> Any:
    async with client.chat.completions.stream(**CHAT) as stream:
        return await stream.get_final_completion()


async def _async_chat_raw(client: Client) -> Any:
    return (await client.chat.completions.with_raw_response.create(**CHAT)).parse()


async def _async_responses_stream(client: Client) -> Any:
    return await collected(await client.responses.create(**RESPONSES, stream=True))


async def _async_gemini_stream(client: Client) -> Any:
    return await collected(await client.models.generate_content_stream(**GEMINI))


ASYNC: dict[str, tuple[Any, Answer, Use]] = {
    "async-claude": (async_claude, MESSAGE, lambda c: c.messages.create(**CLAUDE)),
    "async-claude-copy": (async_claude, MESSAGE, lambda c: c.copy(timeout=50).messages.create(**CLAUDE)),
    "async-claude-stream": (async_claude, MESSAGE_EVENTS, _async_claude_stream),
    "async-claude-stream-helper": (async_claude, MESSAGE_EVENTS, _async_claude_helper),
    "async-chat": (async_gpt, COMPLETION, lambda c: c.chat.completions.create(**CHAT)),
    "async-chat-raw": (async_gpt, COMPLETION, _async_chat_raw),
    "async-chat-stream": (async_gpt, CHUNKS, _async_chat_stream),
    "async-chat-stream-helper": (async_gpt, CHUNKS, _async_chat_helper),
    "async-responses": (async_gpt, RESPONSE, lambda c: c.responses.create(**RESPONSES)),
    "async-responses-stream": (async_gpt, RESPONSE_EVENTS, _async_responses_stream),
    "async-gemini": (async_gemini, GENERATED, lambda c: c.models.generate_content(**GEMINI)),
    "async-gemini-stream": (async_gemini, GENERATED_EVENTS, _async_gemini_stream),
}


def make(way: str, server: ModelServer, *answers: Answer, **settings: Any) -> Any:
    """Make one call in one of these ways, to which the server says this; return what the caller gets."""
    if way in SYNC:
        open_client, usual, use = SYNC[way]
        server.says(*(answers or (usual,)))
        with open_client(server, **settings) as client:
            return use(client)
    open_client, usual, use = ASYNC[way]
    server.says(*(answers or (usual,)))

    async def made() -> Any:
        async with open_client(server, **settings) as client:
            return await use(client)

    return asyncio.run(made())
