"""Replies of all vendors, read into one shape: all input, all output, and their parts."""

from typing import Any

import pytest

from accounting.replies import ANTHROPIC, CHAT, GEMINI, GEMINI_SNAKE, RESPONSE, Reply, changed
from runcard.accounting import Tokens, Usage, read_usage
from runcard.errors import UsageError


def test_anthropic_leaves_what_the_cache_had_a_part_in_out_of_its_input_count() -> None:
    assert read_usage(ANTHROPIC) == Usage(
        tokens=Tokens(189137, 393, 188086, 30, 1000, 100),
        provider="anthropic",
        model="claude-sonnet-4-5-20250929",
        response_id="msg_01XFDUDYJgAACzvnptvVoYEL",
        stop_reason="end_turn",
        source="reported",
    )


def test_chat_completions_count_cached_input_and_reasoning_within() -> None:
    assert read_usage(CHAT) == Usage(
        tokens=Tokens(2006, 300, 1920, None, None, 192, output_audio=0),
        provider="openai",
        model="gpt-5-2025-08-07",
        response_id="chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        stop_reason="stop",
        source="reported",
    )


def test_responses_count_cached_input_and_reasoning_within() -> None:
    assert read_usage(RESPONSE) == Usage(
        tokens=Tokens(2600, 1186, 2000, 400, 0, 1024),
        provider="openai",
        model="gpt-5.6-sol",
        response_id="resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b",
        stop_reason="completed",
        source="reported",
    )


@pytest.mark.parametrize("reply", [GEMINI, GEMINI_SNAKE], ids=["camelCase", "snake_case"])
def test_gemini_counts_thoughts_beside_its_candidates_and_tools_beside_its_prompt(reply: Reply) -> None:
    assert read_usage(reply) == Usage(
        tokens=Tokens(3050, 1020, 2048, None, None, 900),
        provider="google",
        model="gemini-2.5-pro",
        response_id="mAitaLmkHPPlz7IPvtfUqQ4",
        stop_reason="STOP",
        source="reported",
    )


@pytest.mark.parametrize("reply", [ANTHROPIC, CHAT, RESPONSE, GEMINI, GEMINI_SNAKE])
def test_usage_alone_has_the_same_counts_as_the_reply_it_is_from(reply: Reply) -> None:
    whole = read_usage(reply)
    key = next(name for name in reply if name.startswith("usage"))
    alone = read_usage(reply[key])
    assert (alone.tokens, alone.provider, alone.source) == (whole.tokens, whole.provider, "reported")
    assert (alone.model, alone.response_id, alone.stop_reason) == (None, None, None)


def test_the_same_call_is_counted_the_same_whoever_reports_it() -> None:
    """The double counting that trackers are known for: 1,000 sent, 900 of them from a cache, is 1,000 and not 1,900 or 100."""
    anthropic = {"input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": 50}
    chat = {
        "prompt_tokens": 1000,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 900},
    }
    response = {"input_tokens": 1000, "output_tokens": 50, "input_tokens_details": {"cached_tokens": 900}}
    gemini = {"promptTokenCount": 1000, "cachedContentTokenCount": 900, "candidatesTokenCount": 50}
    plain = {"input": 1000, "output": 50, "cache_read": 900}
    for usage in (anthropic, chat, response, gemini, plain):
        assert read_usage(usage).tokens == Tokens(1000, 50, 900), usage


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        # Only the sum of what was written: five minutes, as if there had been no choice.
        ({"cache_creation_input_tokens": 500}, Tokens(510, 5, None, 500, 0)),
        # Claude Code's transcripts: written for an hour.
        (
            {
                "cache_creation_input_tokens": 500,
                "cache_read_input_tokens": 0,
                "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 500},
            },
            Tokens(510, 5, 0, 0, 500),
        ),
        (
            {"cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4}},
            Tokens(17, 5, None, 3, 4),
        ),
        ({"cache_creation": None, "cache_read_input_tokens": None}, Tokens(10, 5)),
        ({"output_tokens_details": {"thinking_tokens": 2}}, Tokens(10, 5, reasoning=2)),
    ],
)
def test_anthropic_cache_writes(usage: Reply, expected: Tokens) -> None:
    found = read_usage({"input_tokens": 10, "output_tokens": 5, **usage})
    assert (found.tokens, found.provider) == (expected, "anthropic")


