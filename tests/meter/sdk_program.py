"""A program that calls models with a vendor's library: `python sdk_program.py WAY [OPTION…]`.

Options: `watch` watches the client; `add-reply` and `add-usage` pass each reply, or its usage, to `add_usage`; `record` opens
a run of its own around the calls; `once` tries no call again. The URL comes from the environment, as users have it.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

QUESTION = [{"role": "user", "content": "What does the fox do?"}]
CLAUDE: dict[str, Any] = {"model": "claude-sonnet-5-latest", "max_tokens": 99, "messages": QUESTION}
RESPONSE: dict[str, Any] = {"model": "gpt-5-latest", "input": "What does the fox do?"}
CHAT: dict[str, Any] = {"model": "gpt-5-latest", "messages": QUESTION}
GEMINI: dict[str, Any] = {"model": "gemini-2.5-pro-latest", "contents": "What does the fox do?"}
CLAUDE_TOOLS = [{"name": "weather", "input_schema": {"type": "object", "properties": {}}}]
CHAT_TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {}}}]

Client = Any
Replies = Iterator[Any]
WAYS: dict[str, Callable[[Client], Replies]] = {}


def way(call: Callable[[Client], Replies]) -> Callable[[Client], Replies]:
    """Add a way to call models, under the name of the function."""
    WAYS[call.__name__] = call
    return call


def make_client(name: str, **options: Any) -> Client:
    vendor, _, _ = name.partition("_")
    is_async = "_async" in name
    if vendor == "anthropic":
        import anthropic  # noqa: PLC0415

        return anthropic.AsyncAnthropic(**options) if is_async else anthropic.Anthropic(**options)
    if vendor == "gemini":
        from google import genai  # noqa: PLC0415

        return genai.Client(**options)
    import openai  # noqa: PLC0415

    return openai.AsyncOpenAI(**options) if is_async else openai.OpenAI(**options)


@way
def anthropic_create(client: Client) -> Replies:
    yield client.messages.create(**CLAUDE)


@way
def anthropic_three(client: Client) -> Replies:
    """One after the other, with other requests between them that are no calls."""
    for _ in range(3):
        client.messages.count_tokens(model="claude-sonnet-5-latest", messages=QUESTION)
        yield client.messages.create(**CLAUDE)


@way
def anthropic_stream(client: Client) -> Replies:
    yield list(client.messages.create(**CLAUDE, stream=True))


@way
def anthropic_stream_helper(client: Client) -> Replies:
    with client.messages.stream(**CLAUDE) as stream:
        yield stream.get_final_message()


@way
def anthropic_raw(client: Client) -> Replies:
    yield client.messages.with_raw_response.create(**CLAUDE).parse()


@way
def anthropic_raw_stream(client: Client) -> Replies:
    with client.messages.with_streaming_response.create(**CLAUDE) as reply:
        yield json.loads(b"".join(reply.iter_bytes()))


@way
def anthropic_tools(client: Client) -> Replies:
    """The model calls a tool, and gets its result."""
    first = client.messages.create(**CLAUDE, tools=CLAUDE_TOOLS)
    yield first
    answer = [{"type": "tool_result", "tool_use_id": first.content[0].id, "content": "rain"}]
    turns = [*QUESTION, {"role": "assistant", "content": first.content}, {"role": "user", "content": answer}]
    yield client.messages.create(**{**CLAUDE, "messages": turns}, tools=CLAUDE_TOOLS)


@way
def anthropic_async(client: Client) -> Replies:
    yield from asyncio.run(_all(client, [client.messages.create(**CLAUDE) for _ in range(8)]))


@way
def anthropic_async_stream(client: Client) -> Replies:
    async def read() -> Any:
        async with client.messages.stream(**CLAUDE) as stream:
            return await stream.get_final_message()

    yield from asyncio.run(_all(client, [read() for _ in range(4)]))


@way
def anthropic_threads(client: Client) -> Replies:
    with ThreadPoolExecutor(64) as pool:
        yield from pool.map(lambda _: client.messages.create(**CLAUDE), range(64))


@way
def anthropic_left_stream(client: Client) -> Replies:
    """The program reads one event and closes the connection."""
    stream = client.messages.create(**CLAUDE, stream=True)
    next(iter(stream))
    stream.close()
    yield from ()


@way
def openai_response(client: Client) -> Replies:
    yield client.responses.create(**RESPONSE)


@way
def openai_response_stream(client: Client) -> Replies:
    yield list(client.responses.create(**RESPONSE, stream=True))


@way
def openai_response_helper(client: Client) -> Replies:
    with client.responses.stream(**RESPONSE) as stream:
        yield stream.get_final_response()


@way
def openai_response_raw(client: Client) -> Replies:
    yield client.responses.with_raw_response.create(**RESPONSE).parse()


@way
def openai_response_async(client: Client) -> Replies:
    yield from asyncio.run(_all(client, [client.responses.create(**RESPONSE) for _ in range(4)]))


@way
def openai_response_async_stream(client: Client) -> Replies:
    async def read() -> Any:
        return [event async for event in await client.responses.create(**RESPONSE, stream=True)]

    yield from asyncio.run(_all(client, [read()]))


@way
def openai_chat(client: Client) -> Replies:
    yield client.chat.completions.create(**CHAT)


@way
def openai_chat_stream(client: Client) -> Replies:
    options = {"include_usage": True}
    yield list(client.chat.completions.create(**CHAT, stream=True, stream_options=options))


@way
def openai_chat_stream_without_usage(client: Client) -> Replies:
    yield list(client.chat.completions.create(**CHAT, stream=True))


@way
def openai_chat_async(client: Client) -> Replies:
    yield from asyncio.run(_all(client, [client.chat.completions.create(**CHAT) for _ in range(4)]))


@way
def openai_chat_tools(client: Client) -> Replies:
    first = client.chat.completions.create(**CHAT, tools=CHAT_TOOLS)
    yield first
    message = first.choices[0].message
    answer = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "rain"}
    turns = [*QUESTION, message, answer]
    yield client.chat.completions.create(**{**CHAT, "messages": turns}, tools=CHAT_TOOLS)


@way
def openai_embeddings(client: Client) -> Replies:
    yield client.embeddings.create(
        model="text-embedding-3-small-latest", input="fox", encoding_format="float"
    )


@way
def openai_mixed(client: Client) -> Replies:
    """Three endpoints and two models in one program."""
    yield client.responses.create(**RESPONSE)
    yield client.chat.completions.create(**{**CHAT, "model": "gpt-5-mini-latest"})
    yield list(client.responses.create(**RESPONSE, stream=True))
    client.models.list()


@way
def gemini_generate(client: Client) -> Replies:
    yield client.models.generate_content(**GEMINI)


@way
def gemini_stream(client: Client) -> Replies:
    yield list(client.models.generate_content_stream(**GEMINI))


@way
def gemini_async(client: Client) -> Replies:
    yield from asyncio.run(_gathered([client.aio.models.generate_content(**GEMINI) for _ in range(4)]))


@way
def gemini_async_stream(client: Client) -> Replies:
    async def read() -> Any:
        return [event async for event in await client.aio.models.generate_content_stream(**GEMINI)]

    yield from asyncio.run(_gathered([read()]))


@way
def gemini_chat(client: Client) -> Replies:
    chat = client.chats.create(model=GEMINI["model"])
    yield chat.send_message("What does the fox do?")
    yield chat.send_message("And then?")


@way
def gemini_tools(client: Client) -> Replies:
    """The library calls the function of the program by itself, and the model again."""

    def weather(city: str) -> str:
        """The weather of a city."""
        return f"rain in {city}"

    yield client.models.generate_content(**GEMINI, config={"tools": [weather]})


async def _all(client: Client, calls: list[Any]) -> list[Any]:
    async with client:
        return await _gathered(calls)


async def _gathered(calls: list[Any]) -> list[Any]:
    return list(await asyncio.gather(*calls))


def make_calls(name: str, options: set[str]) -> None:
    import runcard  # noqa: PLC0415

    client = make_client(name, **({"max_retries": 0} if "once" in options else {}))
    with ExitStack() as stack:
        if "record" in options:
            stack.enter_context(runcard.record("own-outputs"))
        if "watch" in options:
            client = runcard.watch(client)
        try:
            for reply in WAYS[name](client):
                _add_usage(reply, options)
        except Exception as error:
            if "expect-error" not in options:
                raise
            sys.stdout.write(f"{type(error).__name__}\n")


def _add_usage(reply: Any, options: set[str]) -> None:
    import runcard  # noqa: PLC0415

    run = runcard.current_run()
    if run is not None and "add-reply" in options:
        run.add_usage(reply)
    if run is not None and "add-usage" in options:
        run.add_usage(reply.usage_metadata if hasattr(reply, "usage_metadata") else reply.usage)


def main(name: str, *options: str) -> None:
    if name == "processes":  # the other arguments are ways
        script = os.path.realpath(__file__)
        children = [subprocess.Popen([sys.executable, script, option]) for option in options]
        sys.exit(max(child.wait() for child in children))
    if name == "several":  # the other arguments are ways with their options, as `way:option:option`
        for words in options:
            each, *own = words.split(":")
            make_calls(each, set(own))
        return
    make_calls(name, set(options))


if __name__ == "__main__":
    main(*sys.argv[1:])
