"""The fold is a law: the same events give the same document, whatever they are, and it is always a valid one."""

import copy
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcard.documents.chain import Head
from runcard.documents.exact_sums import exact_sum
from runcard.documents.run import events, fold
from runcard.documents.run.call_totals import RunCalls
from runcard.documents.run.generation import Generation
from runcard.documents.token_sources import TOKEN_SOURCES
from runcard.observe.clock import Clock
from runcard.recording.events import EventRecorder
from runcard.recording.recorder import Recorder, events_of
from runcard.recording.start_document import start_document, start_settings

Fields = dict[str, Any]

NOTHING = fold.FileFacts(None, [], (), None)
SHA = "ab" * 32


class ListEvents(EventRecorder):
    """Keeps the events of a recorder in a list."""

    def __init__(self) -> None:
        super().__init__(strict=True, prices=None, keep_secrets=False)
        self.lines: list[Fields] = []

    def emit(self, event: str, payload: Fields, *, level: str = "info") -> None:
        second = len(self.lines)
        timestamp = f"2026-11-15T10:{second // 60:02}:{second % 60:02}.000Z"
        self.lines.append({"timestamp": timestamp, "level": level, "event": event, "payload": payload})


class ListRecorder(Recorder):
    """The methods of a recorder, with their events in a list: whatever they accept is legal."""

    def __init__(self) -> None:
        self._events: ListEvents = ListEvents()

    @property
    def lines(self) -> list[Fields]:
        return self._events.lines


def start(**settings: Any) -> Fields:
    document, _ = start_document(
        Clock(wall=lambda: 1794736800.0),
        "run-1",
        "exp-1",
        start_settings(**settings),
        None,
        keep_secrets=False,
    )
    return document


START = start(model="claude-sonnet-4-5", provider="anthropic")

words = st.text("ab é|`\n", max_size=6)
counts = st.integers(0, 10**6)
dollars = st.integers(0, 10**6).map(lambda cents: cents / 100) | st.floats(0, 1e6)


@st.composite
def usages(draw: st.DrawFn) -> Fields:
    """Counts as a caller writes them down; the parts of a whole are no larger than the whole."""
    usage: Fields = {"model": draw(st.sampled_from([None, "claude-sonnet-4-5", "nobody-knows-it"]))}
    if draw(st.booleans()):
        usage["input"] = draw(counts)
        read = draw(st.none() | st.integers(0, usage["input"]))
        usage |= {} if read is None else {"cache_read": read}
        short = draw(st.none() | st.integers(0, usage["input"] - (read or 0)))
        usage |= {} if short is None else {"cache_write_5m": short}
    if draw(st.booleans()) or "input" not in usage:
        usage["output"] = draw(counts)
        reasoning = draw(st.none() | st.integers(0, usage["output"]))
        usage |= {} if reasoning is None else {"reasoning": reasoning}
    return usage


files = st.fixed_dictionaries(
    {"path": st.text("abc/", min_size=1, max_size=3), "bytes": st.none() | counts, "sha256": st.just(SHA)},
    optional={"tokens": counts, "token_source": st.sampled_from(TOKEN_SOURCES)},
)
totals = st.fixed_dictionaries(
    {},
    optional={
        "input_tokens": st.none() | st.integers(20, 10**6),
        "output_tokens": st.none() | counts,
        "cache_read_tokens": st.none() | st.integers(0, 10),
        "cache_write_tokens": st.none() | st.integers(0, 10),
        "total_cost_usd": st.none() | dollars,
    },
)

# Each is a verb and what it is told.
called = st.tuples(
    st.just("add_usage"),
    st.tuples(usages()),
    st.fixed_dictionaries({}, optional={"step": words, "cost": dollars, "model": words}),
)
acts = st.one_of(
    called,
    st.tuples(st.just("set_costs"), st.just(()), totals),
    st.tuples(st.just("set_config"), st.tuples(st.dictionaries(words, words)), st.just({})),
    st.tuples(st.just("set_config"), st.just(()), st.fixed_dictionaries({"model": st.none() | words})),
    st.tuples(st.just("set_labels"), st.just(()), st.fixed_dictionaries({"team": words})),
    st.tuples(st.just("add_error"), st.tuples(words), st.fixed_dictionaries({"type": st.none() | words})),
    st.tuples(st.just("add_warning"), st.tuples(words), st.just({})),
    st.tuples(
        st.just("relate"),
        st.just(("session", "s-1")),
        st.fixed_dictionaries({"sha256": st.none() | st.just(SHA)}),
    ),
    st.tuples(st.just("log"), st.just(("page.read",)), st.dictionaries(st.sampled_from("abc"), words)),
    st.tuples(st.just("add_masked"), st.just(({"jwt": 2}, "events")), st.just({})),
    st.tuples(
        st.just("emit"),
        st.tuples(
            st.just(events.INPUTS_ADDED), st.fixed_dictionaries({"files": st.lists(files, max_size=3)})
        ),
        st.just({}),
    ),
    st.tuples(
        st.just("emit"),
        st.just((events.ENVIRONMENT_OBSERVED, {"environment": {"platform": "linux", "git": None}})),
        st.just({}),
    ),
)


