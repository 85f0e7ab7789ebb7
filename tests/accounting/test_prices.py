"""Which price is found: by exact ids and clauses, for a provider and a day, or none at all."""

import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.replies import ANTHROPIC, CHAT, GEMINI, RESPONSE, changed
from runcard.accounting import Charge, Prices, Tokens, cost, read_usage
from runcard.accounting.price_rows import RATES
from runcard.accounting.providers import canonical_name
from runcard.accounting.usage import Usage
from runcard.errors import DocumentError, StoreError, UsageError

PACKAGED = Prices.packaged()
AUTUMN = datetime(2026, 11, 1, tzinfo=UTC)


def rates(model: str, provider: str | None = None, **more: Any) -> dict[str, float] | None:
    row = PACKAGED.find(model, provider, more.pop("when", AUTUMN), **more)
    return None if row is None else row.rates.to_dict()


def test_the_documented_example() -> None:
    row = PACKAGED.find("claude-sonnet-4-5-20250929", "anthropic", AUTUMN)
    assert row is not None
    assert cost(Tokens(45_230, 8_750), row) == Decimal("0.26694")
    assert row.to_dict() == {
        "model": "claude-sonnet-4-5",
        "provider": "anthropic",
        "source": "genai-prices",
        "as_of": row.as_of,
        "usd_per_million": {
            "input": 3,
            "output": 15,
            "cache_read": 0.3,
            "cache_write_5m": 3.75,
            "cache_write_1h": 6,
        },
    }
    assert date.fromisoformat(row.as_of) < AUTUMN.date()


@pytest.mark.parametrize(
    ("model", "provider", "owner", "found"),
    [
        ("claude-sonnet-4-5-20250929", None, "anthropic", "claude-sonnet-4-5"),
        ("Claude-Sonnet-4-5-20250929", "Anthropic", "anthropic", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5@20250929", "vertex_ai", "google", "claude-sonnet-4-5"),
        ("claude-opus-4-5", "gcp.vertex_ai", "google", "claude-opus-4-5"),
        (
            "anthropic.claude-opus-4-20250514-v1:0",
            "bedrock",
            "aws",
            "regional.anthropic.claude-opus-4-20250514-v1:0",
        ),
        ("gpt-4o", "azure.ai.openai", "openai", "gpt-4o"),
        ("gpt-4o", "Azure OpenAI", "openai", "gpt-4o"),
        ("anthropic/claude-sonnet-4.5", "openrouter", "openrouter", "anthropic/claude-sonnet-4.5"),
        ("gemini-2.5-pro", None, "google", "gemini-2.5-pro"),
        ("gemini-2.5-pro", "vertex", "google", "gemini-2.5-pro"),
        ("grok-4", "xai", "x-ai", "grok-4-0709"),
        ("gpt-5.2-20251211", "openai", "openai", "gpt-5.2"),  # as gateways write a date
        ("llama-3.3-70b-versatile", "groq", "groq", "llama-3.3-70b-versatile"),
    ],
)
def test_models_are_found_as_users_write_them(
    model: str, provider: str | None, owner: str, found: str
) -> None:
    row = PACKAGED.find(model, provider, AUTUMN)
    assert row is not None
    assert (row.provider, row.model) == (owner, found)


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("my-own-model", None),
        ("my-own-model", "openai"),
        ("claude-sonnet-4-5", "openai"),  # not sold there
        ("gpt-4o", "my-openai-proxy"),  # a name that only resembles one
        ("gpt-4o", "ollama"),
        ("llama-3.3-70b-versatile", None),  # sold by many, owned by none of them
        ("sonar-pro", "perplexity"),  # charges for each request besides
        ("whisper-1", "openai"),  # is paid by the hour
        ("", None),
    ],
)
def test_what_is_not_known_is_none_and_never_zero(model: str, provider: str | None) -> None:
    assert PACKAGED.find(model, provider, AUTUMN) is None


@given(st.text(max_size=40), st.none() | st.sampled_from(["openai", "anthropic", "google", "aws"]))
def test_any_text_may_be_asked_for(model: str, provider: str | None) -> None:
    row = PACKAGED.find(model, provider, AUTUMN)
    assert row is None or row.rates.input is not None


def test_a_free_model_costs_nothing() -> None:
    row = PACKAGED.find("openai/gpt-oss-20b:free", "openrouter", AUTUMN)
    assert row is not None
    assert cost(Tokens(10, 10, 5), row) == 0


