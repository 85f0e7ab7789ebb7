"""Totals that are incomplete say so: "at least", with the reasons; and failed calls are counted by kind."""

from typing import Any

import pytest

from documents.test_fold import start
from runcard.documents.run import events, fold
from runcard.documents.run.generation import Generation
from runcard.documents.run.journal_check import compare_with_journal

Fields = dict[str, Any]
CALL: Fields = {
    "tokens": {"input": 10, "output": 5},
    "token_source": "reported",
    "model": "m",
    "latency_seconds": 1.5,
    "cost_usd": 0.25,
    "cost_source": "priced",
    "price_row": {"model": "m", "usd_per_million": {"input": 1}},
}
NOTHING = fold.FileFacts(output=None, symlinks=[], chains=(), ledger_head=None)


def lines(*payloads: tuple[str, Fields]) -> list[Fields]:
    time = "2026-11-15T10:30:00.000Z"
    numbered = enumerate([(events.RUN_STARTED, start()), *payloads], start=1)
    return [
        {"event": name, "payload": payload, "timestamp": time, "seq": seq}
        for seq, (name, payload) in numbered
    ]


def folded(*payloads: tuple[str, Fields]) -> Fields:
    journal = lines(*payloads)
    document = fold.fold(start(), journal, NOTHING)
    assert Generation.check(document).errors == []
    assert compare_with_journal(document, journal).differences == ()
    return document


def incomplete(reason: str, calls: int | None = 1, hint: str | None = None) -> tuple[str, Fields]:
    return events.USAGE_INCOMPLETE, {"reason": reason, "hint": hint, "calls": calls}


def test_a_total_with_a_part_missing_is_at_least_what_is_known() -> None:
    document = folded((events.MODEL_CALLED, CALL), incomplete("a video was made", hint="look at the bill"))
    costs = document["costs"]
    assert (costs["total_cost_usd"], costs["known_cost_usd"], costs["cost_source"]) == (None, 0.25, None)
    assert (costs["input_tokens"], costs["token_source"]) == (10, "partial")
    assert document["token_usage"]["incomplete"] == [
        {"reason": "a video was made", "hint": "look at the bill", "calls": 1}
    ]
    (warning,) = document["warnings"]
    assert warning == {
        "type": "usage-incomplete",
        "message": "the totals are incomplete: a video was made; look at the bill",
        "timestamp": "2026-11-15T10:30:00.000Z",
    }


def test_without_a_call_nothing_is_known() -> None:
    costs = folded(incomplete("calls went around the meter", None))["costs"]
    assert "known_cost_usd" not in costs
    assert {costs[name] for name in ("input_tokens", "total_cost_usd", "token_source")} == {None}


def test_a_stated_cost_counts() -> None:
    document = folded(
        (events.MODEL_CALLED, CALL),
        incomplete("x"),
        (events.COSTS_SET, {"total_cost_usd": 3, "cost_source": "given"}),
    )
    assert (document["costs"]["total_cost_usd"], document["costs"]["cost_source"]) == (3, "given")
    assert document["token_usage"]["incomplete"][0]["reason"] == "x"


def test_the_same_reason_is_named_once() -> None:
    found = folded(incomplete("x", 1), incomplete("y", None), incomplete("x", 4), incomplete("y", 2))
    assert [(row["reason"], row["calls"]) for row in found["token_usage"]["incomplete"]] == [
        ("x", 5),
        ("y", None),
    ]
    assert len(found["warnings"]) == 2


@pytest.mark.parametrize(
    "payload", [{}, {"reason": 3}, {"reason": "x", "calls": "many", "hint": []}, {"reason": "x", "calls": -1}]
)
def test_a_damaged_reason_does_no_harm(payload: Fields) -> None:
    rows = folded((events.USAGE_INCOMPLETE, payload))["token_usage"].get("incomplete", [])
    assert rows == ([{"reason": "x", "hint": None, "calls": None}] if payload.get("reason") == "x" else [])