def told(done: list[Any]) -> list[Fields]:
    recorder = ListRecorder()
    for verb, arguments, named in done:
        owner = recorder if hasattr(recorder, verb) else events_of(recorder)
        getattr(owner, verb)(*arguments, **named)
    return recorder.lines


def ended(lines: list[Fields]) -> list[Fields]:
    recorder = ListEvents()
    recorder.lines = list(lines)
    recorder.emit(
        events.RUN_ENDED,
        {
            "status": "completed",
            "timestamp_end": "2026-11-15T11:00:00.000Z",
            "duration_seconds": 3600,
            "exit_code": 0,
            "resources": {"cpu_seconds": 1.5},
        },
    )
    return recorder.lines


journals = st.lists(acts, max_size=8).map(told)


@given(lines=journals, is_ended=st.booleans())
def test_whatever_was_told_the_document_is_valid(lines: list[Fields], *, is_ended: bool) -> None:
    report = Generation.check(fold.fold(START, ended(lines) if is_ended else lines, NOTHING))
    assert report.errors == []
    assert {found.rule for found in report.warnings} <= {"time.duration"}


@given(lines=journals)
def test_the_fold_is_pure(lines: list[Fields]) -> None:
    begin, given_lines = copy.deepcopy(START), copy.deepcopy(lines)
    first = fold.fold(START, lines, NOTHING)
    second = fold.fold(START, iter(lines), NOTHING)
    assert first == second
    first["generation"]["labels"]["changed"] = first["environment"]["changed"] = "by the caller"
    first["configuration"]["changed"] = True
    assert (START, lines) == (begin, given_lines)


@given(lines=journals, data=st.data())
def test_totals_do_not_depend_on_the_order_of_the_events(lines: list[Fields], data: st.DataObject) -> None:
    """Who comes later wins where something is set; sums, counts and lists have no order."""
    calls = [
        line
        for line in lines
        if line["event"] in {events.MODEL_CALLED, events.SECRETS_MASKED, events.WARNING_ADDED}
    ]
    shuffled = data.draw(st.permutations(calls))
    one, other = (fold.fold(START, some, NOTHING) for some in (calls, shuffled))
    for document in (one, other):
        document["costs"].pop("price_rows").sort(key=repr)
        document["warnings"].sort(key=repr)
        document["redactions"].sort(key=repr)
        for breakdown in ("breakdown_by_step", "breakdown_by_model"):
            document.get("token_usage", {}).get(breakdown, []).sort(key=repr)
    assert one == other


@given(lines=st.lists(called, min_size=1, max_size=6).map(told))
def test_a_total_is_the_sum_of_its_parts_and_unknown_when_one_of_them_is(lines: list[Fields]) -> None:
    calls = [line["payload"] for line in lines if line["event"] == events.MODEL_CALLED]
    document = fold.fold(START, lines, NOTHING)
    costs, usage = document["costs"], document["token_usage"]
    for total, name in (
        ("input_tokens", "input"),
        ("output_tokens", "output"),
        ("cache_read_tokens", "cache_read"),
        ("reasoning_tokens", "reasoning"),
    ):
        parts = [call["tokens"].get(name) for call in calls]
        assert costs[total] == (None if None in parts else sum(parts)), total
    amounts = [call["cost_usd"] for call in calls]
    if None in amounts:
        assert (costs["total_cost_usd"], costs["cost_source"]) == (None, None)
    else:
        assert Decimal(str(costs["total_cost_usd"])) == pytest.approx(
            exact_sum(amounts), rel=Decimal("1e-15")
        )
    assert costs["token_source"] == "given"  # noqa: S105 - where the counts come from
    assert usage["total_input_tokens"] == costs["input_tokens"]
    for breakdown in ("breakdown_by_step", "breakdown_by_model"):
        assert sum(part["calls"] for part in usage[breakdown]) == len(calls)