def test_an_old_cost_does_not_change_when_prices_do() -> None:
    before = rates("gpt-5.6-sol", "openai", when=datetime(2026, 8, 20, 23, 59, 59, tzinfo=UTC))
    after = rates("gpt-5.6-sol", "openai", when=datetime(2026, 8, 21, tzinfo=UTC))
    assert before == {"input": 5, "output": 30, "cache_read": 0.5, "cache_write_5m": 6.25}
    assert after == {"input": 4, "output": 20, "cache_read": 0.4, "cache_write_5m": 5}
    elsewhere = datetime(2026, 8, 20, 22, tzinfo=timezone(timedelta(hours=-5)))
    assert rates("gpt-5.6-sol", "openai", when=elsewhere) == after


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(UsageError, match="2026-11-01T00:00:00 has no time zone"):
        PACKAGED.find("gpt-4o", when=datetime(2026, 11, 1))  # noqa: DTZ001 - that is the point


def test_without_a_time_it_is_now() -> None:
    assert PACKAGED.find("gpt-4o") is not None


def test_a_service_tier_has_its_own_price_or_none() -> None:
    usual = rates("claude-opus-4-5", "anthropic")
    assert rates("claude-opus-4-5", "anthropic", service_tier="Standard") == usual
    assert rates("claude-opus-4-5", "anthropic", service_tier="batch") == {
        "input": 2.5,
        "output": 12.5,
        "cache_read": 0.25,
        "cache_write_5m": 3.125,
        "cache_write_1h": 5,
    }
    assert rates("claude-opus-4-5", "anthropic", service_tier="priority") is None
    assert rates("claude-opus-4-5", "anthropic", service_tier="fast") is None
    long_ago = datetime(2026, 1, 1, tzinfo=UTC)
    assert rates("claude-opus-4-5", "anthropic", service_tier="batch", when=long_ago) is None


def test_another_providers_price_stands_in_only_where_it_is_the_usual_one() -> None:
    assert rates("gpt-5.4-nano", "azure") == rates("gpt-5.4-nano", "openai")
    assert rates("gpt-5.4-nano", "openai", service_tier="flex") is not None
    assert rates("gpt-5.4-nano", "azure", service_tier="flex") is None


@pytest.mark.parametrize(
    ("reply", "dollars"),
    [
        (ANTHROPIC, "0.0684963"),
        (CHAT, "0.0033475"),
        (RESPONSE, "0.02732"),
        (GEMINI, "0.0117085"),
        (changed(CHAT, service_tier="scale"), None),
        (changed(CHAT, model="deepseek-chat"), "0.00024381"),  # OpenAI's shape, DeepSeek's model, at night
        ({"input": 1, "output": 1, "model": "claude-sonnet-4-5", "provider": "openrouter"}, None),
        ({"input": 1_000_000, "output": 0, "model": "gpt-4o", "provider": "azure"}, "2.5"),
        ({"input": 1, "output": 1}, None),
    ],
)
def test_a_reply_is_charged_with_the_row_to_record(reply: dict[str, Any], dollars: str | None) -> None:
    charge = PACKAGED.charge(read_usage(reply), when=AUTUMN)
    assert charge.cost == (None if dollars is None else Decimal(dollars))
    assert (charge.row is None) == (dollars is None)


def test_a_model_that_a_reply_does_not_name_is_given() -> None:
    usage = read_usage({"prompt_tokens": 1_000_000, "completion_tokens": 0})
    assert PACKAGED.charge(usage) == Charge(None, None)
    charge = PACKAGED.charge(usage, "openai", AUTUMN, model="gpt-4o")
    assert charge.cost == Decimal("2.5")


def test_the_size_of_a_call_decides_its_tier() -> None:
    usage = read_usage({"input": 200_001, "output": 0, "model": "gemini-2.5-pro"})
    charge = PACKAGED.charge(usage, when=AUTUMN)
    assert charge.row is not None
    assert charge.row.to_dict()["tier"] == {"above_input_tokens": 200_000}
    assert charge.cost == Decimal("0.5000025")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Vertex AI", "google"),
        ("gcp.vertex_ai", "google"),
        ("aws.bedrock", "aws"),
        ("azure_openai", "azure"),
        (" OpenAI ", "openai"),
        ("x_ai", "x-ai"),
        ("huggingface_together", "huggingface-together"),
        ("my proxy", "my-proxy"),
    ],
)
def test_the_one_name_of_a_provider(written: str, expected: str) -> None:
    assert canonical_name(written) == expected


