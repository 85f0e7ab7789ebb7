"""The clients of `anthropic` and `openai`, which share a code generator: their model calls, and how they are watched.

To record another kind of model call, add its `Endpoint`. Every method of these clients ends in `request`, which sends,
retries and reads the reply: a call starts and ends there. Attempts and replies are observed at the HTTP client.
"""

import re
from collections.abc import Callable
from typing import Any

from runcard.encoding import JsonObject
from runcard.observe.clients.call import FindListener, ModelCall, start_call
from runcard.observe.clients.endpoints import Endpoint, provider_at, regional_host
from runcard.observe.clients.http_client import watch_sending
from runcard.observe.clients.subclassing import base_of, subclass

ANTHROPIC = (
    Endpoint("messages", re.compile(r"/messages$"), ("system", "messages", "tools")),
    Endpoint("complete", re.compile(r"/complete$"), ("prompt",)),
)
OPENAI = (
    Endpoint(
        "chat", re.compile(r"/chat/completions$"), ("messages", "tools", "functions", "response_format")
    ),
    Endpoint("responses", re.compile(r"/responses$"), ("instructions", "prompt", "input", "tools", "text")),
    Endpoint("completions", re.compile(r"(?<!chat)/completions$"), ("prompt", "suffix")),
    Endpoint("embeddings", re.compile(r"/embeddings$"), ("input",)),
)
ENDPOINTS = {"anthropic._base_client": ANTHROPIC, "openai._base_client": OPENAI}  # by the base class's module


def watch(client: Any, endpoints: tuple[Endpoint, ...], listener: FindListener, *, is_async: bool) -> None:
    """Watch a client; one that is watched already gets a new listener."""
    base = base_of(type(client))
    request = _async_request if is_async else _request
    client.__class__ = subclass(base, {"request": request(base, endpoints, listener)})


def _start_call(
    client: Any, endpoints: tuple[Endpoint, ...], listener: FindListener, options: Any, *, stream: bool
) -> ModelCall | None:
    def facts() -> JsonObject:
        watch_sending(client._client)  # noqa: SLF001 - there is no public name for its HTTP client
        model = options.json_data.get("model") if isinstance(options.json_data, dict) else None
        return {
            "requested_model": model if isinstance(model, str) else None,
            "provider": provider_at(str(client.base_url)),
            "regional_host": regional_host(str(client.base_url)),
            "streamed": stream,
        }

    return start_call(listener, endpoints, options.method, options.url, facts)


def _request(base: Any, endpoints: tuple[Endpoint, ...], listener: FindListener) -> Callable[..., Any]:
    def request(self: Any, cast_to: Any, options: Any, *args: Any, **kwargs: Any) -> Any:
        call = _start_call(self, endpoints, listener, options, stream=bool(kwargs.get("stream")))
        if call is None:
            return base.request(self, cast_to, options, *args, **kwargs)
        with call:
            result = base.request(self, cast_to, options, *args, **kwargs)
        call.returned()
        return result

    return request


def _async_request(base: Any, endpoints: tuple[Endpoint, ...], listener: FindListener) -> Callable[..., Any]:
    async def request(self: Any, cast_to: Any, options: Any, *args: Any, **kwargs: Any) -> Any:
        call = _start_call(self, endpoints, listener, options, stream=bool(kwargs.get("stream")))
        if call is None:
            return await base.request(self, cast_to, options, *args, **kwargs)
        with call:
            result = await base.request(self, cast_to, options, *args, **kwargs)
        call.returned()
        return result

    return request
