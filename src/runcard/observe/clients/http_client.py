"""The HTTP client below a vendor's client: each attempt of a call passes its `send`, and the reply is read from its response.

Both httpx and httpx2 have the names used here. A client may be shared; it reports only while a call of a watched client is
in progress that is observed here. A response that was not read yet reports each piece when it is read, in whatever way: as
bytes, text, lines or events.
"""

import functools
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

from runcard.observe.clients.call import ModelCall, current
from runcard.observe.clients.subclassing import base_of, is_subclassed, subclass

_CALL = "_runcard_call"


def watch_sending(http: Any) -> None:
    """Let an HTTP client report what it sends."""
    if not is_subclassed(http):
        http.__class__ = _sender(http.__class__)


@functools.cache
def _sender(kind: type) -> type:
    """An HTTP client that reports to the current call what is sent, and what comes back."""

    base: Any = kind

    def send(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        call = current.get()
        if call is None or not call.on_wire:
            return base.send(self, request, *args, **kwargs)
        call.sending(_body(request))
        return _with_reply(call, base.send(self, request, *args, **kwargs))

    async def send_async(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        call = current.get()
        if call is None or not call.on_wire:
            return await base.send(self, request, *args, **kwargs)
        call.sending(_body(request))
        return _with_reply(call, await base.send(self, request, *args, **kwargs))

    return subclass(kind, {"send": send_async if hasattr(kind, "aclose") else send})


def _body(request: Any) -> bytes | None:
    try:
        body: bytes = request.content
    except Exception:  # noqa: BLE001 - a body generated while it is sent; httpx and httpx2 raise different errors
        return None
    return body


def _with_reply(call: ModelCall, response: Any) -> Any:
    call.inspect(functools.partial(_inspect, call, response))
    return response


def _inspect(call: ModelCall, response: Any) -> None:
    """Whether a reply is an error, complete already, or still to be read."""
    call.headers(response.headers)
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
    """A response that reports to its call what is read from it."""
    members = {"iter_bytes": _iter_bytes, "aiter_bytes": _aiter_bytes, "close": _close, "aclose": _aclose}
    return subclass(kind, {**members, "__del__": _del})
