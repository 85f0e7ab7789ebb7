"""Words of prompts and replies: kept only when asked for, and without secrets."""

from typing import Any

import pytest

import runcard
from observe.clients import replies
from observe.clients.clients import CHAT, CLAUDE, GEMINI, MESSAGES, RESPONSES, claude, gemini, gpt, make
from observe.clients.conftest import calls
from observe.clients.server import Answer, ModelServer
from runcard.digests import sha256_bytes
from runcard.encoding import canonical_json

KEY = "sk-ant-api03-" + "a1B2" * 20 + "-AAAAAAAA"
PARTS = [
    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
    {"type": "text", "text": replies.WORDS},
    {"type": "tool_use", "id": "toolu_01", "name": "weather", "partial_json": '{"city": "Paris"}'},
]


@pytest.mark.parametrize("way", ["claude", "claude-stream", "chat-stream", "responses", "gemini-stream"])
def test_nothing_of_the_words_is_in_the_record(way: str, server: ModelServer, run: runcard.Run) -> None:
    make(way, server)
    text = (run.path / "experiment.jsonl").read_text()
    assert "fox" not in text
    assert "Paris" not in text


CASES: dict[str, tuple[Any, Answer, Any, Any]] = {
    "claude": (
        claude,
        Answer(replies.message()),
        lambda c: c.messages.create(**CLAUDE),
        [{"type": "text", "text": replies.WORDS}],
    ),
    "claude-stream": (
        claude,
        Answer(events=replies.message_events()),
        lambda c: list(c.messages.create(**CLAUDE, stream=True)),
        PARTS,
    ),
    "chat": (
        gpt,
        Answer(replies.completion()),
        lambda c: c.chat.completions.create(**CHAT),
        replies.completion()["choices"],
    ),
    "chat-stream": (
        gpt,
        Answer(events=replies.chunks()),
        lambda c: list(c.chat.completions.create(**CHAT, stream=True)),
        [
            {"content": replies.WORDS},
            {"index": 0, "id": "call_01", "type": "function", "name": "weather", "arguments": '{"city": "Paris"}'},
        ],
    ),
    "responses-stream": (
        gpt,
        Answer(events=replies.response_events()),
        lambda c: list(c.responses.create(**RESPONSES, stream=True)),
        replies.response()["output"],
    ),
    "gemini": (
        gemini,
        Answer(replies.generated()),
        lambda c: c.models.generate_content(**GEMINI),
        replies.generated()["candidates"],
    ),
    "gemini-stream": (
        gemini,
        Answer(events=replies.generated_events()),
        lambda c: list(c.models.generate_content_stream(**GEMINI)),
        [
            {"text": "Hm.", "thought": True},
            {"text": replies.WORDS},
            {"functionCall": {"name": "weather", "args": {"city": "Paris"}}},
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", CASES)
def test_what_was_asked_and_said_is_kept_on_request(way: str, server: ModelServer, run: runcard.Run) -> None:
    open_client, answer, use, said = CASES[way]
    server.says(answer)
    with open_client(server) as client:
        use(runcard.watch(client, keep_content=True))
    (call,) = calls(run)
    assert call["content"]["reply"] == said
    assert "What does the fox do?" in str(call["content"]["prompt"])
    assert call["prompt_sha256"] == sha256_bytes(canonical_json(call["content"]["prompt"])).hex


def test_a_stream_that_was_cut_keeps_what_came(server: ModelServer, run: runcard.Run) -> None:
    server.says(Answer(events=replies.response_events()[:5]))
    with gpt(server) as client:
        list(runcard.watch(client, keep_content=True).responses.create(**RESPONSES, stream=True))
    (call,) = calls(run)
    assert call["content"]["reply"] == [{"type": "output_text", "text": "The quick "}]
    assert call["token_source"] == "partial"  # noqa: S105 - where the counts come from


def test_secrets_are_masked_in_what_is_kept_and_in_what_is_digested(
    server: ModelServer, run: runcard.Run
) -> None:
    said = f"Your key is {KEY}"
    server.says(replies.message(content=[{"type": "text", "text": said}]))
    asked = {**CLAUDE, "messages": [{"role": "user", "content": f"Use {KEY}"}]}
    with claude(server) as client:
        reply = runcard.watch(client, keep_content=True).messages.create(**asked)
        runcard.watch(client).messages.create(**asked)
    assert reply.content[0].text == said
    kept, digested = calls(run)
    assert KEY not in (run.path / "experiment.jsonl").read_text()
    assert kept["prompt_sha256"] == digested["prompt_sha256"]
    assert kept["prompt_sha256"] == sha256_bytes(canonical_json(kept["content"]["prompt"])).hex
    assert "Use " in kept["content"]["prompt"]["messages"][0]["content"]


def test_who_keeps_secrets_keeps_them_here_as_well(server: ModelServer, outputs: Any) -> None:
    server.says(replies.message())
    prompt = [{"role": "user", "content": f"Use {KEY}"}]
    with runcard.record(outputs, strict=True, keep_secrets=True) as run, claude(server) as client:
        runcard.watch(client, keep_content=True).messages.create(**{**CLAUDE, "messages": prompt})
    (call,) = calls(run)
    assert call["content"]["prompt"] == {"messages": prompt}
    assert call["prompt_sha256"] == sha256_bytes(canonical_json({"messages": prompt})).hex


def test_half_a_character_and_numbers_that_json_has_not_do_no_harm(
    server: ModelServer, run: runcard.Run
) -> None:
    text = b'{"id": "msg_01", "type": "message", "role": "assistant", "model": "claude-sonnet-5", "stop_reason": "end_turn", '
    text += b'"content": [{"type": "text", "text": "half \\ud83d", "odd": NaN}], "usage": {"input_tokens": 1, "output_tokens": 2}}'
    server.says(Answer(text))
    with claude(server) as client:
        runcard.watch(client, keep_content=True).messages.create(**{**CLAUDE, "messages": MESSAGES})
    (call,) = calls(run)
    assert call["content"]["reply"] == [{"type": "text", "text": "half ?", "odd": "NaN"}]
    assert call["tokens"] == {"input": 1, "output": 2}
