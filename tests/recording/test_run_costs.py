"""The cost of a run: service tiers, unpriced parts, responses that are reported twice; checked against the price rows."""

import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import runcard
from runcard.accounting.tokens import CLASSES
from runcard.documents.run.generation import Generation
from runcard.errors import UsageError
from runs.runs import USAGE, read, verdict

CHILD = """
import json, sys, runcard
runcard.current_run().add_usage(json.loads(sys.argv[1]), step="child")
"""


@pytest.fixture
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "outputs"


def events(path: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (path / "experiment.jsonl").read_text().splitlines()]
    return [line["payload"] for line in lines if line["event"] == "model.called"]


def searching(**more: Any) -> dict[str, Any]:
    """A response that used a tool without a price."""
    item = {"type": "code_interpreter_call", "id": "ci_1"}
    usage = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}
    reply = {"id": "resp_1", "object": "response", "model": "gpt-5", "status": "completed", "output": [item]}
    return reply | {"usage": usage} | more


def test_a_service_tier_has_its_own_price(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        run.add_usage({"input": 1_000_000, "output": 0}, model="claude-haiku-4-5", service_tier="batch")
    costs = read(run.path)["costs"]
    assert costs["total_cost_usd"] == 0.5
    assert costs["price_rows"][0]["service_tier"] == "batch"
    assert events(run.path)[0]["service_tier"] == "batch"


def test_the_tier_of_the_caller_counts_over_that_of_the_reply(outputs: Path) -> None:
    """OpenAI's batches say that they are served by default."""
    chat: dict[str, Any] = {
        "object": "chat.completion",
        "model": "gpt-5",
        "choices": [{"finish_reason": "stop"}],
    }
    chat |= {"usage": {"prompt_tokens": 1_000_000, "completion_tokens": 0, "total_tokens": 1_000_000}}
    with runcard.record(outputs, strict=True) as run:
        run.add_usage(chat | {"service_tier": "default"}, service_tier="batch")
        run.add_usage(chat | {"service_tier": "flex"}, service_tier="standard")
    assert [call["cost_usd"] for call in events(run.path)] == [0.625, 1.25]


@pytest.mark.parametrize(
    ("tier", "words"),
    [
        ("priority", "in the service tier 'priority'"),
        ("us", "with inference in 'us'"),
        ("fast", "at the speed 'fast'"),
        (
            "priority+fast+us",
            "in the service tier 'priority' and at the speed 'fast' and with inference in 'us'",
        ),
    ],
)
def test_a_tier_without_a_price_is_unknown_and_named(tier: str, words: str) -> None:
    recorder = runcard.MetadataRecorder(strict=True)
    recorder.start()
    recorder.add_usage({"input": 10, "output": 5}, model="claude-haiku-4-5", service_tier=tier)
    recorder.finish()
    document = recorder.document().to_dict()
    assert document["costs"]["total_cost_usd"] is None
    assert "known_cost_usd" not in document["costs"]
    assert [warning["message"] for warning in document["warnings"]] == [
        f"no price is known for 'claude-haiku-4-5' {words}"
    ]


@pytest.mark.parametrize("tier", [7, "", b"batch", ["batch"]])
def test_a_wrong_tier_is_an_error(outputs: Path, tier: Any) -> None:
    with runcard.record(outputs) as run, pytest.raises(UsageError, match="service tier"):
        run.add_usage({"input": 10, "output": 5}, service_tier=tier)


def test_a_cost_with_an_unpriced_part_is_known_in_part_everywhere(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        run.add_usage(searching(), step="one")
        run.add_usage(searching(id="resp_2", output=[]), step="two")
        run.add_usage({"input": 5, "output": 5}, model="no-such-model", step="two")
    document = read(run.path)
    costs, usage = document["costs"], document["token_usage"]
    assert (costs["total_cost_usd"], costs["cost_source"], costs["known_cost_usd"]) == (None, None, 0.0045)
    assert list(costs).index("known_cost_usd") == list(costs).index("total_cost_usd") + 1
    by_step = [(part["cost_usd"], part.get("known_cost_usd")) for part in usage["breakdown_by_step"]]
    assert by_step == [(None, 0.00225), (None, 0.00225)]
    by_model = [(part["cost_usd"], part.get("known_cost_usd")) for part in usage["breakdown_by_model"]]
    assert by_model == [(None, 0.0045), (None, None)]
    assert events(run.path)[0]["server_tools"] == {"code_interpreter": 1}
    assert "for code_interpreter of 'gpt-5'" in document["warnings"][0]["message"]
    assert "≥ $0.0045 (a part is unknown)" in (run.path / "README.md").read_text()
    assert verdict(run.path)["intact"]
    Generation.from_dict(document)


def test_a_stream_that_was_cut_costs_at_least_what_came(outputs: Path) -> None:
    """Its output count is a placeholder; the final report of the same response replaces it."""
    start = USAGE | {"stop_reason": None, "usage": {"input_tokens": 1000, "output_tokens": 1}}
    with runcard.record(outputs, strict=True) as run:
        run.add_usage(start)
    document = read(run.path)
    assert (document["costs"]["total_cost_usd"], document["costs"]["known_cost_usd"]) == (None, 0.003015)
    assert "the rest of the output of 'claude-sonnet-4-5" in document["warnings"][0]["message"]
    with runcard.record(outputs, strict=True) as run:
        run.add_usage(start)
        run.add_usage(USAGE)
    costs = read(run.path)["costs"]
    assert (costs["total_cost_usd"], costs["token_source"]) == (0.26694, "reported")


def test_a_total_that_the_caller_states_leaves_no_known_part(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        run.add_usage(searching())
        run.set_costs(total_cost_usd=0.002)
    document = read(run.path)
    assert document["costs"]["total_cost_usd"] == 0.002
    assert "known_cost_usd" not in document["costs"]
    assert "known_cost_usd" not in document["token_usage"]["breakdown_by_model"][0]


def test_a_response_that_a_child_process_reports_again_counts_once(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        run.add_usage(USAGE)
        run.add_usage(USAGE)
        command = [sys.executable, "-c", CHILD, json.dumps(USAGE)]
        subprocess.run(command, env={**os.environ, **run.environ}, check=True, timeout=120)
    document = read(run.path)
    assert len(events(run.path)) == 3
    assert (document["costs"]["input_tokens"], document["costs"]["total_cost_usd"]) == (45230, 0.26694)
    assert document["token_usage"]["repeated_reports"] == 2
    assert [(part["step"], part["calls"]) for part in document["token_usage"]["breakdown_by_step"]] == [
        ("child", 1)
    ]
    assert verdict(run.path)["intact"]


def test_calls_inside_a_response_count_once_as_well(outputs: Path) -> None:
    """Compaction is a call of its own, without an id."""
    inside = {"type": "compaction", "input_tokens": 100, "output_tokens": 10}
    reply = USAGE | {"usage": {"input_tokens": 50, "output_tokens": 5, "iterations": [inside]}}
    with runcard.record(outputs, strict=True) as run:
        run.add_usage(reply)
        run.add_usage(reply)
    assert read(run.path)["costs"]["input_tokens"] == 150
    assert [call.get("part") for call in events(run.path)] == [None, 1, None, 1]


def cost_by_row(call: dict[str, Any]) -> Decimal | None:
    """What a call costs by the price row that was recorded with it, computed as docs/accounting.md describes it."""
    row, tokens = call["price_row"], call["tokens"]
    if call["cost_source"] != "priced":
        return None
    rates = {name: Decimal(str(rate)) for name, rate in row["usd_per_million"].items()}
    kinds = [name for name in rates if name not in CLASSES]
    read_kinds = [name for name in kinds if name.startswith("cache_read_")]
    cached = {name: tokens.get(name) or 0 for name in ("cache_read", "cache_write_5m", "cache_write_1h")}
    total = Decimal(0)
    for name in kinds:
        count = tokens.get(name) or 0
        if name.startswith("input_"):
            count -= tokens.get(name.replace("input_", "cache_read_")) or 0
        total += count * rates[name]
    plain = tokens["input"] - sum(cached.values())
    for name in kinds:
        if name.startswith("input_"):
            plain -= tokens[name] - (tokens.get(name.replace("input_", "cache_read_")) or 0)
    cached["cache_read"] -= sum(tokens.get(name) or 0 for name in read_kinds)
    text = tokens["output"] - sum(tokens.get(name) or 0 for name in kinds if name.startswith("output_"))
    for name, count in {"input": plain, "output": text, **cached}.items():
        total += count * rates.get(name, Decimal(0))
    for name, rate in row.get("usd_per_thousand", {}).items():
        total += call["server_tools"][name] * Decimal(str(rate)) * 1000
    return total / 1_000_000


MODELS = (
    *("claude-sonnet-4-5", "claude-opus-4-6", "gpt-5", "gpt-5.4", "gpt-audio", "gpt-image-1", "gpt-4o"),
    *("gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-image", "gpt-realtime", "no-such-model"),
)
some = st.integers(0, 400_000)


@st.composite
def usages(draw: st.DrawFn) -> dict[str, Any]:
    """Counts by hand in which no part is larger than its whole."""
    plain, read, short, long, text, audio, image = (draw(some) for _ in range(7))
    usage: dict[str, Any] = {"model": draw(st.sampled_from(MODELS)), "input": plain + read + short + long}
    usage["output"] = text + audio + image
    optional = {"cache_read": read, "cache_write_5m": short, "cache_write_1h": long}
    optional |= {"output_text": text, "output_audio": audio, "output_image": image}
    optional["input_audio"], optional["input_image"] = plain // 3, plain // 4
    optional["cache_read_audio"], optional["cache_read_image"] = 0, 0
    usage |= {name: count for name, count in optional.items() if draw(st.booleans())}
    if "cache_read" not in usage:
        usage = {name: value for name, value in usage.items() if not name.startswith("cache_read_")}
    tools = st.dictionaries(
        st.sampled_from(["web_search", "file_search", "code_execution"]), st.integers(0, 9)
    )
    return usage | {"server_tools": draw(tools)}


@pytest.mark.usefixtures("here")  # outside of a repository: asking git takes longer than all the rest
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.lists(usages(), min_size=1, max_size=4), st.sampled_from([None, None, "batch", "priority"]))
def test_the_document_agrees_with_the_price_rows(calls: list[dict[str, Any]], tier: str | None) -> None:
    """An independent check: each cost is computed again from what was recorded, and the sums as well."""
    recorder = runcard.MetadataRecorder(strict=True)
    recorder.start()
    for usage in calls:
        recorder.add_usage(usage, service_tier=tier)
    recorder.finish()
    document = recorder.document().to_dict()
    recorded = [line["payload"] for line in recorder._events.lines if line["event"] == "model.called"]
    for call in recorded:
        assert (call["cost_usd"] is None) == (call["cost_source"] is None)
        if (expected := cost_by_row(call)) is not None:
            assert Decimal(str(call["cost_usd"])) == pytest.approx(expected, rel=Decimal("1e-14"))
            assert call["price_row"].get("service_tier") == tier
    costs = document["costs"]
    known = [
        Decimal(str(amount))
        for call in recorded
        if (amount := call.get("known_cost_usd", call["cost_usd"])) is not None
    ]
    if any(call["cost_usd"] is None for call in recorded):
        assert costs["total_cost_usd"] is None
        assert costs.get("known_cost_usd") == (float(sum(known)) if known else None)
    else:
        assert costs["total_cost_usd"] == float(sum(known))
        assert "known_cost_usd" not in costs
    rows = [call["price_row"] for call in recorded if call["price_row"] is not None]
    assert all(row in costs["price_rows"] for row in rows)
