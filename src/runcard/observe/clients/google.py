"""The client of `google-genai`.

All its parts, sync and async, share one object that sends requests: there a call begins and ends. It hands on what came back
as text, event by event for a stream, whichever HTTP library it uses. It tries again in `_request_once`.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from runcard.accounting.vendors.reply_fields import ReplyFields, as_mapping
from runcard.encoding import JsonObject
from runcard.observe.clients import google_interactions
from runcard.observe.clients.call import FindListener, ModelCall, begin, current
from runcard.observe.clients.endpoints import GOOGLE, provider_at
from runcard.observe.clients.subclassing import base_of, subclass

_MODEL = re.compile(r"([^/]+):[^:/]+$")


def exchange(client: Any, listener: FindListener) -> None:
    """Watch a client, or watch it in another way from now on."""
    sender = client._api_client  # noqa: SLF001 - what all its parts share
    base = base_of(type(sender))
    own = {"request": _request(base, listener), "request_streamed": _streamed(base, listener)}
    own |= {
        "async_request": _async_request(base, listener),
        "async_request_streamed": _async_streamed(base, listener),
    }
    if hasattr(base, "_request_once"):
        own["_request_once"] = _once(base._request_once)  # noqa: SLF001
    if hasattr(base, "_async_request_once"):
        own["_async_request_once"] = _async_once(base._async_request_once)  # noqa: SLF001
    sender.__class__ = subclass(base, own)
    for half in (client, getattr(client, "_aio", None)):
        if half is not None:
            google_interactions.exchange(half, listener)


def _begun(
    sender: Any, listener: FindListener, method: str, path: str, body: Any, *, stream: bool
) -> ModelCall | None:
    def facts() -> JsonObject:
        named = _MODEL.search(path.partition("?")[0])
        options = ReplyFields(as_mapping(sender._http_options) or {})  # noqa: SLF001 - no other name leads to them
        return {
            "requested_model": named and named[1],
            "provider": provider_at(options.text("base_url") or ""),
            "streamed": stream,
            "body": body,
            "on_wire": False,
        }

    return begin(listener, GOOGLE, method, path, facts)


def _once(once: Callable[..., Any]) -> Callable[..., Any]:
    """One attempt."""

    def attempt(self: Any, *args: Any, **kwargs: Any) -> Any:
        if (call := current.get()) is not None:
            call.sending(None)
        return once(self, *args, **kwargs)

    return attempt


def _async_once(once: Callable[..., Any]) -> Callable[..., Any]:
    """One attempt; who tries again looks whether this is a coroutine function."""

    async def attempt(self: Any, *args: Any, **kwargs: Any) -> Any:
        if (call := current.get()) is not None:
            call.sending(None)
        return await once(self, *args, **kwargs)

    return attempt


def _request(base: Any, listener: FindListener) -> Callable[..., Any]:
    def request(self: Any, method: str, path: str, body: Any, *args: Any, **kwargs: Any) -> Any:
        call = _begun(self, listener, method, path, body, stream=False)
        if call is None:
            return base.request(self, method, path, body, *args, **kwargs)
        with call:
            reply = base.request(self, method, path, body, *args, **kwargs)
        call.add(_text(reply))
        call.returned()
        return reply

    return request


def _async_request(base: Any, listener: FindListener) -> Callable[..., Any]:
    async def request(self: Any, method: str, path: str, body: Any, *args: Any, **kwargs: Any) -> Any:
        call = _begun(self, listener, method, path, body, stream=False)
        if call is None:
            return await base.async_request(self, method, path, body, *args, **kwargs)
        with call:
            reply = await base.async_request(self, method, path, body, *args, **kwargs)
        call.add(_text(reply))
        call.returned()
        return reply

    return request


def _streamed(base: Any, listener: FindListener) -> Callable[..., Any]:
    def request(self: Any, method: str, path: str, body: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        """Like its base, it sends nothing before somebody asks for the first event."""
        call = _begun(self, listener, method, path, body, stream=True)
        events = base.request_streamed(self, method, path, body, *args, **kwargs)
        if call is None:
            yield from events
            return
        call.waiting = True
        try:
            while True:
                with call:
                    event = next(events, None)
                if event is None:
                    return
                call.add(_text(event))
                yield event
        finally:
            call.close()

    return request


def _async_streamed(base: Any, listener: FindListener) -> Callable[..., Any]:
    async def request(self: Any, method: str, path: str, body: Any, *args: Any, **kwargs: Any) -> Any:
        call = _begun(self, listener, method, path, body, stream=True)
        if call is None:
            return await base.async_request_streamed(self, method, path, body, *args, **kwargs)
        with call:
            events = await base.async_request_streamed(self, method, path, body, *args, **kwargs)
        call.waiting = True
        return _followed(call, events)

    return request


async def _followed(call: ModelCall, events: AsyncIterator[Any]) -> AsyncIterator[Any]:
    try:
        while True:
            with call:
                event = await anext(events, None)
            if event is None:
                return
            call.add(_text(event))
            yield event
    finally:
        call.close()


def _text(reply: Any) -> Any:
    """What came back, as text; older versions of the library hand it on as data."""
    return getattr(reply, "body", reply) or "{}"
