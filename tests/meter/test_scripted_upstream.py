"""The scripted upstream sends the usage that it logs, in every format and coding; runcard's reader of replies confirms it."""

import http.client
import json
import zlib
from contextlib import closing
from typing import Any

import brotli
import pytest

from meter.scripted_upstream import Coding, Fault, ScriptedUpstream, Step
from runcard.accounting.vendors.read import read_usage
from zstd_of_python import zstd

PATHS = {
    "messages": "/v1/messages",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
    "generateContent": "/v1beta/models/gemini-latest:generateContent",
    "streamGenerateContent": "/v1beta/models/gemini-latest:streamGenerateContent?alt=sse",
    "embeddings": "/v1/embeddings",
}


def post(upstream: ScriptedUpstream, path: str, **fields: Any) -> tuple[http.client.HTTPResponse, bytes]:
    host, port = upstream.server_address[:2]
    with closing(http.client.HTTPConnection(str(host), int(port), timeout=20)) as connection:
        connection.request("POST", path, json.dumps({"model": "m-latest", **fields}))
        with connection.getresponse() as reply:
            return reply, reply.read()


def _decode(body: bytes, coding: Coding | None) -> bytes:
    if coding == "br":
        return bytes(brotli.decompress(body))
    if coding == "zstd":
        return zstd.ZstdDecompressor().decompress(body)
    return zlib.decompress(body, wbits=47) if coding else body


def _events(body: bytes) -> list[Any]:
    lines = [line.removeprefix(b"data: ") for line in body.splitlines() if line.startswith(b"data: ")]
    return [json.loads(line) for line in lines if line != b"[DONE]"]


@pytest.mark.parametrize("coding", [None, "gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("api", [api for api in PATHS if api != "streamGenerateContent"])
def test_a_json_reply_has_the_logged_usage(
    upstream: ScriptedUpstream, api: str, coding: Coding | None
) -> None:
    upstream.plan(Step(coding=coding))
    reply, body = post(upstream, PATHS[api])
    usage = read_usage(json.loads(_decode(body, coding)))
    (call,) = upstream.calls
    assert reply.getheader("content-encoding") == coding
    assert usage.tokens.to_dict() == call.tokens
    assert (usage.model, usage.response_id) == (call.model, call.response_id)
    assert call.model == ("gemini" if api == "generateContent" else "m")
    assert call.token_source == usage.source


@pytest.mark.parametrize("coding", [None, "gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("api", ["messages", "responses", "chat", "streamGenerateContent"])
def test_a_stream_has_the_logged_usage(upstream: ScriptedUpstream, api: str, coding: Coding | None) -> None:
    upstream.plan(Step(coding=coding))
    _, body = post(upstream, PATHS[api], stream=True, stream_options={"include_usage": True})
    usage = read_usage(_events(_decode(body, coding)))
    (call,) = upstream.calls
    assert usage.tokens.to_dict() == call.tokens
    assert (usage.model, usage.response_id, usage.source) == (call.model, call.response_id, "reported")
    assert call.streamed


def test_a_chat_stream_has_usage_only_if_it_was_requested(upstream: ScriptedUpstream) -> None:
    _, body = post(upstream, PATHS["chat"], stream=True)
    assert all("usage" not in event for event in _events(body))
    assert (upstream.calls[0].tokens, upstream.calls[0].token_source) == ({}, None)


def test_steps_are_taken_in_turn_by_the_calls_that_fit(upstream: ScriptedUpstream) -> None:
    upstream.plan(Step(tool=("weather", {"city": "Paris"})), Step(status=429, headers={"retry-after": "0"}))
    first, _ = post(upstream, PATHS["messages"])
    _, second = post(upstream, PATHS["messages"], tools=[{"name": "weather", "input_schema": {}}])
    _, third = post(upstream, PATHS["messages"])
    assert (first.status, first.getheader("retry-after")) == (429, "0")
    assert json.loads(second)["content"][0]["input"] == {"city": "Paris"}
    assert json.loads(third)["content"][0]["type"] == "text"
    assert [call.status for call in upstream.calls] == [429, 200, 200]
    assert [call.token_source for call in upstream.calls] == [None, "reported", "reported"]


@pytest.mark.parametrize("fault", ["cut", "reset", "stall"])
def test_a_fault_is_no_complete_reply(upstream: ScriptedUpstream, fault: Fault) -> None:
    upstream.plan(Step(fault=fault))
    upstream.on_call = lambda _: upstream.released.set()
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        post(upstream, PATHS["messages"], stream=True)
    assert upstream.calls[0].token_source == (None if fault == "reset" else "partial")


def test_each_request_is_logged_with_its_bytes(upstream: ScriptedUpstream) -> None:
    host, port = upstream.server_address[:2]
    connection = http.client.HTTPConnection(str(host), int(port), timeout=20)
    connection.request("HEAD", "/")
    assert connection.getresponse().read() == b""
    connection.request(
        "POST", "/v1/messages/count_tokens", b'{"tools": [{"name": "a"}]}', {"X-Mixed": "Case"}
    )
    assert json.loads(connection.getresponse().read())["input_tokens"] == 17
    connection.request("POST", "/v1/mystery", iter([b"one", b"two"]), encode_chunked=True)
    assert connection.getresponse().read() is not None
    connection.close()
    head, count, chunked = upstream.requests
    assert [head.method, head.path, head.size] == ["HEAD", "/", 0]
    assert [count.path, count.tools, count.size] == ["/v1/messages/count_tokens", ["a"], 26]
    assert ("X-Mixed", "Case") in count.headers
    assert [chunked.path, chunked.size] == ["/v1/mystery", 6]
    assert upstream.calls == []
