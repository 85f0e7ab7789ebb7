"""The HTTP client that a library uses: each attempt of a call passes its `send`, and the reply is read from its response.

Both httpx and httpx2 have the names that are used here. A client may be shared with others; it looks up only while a call of
a watched client is on its way that is told of at this place. A response that was not read yet tells its call of each piece
when somebody reads it, in whatever way: as bytes, text, lines or events.
"""

import functools
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

from runcard.observe.clients.call import ModelCall, current
from runcard.observe.clients.subclassing import base_of, is_exchanged, subclass

_CALL = "_runcard_call"


def watch_sending(http: Any) -> None:
    """Let an HTTP client tell of what it sends."""
    if not is_exchanged(http):
        http.__class__ = _sender(http.__class__)


@functools.cache
def _sender(kind: type) -> type:
    """An HTTP client that tells the call on its way of what is sent, and of what comes back."""

    base: Any = kind

    def send(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        call = current.get()
        if call is None or not call.on_wire:
            return base.send(self, request, *args, **kwargs)
        call.sending(_body(request))
        return _replied(call, base.send(self, request, *args, **kwargs))

    async def send_async(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        call = current.get()
        if call is None or not call.on_wire:
            return await base.send(self, request, *args, **kwargs)
        call.sending(_body(request))
        return _replied(call, await base.send(self, request, *args, **kwargs))

    return subclass(kind, {"send": send_async if hasattr(kind, "aclose") else send})


def _body(request: Any) -> bytes | None:
    try:
        body: bytes = request.content
    except Exception:  # noqa: BLE001 - a body that is made while it is sent; httpx and httpx2 have an error each
        return None
    return body


def _replied(call: ModelCall, response: Any) -> Any:
    call.look(functools.partial(_look, call, response))
    return response


def _look(call: ModelCall, response: Any) -> None:
    """See what a reply is, and whether it is there already or still to be read."""
    if not response.is_success:
        call.refused(response.status_code, response.reason_phrase)
        return
    call.replying(response.headers.get("content-type", ""))
    if response.is_closed:
        call.feed(response.content)
        call.read()
        return
    setattr(response, _CALL, call)
    response.__class__ = _reader(response.__class__)
    call.waiting = True


def _iter_bytes(self: Any, chunk_size: int | None = None) -> Iterator[bytes]:
    call: ModelCall = getattr(self, _CALL)
    pieces = base_of(type(self)).iter_bytes(self, chunk_size)
    while True:
        with call.pull():
            piece = next(pieces, None)
        if piece is None:
            break
        call.feed(piece)
        yield piece
    call.end()


async def _aiter_bytes(self: Any, chunk_size: int | None = None) -> AsyncIterator[bytes]:
    call: ModelCall = getattr(self, _CALL)
    pieces = base_of(type(self)).aiter_bytes(self, chunk_size)
    while True:
        with call.pull():
            piece = await anext(pieces, None)
        if piece is None:
            break
        call.feed(piece)
        yield piece
    call.end()


def _close(self: Any) -> None:
    base_of(type(self)).close(self)
    getattr(self, _CALL).close()


async def _aclose(self: Any) -> None:
    await base_of(type(self)).aclose(self)
    getattr(self, _CALL).close()


def _del(self: Any) -> None:
    if not sys.is_finalizing():
        getattr(self, _CALL).close()


@functools.cache
def _reader(kind: type) -> type:
    """A response that tells its call of what is read from it, when it is read."""
    own = {"iter_bytes": _iter_bytes, "aiter_bytes": _aiter_bytes, "close": _close, "aclose": _aclose}
    return subclass(kind, {**own, "__del__": _del})