OWN: dict[str, Any] = {
    "source": "our contract",
    "as_of": "2026-11-01",
    "providers": {
        "anthropic": {
            "models": [
                {
                    "model": "claude-sonnet-4-5",
                    "match": ["claude-sonnet-4-5", {"starts_with": "claude-sonnet-4-5-"}],
                    "usd_per_million": {"input": 2.4, "output": 12},
                    "tiers": [{"above_input_tokens": 200000, "usd_per_million": {"input": 4.8}}],
                    "from": "2026-11-01",
                },
                {"model": "claude-3-opus"},
            ]
        },
        "my proxy": {
            "models": [
                {
                    "model": "Local-1",
                    "prices": [
                        {"usd_per_million": {"input": 0, "output": 0}},
                        {
                            "usd_per_million": {"input": 1, "output": 1},
                            "daily": {"from": "08:00", "to": "18:00"},
                        },
                        {"usd_per_million": {"input": 9, "output": 9}, "service_tier": "Rush"},
                    ],
                },
                {"model": "twice", "usd_per_million": {"input": 1}},
                {
                    "model": "all",
                    "match": {
                        "and": [{"contains": "-a-"}, {"ends_with": "z"}, {"or": [{"regex": "[0-9]$|z$"}]}]
                    },
                    "usd_per_million": {"output": 1},
                },
            ]
        },
        "other": {"models": [{"model": "twice", "usd_per_million": {"input": 2}}]},
    },
}


@pytest.fixture
def own(tmp_path: Path) -> Prices:
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(OWN))
    return Prices.with_file(path)


def test_a_file_comes_before_the_packaged_prices(own: Prices) -> None:
    row = own.find("claude-sonnet-4-5-20250929", when=AUTUMN)
    assert row is not None
    assert row.to_dict() == {
        "model": "claude-sonnet-4-5",
        "provider": "anthropic",
        "source": "our contract",
        "as_of": "2026-11-01",
        "usd_per_million": {"input": 2.4, "output": 12},
    }
    assert cost(Tokens(200_001, 1), row) == Decimal("0.9600168")  # what a tier leaves out stays as it is


def test_what_a_file_leaves_out_has_its_packaged_price(own: Prices) -> None:
    for model, when in (("claude-opus-4-5", AUTUMN), ("claude-sonnet-4-5", AUTUMN - timedelta(days=1))):
        row = own.find(model, "anthropic", when)
        assert row is not None
        assert row.source == "genai-prices"


def test_a_file_may_say_that_a_model_has_no_price(own: Prices) -> None:
    assert own.find("claude-3-opus", "anthropic", AUTUMN) is None
    assert PACKAGED.find("claude-3-opus", "anthropic", AUTUMN) is not None


def test_a_file_may_have_providers_of_its_own(own: Prices) -> None:
    night = own.find("local-1", "My_Proxy", AUTUMN)
    day = own.find("LOCAL-1", None, AUTUMN + timedelta(hours=12))
    rush = own.find("local-1", None, AUTUMN, service_tier="rush")
    assert [row and row.rates.input for row in (night, day, rush)] == [0, 1, 9]
    assert own.find("x-a-z", "my-proxy") is not None
    assert own.find("x-b-z", "my-proxy") is None


def test_a_name_that_two_providers_have_needs_one_of_them(own: Prices) -> None:
    assert own.find("twice") is None
    row = own.find("twice", "other")
    assert row is not None
    assert row.rates.input == 2


def test_hours_may_go_over_midnight(tmp_path: Path) -> None:
    price = {"usd_per_million": {"input": 1}, "daily": {"from": "16:30", "to": "00:30"}}
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(table({"model": "owl", **price})))
    prices = Prices.with_file(path)
    hours = {
        hour: prices.find("owl", when=AUTUMN + timedelta(hours=hour)) for hour in (0, 0.5, 16.49, 16.5, 23)
    }
    assert [hour for hour, row in hours.items() if row] == [0, 16.5, 23]


def table(*models: dict[str, Any]) -> dict[str, Any]:
    return {"source": "s", "as_of": "2026-11-01", "providers": {"p": {"models": list(models)}}}


