"""The bytes of a reply, in whatever pieces they come."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runcard.observe.sdk.wire import DONE, EventStream, MalformedError, Whole

EVENTS: list[Any] = [{"type": "ping"}, {"text": "Füchse 🦊"}, {"lines": "a\nb"}, DONE]


def written(end: str) -> bytes:
    lines = []
    for event in EVENTS:
        data = event if event == DONE else json.dumps(event, ensure_ascii=False, indent=1)
        lines += [": a comment", "event: some", *(f"data: {line}" for line in data.split("\n")), "id: 7", ""]
    return end.join([*lines, ""]).encode()


@given(st.sampled_from(["\n", "\r\n"]), st.lists(st.integers(1, 40), min_size=1, max_size=30))
@settings(max_examples=60, deadline=None)
def test_events_are_the_same_in_whatever_pieces_they_come(end: str, sizes: list[int]) -> None:
    data, found, reader = written(end), [], EventStream()
    for size in sizes:
        found += reader.feed(data[:size])
        data = data[size:]
    found += reader.feed(data)
    assert [*found, *reader.end()] == EVENTS


def test_an_event_that_is_not_finished_is_read_at_the_end() -> None:
    reader = EventStream()
    assert list(reader.feed(b'data:{"a":1}\n\ndata: {"b": 2}')) == [{"a": 1}]
    assert list(reader.end()) == [{"b": 2}]
    assert list(EventStream().end()) == []


def test_a_whole_reply_is_one_json_text() -> None:
    reader = Whole()
    assert list(reader.feed(b'{"a": [1,')) == list(reader.feed(b" 2]}")) == []
    assert list(reader.end()) == [{"a": [1, 2]}]


@pytest.mark.parametrize("data", [b"", b"{", b"<html>", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_json_is_told_as_such(data: bytes) -> None:
    reader = Whole()
    list(reader.feed(data))
    with pytest.raises(MalformedError):
        list(reader.end())
