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
from runcard.documents.run.repeated_calls import DistinctCalls, ReportIds

Fields = dict[str, Any]
PRICE = {"model": "m", "usd_per_million": {"input": 1}}


def report(**facts: Any) -> Fields:
    """A report of one response."""
    call = {"response_id": "msg_1", "tokens": {"input": 10, "output": 5}, "token_source": "reported"}
    return call | {"cost_usd": 0.25, "cost_source": "priced", "price_row": PRICE} | facts


def count_once(calls: Sequence[Fields]) -> tuple[list[Fields], int]:
    """The calls without repeated reports, and how many of these there were."""
    ids, counted = ReportIds(), dict[int, Fields]()
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

    def count(first: Any, second: Fields) -> bool:
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


def watched(**facts: Any) -> Fields:
    return report(**{"api": "messages", "observer": "watch", "latency_seconds": 3.0, "step": "draft"} | facts)


def metered(**facts: Any) -> Fields:
    own = {"api": "messages", "observer": "meter", "latency_seconds": 2.0, "step": None, "status": 200}
    return report(**own | facts)


NAMELESS = {"response_id": None, "token_source": "given"}


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_meter_a_watched_client_and_add_usage_report_one_call(order: tuple[int, ...]) -> None:
    reports = [
        metered(request_id="req_1"),
        watched(request_id="req_1"),
        report(cost_usd=7, cost_source="given"),
    ]
    (call,), repeats = count_once([reports[number] for number in order])
    assert repeats == 2
    assert (call["observer"], call["status"], call["latency_seconds"], call["step"]) == (
        "meter",
        200,
        2.0,
        "draft",
    )
    assert (call["cost_usd"], call["tokens"]) == (7, {"input": 10, "output": 5})


def test_calls_without_a_response_id_are_joined_by_their_request_id() -> None:
    """Embeddings have none, and a stream that was cut before its first event."""
    none = {"response_id": None}
    reports = [
        metered(**none, request_id="a"),
        watched(**none, request_id="a"),
        metered(**none, request_id="b"),
    ]
    assert len(tokens(*reports)) == 2
    cut = watched(request_id="a", response_id=None, tokens={}) | {"token_source": "partial"}
    assert tokens(metered(request_id="a"), cut) == [{"input": 10, "output": 5}]
    assert tokens(cut, metered(request_id="a")) == [{"input": 10, "output": 5}]


def test_a_server_that_uses_an_id_again_is_counted_by_observer() -> None:
    """The two reports of a call may come in any order; request ids and counts say which belong together."""
    calls = [{"tokens": {"input": n, "output": 1}, "request_id": f"req_{n}"} for n in range(3)]
    reports = [kind(**call) for kind in (metered, watched) for call in calls]
    for order in itertools.permutations(reports):
        found, repeats = count_once(order)
        assert (sorted(call["tokens"]["input"] for call in found), repeats) == ([0, 1, 2], 3)
    assert len(tokens(metered(), metered())) == 2


def test_usage_without_an_id_is_that_of_a_metered_call_with_the_same_counts() -> None:
    said = report(**NAMELESS, step="draft", cost_usd=7, cost_source="given", model="m")
    seen = [metered(response_id=f"msg_{n}", model="m-1", requested_model="m") for n in range(2)]
    for order in itertools.permutations([said, *seen]):
        found, repeats = count_once(order)
        assert repeats == 1
        assert sorted(call["cost_usd"] for call in found) == [0.25, 7]
        assert {call["observer"] for call in found} == {"meter"}
    assert len(tokens(said, said, seen[0])) == 2
    assert len(tokens(said, watched())) == 2
    assert len(tokens(said | {"model": "other"}, seen[0])) == 2
    assert len(tokens(said | {"tokens": {"input": 10, "output": 6}}, seen[0])) == 2
    assert len(tokens(said | {"tokens": {"input": 10, "output": 5, "reasoning": 1}}, seen[0])) == 1


def test_usage_without_an_id_is_not_that_of_another_agent() -> None:
    said, seen = report(**NAMELESS, instance_id="writer"), metered(instance_id="lead")
    assert len(tokens(said, seen)) == len(tokens(seen, said)) == 2
    assert len(tokens(said, seen | {"instance_id": "writer"})) == 1


def test_usage_without_an_id_is_joined_after_the_ids_are() -> None:
    said = report(**NAMELESS, step="draft")
    for order in itertools.permutations([said, metered(), watched(step=None)]):
        (call,), repeats = count_once(order)
        assert (repeats, call["step"]) == (2, "draft")


@given(
    st.lists(
        st.tuples(st.sampled_from([metered, watched, report]), st.integers(0, 3), st.booleans()), max_size=12
    )
)
def test_each_call_is_counted_whatever_is_reported(reports: list[Any]) -> None:
    """No report is lost: each counts, or is a repeat of one that counts. No meter's report is a repeat of another."""
    calls = [
        kind(tokens={"input": n, "output": 1}, response_id=f"msg_{n}" if named else None)
        for kind, n, named in reports
    ]
    found, repeats = count_once(calls)
    assert len(found) + repeats == len(calls)
    assert sum(call.get("observer") == "meter" for call in found) == sum(
        kind is metered for kind, *_ in reports
    )