def call(**facts: Any) -> Fields:
    return {"event": events.MODEL_CALLED, "payload": {"tokens": {"input": 10, "output": 5}, **facts}}


def test_a_cache_write_is_known_when_both_of_its_parts_are() -> None:
    tokens = {"input": 10, "output": 1, "cache_write_5m": 3}
    assert fold.fold(START, [call(tokens=tokens)], NOTHING)["costs"]["cache_write_tokens"] is None
    whole = call(tokens=tokens | {"cache_write_1h": 4})
    assert fold.fold(START, [whole, whole], NOTHING)["costs"]["cache_write_tokens"] == 14


@pytest.mark.parametrize(
    ("sources", "weakest"),
    [
        (["reported"], "reported"),
        (["reported", "partial"], "partial"),
        (["estimated", "partial"], "estimated"),
        (["given", "reported", "estimated"], "given"),
        (["reported", None], None),
        (["reported", "somebody's own word"], None),
    ],
)
def test_a_sum_is_as_sure_as_the_weakest_of_its_parts(sources: list[str | None], weakest: str | None) -> None:
    lines = [call(token_source=source) for source in sources]
    document = fold.fold(START, lines, NOTHING)
    assert document["costs"]["token_source"] == weakest
    assert document["token_usage"]["breakdown_by_step"][0]["token_source"] == weakest


def test_a_cost_that_is_partly_computed_is_computed() -> None:
    row = {"model": "m", "usd_per_million": {"input": 1}}
    priced = call(cost_usd=0.5, cost_source="priced", price_row=row)
    document = fold.fold(START, [priced, priced, call(cost_usd=0.25, cost_source="given")], NOTHING)
    assert document["costs"]["total_cost_usd"] == 1.25
    assert document["costs"]["cost_source"] == "priced"
    assert document["costs"]["price_rows"] == [row]


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (["reported"], "reported"),
        (["reported", "given"], "reported"),
        (["reported", "priced"], "priced"),
        (["given", "given"], "given"),
        (["reported", None], None),
    ],
)
def test_the_source_of_a_cost_is_true_of_the_whole(sources: list[str | None], expected: str | None) -> None:
    lines = [call(cost_usd=0.5, cost_source=source) for source in sources]
    assert fold.fold(START, lines, NOTHING)["costs"]["cost_source"] == expected


def test_money_is_added_up_exactly() -> None:
    document = fold.fold(START, [call(cost_usd=0.1, cost_source="given")] * 3, NOTHING)
    assert document["costs"]["total_cost_usd"] == 0.3
    free = fold.fold(START, [call(cost_usd=0, cost_source="given")], NOTHING)
    assert free["costs"]["total_cost_usd"] == 0


def test_no_calls_mean_that_nothing_is_known_and_not_that_it_was_free() -> None:
    document = fold.fold(START, [], NOTHING)
    assert document["costs"]["total_cost_usd"] is document["costs"]["input_tokens"] is None
    assert document["token_usage"] == {
        **dict.fromkeys(("total_input_tokens", "total_output_tokens", "total_tokens")),
        "breakdown_by_step": [],
        "breakdown_by_model": [],
    }


def costs_of(*lines: Fields, **totals: Any) -> tuple[Fields, Fields]:
    recorder = ListRecorder()
    recorder.set_costs(**totals)
    document = fold.fold(START, [*lines, *recorder.lines], NOTHING)
    assert Generation.check(document).errors == []
    return document["costs"], document.get("token_usage", {})


def test_what_the_caller_states_goes_before_what_the_calls_say() -> None:
    costs, usage = costs_of(
        call(cost_usd=0.5, cost_source="priced", step="a"),
        call(cost_usd=0.25, cost_source="priced", step="b"),
        total_cost_usd=9,
        input_tokens=100,
    )
    assert (costs["total_cost_usd"], costs["cost_source"]) == (9, "given")
    assert (costs["input_tokens"], costs["output_tokens"], costs["token_source"]) == (100, 10, "given")
    assert usage["total_tokens"] == 110
    steps = usage["breakdown_by_step"]
    # How the stated totals are made up, nobody said; what the calls say of the output still holds.
    assert [(part["input"], part["output"], part["cost_usd"]) for part in steps] == [(None, 5, None)] * 2


