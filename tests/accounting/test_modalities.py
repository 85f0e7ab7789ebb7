"""Audio, images and video have prices of their own, or none: never that of text by accident."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from google.genai.types import GenerateContentResponse
from openai.types import ImagesResponse
from openai.types.audio import Transcription
from openai.types.chat import ChatCompletion

from runcard.accounting import Charge, Prices, Tokens, cost, read_usage
from runcard.errors import UsageError

AUTUMN = datetime(2026, 11, 1, 12, tzinfo=UTC)
PACKAGED = Prices.packaged()


def charge(reply: object, model: str | None = None, provider: str | None = None) -> Charge:
    return PACKAGED.charge(read_usage(reply), provider, AUTUMN, model)


def gemini(model: str, **usage: Any) -> GenerateContentResponse:
    candidate = {"content": {"parts": []}, "finishReason": "STOP"}
    data = {"modelVersion": model, "candidates": [candidate], "usageMetadata": usage}
    return GenerateContentResponse.model_validate(data)


def details(**counts: int) -> list[dict[str, Any]]:
    return [{"modality": name.upper(), "tokenCount": count} for name, count in counts.items()]


def chat(model: str, **usage: Any) -> ChatCompletion:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}
    data = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [choice],
    }
    return ChatCompletion.model_validate(data | {"usage": usage})


def test_an_image_of_gemini_costs_what_images_cost() -> None:
    reply = gemini(
        "gemini-2.5-flash-image",
        promptTokenCount=10,
        candidatesTokenCount=1300,
        totalTokenCount=1310,
        promptTokensDetails=details(text=10),
        candidatesTokensDetails=details(image=1290, text=10),
    )
    found = charge(reply)
    assert found.cost == (10 * Decimal("0.3") + 1290 * 30 + 10 * Decimal("2.5")) / 1_000_000
    assert found.row is not None
    assert found.row.to_dict()["usd_per_million"] == {"input": 0.3, "output": 2.5, "output_image": 30}


def test_output_of_an_unstated_modality_has_no_cost_where_modalities_differ() -> None:
    found = charge({"input": 10, "output": 1290}, "gemini-2.5-flash-image", "google")
    assert (found.cost, found.known_cost, found.unpriced) == (None, Decimal("0.000003"), ("output",))
    assert charge({"input": 10, "output": 0}, "gemini-2.5-flash-image", "google").cost == Decimal("0.000003")
    text_only = {"input": 10, "output": 20, "output_text": 20}
    assert charge(text_only, "gemini-2.5-flash-image", "google").cost == Decimal("0.000053")


def test_audio_that_gemini_reads_from_the_prompt_and_from_the_cache() -> None:
    reply = gemini(
        "gemini-2.5-flash",
        promptTokenCount=1000,
        cachedContentTokenCount=400,
        candidatesTokenCount=50,
        totalTokenCount=1050,
        promptTokensDetails=details(text=300, audio=700),
        cacheTokensDetails=details(text=100, audio=300),
        candidatesTokensDetails=details(text=50),
    )
    usage = read_usage(reply)
    assert usage.tokens == Tokens(
        1000, 50, 400, input_audio=700, cache_read_audio=300, output_text=50, reasoning=usage.tokens.reasoning
    )
    text, audio = 200 * Decimal("0.3") + 100 * Decimal("0.03"), 400 * 1 + 300 * Decimal("0.1")
    assert charge(reply).cost == (text + audio + 50 * Decimal("2.5")) / 1_000_000


def test_cached_input_of_an_unstated_modality_makes_the_input_unknown() -> None:
    counts = {"input": 1000, "output": 50, "cache_read": 400, "input_audio": 500}
    found = charge(counts, "gemini-2.5-flash", "google")
    assert (found.cost, found.unpriced) == (None, ("input",))
    assert charge(counts | {"cache_read_audio": 0}, "gemini-2.5-flash", "google").cost is not None
    only_cached = {"input": 1000, "output": 50, "cache_read": 400, "cache_read_audio": 100}
    assert charge(only_cached, "gemini-2.5-flash", "google").unpriced == ("input",)


def test_images_and_documents_that_gemini_reads_cost_what_text_costs() -> None:
    reply = gemini(
        "gemini-2.5-flash",
        promptTokenCount=1000,
        candidatesTokenCount=10,
        totalTokenCount=1010,
        cachedContentTokenCount=600,
        promptTokensDetails=details(text=100, image=300, document=400, video=200),
    )
    tokens = read_usage(reply).tokens
    assert (tokens.input_image, tokens.input_video) == (700, 200)
    found = charge(reply)
    expected = 400 * Decimal("0.3") + 600 * Decimal("0.03") + 10 * Decimal("2.5")
    assert found.cost == expected / 1_000_000
    assert found.row is not None
    assert set(found.row.to_dict()["usd_per_million"]) == {"input", "output", "cache_read"}


def test_a_modality_that_no_version_knew_is_an_error() -> None:
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 5, "totalTokenCount": 10}
    with pytest.raises(UsageError, match="smell"):
        read_usage({"usageMetadata": usage | {"promptTokensDetails": details(smell=5)}})


def test_audio_of_chat_completions() -> None:
    usage: dict[str, Any] = {
        "prompt_tokens": 120,
        "completion_tokens": 260,
        "total_tokens": 380,
        "prompt_tokens_details": {"audio_tokens": 100, "cached_tokens": 0},
        "completion_tokens_details": {"audio_tokens": 200, "reasoning_tokens": 0},
    }
    found = charge(chat("gpt-audio", **usage))
    assert found.cost == (20 * Decimal("2.5") + 100 * 32 + 60 * 10 + 200 * 64) / 1_000_000
    without_rates = charge(chat("gpt-4o-audio-preview", **usage))
    assert without_rates.cost is None
    assert without_rates.unpriced == ("input_audio", "output_audio")
    assert without_rates.known_cost == (20 * Decimal("2.5") + 60 * 10) / 1_000_000
    text_only = usage | {"completion_tokens_details": {"audio_tokens": 0}}
    assert charge(chat("gpt-audio", **text_only)).cost == (20 * Decimal("2.5") + 100 * 32 + 2600) / 1_000_000


def test_images_of_openai() -> None:
    usage = {
        "input_tokens": 250,
        "input_tokens_details": {"image_tokens": 200, "text_tokens": 50},
        "output_tokens": 1056,
        "total_tokens": 1306,
    }
    reply = ImagesResponse.model_validate({"created": 1, "usage": usage})
    expected = Decimal(50 * 5 + 200 * 10 + 1056 * 40) / 1_000_000
    assert charge(reply, "gpt-image-1").cost == expected
    detailed = usage | {"output_tokens_details": {"image_tokens": 1056, "text_tokens": 0}}
    reply = ImagesResponse.model_validate({"created": 1, "usage": detailed})
    assert charge(reply, "gpt-image-1").cost == expected


def test_the_model_that_wrote_an_svg_is_a_call_of_its_own() -> None:
    usage = {
        "input_tokens": 50,
        "input_tokens_details": {"image_tokens": 0, "text_tokens": 50},
        "output_tokens": 10,
        "total_tokens": 60,
    }
    svg = {"model": "gpt-5", "input_tokens": 7, "output_tokens": 9, "reasoning_tokens": 2, "total_tokens": 16}
    reply = ImagesResponse.model_validate({"created": 1, "usage": usage, "svg_usage": svg})
    _, author = read_usage(reply).calls
    assert (author.model, author.tokens.input, author.tokens.output, author.tokens.reasoning) == (
        "gpt-5",
        7,
        9,
        2,
    )


def test_a_transcription_is_charged_for_audio() -> None:
    usage = {
        "type": "tokens",
        "input_tokens": 100,
        "input_token_details": {"audio_tokens": 90, "text_tokens": 10},
        "output_tokens": 20,
        "total_tokens": 120,
    }
    reply = Transcription.model_validate({"text": "hello", "usage": usage})
    assert charge(reply, "gpt-4o-transcribe").cost == (10 * Decimal("2.5") + 90 * 6 + 200) / 1_000_000


def test_no_part_is_larger_than_its_whole() -> None:
    with pytest.raises(UsageError, match="by modality"):
        Tokens(10, 5, input_audio=8, input_image=3)
    with pytest.raises(UsageError, match="cached audio"):
        Tokens(10, 5, cache_read=5, input_audio=3, cache_read_audio=4)
    with pytest.raises(UsageError, match="by modality"):
        Tokens(10, 5, output_text=3, output_image=3)
    with pytest.raises(UsageError, match="output_image"):
        read_usage({"input": 1, "output": 1, "output_image": -1})


def test_counts_by_hand_have_the_same_names() -> None:
    usage = read_usage({"input": 100, "output": 30, "input_audio_tokens": 40, "output_image": 20})
    assert usage.tokens.to_dict() == {"input": 100, "output": 30, "input_audio": 40, "output_image": 20}
    assert Tokens.from_dict(usage.tokens.to_dict()) == usage.tokens
    assert repr(usage.tokens).endswith("reasoning=None, input_audio=40, output_image=20)")


def test_a_large_call_is_charged_by_its_tier_in_every_modality() -> None:
    row = PACKAGED.find("gemini-2.5-pro", "google", AUTUMN)
    assert row is not None
    assert cost(Tokens(300_000, 10, input_image=100_000), row) == cost(Tokens(300_000, 10), row)
    assert cost(Tokens(300_000, 10, input_audio=1), row) is None
