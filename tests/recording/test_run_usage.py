"""Calls of models: the usage of every vendor, what it costs, and what stays unknown."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import runcard
from accounting.replies import ANTHROPIC, CHAT, GEMINI, GEMINI_SNAKE, RESPONSE, changed
from accounting.wire_forms import CLAUDE_CODE, OPENROUTER
from runcard.accounting import Prices
from runcard.errors import UsageError
from runs.runs import read

RATES = {"input": 1, "output": 10, "cache_read": 0.5, "cache_write_5m": 2, "cache_write_1h": 4}
OWN = {
    "source": "our contract",
    "as_of": "2026-11-01",
    "providers": {
        "anthropic": {"models": [{"model": "claude-sonnet-4-5", "match": {"starts_with": "claude-sonnet-4-5"}, "usd_per_million": RATES}]},
        "openai": {"models": [{"model": "gpt-5", "match": {"starts_with": "gpt-5"}, "usd_per_million": RATES}]},
        "google": {"models": [{"model": "gemini-2.5-pro", "usd_per_million": RATES}]},
        "ours": {"models": [{"model": "llama-local", "usd_per_million": {"input": 0, "output": 0}}]},
    },
}  # fmt: skip


@pytest.fixture
def prices(tmp_path: Path) -> Prices:
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(OWN))
    return Prices.with_file(path)


@pytest.fixture
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "outputs"


def calls(run: runcard.Run) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (run.path / "experiment.jsonl").read_text().splitlines()]
    return [line["payload"] for line in lines if line["event"] == "model.called"]


@pytest.mark.parametrize(
    ("reply", "tokens", "cost"),
    [
        (ANTHROPIC, (189137, 393, 188086, 1030, 100), "0.102054"),
        (CHAT, (2006, 300, 1920, None, 192), "0.004046"),
        (RESPONSE, (2600, 1186, 2000, 400, 1024), "0.01386"),
        (GEMINI, (3050, 1020, 2048, None, 900), "0.012226"),
        (GEMINI_SNAKE, (3050, 1020, 2048, None, 900), "0.012226"),
    ],
    ids=["anthropic", "chat", "response", "gemini", "gemini-snake"],
)
def test_the_reply_of_every_vendor_is_read_and_priced(
    outputs: Path, prices: Prices, reply: dict[str, Any], tokens: tuple[int | None, ...], cost: str
) -> None:
    with runcard.record(outputs, prices=prices, strict=True) as run:
        run.add_usage(reply)
    costs = read(run.path)["costs"]
    names = ("input", "output", "cache_read", "cache_write", "reasoning")
    assert tuple(costs[f"{name}_tokens"] for name in names) == tokens
    assert (Decimal(str(costs["total_cost_usd"])), costs["cost_source"]) == (Decimal(cost), "priced")
    assert costs["token_source"] == "reported"  # noqa: S105 - where the counts come from
    assert [row["source"] for row in costs["price_rows"]] == ["our contract"]
    assert read(run.path)["warnings"] == []


def test_an_event_tells_all_about_a_call_but_its_words(outputs: Path, prices: Prices) -> None:
    with runcard.record(
        outputs, prices=prices, model="claude-sonnet-4-5", provider="anthropic", strict=True
    ) as run:
        run.add_usage(ANTHROPIC, step="extract", latency=1.25, prompt="p")
    (call,) = calls(run)
    assert {key: call[key] for key in ("step", "requested_model", "model", "provider", "response_id")} == {
        "step": "extract",
        "requested_model": "claude-sonnet-4-5",
        "model": "claude-sonnet-4-5-20250929",
        "provider": "anthropic",
        "response_id": "msg_01XFDUDYJgAACzvnptvVoYEL",
    }
    assert (call["latency_seconds"], call["stop_reason"], call["token_source"]) == (
        1.25,
        "end_turn",
        "reported",
    )
    assert call["tokens"]["cache_write_1h"] == 1000
    assert call["template_sha256"] is None
    assert "Hi!" not in json.dumps(call)


def test_usage_is_broken_down_by_step_and_by_model(outputs: Path, prices: Prices) -> None:
    with runcard.record(outputs, prices=prices, strict=True) as run:
        run.add_usage({"input": 100, "output": 10, "model": "claude-sonnet-4-5"}, step="extract")
        run.add_usage({"input": 200, "output": 20, "model": "gpt-5"}, step="generate")
        run.add_usage({"input": 300, "output": 30}, step="generate", model="gpt-5", provider="openai")
    usage = read(run.path)["token_usage"]
    assert (usage["total_input_tokens"], usage["total_output_tokens"], usage["total_tokens"]) == (
        600,
        60,
        660,
    )
    assert usage["breakdown_by_step"] == [
        {
            "step": "extract",
            "calls": 1,
            "input": 100,
            "output": 10,
            "cost_usd": 0.0002,
            "token_source": "given",
        },
        {
            "step": "generate",
            "calls": 2,
            "input": 500,
            "output": 50,
            "cost_usd": 0.001,
            "token_source": "given",
        },
    ]
    assert [(part["model"], part["calls"]) for part in usage["breakdown_by_model"]] == [
        ("claude-sonnet-4-5", 1),
        ("gpt-5", 2),
    ]


def test_a_model_without_a_price_makes_the_cost_unknown_and_is_named_once(
    outputs: Path, prices: Prices
) -> None:
    with runcard.record(outputs, prices=prices, strict=True) as run:
        run.add_usage({"input": 1, "output": 1, "model": "claude-sonnet-4-5"})
        for _ in range(3):
            run.add_usage({"input": 1, "output": 1, "model": "nobody-knows-it"})
        run.add_usage({"input": 1, "output": 1})
        run.add_usage({"input": 1, "model": "gpt-5"})
    document = read(run.path)
    assert (document["costs"]["total_cost_usd"], document["costs"]["cost_source"]) == (None, None)
    assert document["costs"]["input_tokens"] == 6
    assert [(said["type"], said["message"]) for said in document["warnings"]] == [
        ("unknown-price", "no price is known for 'nobody-knows-it'"),
        ("unknown-price", "no price is known for a call that names no model"),
        (
            "unknown-price",
            "no count is known for output of 'gpt-5'",
        ),
    ]


def test_a_cost_that_the_caller_knows_is_taken_and_needs_no_price(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        run.add_usage({"input": 1, "output": 1, "model": "nobody-knows-it"}, cost=0.1)
        run.add_usage(CHAT, cost=Decimal("0.2"))
    document = read(run.path)
    assert (document["costs"]["total_cost_usd"], document["costs"]["cost_source"]) == (0.3, "given")
    assert document["costs"]["price_rows"] == []
    assert document["warnings"] == []


def test_a_cost_that_the_reply_states_is_reported_and_needs_no_price(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        run.add_usage(OPENROUTER)
    document = read(run.path)
    costs = document["costs"]
    assert (costs["total_cost_usd"], costs["cost_source"], costs["price_rows"]) == (0.000612, "reported", [])
    assert document["warnings"] == []
    (checked,) = runcard.validate(run.path)
    assert checked.report.findings == ()
    assert next(runcard.verify(run.path)).verdict.findings == ()


def test_claude_code_is_recorded_by_model_and_counted_once(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        run.add_usage(CLAUDE_CODE)
    document = read(run.path)
    assert (document["costs"]["total_cost_usd"], document["costs"]["cost_source"]) == (0.0694963, "reported")
    assert document["costs"]["input_tokens"] == 189_637
    models = document["token_usage"]["breakdown_by_model"]
    assert [(part["model"], part["cost_usd"]) for part in models] == [
        ("claude-sonnet-4-5-20250929", 0.0684963),
        ("claude-haiku-4-5-20251001", 0.001),
    ]


def test_a_cost_is_priced_when_a_part_of_it_is(outputs: Path, prices: Prices) -> None:
    with runcard.record(outputs, prices=prices, strict=True) as run:
        run.add_usage(OPENROUTER)
        run.add_usage({"input": 1, "output": 1, "model": "gpt-5"})
        run.add_usage({"input": 1, "output": 1}, cost=1)
    costs = read(run.path)["costs"]
    assert (costs["cost_source"], len(costs["price_rows"])) == ("priced", 1)
    with runcard.record(outputs, strict=True) as run:
        run.add_usage(OPENROUTER)
        run.add_usage({"input": 1, "output": 1}, cost=1)
    assert read(run.path)["costs"]["cost_source"] == "reported"


def test_an_unknown_count_is_an_error_and_nothing_is_recorded(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run, pytest.raises(UsageError, match=r"usage\.foo_tokens"):
        run.add_usage(changed(CHAT, {"foo_tokens": 12}))
    assert calls(run) == []


@pytest.mark.parametrize("name", ["step", "model", "provider"])
def test_a_name_that_is_no_text_is_an_error_at_once(name: str, outputs: Path) -> None:
    with runcard.record(outputs) as run, pytest.raises(UsageError, match=f"{name} is 5"):
        run.add_usage({"input": 1, "output": 2}, **{name: 5})  # type: ignore[arg-type]
    assert calls(run) == []


def test_free_is_zero_and_not_unknown(outputs: Path, prices: Prices) -> None:
    with runcard.record(outputs, prices=prices, provider="ours", strict=True) as run:
        run.add_usage({"input": 1000, "output": 1000, "model": "llama-local"})
    costs = read(run.path)["costs"]
    assert (costs["total_cost_usd"], costs["cost_source"]) == (0, "priced")


def test_the_packaged_prices_count_where_the_own_ones_say_nothing(outputs: Path, prices: Prices) -> None:
    with runcard.record(outputs, prices=prices, strict=True) as run:
        run.add_usage({"input": 10, "output": 1, "model": "claude-opus-4-5"}, provider="anthropic")
    costs = read(run.path)["costs"]
    assert costs["total_cost_usd"] > 0
    assert [row["source"] for row in costs["price_rows"]] == ["genai-prices"]


def test_the_shape_of_a_reply_does_not_say_who_sent_it(outputs: Path) -> None:
    """A server that speaks like OpenAI: it is not OpenAI's price that counts, and nobody says it was OpenAI."""
    with runcard.record(outputs, strict=True) as run:
        run.add_usage(
            changed(
                CHAT,
                {"prompt_tokens_details": None, "completion_tokens_details": None},
                model="deepseek-chat",
            )
        )
    (call,) = calls(run)
    assert call["provider"] is None
    assert [row["provider"] for row in read(run.path)["costs"]["price_rows"]] == ["deepseek"]