def test_a_million_metered_calls_take_little_memory() -> None:
    """Of calls that are not repeated only hashes are kept, of others only those that wait for a report."""
    ids = ReportIds()
    calls = [metered(response_id=f"msg_{n}", request_id=f"req_{n}") for n in range(2_000)]
    reports = [call for n, call in enumerate(calls) for call in (call, calls[n] | {"observer": "watch"})]
    for call in reports:
        ids.add(call)
    most, counted = 0, 0

    def count(number: int, call: Fields) -> None:  # noqa: ARG001
        nonlocal counted
        counted += 1

    distinct = DistinctCalls(count, ids.repeated())
    for call in reports:
        distinct.add(call)
        most = max(most, sum(len(responses) for responses in distinct._open.values()))
    distinct.end()
    assert (counted, distinct.repeats, most) == (2_000, 2_000, 2)


def total_input(*calls: Fields) -> tuple[int, int]:
    lines = [{"event": events.MODEL_CALLED, "payload": {"latency_seconds": 1.0, **call}} for call in calls]
    usage = fold.fold_events(start(), lines)["token_usage"]
    return usage["total_input_tokens"], usage.get("repeated_reports", 0)


def test_the_total_of_a_session_does_not_count_where_the_meter_saw_its_calls() -> None:
    seen = [metered(response_id=f"msg_{n}", client_session="s-1", model="m") for n in range(3)]
    total = report(
        response_id="uuid-1", is_total=True, client_session="s-1", tokens={"input": 31, "output": 16}
    )
    for order in ([total, *seen], [*seen, total]):
        assert total_input(*order) == (30, 1)
    assert total_input(*seen, total | {"client_session": "s-2"}) == (61, 0)
    assert total_input(total) == (31, 0)
    nameless = report(response_id=None, is_total=True, tokens={"input": 30, "output": 15})
    assert total_input(*seen, nameless) == (30, 1)
    assert total_input(*seen, nameless | {"tokens": {"input": 30, "output": 14}}) == (60, 0)
    of_message = nameless | {"response_id": "msg_9"}
    assert total_input(*seen, of_message) == (60, 0)


def test_a_server_without_ids_is_counted_by_model_prompt_and_counts() -> None:
    """Local servers, and embeddings. Two calls with the same prompt and the same counts are two calls."""
    prompts = [{**NAMELESS, "api": "chat", "requested_model": "m", "prompt_sha256": text} for text in "aab"]
    reports = [kind(**prompt) for kind in (metered, watched) for prompt in prompts]
    for order in itertools.permutations(reports):
        found, repeats = count_once(order)
        assert (len(found), repeats) == (3, 3)
    said = [report(**NAMELESS, step="draft") for _ in prompts]
    assert len(tokens(*reports, *said)) == len(tokens(*said, *reports)) == 3


@pytest.mark.parametrize(
    "facts",
    [
        {"requested_model": "n"},
        {"api": "chat"},
        {"prompt_sha256": "b"},
        {"tokens": {"input": 11, "output": 5}},
    ],
    ids=lambda facts: next(iter(facts)),
)
def test_calls_without_ids_that_differ_are_two_calls(facts: Fields) -> None:
    """One that went around the meter, and one of a client that is not watched."""
    call = {"response_id": None, "api": "messages", "requested_model": "m", "prompt_sha256": "a"}
    assert len(tokens(metered(**call), watched(**call))) == 1
    assert len(tokens(metered(**call), watched(**call | facts))) == 2


def test_a_program_may_report_usage_without_ids_at_its_end() -> None:
    """500 calls at once with the same counts: each report is that of one of them."""
    calls = [metered(response_id=f"msg_{n}") for n in range(500)]
    said = [report(**NAMELESS) for _ in calls]
    assert len(tokens(*calls, *said)) == len(tokens(*said, *calls)) == 500


def test_an_id_that_one_observer_saw_again_is_not_compared() -> None:
    """A server with one id for all replies: nothing is kept, however many calls there are."""
    for kind in (metered, watched):
        ids = ReportIds()
        for _ in range(1000):
            ids.add(kind(response_id="same"))
        assert not ids.repeated()


def test_a_server_with_one_id_for_all_replies_and_calls_at_once() -> None:
    """A watched client may report a call before the meter has reported any but another one."""
    calls = [{"tokens": {"input": n, "output": 1}, "request_id": "same"} for n in range(3)]
    reports = [kind(**call) for kind in (metered, watched) for call in calls]
    for order in itertools.permutations(reports):
        found, repeats = count_once(order)
        assert (sorted(call["tokens"]["input"] for call in found), repeats) == ([0, 1, 2], 3)


def test_a_run_with_few_calls_counts_few_groups_of_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the 64 groups only those that have an id are counted: else that takes longer than all else that is folded."""
    ids = ReportIds()
    ids.add({"response_id": "r", "request_id": "q", "model": "m"})
    group = repeated_calls._Hashes.group
    counted = []

    def count(self: repeated_calls._Hashes, number: int) -> Sequence[int]:
        counted.append(number)
        return group(self, number)

    monkeypatch.setattr(repeated_calls._Hashes, "group", count)
    assert not ids.repeated()
    assert 0 < len(set(counted)) <= 2
