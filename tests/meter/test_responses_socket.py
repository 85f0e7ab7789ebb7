"""Responses over a WebSocket, read from the bytes of both ends."""

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.client import ClientProtocol
from websockets.extensions.permessage_deflate import (
    ClientPerMessageDeflateFactory,
    ServerPerMessageDeflateFactory,
)
from websockets.http11 import Request
from websockets.server import ServerProtocol
from websockets.uri import parse_uri

from meter.exchanges import OPENAI, Sink
from observe.clients import replies
from runcard.accounting import read_usage
from runcard.observe.clients.call import CallFacts
from runcard.observe.meter.exchange import Failure, RequestHead, ResponseHead
from runcard.observe.meter.wire_calls import WireCalls

Json = dict[str, Any]
CREATE: Json = {
    "type": "response.create",
    "model": "gpt-5",
    "input": [{"role": "user", "content": "Hi"}],
    "temperature": 0.5,
}
TURN = '{"session_id": "ses-1", "thread_id": "thr-2"}'


class Socket:
    """Both ends of a connection, and the observer between them."""

    def __init__(self, *, deflate: bool, status: int = 101, extension: str | None = None) -> None:
        self.sink = Sink()
        self._cuts: list[int] = []
        self.client = ClientProtocol(
            parse_uri("ws://127.0.0.1/v1/responses"),
            extensions=[ClientPerMessageDeflateFactory(client_max_window_bits=True)] if deflate else None,
        )
        self.server = ServerProtocol(extensions=[ServerPerMessageDeflateFactory()] if deflate else None)
        self.client.send_request(self.client.connect())
        self.server.receive_data(b"".join(self.client.data_to_send()))
        (request,) = self.server.events_received()
        assert isinstance(request, Request)
        response = self.server.accept(request)
        self.server.send_response(response)
        self.client.receive_data(b"".join(self.server.data_to_send()))
        self.client.events_received()
        sent = (*request.headers.raw_items(), ("x-codex-turn-metadata", TURN))
        head = RequestHead("GET", "/v1/responses", tuple((name.lower(), value) for name, value in sent))
        observer = WireCalls(self.sink).observe(OPENAI, head)
        assert observer is not None
        self.observer = observer
        self.observer.request_end()
        headers = [(name.lower(), value) for name, value in response.headers.raw_items()]
        headers += [("sec-websocket-extensions", extension)] if extension else []
        self.observer.reply(ResponseHead(status, "", (*headers, ("x-request-id", "req-of-the-connection"))))

    def split(self, cuts: list[int]) -> None:
        """Divide what is sent from now on at these places."""
        self._cuts = cuts

    def _split(self, data: bytes) -> list[bytes]:
        cuts = sorted(cut % (len(data) + 1) for cut in self._cuts)
        return [data[start:end] for start, end in pairwise([0, *cuts, len(data)])]

    def ask(self, request: Json, *, fragments: int = 1) -> None:
        data = json.dumps(request).encode()
        size = -(-len(data) // fragments)
        parts = [data[at : at + size] for at in range(0, len(data), size)]
        for number, part in enumerate(parts):
            is_last = number == len(parts) - 1
            if number:
                self.client.send_continuation(part, fin=is_last)
            else:
                self.client.send_text(part, fin=is_last)
            self.client.send_ping(b"in between")
        for piece in self._split(b"".join(self.client.data_to_send())):
            self.observer.from_program(piece)

    def tell(self, events: Iterable[Json]) -> None:
        for event in events:
            self.server.send_text(json.dumps(event).encode())
            self.server.send_ping(b"")
        for piece in self._split(b"".join(self.server.data_to_send())):
            self.observer.from_upstream(piece)

    @property
    def calls(self) -> list[CallFacts]:
        return self.sink.calls


def tokens(facts: CallFacts) -> Json:
    return read_usage(facts.reply).tokens.to_dict()


def warm_up() -> list[Json]:
    done = replies.response(id="resp_warm", output=[], usage=None)
    return [{"type": "response.created", "response": done}, {"type": "response.completed", "response": done}]


@pytest.mark.parametrize("deflate", [False, True])
@pytest.mark.parametrize("fragments", [1, 3])
def test_each_response_of_a_connection_is_a_call_and_a_warm_up_is_none(
    *, deflate: bool, fragments: int
) -> None:
    socket = Socket(deflate=deflate)
    socket.ask(CREATE | {"generate": False}, fragments=fragments)
    socket.tell(warm_up())
    for _ in range(3):
        socket.ask(CREATE, fragments=fragments)
        socket.tell([{"type": "codex.rate_limits"}, *replies.response_events()])
    socket.observer.end()
    assert [tokens(facts) for facts in socket.calls] == [replies.RESPONSE_TOKENS] * 3
    first = socket.calls[0]
    assert (first.requested_model, first.request) == ("gpt-5", {"temperature": 0.5})
    assert (first.error, first.streamed, first.request_id) == (None, True, None)
    assert first.first_token is not None
    assert first.exchange is not None
    assert (first.exchange.client_session, first.exchange.agent) == ("ses-1", "thr-2")
    assert socket.sink.problems == socket.sink.kinds == []


@given(cuts=st.lists(st.integers(0, 5000), max_size=8), deflate=st.booleans())
@settings(max_examples=40, deadline=None)
def test_frames_are_read_in_whatever_pieces_they_come(cuts: list[int], *, deflate: bool) -> None:
    socket = Socket(deflate=deflate)
    socket.split(cuts)
    socket.ask(CREATE)
    socket.tell(replies.response_events())
    (facts,) = socket.calls
    assert tokens(facts) == replies.RESPONSE_TOKENS


@pytest.mark.parametrize("failure", [None, *Failure])
def test_a_connection_that_is_cut_leaves_a_partial_call(failure: Failure | None) -> None:
    socket = Socket(deflate=True)
    socket.ask(CREATE)
    socket.tell(replies.response_events()[:-1])
    if failure is None:
        socket.server.send_close(1011, "overloaded")
        socket.observer.from_upstream(b"".join(socket.server.data_to_send()))
        socket.observer.end()
    else:
        socket.observer.fail(failure, "")
    (facts,) = socket.calls
    assert facts.error is not None
    assert facts.error["type"] == (failure or Failure.CUT).value
    assert (facts.reply_began, facts.complete) == (True, False)
    assert failure is not None or "overloaded" in facts.error["message"]


@pytest.mark.parametrize("kind", ["response.incomplete", "response.failed"])
def test_the_counts_of_a_response_that_was_not_completed_are_read(kind: str) -> None:
    socket = Socket(deflate=False)
    socket.ask(CREATE)
    error = {"code": "server_error", "message": "oops"} if kind == "response.failed" else None
    last = replies.response(status=kind.removeprefix("response."), error=error)
    socket.tell([*replies.response_events()[:-1], {"type": kind, "response": last}])
    (facts,) = socket.calls
    assert tokens(facts) == replies.RESPONSE_TOKENS
    assert (facts.error is None) == (error is None)


def test_an_error_ends_a_call_and_the_same_request_is_its_retry() -> None:
    socket = Socket(deflate=False)
    socket.ask(CREATE)
    socket.tell(
        [{"type": "error", "status": 429, "error": {"type": "usage_limit_reached", "message": "later"}}]
    )
    socket.ask(CREATE)
    socket.tell(replies.response_events())
    failed, good = socket.calls
    assert failed.error == {"type": "usage_limit_reached", "message": "later", "status": 429}
    assert failed.exchange is not None
    assert good.exchange is not None
    assert good.exchange.retry_of == failed.exchange.call_id
    assert good.error is None


def test_a_refused_upgrade_is_no_call() -> None:
    socket = Socket(deflate=False, status=426)
    socket.observer.end()
    assert not socket.calls
    assert socket.sink.problems == socket.sink.kinds == []


@pytest.mark.parametrize("data", [b"\xff" * 100, b"\x81\x7f" + b"\xff" * 8, b"\x81\x03{{{", b"\xc1\x02ab"])
def test_frames_that_cannot_be_read_are_not_understood(data: bytes) -> None:
    socket = Socket(deflate=False)
    socket.ask(CREATE)
    socket.observer.from_upstream(data)
    socket.observer.from_upstream(data)
    socket.observer.end()
    assert len(socket.calls) == 1
    assert socket.calls[0].error is not None
    assert socket.sink.kinds == ([] if data.startswith(b"\x81\x03") else ["WebSocket responses"])


def test_an_unknown_extension_is_not_understood() -> None:
    socket = Socket(deflate=False, extension="x-something-new")
    socket.ask(CREATE)
    socket.observer.end()
    assert socket.sink.kinds == ["WebSocket responses"]
