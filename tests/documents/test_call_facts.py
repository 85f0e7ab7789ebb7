"""What the calls of a run say about it: the model that made it, and how long its calls took."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.test_fold import NOTHING, START, Fields, ListRecorder, start
from runcard.documents.percentiles import Times
from runcard.documents.run import events, fold
from runcard.documents.run.call_facts import CallTimes, add_tool_uses, tool_counts
from runcard.documents.run.config_digest import config_digest
from runcard.documents.run.generation import Generation
from runcard.documents.run.journal_check import compare_with_journal

SONNET, GPT = "claude-sonnet-5", "gpt-5"


def call(model: str | None = SONNET, provider: str | None = "anthropic", **more: Any) -> Fields:
    payload = {"tokens": {}, "model": model, "provider": provider, "token_source": "reported", **more}
    return {"event": events.MODEL_CALLED, "payload": {"latency_seconds": 1.5, **payload}}


def performance(calls: list[Fields]) -> Fields | None:
    times = CallTimes()
    for payload in calls:
        times.add(payload)
    return times.section()


def failed(model: str) -> Fields:
    return call(model, error={"type": "APIError"}, token_source=None)


def configuration(*lines: Fields, **given: Any) -> Fields:
    document = fold.fold(start(**given), list(lines), NOTHING)
    assert Generation.check(document).findings == ()
    assert document["checksums"]["config"] == config_digest(document["configuration"])
    found: Fields = document["configuration"]
    return found


def test_a_model_that_was_not_given_is_that_of_the_calls() -> None:
    assert configuration(call(), call()) == {"model": SONNET, "provider": "anthropic"}
    assert configuration(call(), config={"seed": 1}) == {
        "model": SONNET,
        "provider": "anthropic",
        "seed": 1,
    }


def test_a_model_that_was_given_stays() -> None:
    assert configuration(call(), model="sonnet") == {"model": "sonnet", "provider": "anthropic"}
    later = {"event": events.CONFIG_SET, "payload": {"configuration": {"model": "later"}}}
    assert configuration(call(), later)["model"] == "later"
    assert configuration(call(), provider="proxy") == {"model": SONNET, "provider": "proxy"}


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([], {"model": None, "provider": None}),
        ([call(), call(GPT)], {"model": None, "provider": "anthropic"}),
        ([call(), call(None, None)], {"model": None, "provider": None}),
        ([call(), call(provider="aws")], {"model": SONNET, "provider": None}),
        ([call("")], {"model": None, "provider": "anthropic"}),
    ],
)
def test_calls_that_differ_or_do_not_say_decide_nothing(calls: list[Fields], expected: Fields) -> None:
    assert configuration(*calls) == expected


def test_a_call_that_was_refused_decides_only_where_no_other_was_answered() -> None:
    assert configuration(failed(GPT), call())["model"] == SONNET
    assert configuration(failed(GPT))["model"] == GPT


def test_a_document_without_a_model_gets_no_warning_about_it_once_it_is_filled() -> None:
    begun = start()
    del begun["configuration"]["model"]
    assert {found.rule for found in Generation.check(fold.fold(begun, [], NOTHING)).findings} == {
        "expected.absent"
    }
    assert Generation.check(fold.fold(begun, [call()], NOTHING)).findings == ()


def test_times_are_summed_up() -> None:
    lines = [call(latency_seconds=second) for second in (4, 1, 2, 3)]
    lines[1]["payload"]["time_to_first_token_seconds"] = 0.25
    lines[2]["payload"]["time_to_first_token_seconds"] = None  # a stream that ended before its first token
    document = fold.fold(START, lines, NOTHING)
    assert document["performance"] == {
        "calls": 4,
        "latency_seconds": {"mean": 2.5, "p50": 2, "p95": 4, "max": 4},
        "time_to_first_token_seconds": {"mean": 0.25, "p50": 0.25, "p95": 0.25, "max": 0.25},
    }


def test_without_calls_there_is_no_section() -> None:
    assert "performance" not in fold.fold(START, [], NOTHING)
    assert "performance" not in fold.fold(START, [failed(GPT)], NOTHING)


def test_times_that_are_not_known_are_absent_and_counted() -> None:
    assert performance([{"latency_seconds": None}]) == {"calls": 1}
    assert performance([{"latency_seconds": None}, {"latency_seconds": 2}]) == {
        "calls": 2,
        "latency_seconds": {"count": 1, "mean": 2, "p50": 2, "p95": 2, "max": 2},
    }


@pytest.mark.parametrize("wrong", ["1", True, -1, float("nan"), float("inf"), 1e300, 10**400, [], {}])
def test_a_time_that_is_none_is_unknown(wrong: Any) -> None:
    assert performance([{"latency_seconds": wrong, "time_to_first_token_seconds": wrong}]) == {"calls": 1}


def test_a_call_inside_another_has_no_time_of_its_own() -> None:
    recorder = ListRecorder()
    inner = {"type": "advisor_message", "input_tokens": 5, "output_tokens": 6, "model": "claude-haiku-4-5"}
    usage = {"input_tokens": 1, "output_tokens": 2, "iterations": [inner]}
    reply = {"id": "msg_1", "type": "message", "model": SONNET, "usage": usage}
    recorder.add_usage(reply, latency=2.0)
    document = fold.fold(start(), recorder.lines, NOTHING)
    assert len(document["token_usage"]["breakdown_by_model"]) == 2
    assert document["performance"]["calls"] == 2  # as in the breakdowns
    assert [part["calls"] for part in document["token_usage"]["breakdown_by_step"]] == [2]
    latency = document["performance"]["latency_seconds"]
    assert (latency["count"], latency["mean"]) == (1, 2)
    earlier = deepcopy(document)  # as earlier versions wrote it
    earlier["performance"]["calls"] = 1
    del earlier["performance"]["latency_seconds"]["count"]
    lines = [{"event": events.RUN_STARTED, "payload": start()}, *recorder.lines]
    for sealed in (document, earlier):
        assert compare_with_journal(sealed, lines).differences == ()
    assert document["configuration"]["model"] is None  # two models made it


def test_uses_of_server_tools_are_counted_by_model() -> None:
    recorder = ListRecorder()
    for searches in (1, 2):
        usage = {"input": 1000, "output": 100, "server_tools": {"web_search": searches}}
        recorder.add_usage(usage, model=SONNET)
    recorder.add_usage({"input": 1, "output": 1}, model="gpt-5")
    document = fold.fold(start(), recorder.lines, NOTHING)
    searching, plain = document["token_usage"]["breakdown_by_model"]
    assert searching["server_tools"] == {"web_search": 3}
    assert "server_tools" not in plain
    row = document["costs"]["price_rows"][0]
    tokens = 2000 * row["usd_per_million"]["input"] + 200 * row["usd_per_million"]["output"]
    tools = 3 * row["usd_per_thousand"]["web_search"]
    assert searching["cost_usd"] == pytest.approx(tokens / 1_000_000 + tools / 1000)
    earlier = deepcopy(document)  # as earlier versions wrote it
    del earlier["token_usage"]["breakdown_by_model"][0]["server_tools"]
    lines = [{"event": events.RUN_STARTED, "payload": start()}, *recorder.lines]
    for sealed in (document, earlier):
        assert compare_with_journal(sealed, lines).differences == ()


@pytest.mark.parametrize("wrong", [None, 3, "web_search", {"web_search": "3"}, {"a": True}, {"a": -1}, [1]])
def test_uses_that_are_no_counts_are_left_out(wrong: Any) -> None:
    uses: dict[str, tuple[tuple[int, int], int]] = {}
    add_tool_uses(uses, 1, {"server_tools": wrong})
    add_tool_uses(uses, 2, {"server_tools": {"a": 1}})
    assert tool_counts(uses) == {"a": 1}


@given(values=st.lists(st.floats(0, 1e6) | st.integers(0, 10**6), min_size=1))
def test_the_four_numbers_are_ordered_and_measured(values: list[float]) -> None:
    summary = Times(values).summary()
    assert summary is not None
    assert {summary["p50"], summary["p95"], summary["max"]} <= set(values)
    assert summary["p50"] <= summary["p95"] <= summary["max"]
    assert min(values) - 1e-6 <= summary["mean"] <= summary["max"]
    at_most = sum(value <= summary["p95"] for value in values)
    assert 100 * at_most >= 95 * len(values)
    assert Generation.check(fold.fold(START, [call(latency_seconds=v) for v in values[:9]], NOTHING)).valid


def test_a_percentile_is_the_nearest_rank() -> None:
    def percentiles(values: list[float]) -> list[float]:
        summary = Times(values).summary()
        assert summary is not None
        return [summary["p50"], summary["p95"]]

    assert percentiles([float(number) for number in range(1, 101)]) == [50, 95]
    assert percentiles([1, 2, 3]) == [2, 3]
    assert percentiles([7]) == [7, 7]
    assert Times().summary() is None


def test_a_time_is_written_as_it_was_measured() -> None:
    """Also where there are so many that they are sorted in blocks."""
    values = [*range(40_000), *(number + 0.5 for number in range(30_000)), 0.0]
    shuffled = [values[number * 7919 % len(values)] for number in range(len(values))]  # 7919 is a prime
    ordered = sorted(values)
    count = len(values)
    summary = Times(shuffled).summary()
    assert summary is not None
    expected = [ordered[-(-count * percent // 100) - 1] for percent in (50, 95, 100)]
    found = [summary[name] for name in ("p50", "p95", "max")]
    assert [repr(value) for value in found] == [repr(value) for value in expected]
    assert summary["mean"] == round(sum(values) / count, 6)
    assert repr(Times([2]).summary()) == "{'mean': 2, 'p50': 2, 'p95': 2, 'max': 2}"
    assert repr(Times([2.0]).summary()) == "{'mean': 2, 'p50': 2.0, 'p95': 2.0, 'max': 2.0}"


def _lines(*calls: Fields, **given: Any) -> list[Fields]:
    return [{"event": events.RUN_STARTED, "payload": start(**given)}, *calls]


def test_a_document_of_an_earlier_version_still_agrees_with_its_journal() -> None:
    lines = _lines(call(), call())
    document = fold.fold(start(), lines, NOTHING)
    assert compare_with_journal(document, lines).differences == ()
    earlier = {**document, "configuration": {"model": None, "provider": None}}
    del earlier["performance"]
    earlier["checksums"] = document["checksums"] | {"config": config_digest(earlier["configuration"])}
    assert compare_with_journal(earlier, lines).differences == ()


@pytest.mark.parametrize(
    ("change", "pointers"),
    [
        ({"configuration": {"model": GPT, "provider": "anthropic"}}, ["/configuration/model"]),
        (
            {"configuration": {"model": None, "provider": None}},
            ["/configuration/model", "/configuration/provider"],
        ),
        ({"performance": {"calls": 9}}, ["/performance/calls", "/performance/latency_seconds"]),
    ],
)
def test_what_was_changed_by_hand_is_found(change: Fields, pointers: list[str]) -> None:
    lines = _lines(call(), call())
    document = fold.fold(start(), lines, NOTHING) | change
    assert [found.pointer for found in compare_with_journal(document, lines).differences] == pointers


def test_a_given_model_cannot_be_removed_unnoticed() -> None:
    lines = _lines(call(), model=SONNET, provider="anthropic")
    document = fold.fold(start(model=SONNET, provider="anthropic"), lines, NOTHING)
    document["configuration"] = {"model": None, "provider": "anthropic"}
    document["checksums"] |= {"config": config_digest(document["configuration"])}
    del document["performance"]
    pointers = {found.pointer for found in compare_with_journal(document, lines).differences}
    assert pointers == {"/configuration/model", "/checksums/config"}


def test_a_withheld_call_leaves_open_only_what_it_decides() -> None:
    decided = {"/costs", "/token_usage", "/performance"}
    lines = _lines(call())
    document = fold.fold(start(), lines, NOTHING)
    del lines[1]["payload"]
    compared = compare_with_journal(document, lines)
    filled = {"/configuration/model", "/configuration/provider", "/checksums/config"}
    assert (compared.differences, set(compared.withheld)) == ((), decided | filled)
    lines = _lines(call(), model=SONNET, provider="anthropic")
    document = fold.fold(start(model=SONNET, provider="anthropic"), lines, NOTHING)
    del lines[1]["payload"]
    assert set(compare_with_journal(document, lines).withheld) == decided
    document["configuration"] = document["configuration"] | {"model": GPT}
    assert [found.pointer for found in compare_with_journal(document, lines).differences] == [
        "/configuration/model"
    ]