def test_the_beginning_of_a_stream_is_partial() -> None:
    """message_start has a placeholder where the output will be, and no reason to stop."""
    counts = {"output_tokens": 1, "output_tokens_details": None}
    found = read_usage({"type": "message_start", "message": changed(ANTHROPIC, counts, stop_reason=None)})
    assert (found.source, found.tokens.output, found.model) == ("partial", 1, "claude-sonnet-4-5-20250929")


def test_the_end_of_a_stream_is_reported() -> None:
    delta = {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 89},
    }
    found = read_usage(delta)
    assert (found.source, found.stop_reason, found.tokens) == ("reported", "tool_use", Tokens(output=89))


def test_calls_inside_a_message_are_calls_of_their_own() -> None:
    """Compaction and advisors are billed, but the message's own counts leave them out."""
    counts = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    iterations = [
        {"type": "message", "input_tokens": 21, "output_tokens": 300, **counts},
        {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500, **counts},
        {
            "type": "advisor_message",
            "model": "claude-opus-4-6",
            "input_tokens": 823,
            "output_tokens": 531,
            **counts,
        },
    ]
    found = read_usage(changed(ANTHROPIC, {"iterations": iterations}))
    assert found.tokens == read_usage(ANTHROPIC).tokens
    assert [(call.model, call.tokens.input, call.tokens.output) for call in found.also] == [
        ("claude-sonnet-4-5-20250929", 180_000, 3_500),
        ("claude-opus-4-6", 823, 531),
    ]
    assert found.calls == (found, *found.also)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("completed", "reported"),
        ("incomplete", "reported"),
        ("failed", "reported"),
        ("in_progress", "partial"),
        ("queued", "partial"),
        ("cancelled", "partial"),
    ],
)
def test_a_response_is_reported_when_it_has_ended(status: str, expected: str) -> None:
    assert read_usage(changed(RESPONSE, status=status)).source == expected


@pytest.mark.parametrize("status", ["in_progress", "incomplete", "cancelled"])
def test_a_response_without_usage_says_nothing_about_tokens(status: str) -> None:
    found = read_usage({**RESPONSE, "status": status, "usage": None})
    assert (found.tokens, found.source, found.provider) == (Tokens(), None, "openai")
    assert found.response_id == RESPONSE["id"]


def test_a_response_that_was_cut_short_says_why() -> None:
    reply = changed(RESPONSE, status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    assert read_usage(reply).stop_reason == "max_output_tokens"


def test_the_event_that_ends_a_response_holds_it() -> None:
    assert read_usage({"type": "response.completed", "response": RESPONSE}) == read_usage(RESPONSE)


def test_chunks_of_a_completion() -> None:
    """With include_usage, the last chunk has the usage and no choices; some servers count along the way."""
    chunk = {"id": "c", "object": "chat.completion.chunk", "model": "m"}
    usage = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
    running = [{"index": 0, "delta": {}, "finish_reason": None}]
    assert read_usage({**chunk, "choices": [], "usage": usage}).source == "reported"
    assert read_usage({**chunk, "choices": running, "usage": usage}).source == "partial"
    unsaid = read_usage({**chunk, "choices": running})
    assert (unsaid.tokens, unsaid.source, unsaid.model) == (Tokens(), None, "m")


def test_chunks_of_gemini_are_partial_until_one_has_a_reason_to_finish() -> None:
    running = changed(GEMINI, candidates=[{"content": {}, "index": 0}])
    assert read_usage(running).source == "partial"
    assert read_usage(changed(GEMINI, candidates=[])).source == "reported"
    assert read_usage({"candidates": [{"finishReason": "STOP"}]}).source is None


def test_reasoning_beside_the_output_is_added_when_the_total_shows_it() -> None:
    """xAI writes chat completions so."""
    usage = {
        "prompt_tokens": 37,
        "completion_tokens": 10,
        "total_tokens": 530,
        "completion_tokens_details": {"reasoning_tokens": 483},
    }
    assert read_usage(usage).tokens == Tokens(37, 493, reasoning=483)


def test_embeddings_have_no_output() -> None:
    reply = {
        "object": "list",
        "data": [],
        "model": "text-embedding-3-small",
        "usage": {"prompt_tokens": 8, "total_tokens": 8},
    }
    found = read_usage(reply)
    assert (found.tokens, found.model) == (Tokens(8, 0), "text-embedding-3-small")


def test_gemini_leaves_zeros_out() -> None:
    """All of the output went into thoughts: there is no count of candidates, but a total."""
    usage = {"promptTokenCount": 10, "thoughtsTokenCount": 90, "totalTokenCount": 100}
    assert read_usage(usage).tokens == Tokens(10, 90, reasoning=90)
    assert read_usage({"promptTokenCount": 10, "thoughtsTokenCount": 90}).tokens.output is None
    assert read_usage({"totalTokenCount": 90}).tokens == Tokens()


def test_a_total_that_does_not_add_up_explains_nothing() -> None:
    """Some servers leave it at zero. It is a sum of what is known already, so nothing is lost."""
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 0}
    assert read_usage(usage).tokens == Tokens(10, 5)
    assert read_usage({"prompt_tokens": 10, "total_tokens": 0}).tokens == Tokens(10)
    assert read_usage({"promptTokenCount": 10, "totalTokenCount": 9}).tokens == Tokens(10)