def test_calls_inside_a_call_are_calls_of_their_own(outputs: Path, prices: Prices) -> None:
    inner = {
        "type": "advisor_message",
        "model": "claude-sonnet-4-5",
        "input_tokens": 1000,
        "output_tokens": 100,
    }
    reply = changed(ANTHROPIC, {"iterations": [inner]})
    with runcard.record(outputs, prices=prices, strict=True) as run:
        run.add_usage(reply, step="ask", latency=2, prompt="p")
        run.add_usage(reply, step="ask", cost=3)
    assert [call["tokens"]["input"] for call in calls(run)] == [189137, 1000] * 2
    assert [call["cost_usd"] for call in calls(run)] == [0.102054, 0.002, 3, 0]
    assert [call.get("latency_seconds") for call in calls(run)] == [2, None, None, None]
    assert {call["step"] for call in calls(run)} == {"ask"}


def test_a_reply_without_counts_leaves_the_totals_unknown(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        run.add_usage(CHAT)
        run.add_usage(CHAT | {"id": "chatcmpl-2", "usage": None})
    costs = read(run.path)["costs"]
    assert (costs["input_tokens"], costs["token_source"], costs["total_cost_usd"]) == (None, None, None)


def test_totals_can_be_stated(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        run.set_costs(input_tokens=100, output_tokens=20, total_cost_usd=Decimal("0.5"))
        run.set_costs(reasoning_tokens=7)
    costs = read(run.path)["costs"]
    assert (costs["input_tokens"], costs["output_tokens"], costs["reasoning_tokens"]) == (100, 20, 7)
    assert (costs["total_cost_usd"], costs["cost_source"], costs["token_source"]) == (0.5, "given", "given")


def test_a_stated_total_beside_calls_closes_as_a_valid_document(outputs: Path, prices: Prices) -> None:
    with runcard.record(outputs, prices=prices, strict=True) as run:
        run.add_usage(ANTHROPIC, step="ask")
        run.set_costs(input_tokens=7, total_cost_usd=100)
    document = runcard.load(run.path / "metadata.json").to_dict()
    assert (document["costs"]["input_tokens"], document["costs"]["cache_read_tokens"]) == (7, None)
    assert document["costs"]["total_cost_usd"] == 100
    assert document["token_usage"]["breakdown_by_step"][0]["cost_usd"] is None


@pytest.mark.parametrize(
    ("configuration", "usage", "message"),
    [
        (
            {"model": "gpt-5", "provider": "my-proxy"},
            {"input": 1, "output": 1},
            "the provider 'my-proxy' has no known price for 'gpt-5'",
        ),
        (
            {"model": "my-own", "provider": "my-proxy"},
            {"input": 1, "output": 1},
            "no price is known for 'my-own'",
        ),
        (
            {"model": "claude-sonnet-4-5"},
            {"input": 1, "server_tools": {"code_execution": 1}},
            "no price is known for code_execution and no count is known for output of 'claude-sonnet-4-5'",
        ),
    ],
)
def test_the_warning_names_what_is_not_known(
    outputs: Path, configuration: dict[str, str], usage: dict[str, Any], message: str
) -> None:
    with runcard.record(outputs, config=configuration, strict=True) as run:
        run.add_usage(usage, model=configuration["model"])
        run.set_costs(total_cost_usd=1.5)  # the warning stays true
    assert [warning["message"] for warning in read(run.path)["warnings"]] == [message]