RATE = {"usd_per_million": {"input": 1}}
IN_MODEL = "/providers/p/models/0"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "the price table should be an object, but is a list"),
        (
            {**OWN, "sauce": 1},
            "the price table should be an object of about, source, version, as_of, providers",
        ),
        ({**OWN, "source": ""}, "/source should be a string, but is empty"),
        ({**OWN, "as_of": "yesterday"}, "/as_of should be a date like 2026-10-30, but is another string"),
        ({**OWN, "as_of": None}, "/as_of should be a string, but is nothing"),
        ({**OWN, "providers": {"p": {}}}, "/providers/p/models should be a list, but is nothing"),
        ({**OWN, "providers": {"p": 3}}, "/providers/p should be an object, but is a int"),
        (
            {**OWN, "providers": {"google": {"models": []}, "vertex": {"models": []}}},
            "/providers/vertex should be a new provider, but is another name of google",
        ),
        (
            {**OWN, "providers": {"p": {"also": ["q"], "models": []}}},
            "/providers/p/also should be a list of providers in this file, but is a list with q",
        ),
        (table({}), f"{IN_MODEL}/model should be a string, but is nothing"),
        (
            table({"model": "m", "usd_per_million": {"inputs": 1}}),
            f"{IN_MODEL}/usd_per_million should be an object of {', '.join(RATES)}, but is an object with inputs",
        ),
        (
            table({"model": "m", "usd_per_million": {"input": -1}}),
            f"{IN_MODEL}/usd_per_million/input should be a number that is not negative, but is a int",
        ),
        (
            table({"model": "m", "usd_per_million": {"input": "3"}}),
            f"{IN_MODEL}/usd_per_million/input should be a number that is not negative, but is a str",
        ),
        (
            table({"model": "m", "usd_per_million": {"input": True}}),
            f"{IN_MODEL}/usd_per_million/input should be a number that is not negative, but is a bool",
        ),
        (
            table({"model": "m", "usd_per_million": {}}),
            f"{IN_MODEL}/usd_per_million should be an object with any of",
        ),
        (
            table({"model": "m", "tiers": []}),
            f"{IN_MODEL}/usd_per_million should be an object, but is nothing",
        ),
        (
            table({"model": "m", **RATE, "tiers": [{"above_input_tokens": 0, **RATE}]}),
            f"{IN_MODEL}/tiers/0/above_input_tokens should be a whole number of at least 1, but is a int",
        ),
        (
            table({"model": "m", **RATE, "tiers": [{"above_input_tokens": 5, **RATE}] * 2}),
            f"{IN_MODEL}/tiers/1/above_input_tokens should be a whole number of at least 6, but is a int",
        ),
        (table({"model": "m", **RATE, "from": "2026-13-01"}), f"{IN_MODEL}/from should be a date"),
        (
            table({"model": "m", **RATE, "daily": {"from": "8", "to": "25:00"}}),
            f'{IN_MODEL}/daily should be like {{"from": "16:30", "to": "00:30"}}, in UTC',
        ),
        (
            table({"model": "m", **RATE, "prices": []}),
            f"{IN_MODEL} should be an object of model, match, prices",
        ),
        (table({"model": "m", "prices": [{**RATE, "to": 1}]}), f"{IN_MODEL}/prices/0 should be an object of"),
        (table({"model": "m", "match": 7, **RATE}), f"{IN_MODEL}/match should be an object, but is a int"),
        (
            table({"model": "m", "match": {"contains": "a", "equals": "b"}, **RATE}),
            f"{IN_MODEL}/match should be an object with one test, but is an object with 2",
        ),
        (
            table({"model": "m", "match": [{"regex": "("}], **RATE}),
            f"{IN_MODEL}/match/0/regex should be a regular expression, but is invalid",
        ),
    ],
)
def test_a_fault_in_a_file_is_named_with_its_place(tmp_path: Path, data: Any, said: str) -> None:
    path = tmp_path / "own.json"
    path.write_text(json.dumps(data))
    with pytest.raises(DocumentError) as caught:
        Prices.with_file(path)
    assert caught.value.message.startswith(f"{path}: {said}")
    assert caught.value.hint is not None


def test_a_file_that_is_no_json_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    with pytest.raises(StoreError, match="cannot read the price file"):
        Prices.with_file(path)
    path.write_text('{"source": 1,\n"source": 2}')
    with pytest.raises(DocumentError, match=r"own\.json:2: "):
        Prices.with_file(path)
    path.write_bytes(b"\xff")
    with pytest.raises(DocumentError, match=r"own\.json"):
        Prices.with_file(path)


def test_a_call_without_an_output_count_lacks_the_output_not_the_rest_of_it() -> None:
    cut = Usage(model="claude-sonnet-4-5", source="partial", tokens=Tokens(input=10))
    charge = Prices.packaged().charge(cut, "anthropic")
    assert charge.cost is None
    assert charge.uncounted == ("output",)
