"""A response counts once, however often it is reported: the most complete report of it."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.test_fold import start
from runcard.documents.run import events, fold, repeated_calls
from runcard.documents.run.generation import Generation
from runcard.documents.run.journal_check import compare_with_journal
from runcard.documents.run.repeated_calls import DistinctCalls, ResponseIds

Fields = dict[str, Any]
PRICE = {"model": "m", "usd_per_million": {"input": 1}}


def report(**facts: Any) -> Fields:
    """A report of one response."""
    call = {"response_id": "msg_1", "tokens": {"input": 10, "output": 5}, "token_source": "reported"}
    return call | {"cost_usd": 0.25, "cost_source": "priced", "price_row": PRICE} | facts


def count_once(calls: Sequence[Fields]) -> tuple[list[Fields], int]:
    """The calls without repeated reports, and how many of these there were."""
    ids, counted = ResponseIds(), dict[int, Fields]()
    for call in calls:
        ids.add(call)
    distinct = DistinctCalls(counted.__setitem__, ids.repeated())
    for call in calls:
        distinct.add(call)
    return [counted[number] for number in sorted(counted)], distinct.repeats


def tokens(*calls: Fields) -> list[Fields]:
    return [call["tokens"] for call in count_once(calls)[0]]


def folded(*calls: Fields) -> Fields:
    lines = [{"event": events.MODEL_CALLED, "payload": call} for call in calls]
    return fold.fold(start(), lines, fold.FileFacts(None, [], (), None))


def test_a_response_that_is_reported_three_times_counts_once() -> None:
    document = folded(report(), report(step="again"), report())
    assert (document["costs"]["input_tokens"], document["costs"]["total_cost_usd"]) == (10, 0.25)
    assert document["token_usage"]["repeated_reports"] == 2
    assert [part["calls"] for part in document["token_usage"]["breakdown_by_model"]] == [1]
    Generation.from_dict(document)


def test_calls_without_an_id_are_all_counted() -> None:
    document = folded(*(report(response_id=name) for name in (None, None, "", 7, ["x"])))
    assert document["costs"]["input_tokens"] == 50
    assert "repeated_reports" not in document["token_usage"]


def test_the_final_report_counts_before_a_partial_one_in_any_order() -> None:
    partial = report(tokens={"input": 10, "output": 1}, cost_usd=0.1) | {"token_source": "partial"}
    longer = partial | {"tokens": {"input": 10, "output": 3}}
    nothing = report(tokens={}, token_source=None, cost_usd=None, cost_source=None, price_row=None)
    given = report(tokens={"input": 99, "output": 99}) | {"token_source": "given"}
    for order in itertools.permutations([report(), partial, longer, nothing, given]):
        (call,), repeats = count_once(order)
        assert (call["tokens"], call["cost_usd"], repeats) == ({"input": 10, "output": 5}, 0.25, 4)
    for order in itertools.permutations([partial, longer, nothing]):
        assert tokens(*order) == [{"input": 10, "output": 3}]


def test_the_report_with_more_counts_wins() -> None:
    cached = report(tokens={"input": 10, "output": 5, "cache_read": 8}, cost_usd=0.2)
    for order in ([report(), cached], [cached, report()]):
        (call,), _ = count_once(order)
        assert (call["tokens"]["cache_read"], call["cost_usd"]) == (8, 0.2)


def test_what_only_the_other_report_states_is_kept() -> None:
    watched = report(api="messages", latency_seconds=1.5, step=None, service_tier=None)
    added = report(step="draft", service_tier="batch", cost_usd=0.125)
    for order in ([watched, added], [added, watched]):
        (call,), _ = count_once(order)
        assert (call["step"], call["latency_seconds"], call["cost_usd"]) == ("draft", 1.5, 0.125)


def test_a_cost_that_somebody_stated_counts() -> None:
    for source in ("given", "reported"):
        stated = report(cost_usd=7, cost_source=source, price_row=None, tokens={})
        for order in ([report(), stated], [stated, report()]):
            (call,), _ = count_once(order)
            assert (call["cost_usd"], call["cost_source"], call["price_row"]) == (7, source, None)
            assert call["tokens"] == {"input": 10, "output": 5}


def test_parts_of_a_response_are_counted_once_each() -> None:
    parts = [report(), report(part=1, tokens={"input": 3, "output": 3}), report(part=2, tokens={"input": 4})]
    assert tokens(*parts, *parts) == [call["tokens"] for call in parts]


def test_an_id_that_a_server_uses_again_is_not_taken_for_the_same_response() -> None:
    """Some local servers choose an id of a few hundred: both calls were made."""
    other = report(tokens={"input": 10, "output": 6})
    assert len(tokens(report(), other)) == 2
    assert len(tokens(report(), other, report(), other)) == 2
    assert len(tokens(report(api="chat"), report(api="chat"))) == 2
    assert len(tokens(report(api="chat"), report(api="chat"), report())) == 2
    assert len(tokens(report(provider="openai"), report(provider="azure"))) == 2
    assert len(tokens(report(provider="OpenAI"), report(provider="openai"), report(provider=None))) == 1


def test_a_server_that_always_uses_the_same_id_does_not_make_the_fold_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A call is compared with a limited number of earlier ones."""
    compared = 0

    def count(first: Fields, second: Fields) -> bool:
        nonlocal compared
        compared += 1
        return is_same(first, second)

    is_same = repeated_calls._is_same
    monkeypatch.setattr(repeated_calls, "_is_same", count)
    calls = [report(tokens={"input": n, "output": 1}) for n in range(1_000)]
    assert len(count_once(calls)[0]) == len(calls)
    assert 0 < compared <= 100 * len(calls)


