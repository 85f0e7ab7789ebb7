"""The clients of `anthropic` and `openai`, which were made with the same generator.

Every method of theirs ends in `request`, which sends, tries again and reads the reply: there a call begins and ends. What
is sent in between passes `send` of their HTTP client, once for each attempt, and what comes back is read from its response.
The HTTP client may be shared with others; it looks up only while a call of a watched client is on its way.
"""

import functools
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from runcard.observe.sdk.apis import Api, find, provider_at
from runcard.observe.sdk.call import Call, Find, begin, current
from runcard.observe.sdk.exchange import base_of, is_exchanged, subclass

_CALL = "_runcard_call"


def exchange(client: Any, apis: tuple[Api, ...], keeper: Find, *, is_async: bool) -> None:  # noqa: ANN401
    """Watch a client, or watch it in another way from now on."""
    base = base_of(type(client))
    request = _async_request if is_async else _request
    client.__class__ = subclass(base, {"request": request(base, apis, keeper)})


def _begun(client: Any, apis: tuple[Api, ...], keeper: Find, options: Any, *, stream: bool) -> Call | None:  # noqa: ANN401
    def facts() -> dict[str, Any]:
        http = client._client  # noqa: SLF001 - no other name leads to its HTTP client
        if not is_exchanged(http):
            http.__class__ = _sender(http.__class__)
        model = options.json_data.get("model") if isinstance(options.json_data, dict) else None
        return {
            "requested_model": model if isinstance(model, str) else None,
            "provider": provider_at(str(client.base_url)),
            "streamed": stream,
        }

    return begin(keeper, find(apis, options.method, options.url), facts)


def _request(base: Any, apis: tuple[Api, ...], keeper: Find) -> Callable[..., Any]:  # noqa: ANN401
    def request(self: Any, cast_to: Any, options: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        call = _begun(self, apis, keeper, options, stream=bool(kwargs.get("stream")))
        if call is None:
            return base.request(self, cast_to, options, *args, **kwargs)
        with call:
            result = base.request(self, cast_to, options, *args, **kwargs)
        call.returned()
        return result

    return request


def _async_request(base: Any, apis: tuple[Api, ...], keeper: Find) -> Callable[..., Any]:  # noqa: ANN401
    async def request(self: Any, cast_to: Any, options: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        call = _begun(self, apis, keeper, options, stream=bool(kwargs.get("stream")))
        if call is None:
            return await base.request(self, cast_to, options, *args, **kwargs)
        with call:
            result = await base.request(self, cast_to, options, *args, **kwargs)
        call.returned()
        return result

    return request


@functools.cache
def _sender(kind: type) -> type:
    """An HTTP client that tells the call on its way of what is sent, and of what comes back."""

    base: Any = kind

    def send(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        call = current.get()
        if call is None:
            return base.send(self, request, *args, **kwargs)
        call.sending(_body(request))
        return _replied(call, base.send(self, request, *args, **kwargs))

    async def send_async(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        call = current.get()
        if call is None:
            return await base.send(self, request, *args, **kwargs)
        call.sending(_body(request))
        return _replied(call, await base.send(self, request, *args, **kwargs))

    return subclass(kind, {"send": send_async if hasattr(kind, "aclose") else send})


def _body(request: Any) -> bytes | None:  # noqa: ANN401
    try:
        body: bytes = request.content
    except Exception:  # noqa: BLE001 - a body that is made while it is sent; httpx and httpx2 have an error each
        return None
    return body


def _replied(call: Call, response: Any) -> Any:  # noqa: ANN401
    if not response.is_success:
        return response
    call.replying(response.headers.get("content-type", ""))
    if response.is_closed:  # it was read already
        call.feed(response.content)
        call.read()
    else:
        call.waiting = True
        setattr(response, _CALL, call)
        response.__class__ = _reader(response.__class__)
    return response


def _iter_bytes(self: Any, chunk_size: int | None = None) -> Iterator[bytes]:  # noqa: ANN401
    call: Call = getattr(self, _CALL)
    pieces = base_of(type(self)).iter_bytes(self, chunk_size)
    while True:
        with call.pull():
            piece = next(pieces, None)
        if piece is None:
            break
        call.feed(piece)
        yield piece
    call.end()


async def _aiter_bytes(self: Any, chunk_size: int | None = None) -> AsyncIterator[bytes]:  # noqa: ANN401
    call: Call = getattr(self, _CALL)
    pieces = base_of(type(self)).aiter_bytes(self, chunk_size)
    while True:
        with call.pull():
            piece = await anext(pieces, None)
        if piece is None:
            break
        call.feed(piece)
        yield piece
    call.end()


def _close(self: Any) -> None:  # noqa: ANN401
    base_of(type(self)).close(self)
    getattr(self, _CALL).close()


async def _aclose(self: Any) -> None:  # noqa: ANN401
    await base_of(type(self)).aclose(self)
    getattr(self, _CALL).close()


def _del(self: Any) -> None:  # noqa: ANN401
    if not sys.is_finalizing():
        getattr(self, _CALL).close()


@functools.cache
def _reader(kind: type) -> type:
    """A response that tells its call of what is read from it, when it is read."""
    own = {"iter_bytes": _iter_bytes, "aiter_bytes": _aiter_bytes, "close": _close, "aclose": _aclose}
    return subclass(kind, {**own, "__del__": _del})
