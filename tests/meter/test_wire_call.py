"""An exchange read as a model call: the same facts as the vendor's reply has, in whatever pieces it comes."""

import json
from typing import Any

import pytest

from meter.exchanges import ANTHROPIC, ENCODERS, answer, call_of, post, sse
from observe.clients import replies
from runcard.accounting import read_usage

Json = dict[str, Any]
REQUEST: Json = {
    "model": "claude-sonnet-latest",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hi"}],
}


def tokens(reply: Any) -> dict[str, int]:
    return read_usage(reply, allow_unknown=True).tokens.to_dict()


@pytest.mark.parametrize("coding", ENCODERS)
def test_a_message_is_read_in_every_content_coding(coding: str) -> None:
    body = ENCODERS[coding](json.dumps(replies.message()).encode())
    head = answer(content_encoding=coding, request_id="req_1")
    facts = call_of(ANTHROPIC, post("/v1/messages"), REQUEST, head, body[:20], body[20:])
    assert facts.reply == replies.message()
    assert facts.requested_model == "claude-sonnet-latest"
    assert facts.request == {"max_tokens": 9}
    assert (facts.error, facts.request_id, facts.complete) == (None, "req_1", True)
    assert facts.exchange is not None
    assert (facts.exchange.endpoint, facts.exchange.status) == ("api.anthropic.com/v1/messages", 200)


@pytest.mark.parametrize("coding", ENCODERS)
@pytest.mark.parametrize("size", [1, 7, 1000, 100_000])
def test_a_stream_is_read_in_every_content_coding(coding: str, size: int) -> None:
    body = ENCODERS[coding](sse(replies.message_events(), named=True))
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    head = answer("text/event-stream; charset=utf-8", content_encoding=coding)
    facts = call_of(ANTHROPIC, post("/v1/messages?beta=true"), REQUEST | {"stream": True}, head, *pieces)
    assert tokens(facts.reply) == replies.CLAUDE_TOKENS
    assert facts.streamed
    assert facts.first_token is not None
    assert (facts.error, facts.complete) == (None, True)