def test_a_stated_total_that_agrees_with_the_calls_keeps_the_parts() -> None:
    costs, usage = costs_of(call(cost_usd=0.5, cost_source="given"), total_cost_usd=0.5, input_tokens=10)
    assert costs["total_cost_usd"] == usage["breakdown_by_model"][0]["cost_usd"] == 0.5
    assert usage["breakdown_by_model"][0]["input"] == 10


def test_stating_that_the_cost_is_unknown_is_possible() -> None:
    costs, _ = costs_of(call(cost_usd=0.5, cost_source="given"), total_cost_usd=None)
    assert (costs["total_cost_usd"], costs["cost_source"]) == (None, None)


@pytest.mark.parametrize(
    ("stated", "left"),
    [
        ({"input_tokens": 5}, (5, None)),  # less than the calls read from the cache
        ({"cache_read_tokens": 50}, (None, 50)),  # more than the calls sent
        ({"input_tokens": 20}, (20, 8)),
    ],
)
def test_what_cannot_be_true_beside_a_stated_total_is_not_known(
    stated: Fields, left: tuple[int | None, int | None]
) -> None:
    costs, _ = costs_of(call(tokens={"input": 10, "output": 1, "cache_read": 8}), **stated)
    assert (costs["input_tokens"], costs["cache_read_tokens"]) == left


def test_two_statements_that_contradict_each_other_leave_the_whole() -> None:
    recorder = ListRecorder()
    recorder.set_costs(cache_read_tokens=50)
    recorder.set_costs(input_tokens=5)
    costs = fold.fold(START, recorder.lines, NOTHING)["costs"]
    assert (costs["input_tokens"], costs["cache_read_tokens"]) == (5, None)


def test_a_run_whose_end_nobody_saw_is_interrupted_and_its_end_estimated() -> None:
    lines: list[Fields] = [
        {"timestamp": "2026-11-15T10:05:00.250Z", "event": "page.read"},
        {"timestamp": "2026-11-15T10:04:00.000Z", "event": "page.read"},
        {"timestamp": "yesterday", "event": "page.read"},
        {"timestamp": None, "event": "page.read"},
    ]
    document = fold.fold(START, lines, NOTHING)
    generation = document["generation"]
    assert generation["status"] == "interrupted"
    assert generation["timestamp_start"] == "2026-11-15T10:00:00.000Z"
    assert generation["timestamp_end"] == "2026-11-15T10:05:00.250Z"
    assert generation["duration_seconds"] == 300.25
    assert generation["estimated"] == ["/generation/timestamp_end", "/generation/duration_seconds"]
    assert Generation.check(document).errors == []


@pytest.mark.parametrize(
    ("newest_file", "end"),
    [
        ("2026-11-15T10:06:00.000Z", "2026-11-15T10:06:00.000Z"),
        ("2026-11-15T10:04:00.000Z", "2026-11-15T10:05:00.000Z"),
        (None, "2026-11-15T10:05:00.000Z"),
    ],
)
def test_the_estimated_end_is_the_last_event_or_the_newest_file(newest_file: str | None, end: str) -> None:
    lines: list[Fields] = [{"timestamp": "2026-11-15T10:05:00.000Z", "event": "page.read"}]
    assert fold.fold_events(START, lines, newest_file)["generation"]["timestamp_end"] == end
    seen = fold.fold_events(START, ended(lines), newest_file)["generation"]
    assert (seen["timestamp_end"], seen["estimated"]) == ("2026-11-15T11:00:00.000Z", [])


@pytest.mark.parametrize("lines", [[], [{"timestamp": "2026-11-15T09:00:00Z", "event": "page.read"}]])
def test_a_run_that_did_nothing_after_its_start_ended_there(lines: list[Fields]) -> None:
    generation = fold.fold(START, lines, NOTHING)["generation"]
    assert generation["timestamp_end"] == generation["timestamp_start"]
    assert generation["duration_seconds"] == 0


def test_without_any_time_there_is_no_duration() -> None:
    unknown = START | {"generation": START["generation"] | {"timestamp_start": None}}
    generation = fold.fold(unknown, [], NOTHING)["generation"]
    assert (generation["timestamp_end"], generation["duration_seconds"]) == (None, None)
    late = [{"timestamp": "2026-11-15T09:00:00Z", "event": "page.read"}]
    assert fold.fold(unknown, late, NOTHING)["generation"]["duration_seconds"] is None


def test_an_end_that_was_seen_is_not_estimated() -> None:
    document = fold.fold(START, ended([]), NOTHING)
    generation = document["generation"]
    assert (generation["status"], generation["estimated"], generation["exit_code"]) == ("completed", [], 0)
    assert document["resources"] == {"cpu_seconds": 1.5}


