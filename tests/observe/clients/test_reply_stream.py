"""The bytes of a reply, in whatever pieces they come."""

import base64
import json
import struct
import zlib
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import runcard
from observe.clients import replies
from observe.clients.clients import CLAUDE, claude
from observe.clients.conftest import calls
from observe.clients.server import Answer, ModelServer
from runcard.observe.clients.reply_stream import (
    DONE,
    AmazonStream,
    Event,
    EventStream,
    JsonReply,
    MalformedError,
    decoded,
)

EVENTS: list[Any] = [{"type": "ping"}, {"text": "Füchse 🦊"}, {"lines": "a\nb"}, DONE]


def data_of(events: Iterable[Event]) -> list[Any]:
    return [decoded(event) if isinstance(event, bytes) else event for event in events]


def written(end: str) -> bytes:
    lines = []
    for event in EVENTS:
        data = event if event == DONE else json.dumps(event, ensure_ascii=False, indent=1)
        lines += [": a comment", "event: some", *(f"data: {line}" for line in data.split("\n")), "id: 7", ""]
    return end.join([*lines, ""]).encode()


@given(st.sampled_from(["\n", "\r\n"]), st.lists(st.integers(1, 40), min_size=1, max_size=30))
@settings(max_examples=60, deadline=None)
def test_events_are_the_same_in_whatever_pieces_they_come(end: str, sizes: list[int]) -> None:
    data, reader = written(end), EventStream()
    found: list[Any] = []
    for size in sizes:
        found += reader.feed(data[:size])
        data = data[size:]
    found += reader.feed(data)
    assert data_of([*found, *reader.end()]) == EVENTS


def test_an_event_that_is_not_finished_is_read_at_the_end() -> None:
    reader = EventStream()
    assert data_of(reader.feed(b'data:{"a":1}\n\ndata: {"b": 2}')) == [{"a": 1}]
    assert data_of(reader.end()) == [{"b": 2}]
    assert list(EventStream().end()) == []


def framed(event: Any, *, within: str = "bytes") -> bytes:
    """An event as Bedrock sends it."""
    data = json.dumps({within: base64.b64encode(json.dumps(event).encode()).decode()}).encode()
    name, value = b":event-type", b"chunk"
    headers = bytes([len(name)]) + name + b"\x07" + struct.pack(">H", len(value)) + value
    head = struct.pack(">II", 16 + len(headers) + len(data), len(headers))
    frame = head + struct.pack(">I", zlib.crc32(head)) + headers + data
    return frame + struct.pack(">I", zlib.crc32(frame))


@pytest.mark.parametrize("size", [1, 7, 100, 10_000])
def test_the_frames_of_amazon_hold_the_same_events(size: int) -> None:
    reader, data = AmazonStream(), b"".join(map(framed, EVENTS[:3]))
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert [event for piece in pieces for event in data_of(reader.feed(piece))] == EVENTS[:3]
    assert list(reader.end()) == []
    assert data_of(reader.feed(framed("no", within="message")))[0]["type"] == "error"
    with pytest.raises(MalformedError, match="not a valid frame"):
        list(reader.feed(b"\0" * 16))


def test_a_stream_of_bedrock_is_read_like_any_other(server: ModelServer, run: runcard.Run) -> None:
    data = b"".join(map(framed, replies.message_events()))
    server.says(Answer(data, headers={"content-type": "application/vnd.amazon.eventstream"}))
    with (
        claude(server) as client,
        client.messages.with_streaming_response.create(**CLAUDE, stream=True) as reply,
    ):
        assert b"".join(reply.iter_bytes(9)) == data
    (call,) = calls(run)
    assert (call["tokens"], call["token_source"]) == (replies.CLAUDE_TOKENS, "reported")


def test_a_whole_reply_is_one_json_text() -> None:
    reader = JsonReply()
    assert list(reader.feed(b'{"a": [1,')) == list(reader.feed(b" 2]}")) == []
    assert data_of(reader.end()) == [{"a": [1, 2]}]


@pytest.mark.parametrize("data", [b"", b"{", b"<html>", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_json_is_told_as_such(data: bytes) -> None:
    reader = JsonReply()
    list(reader.feed(data))
    with pytest.raises(MalformedError):
        data_of(reader.end())
