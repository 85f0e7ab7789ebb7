"""The client of `google-genai`: its model calls, and how it is watched.

All its parts, sync and async, share one object that sends requests: a call starts and ends there. It returns replies as
text, event by event for a stream, whichever HTTP library it uses. Each attempt passes `_request_once`.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from runcard.accounting.vendors.reply_fields import ReplyFields, as_mapping
from runcard.encoding import JsonObject
from runcard.observe.clients import google_interactions
from runcard.observe.clients.call import FindListener, ModelCall, current, start_call
from runcard.observe.clients.endpoints import Endpoint, provider_at
from runcard.observe.clients.subclassing import base_of, subclass

GOOGLE = (
    Endpoint(
        "generateContent",
        re.compile(r":(streamG|g)enerateContent$"),
        ("systemInstruction", "contents", "tools", "cachedContent"),
    ),
)
_MODEL = re.compile(r"([^/]+):[^:/]+$")


def watch(client: Any, listener: FindListener) -> None:
    """Watch a client; one that is watched already gets a new listener."""
    sender = client._api_client  # noqa: SLF001 - what all its parts share
    base = base_of(type(sender))
    members = {"request": _request(base, listener), "request_streamed": _streamed(base, listener)}
    members |= {
        "async_request": _async_request(base, listener),
        "async_request_streamed": _async_streamed(base, listener),
    }
    if hasattr(base, "_request_once"):
        members["_request_once"] = _once(base._request_once)  # noqa: SLF001
    if hasattr(base, "_async_request_once"):
        members["_async_request_once"] = _async_once(base._async_request_once)  # noqa: SLF001
    sender.__class__ = subclass(base, members)
    for half in (client, getattr(client, "_aio", None)):
        if half is not None:
            google_interactions.watch(half, listener)


def _start_call(
    sender: Any, listener: FindListener, method: str, path: str, body: Any, *, stream: bool
) -> ModelCall | None:
    def facts() -> JsonObject:
        model = _MODEL.search(path.partition("?")[0])
        options = ReplyFields(as_mapping(sender._http_options) or {})  # noqa: SLF001 - there is no public name
        return {
            "requested_model": model and model[1],
            "provider": provider_at(options.text("base_url") or ""),
            "streamed": stream,
            "body": body,
            "on_wire": False,
        }

    return start_call(listener, GOOGLE, method, path, facts)


def _once(once: Callable[..., Any]) -> Callable[..., Any]:
    """One attempt."""

    def attempt(self: Any, *args: Any, **kwargs: Any) -> Any:
        if (call := current.get()) is not None:
            call.sending(None)
        return once(self, *args, **kwargs)

    return attempt


def _async_once(once: Callable[..., Any]) -> Callable[..., Any]:
    """One attempt; the caller checks whether this is a coroutine function."""

    async def attempt(self: Any, *args: Any, **kwargs: Any) -> Any:
        if (call := current.get()) is not None:
            call.sending(None)
        return await once(self, *args, **kwargs)

    return attempt


def _request(base: Any, listener: FindListener) -> Callable[..., Any]:
    def request(self: Any, method: str, path: str, body: Any, *args: Any, **kwargs: Any) -> Any:
        call = _start_call(self, listener, method, path, body, stream=False)
        if call is None:
            return base.request(self, method, path, body, *args, **kwargs)
        with call:
            reply = base.request(self, method, path, body, *args, **kwargs)
        call.headers(_headers(reply))
        call.add(_text(reply))
        call.returned()
        return reply

    return request


def _async_request(base: Any, listener: FindListener) -> Callable[..., Any]:
    async def request(self: Any, method: str, path: str, body: Any, *args: Any, **kwargs: Any) -> Any:
        call = _start_call(self, listener, method, path, body, stream=False)
        if call is None:
            return await base.async_request(self, method, path, body, *args, **kwargs)
        with call:
            reply = await base.async_request(self, method, path, body, *args, **kwargs)
        call.headers(_headers(reply))
        call.add(_text(reply))
        call.returned()
        return reply

    return request


def _streamed(base: Any, listener: FindListener) -> Callable[..., Any]:
    def request(self: Any, method: str, path: str, body: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        """Like its base, it sends nothing before the first event is read."""
        call = _start_call(self, listener, method, path, body, stream=True)
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
                call.headers(_headers(event))
                call.add(_text(event))
                yield event
        finally:
            call.close()

    return request


def _async_streamed(base: Any, listener: FindListener) -> Callable[..., Any]:
    async def request(self: Any, method: str, path: str, body: Any, *args: Any, **kwargs: Any) -> Any:
        call = _start_call(self, listener, method, path, body, stream=True)
        if call is None:
            return await base.async_request_streamed(self, method, path, body, *args, **kwargs)
        with call:
            events = await base.async_request_streamed(self, method, path, body, *args, **kwargs)
        call.waiting = True
        return _watch_events(call, events)

    return request


async def _watch_events(call: ModelCall, events: AsyncIterator[Any]) -> AsyncIterator[Any]:
    try:
        while True:
            with call:
                event = await anext(events, None)
            if event is None:
                return
            call.headers(_headers(event))
            call.add(_text(event))
            yield event
    finally:
        call.close()


def _text(reply: Any) -> Any:
    """The reply as text; older versions of the library return it as data."""
    return getattr(reply, "body", reply) or "{}"


def _headers(reply: Any) -> dict[str, str]:
    """The headers of the reply, with names in lower case."""
    headers = getattr(reply, "headers", None)
    return {str(name).lower(): value for name, value in dict(headers).items()} if headers else {}
