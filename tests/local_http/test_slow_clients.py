"""A client that sends half a request does not keep its connection."""

import socket
import threading
import time
from contextlib import closing

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from runcard.local_http import slow_clients
from runcard.local_http.listener import listen
from runcard.local_http.serving import make_server


async def _app(scope: Scope, receive: Receive, send: Send) -> None:
    assert scope["type"] == "http"
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    if scope["path"] == "/slow":
        import asyncio  # noqa: PLC0415 - here only

        await asyncio.sleep(1)
    await send({"type": "http.response.body", "body": b"ok"})


def _ended_after(address: tuple[str, int], sent: bytes) -> tuple[float, bytes]:
    """Seconds until the server closes a connection on which this was sent, and what it answered."""
    began, received = time.monotonic(), b""
    with closing(socket.create_connection(address, timeout=60)) as connection:
        connection.sendall(sent)
        while data := connection.recv(1000):
            received += data
    return time.monotonic() - began, received


def test_half_a_request_is_not_waited_for_and_a_slow_answer_is(monkeypatch: pytest.MonkeyPatch) -> None:
    slow_clients_patience = slow_clients.PATIENCE
    monkeypatch.setattr(slow_clients, "PATIENCE", 0.2)
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(make_server(_app).config)  # the other class needs the main thread
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener.listening]}, daemon=True)
    thread.start()
    address = (listener.host, listener.port)
    full = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    for sent in (b"", b"GET / HTTP/1.1\r\nHost:", full + b"GET / HT"):
        seconds, received = _ended_after(address, sent)
        assert seconds < slow_clients_patience, sent
        assert received.endswith(b"ok") == sent.startswith(full)
    seconds, received = _ended_after(address, full.replace(b"/ ", b"/slow "))
    assert seconds >= 1
    assert received.endswith(b"ok")
    server.should_exit = True
    thread.join(10)
    assert not thread.is_alive()