def test_the_live_api_of_gemini_names_its_output_otherwise() -> None:
    usage = {"prompt_token_count": 10, "response_token_count": 20, "total_token_count": 30}
    assert read_usage(usage).tokens == Tokens(10, 20)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input": 10, "output": 5}, Tokens(10, 5)),
        ({"input_tokens": 10, "output_tokens": 5}, Tokens(10, 5)),
        ({"input": 10}, Tokens(10)),
        ({"input": 10, "output": 5, "cache_read": 3, "reasoning": 2}, Tokens(10, 5, 3, reasoning=2)),
        (
            {"input": 10, "output": 5, "cache_write_5m": 3, "cache_write_1h": 2},
            Tokens(10, 5, None, 3, 2),
        ),
        (
            {"input_tokens": 10, "output_tokens": 5, "cache_read_tokens": 3, "cache_write_tokens": 4},
            Tokens(10, 5, 3, 4, 0),
        ),
        (
            {"input_tokens": 10, "output_tokens": 5, "cache_write_tokens": 4, "cache_write_1h_tokens": 1},
            Tokens(10, 5, None, 3, 1),
        ),
        ({"input": 10, "output": 5, "reasoning_tokens": None}, Tokens(10, 5)),
    ],
)
def test_counts_that_a_caller_writes_down_are_given(usage: Reply, expected: Tokens) -> None:
    assert read_usage(usage) == Usage(expected, source="given")


def test_a_caller_may_say_more_than_counts() -> None:
    facts = {
        "model": "m",
        "provider": "groq",
        "response_id": "r",
        "stop_reason": "stop",
        "service_tier": "flex",
    }
    expected = Usage(Tokens(1, 2), "groq", "m", "r", "stop", "given", "flex")
    assert read_usage({"input": 1, "output": 2, **facts}) == expected
    assert read_usage({"usage": {"input": 1, "output": 2}, **facts}) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (changed(ANTHROPIC, {"service_tier": "batch"}), "batch"),
        (changed(ANTHROPIC, {"service_tier": "priority", "speed": "fast"}), "priority+fast"),
        (changed(ANTHROPIC, {"speed": "standard", "inference_geo": "us"}), "us"),
        (changed(ANTHROPIC, {"inference_geo": "global"}), None),
        (changed(CHAT, service_tier="flex"), "flex"),
        (changed(CHAT, service_tier="on_demand"), None),
        (changed(RESPONSE, service_tier="priority"), "priority"),
        (changed(GEMINI, {"trafficType": "ON_DEMAND_FLEX"}), "flex"),
        (changed(GEMINI, {"trafficType": "PROVISIONED_THROUGHPUT"}), "provisioned_throughput"),
        (changed(GEMINI_SNAKE, {"service_tier": "priority"}), "priority"),
    ],
)
def test_a_service_with_another_price_is_named(reply: Reply, expected: str | None) -> None:
    assert read_usage(reply).service_tier == expected


@pytest.mark.parametrize("count", [-1, 1.5, True, "12", 2**53, [1], {"a": 1}])
@pytest.mark.parametrize(
    ("reply", "field"),
    [
        (ANTHROPIC, "input_tokens"),
        (ANTHROPIC, "output_tokens"),
        (ANTHROPIC, "cache_read_input_tokens"),
        (ANTHROPIC, "cache_creation_input_tokens"),
        (CHAT, "prompt_tokens"),
        (CHAT, "completion_tokens"),
        (CHAT, "total_tokens"),
        (RESPONSE, "input_tokens"),
        (GEMINI, "promptTokenCount"),
        (GEMINI, "thoughtsTokenCount"),
        (GEMINI_SNAKE, "candidates_token_count"),
    ],
)
def test_what_is_no_count_is_refused_by_its_name_in_the_reply(reply: Reply, field: str, count: Any) -> None:
    with pytest.raises(UsageError) as caught:
        read_usage(changed(reply, {field: count}))
    assert caught.value.message.startswith(("usage", "usageMetadata", "usage_metadata"))
    assert f".{field} is " in caught.value.message