def test_what_is_set_later_wins_and_the_rest_stays() -> None:
    recorder = ListRecorder()
    recorder.set_config(model="a", seed=1)
    recorder.set_config({"model": "b"})
    recorder.set_labels(team="ux", stage="one")
    recorder.set_labels(stage="two")
    document = fold.fold(start(labels={"team": "x", "kept": "yes"}), recorder.lines, NOTHING)
    assert document["configuration"] == {"model": "b", "provider": None, "seed": 1}
    assert document["generation"]["labels"] == {"team": "ux", "kept": "yes", "stage": "two"}


def test_a_file_that_was_read_twice_is_listed_once_as_it_was_last() -> None:
    old, new, other = (
        {"path": path, "bytes": size, "sha256": SHA} for path, size in (("a", 1), ("a", 2), ("b", 3))
    )
    lines = [{"event": events.INPUTS_ADDED, "payload": {"files": some}} for some in ([old, other], [new])]
    sources = fold.fold(START, lines, NOTHING)["data_sources"]
    assert sources["files"] == [new, other]
    assert (sources["total_files"], sources["total_bytes"]) == (2, 5)
    assert (sources["total_tokens"], sources["token_source"]) == (None, None)


def test_tokens_of_inputs_are_added_up_when_all_are_known() -> None:
    counted = [
        {"path": path, "bytes": None, "sha256": SHA, "tokens": 4, "token_source": source}
        for path, source in (("a", "estimated"), ("b", "reported"))
    ]
    lines = [{"event": events.INPUTS_ADDED, "payload": {"files": counted}}]
    sources = fold.fold(START, lines, NOTHING)["data_sources"]
    assert (sources["total_bytes"], sources["total_tokens"], sources["token_source"]) == (
        None,
        8,
        "estimated",
    )


def test_unknown_events_pass_and_lines_that_only_look_like_ours_do_too() -> None:
    names = (*events.EVENTS, "page.read")
    odd: list[Any] = [None, [], "text", {}, {"tokens": 3}, {"files": 3}, {"message": None}, {"count": "1"}]
    lines: list[Fields] = [{"event": name, "payload": payload} for name in names for payload in odd]
    lines += [{"event": name} for name in names]  # withheld
    lines.append({"event": events.INPUTS_ADDED, "payload": {"files": [None, {}, {"bytes": 3}]}})
    assert fold.fold(START, lines, NOTHING) == fold.fold(START, [], NOTHING)


def test_what_the_closing_found_stands_in_the_document() -> None:
    files_found = fold.FileFacts(f"sha256:{SHA}", [{"path": "a", "target": "b"}], (Head("w-1", 3, SHA),), SHA)
    document = fold.fold(START, [], files_found)
    assert document["checksums"]["output"] == f"sha256:{SHA}"
    assert document["symlinks"] == [{"path": "a", "target": "b"}]
    assert document["event_chains"] == [{"writer": "w-1", "count": 3, "head": SHA}]
    assert document["ledger_head"] == SHA
    assert Generation.check(document).errors == []


def test_fields_that_the_fold_does_not_know_stay_and_the_checksums_stand_last() -> None:
    document = fold.fold({**START, "reproduce": {"image": "x"}, "keep_secrets": True}, [], NOTHING)
    assert document["reproduce"] == {"image": "x"}
    assert document["keep_secrets"] is True
    assert list(document)[-1] == "checksums"


def test_the_start_is_told_by_the_first_event_that_has_it() -> None:
    assert fold.start_document_in([{"event": "other"}, {"event": events.RUN_STARTED}]) is None
    lines: list[Fields] = [{"event": events.RUN_STARTED}, {"event": events.RUN_STARTED, "payload": {"a": 1}}]
    assert fold.start_document_in(lines) == {"a": 1}


def test_a_stated_total_below_a_known_cost_leaves_no_part_that_exceeds_it() -> None:
    """Also where the cost of another part is unknown."""
    calls: list[dict[str, Any]] = [
        {"tokens": {"input": 1, "output": 1}, "model": "a", "cost_usd": 2, "cost_source": "given"},
        {"tokens": {"input": 1, "output": 1}, "model": "b", "cost_usd": None},
    ]
    totals = RunCalls()
    for call in calls:
        totals.add(call)
    usage = totals.sections({"total_cost_usd": 1}, {}).token_usage
    assert [part["cost_usd"] for part in usage["breakdown_by_model"]] == [None, None]