def test_a_record_of_an_earlier_version_still_agrees_with_its_journal() -> None:
    """It counted every report, and had no known_cost_usd."""
    unpriced = report(response_id="msg_2", cost_usd=None, cost_source=None, price_row=None)
    lines = [{"event": events.RUN_STARTED, "payload": start()}]
    lines += [{"event": events.MODEL_CALLED, "payload": call} for call in (report(), report(), unpriced)]
    now = fold.fold(start(), lines, fold.FileFacts(None, [], (), None))
    assert (now["costs"]["known_cost_usd"], now["costs"]["input_tokens"]) == (0.25, 20)
    assert compare_with_journal(now, lines).differences == ()
    counted = fold.EventFold(with_repeats=True)
    for line in lines:
        counted.add(line)
    earlier = counted.without_call_facts(counted.document(start()), start())
    earlier["costs"].pop("known_cost_usd")
    earlier["token_usage"]["breakdown_by_model"][0].pop("known_cost_usd")
    earlier["token_usage"]["breakdown_by_step"][0].pop("known_cost_usd")
    assert earlier["costs"]["input_tokens"] == 30
    assert compare_with_journal(earlier, lines).differences == ()
    earlier["costs"]["input_tokens"] = 10
    assert compare_with_journal(earlier, lines).differences


anything = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
)
counts = st.dictionaries(st.sampled_from(["input", "output", "x"]), anything, max_size=3)
hostile = st.fixed_dictionaries(
    {},
    optional={
        "response_id": st.sampled_from(["a", "b", None, 3]),
        "part": anything,
        "tokens": counts | anything,
        "token_source": st.sampled_from(["reported", "partial", "given", None]) | anything,
        "provider": anything,
        "api": anything,
        "cost_usd": anything,
        "cost_source": anything,
    },
)


@given(st.lists(hostile, max_size=8))
def test_whatever_a_journal_holds_nothing_is_raised_or_lost(calls: list[Fields]) -> None:
    distinct, repeats = count_once(calls)
    assert len(distinct) + repeats == len(calls)
    assert {call.get("response_id") for call in distinct} == {call.get("response_id") for call in calls}
    assert count_once(distinct)[0] == distinct or repeats