def test_the_name_of_a_count_within_details_says_where_it_stands() -> None:
    with pytest.raises(UsageError, match=r"^usage\.prompt_tokens_details\.cached_tokens is a str"):
        read_usage(changed(CHAT, {"prompt_tokens_details": {"cached_tokens": "x"}}))
    with pytest.raises(UsageError, match=r"^usage\.prompt_tokens_details is a int, not an object"):
        read_usage(changed(CHAT, {"prompt_tokens_details": 7}))
    with pytest.raises(
        UsageError, match=r"^usage\.iterations\[0\]\.input_tokens is -1; it must not be negative"
    ):
        read_usage(changed(ANTHROPIC, {"iterations": [{"type": "compaction", "input_tokens": -1}]}))


@pytest.mark.parametrize(
    ("usage", "said"),
    [
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 11}},
            "11 cached tokens are more than the 10 input tokens",
        ),
        (
            {
                "input_tokens": 1,
                "cache_creation_input_tokens": 2,
                "cache_creation": {"ephemeral_1h_input_tokens": 3},
            },
            "cache_creation_input_tokens is 2, less than the 3 of its parts",
        ),
    ],
)
def test_counts_that_contradict_each_other_are_refused(usage: Reply, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_usage(usage)
    assert caught.value.message == said


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (None, "a NoneType"),
        ("12 tokens", "a str"),
        ([ANTHROPIC], "a list"),
        (7, "a int"),
        (object(), "a object"),
    ],
)
def test_what_is_no_reply_is_refused_with_what_was_expected(reply: object, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_usage(reply)
    assert caught.value.message == f"cannot read usage from {said}"
    assert "Anthropic Messages" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({}, "it is empty"),
        ({"tokens": 7, "cost": 1}, "it has 'tokens', 'cost'"),
        ({"usage": {"tokens": 7}}, "it has 'tokens'"),
        ({"total_input_tokens": 7}, "it has 'total_input_tokens'"),
    ],
)
def test_a_usage_without_known_counts_is_refused_with_its_names(reply: object, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_usage(reply)
    assert caught.value.message == (
        f"no known token counts in the usage: {said}; expected input_tokens and output_tokens (or input and output)"
    )
    assert "Anthropic Messages" in str(caught.value.hint)


def test_a_huge_negative_count_is_refused_like_others() -> None:
    with pytest.raises(UsageError, match="input_tokens is too small; it must not be negative"):
        read_usage({"input_tokens": -(10**5000), "output_tokens": 1})


def test_a_misspelt_count_is_not_lost() -> None:
    with pytest.raises(UsageError, match="ouput: unknown name of a token count"):
        read_usage({"input": 1, "ouput": 2})


def test_the_events_of_a_stream_make_up_a_reply() -> None:
    """As plain data; the libraries' own events are in the tests of watching."""
    start = {"type": "message_start", "message": {**ANTHROPIC, "stop_reason": None}}
    delta = {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 400, "input_tokens": None},
    }
    events = [start, {"type": "ping"}, delta, {"type": "message_stop"}]
    whole = read_usage(ANTHROPIC)
    found = read_usage(events)
    assert (found.source, found.stop_reason, found.response_id) == ("reported", "end_turn", whole.response_id)
    assert (found.tokens.input, found.tokens.output) == (whole.tokens.input, 400)
    assert read_usage(tuple(events[:2])).source == "partial"


@pytest.mark.parametrize("events", [[], [1], [{"a": 1}], [{"type": "ping"}], [{"type": "message_stop"}, "x"]])
def test_a_list_that_is_no_stream_is_refused(events: list[object]) -> None:
    with pytest.raises(UsageError, match="cannot read usage from a list"):
        read_usage(events)


def test_an_interaction_of_google_counts_tools_and_thoughts_beside() -> None:
    usage = {
        "total_input_tokens": 10,
        "total_tool_use_tokens": 1,
        "total_output_tokens": 5,
        "total_thought_tokens": 3,
    }
    found = read_usage(
        {"id": "i-1", "object": "interaction", "model": "m", "status": "completed", "usage": usage}
    )
    assert (found.tokens, found.source, found.stop_reason) == (
        Tokens(11, 8, reasoning=3),
        "reported",
        "completed",
    )
    assert (found.provider, found.response_id, found.model) == ("google", "i-1", "m")
    assert read_usage({"object": "interaction", "status": "in_progress", "usage": usage}).source == "partial"
