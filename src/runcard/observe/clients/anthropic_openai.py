"""The clients of `anthropic` and `openai`, which were made with the same generator.

Every method of theirs ends in `request`, which sends, tries again and reads the reply: there a call begins and ends. What
is sent in between is seen at their HTTP client.
"""

from collections.abc import Callable
from typing import Any

from runcard.encoding import JsonObject
from runcard.observe.clients.call import FindListener, ModelCall, begin
from runcard.observe.clients.endpoints import Api, provider_at
from runcard.observe.clients.http_client import watch_sending
from runcard.observe.clients.subclassing import base_of, subclass


def exchange(client: Any, apis: tuple[Api, ...], listener: FindListener, *, is_async: bool) -> None:
    """Watch a client, or watch it in another way from now on."""
    base = base_of(type(client))
    request = _async_request if is_async else _request
    client.__class__ = subclass(base, {"request": request(base, apis, listener)})


def _begun(
    client: Any, apis: tuple[Api, ...], listener: FindListener, options: Any, *, stream: bool
) -> ModelCall | None:
    def facts() -> JsonObject:
        watch_sending(client._client)  # noqa: SLF001 - no other name leads to its HTTP client
        model = options.json_data.get("model") if isinstance(options.json_data, dict) else None
        return {
            "requested_model": model if isinstance(model, str) else None,
            "provider": provider_at(str(client.base_url)),
            "streamed": stream,
        }

    return begin(listener, apis, options.method, options.url, facts)


def _request(base: Any, apis: tuple[Api, ...], listener: FindListener) -> Callable[..., Any]:
    def request(self: Any, cast_to: Any, options: Any, *args: Any, **kwargs: Any) -> Any:
        call = _begun(self, apis, listener, options, stream=bool(kwargs.get("stream")))
        if call is None:
            return base.request(self, cast_to, options, *args, **kwargs)
        with call:
            result = base.request(self, cast_to, options, *args, **kwargs)
        call.returned()
        return result

    return request


def _async_request(base: Any, apis: tuple[Api, ...], listener: FindListener) -> Callable[..., Any]:
    async def request(self: Any, cast_to: Any, options: Any, *args: Any, **kwargs: Any) -> Any:
        call = _begun(self, apis, listener, options, stream=bool(kwargs.get("stream")))
        if call is None:
            return await base.request(self, cast_to, options, *args, **kwargs)
        with call:
            result = await base.request(self, cast_to, options, *args, **kwargs)
        call.returned()
        return result

    return request