def test_reasons_without_end_are_not_all_kept() -> None:
    document = folded(*(incomplete(f"reason {n}") for n in range(1_000)))
    assert len(document["token_usage"]["incomplete"]) == len(document["warnings"]) == 100


def failed(kind: str, status: int | None = None, **facts: Any) -> tuple[str, Fields]:
    error = {"type": kind, "message": "m"} | ({} if status is None else {"status": status})
    return events.MODEL_CALLED, {"tokens": {}, "token_source": None, "error": error, **facts}


def test_failed_calls_are_counted_by_kind() -> None:
    limit = failed("rate_limit_error", 429)
    document = folded(limit, failed("timeout"), limit, (events.MODEL_CALLED, CALL))
    assert document["token_usage"]["failed_calls"] == [
        {"type": "rate_limit_error", "status": 429, "calls": 2},
        {"type": "timeout", "status": None, "calls": 1},
    ]
    assert document["costs"]["total_cost_usd"] == 0.25


def test_where_the_meter_saw_calls_its_attempts_count() -> None:
    attempt = failed("overloaded_error", 529, observer="meter")
    given_up = failed("InternalServerError", 529, observer="watch", retries=2)
    document = folded(attempt, attempt, attempt, given_up)
    assert document["token_usage"]["failed_calls"] == [
        {"type": "overloaded_error", "status": 529, "calls": 3}
    ]


def test_records_of_earlier_versions_are_still_true() -> None:
    """They had no failed calls in their documents."""
    journal = lines(failed("rate_limit_error", 429), (events.MODEL_CALLED, CALL))
    document = fold.fold(start(), journal, NOTHING)
    del document["token_usage"]["failed_calls"]
    assert compare_with_journal(document, journal).differences == ()


END: tuple[str, Fields] = (
    events.RUN_ENDED,
    {"status": "completed", "timestamp_end": "2026-11-15T10:30:01.000Z", "duration_seconds": 1},
)


def test_a_metered_run_that_was_killed_may_have_made_more_calls() -> None:
    """The meter reports a call when it is over."""
    metered = (events.MODEL_CALLED, CALL | {"observer": "meter"})
    document = folded(metered)
    costs = document["costs"]
    assert (costs["total_cost_usd"], costs["known_cost_usd"], costs["token_source"]) == (
        None,
        0.25,
        "partial",
    )
    (missing,) = document["token_usage"]["incomplete"]
    assert "the end of the run is not recorded" in missing["reason"]
    assert len(document["warnings"]) == 1
    for certain in (folded(metered, END), folded((events.MODEL_CALLED, CALL))):
        assert certain["costs"]["total_cost_usd"] == 0.25
        assert certain["warnings"] == []


@pytest.mark.parametrize("name", [events.RUN_ENDED, events.MODEL_CALLED])
@pytest.mark.parametrize("has_end", [True, False])
def test_what_follows_from_withheld_events_is_not_compared(name: str, *, has_end: bool) -> None:
    metered = (events.MODEL_CALLED, CALL | {"observer": "meter"})
    journal = lines(metered, *([END] if has_end else []))
    document = fold.fold(start(), journal, NOTHING)
    for line in journal:
        if line["event"] == name:
            del line["payload"]
    assert compare_with_journal(document, journal).differences == ()


@pytest.mark.parametrize("fields", [{"payload": {}}, {"payload_withheld": True}])
def test_a_call_that_had_begun_when_a_run_was_killed_may_be_missing(fields: Fields) -> None:
    began = {"event": events.METERING_STARTED, "timestamp": "2026-11-15T10:30:00.000Z", "seq": 2, **fields}
    document = fold.fold(start(), [*lines(), began], NOTHING)
    assert [row["reason"] for row in document["token_usage"]["incomplete"]] == [fold.NO_END]
    ended = {"status": "completed", "timestamp_end": "2026-11-15T10:30:00.000Z", "duration_seconds": 0}
    ended_line = lines((events.RUN_ENDED, ended))[1]
    assert "incomplete" not in fold.fold(start(), [*lines(), began, ended_line], NOTHING)["token_usage"]
