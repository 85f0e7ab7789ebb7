"""The rules of a team: parents and cycles, sums at the border of their tolerance, times of every shape."""

import json
import time
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents import samples
from documents.samples import Fields, put, team_of
from runcard.documents.findings import Finding
from runcard.documents.reader import parse_document
from runcard.documents.session.roles import ROLES, SYNONYMS, known_role
from runcard.encoding import encode_json


def findings(document: Fields) -> list[tuple[str, str]]:
    return [(found.rule, found.path) for found in parse_document(encode_json(document)).report.findings]


def cycles(document: Fields) -> list[Finding]:
    found = list(parse_document(encode_json(document)).report.findings)
    assert {one.rule for one in found} <= {"parent.cycle"}
    return found


def ring(length: int, name: str = "i") -> dict[str, str | None]:
    """Instances each of which names the next as its parent, and the last the first."""
    return {f"{name}{number}": f"{name}{(number + 1) % length}" for number in range(length)}


def told(found: Finding) -> list[str]:
    return found.message.partition(": ")[2].replace("'", "").split(" → ")


@pytest.mark.parametrize("length", range(1, 51))
def test_a_cycle_is_told_whole_and_once(length: int) -> None:
    parents = ring(length)
    (found,) = cycles(team_of(parents))
    names = told(found)
    assert names[0] == names[-1]
    assert len(names) == length + 1
    assert set(names) == parents.keys()
    assert all(parents[child] == parent for child, parent in pairwise(names))


def test_a_very_long_cycle_is_told_by_its_ends() -> None:
    (found,) = cycles(team_of(ring(100)))
    names = told(found)
    assert len(names) == 101
    assert names[50] == "(1 more)"
    assert names[0] == names[-1]
    (found,) = cycles(team_of(ring(1500)))
    assert told(found)[50] == "(1,401 more)"


def test_several_cycles_are_each_told_once_and_what_hangs_on_them_is_not() -> None:
    parents = (
        ring(1, "a")
        | ring(2, "b")
        | ring(7, "c")
        | {"root": None, "leaf": "root", "tail": "c3", "end": "tail"}
    )
    for seed in range(20):
        members = list(parents.items())
        Random(seed).shuffle(members)  # noqa: S311
        found = cycles(team_of(dict(members)))
        assert sorted(len(told(one)) - 1 for one in found) == [1, 2, 7]
        assert not {"root", "leaf", "tail", "end"} & {name for one in found for name in told(one)}


@settings(deadline=None, max_examples=80)
@given(st.lists(st.none() | st.integers(0, 11), min_size=1, max_size=12))
def test_cycles_are_exactly_those_that_following_the_parents_finds(links: list[int | None]) -> None:
    size = len(links)
    parents = {f"i{n}": None if link is None else f"i{link % size}" for n, link in enumerate(links)}
    expected = set()
    for start in parents:
        path: list[str] = []
        node: str | None = start
        while node is not None and node not in path:
            path.append(node)
            node = parents[node]
        if node is not None:
            expected.add(frozenset(path[path.index(node) :]))
    found = [frozenset(told(one)) for one in cycles(team_of(parents))]
    assert len(found) == len(expected)
    assert set(found) == expected


def test_a_cycle_is_found_at_the_parent_that_closes_it() -> None:
    (found,) = cycles(team_of({"root": None, **ring(3)}))
    index = 1 + int(told(found)[0].removeprefix("i"))
    assert found.path == f"/instances/{index}/parent_instance_id"
    assert found.found == told(found)[1]


@pytest.mark.parametrize(
    ("parents", "count"),
    [
        pytest.param(
            {f"i{n}": f"i{n // 2}" if n else None for n in range(20_000)},
            0,
            id="a tree",
            marks=pytest.mark.long,
        ),
        pytest.param(ring(20_000), 1, id="one cycle", marks=pytest.mark.long),
        pytest.param({f"i{n}": f"i{n ^ 1}" for n in range(5_000)}, 2_500, id="many cycles"),
    ],
)
def test_a_very_large_team_takes_seconds(parents: dict[str, str | None], count: int) -> None:
    data = json.dumps(team_of(parents)).encode()
    began = time.monotonic()
    report = parse_document(data).report
    assert time.monotonic() - began < 30
    assert len(report.findings) == count
    assert all(len(found.message) < 3000 for found in report.findings)


def test_a_child_that_stands_twice_counts_twice() -> None:
    document = team_of({"root": None, "a": "root", "b": "root"})
    document["instances"][2]["instance_id"] = "a"
    assert findings(document) == [("id.duplicate", "/instances/2/instance_id")]


def test_instances_without_an_id_are_not_each_other_s_duplicates() -> None:
    document = team_of({"root": None, "a": None, "b": None, "c": None})
    document["instances"][3]["instance_id"] = "root"
    for index in (1, 2):
        del document["instances"][index]["instance_id"]
    assert findings(document) == [
        ("schema.required", "/instances/1"),
        ("schema.required", "/instances/2"),
        ("id.duplicate", "/instances/3/instance_id"),
    ]


def test_a_faulty_entry_does_not_make_the_others_wrong() -> None:
    document = team_of({"root": None, "a": "root"})
    document["instances"][1] = 5
    assert findings(document) == [("schema.type", "/instances/1")]
    document["instances"][1] = {}
    assert {rule for rule, _ in findings(document)} == {"schema.required", "count.children", "sum.unknown"}


def summary(**fields: Any) -> list[tuple[str, str]]:
    document = samples.rich_team()
    document["execution_summary"] |= fields
    return findings(document)


@pytest.mark.parametrize(
    ("total", "agrees"),
    [
        (1.25, True),
        (1.25005, True),
        (1.24995, True),
        (1.250051, False),
        (1.249949, False),
        (1.2500500000000003, False),
        (1, False),
        (0, False),
    ],
)
@pytest.mark.parametrize("field", ["total_cost", "known_cost"])
def test_money_agrees_within_half_a_cent_of_a_cent(field: str, total: float, agrees: bool) -> None:  # noqa: FBT001
    assert summary(**{field: total}) == ([] if agrees else [("sum.cost", f"/execution_summary/{field}")])


@pytest.mark.parametrize("size", [1e-9, 1, 1e6, 1e12])
def test_money_is_added_exactly_at_any_size(size: float) -> None:
    document = team_of(dict.fromkeys((f"i{n}" for n in range(1000)), None))
    for instance in document["instances"]:
        instance["cost"] = size * 0.1
    total = round(size * 100, 12)
    document["execution_summary"] = {"total_tokens": 1000, "total_cost": total}
    assert findings(document) == []


@pytest.mark.parametrize(
    ("average", "agrees"),
    [(31250, True), (31250.01, True), (31249.99, True), (31250.0101, False), (31249.9899, False), (0, False)],
)
def test_an_average_agrees_within_a_hundredth(average: float, agrees: bool) -> None:  # noqa: FBT001
    expected = [] if agrees else [("sum.average", "/execution_summary/average_tokens_per_instance")]
    assert summary(average_tokens_per_instance=average) == expected


def test_an_average_is_checked_without_a_total() -> None:
    document = samples.team()
    del document["execution_summary"]["total_tokens"]
    assert findings(document) == [("sum.absent", "/execution_summary")]
    document["execution_summary"]["average_tokens_per_instance"] = 1
    assert {rule for rule, _ in findings(document)} == {"sum.absent", "sum.average"}


def test_an_average_of_nobody_is_not_checked() -> None:
    document = samples.team() | {"instances": []}
    assert "sum.average" not in {rule for rule, _ in findings(document)}


def test_tokens_agree_exactly() -> None:
    assert summary(total_tokens=125_000.0) == []
    assert summary(known_tokens=125_001) == [("sum.tokens", "/execution_summary/known_tokens")]


def test_a_total_may_exceed_what_is_known_but_never_fall_short_of_it() -> None:
    document = samples.team()
    del document["instances"][0]["cost"], document["instances"][0]["tokens_used"]
    totals = [
        ("sum.unknown", "/execution_summary/total_cost"),
        ("sum.unknown", "/execution_summary/total_tokens"),
    ]
    assert sorted(findings(document)) == totals
    document["execution_summary"] |= {"total_cost": 0.79, "total_tokens": 79_769}
    del document["execution_summary"]["average_tokens_per_instance"]
    assert {rule for rule, _ in findings(document)} == {"sum.unknown", "sum.cost", "sum.tokens"}
    document["execution_summary"] |= {"total_cost": 0.8, "total_tokens": 79_770}
    assert sorted(findings(document)) == totals


def test_nothing_is_said_of_a_sum_with_a_faulty_part() -> None:
    document = samples.team()
    document["instances"][0] |= {"cost": "0.45", "tokens_used": -1, "status": "done", "created_at": "then"}
    assert {rule for rule, _ in findings(document)} == {
        "schema.type",
        "schema.minimum",
        "schema.enum",
        "schema.format",
    }


def test_nothing_is_said_of_counts_that_are_faulty_themselves() -> None:
    assert summary(status_counts={"completed": "3", "error": 1}) == [
        ("schema.type", "/execution_summary/status_counts/completed")
    ]
    assert summary(status_counts={"completed": 3, "error": 1, "timeout": 0}) == []


HUGE = [int("9" * 4000), int("9" * 4300), 1e300, 10**400]


@pytest.mark.parametrize("number", HUGE, ids=["4,000 digits", "4,300 digits", "1e300", "400 digits"])
@pytest.mark.parametrize(
    "pointer",
    [
        *("/instances/0/tokens_used", "/instances/0/cost", "/instances/0/children_count", "/total_instances"),
        "/instances/0/execution_time_seconds",
        *(
            f"/execution_summary/{field}"
            for field in (
                *("total_instances", "completed_instances", "failed_instances", "total_tokens", "total_cost"),
                *(
                    "total_execution_time_seconds",
                    "average_tokens_per_instance",
                    "known_cost",
                    "known_tokens",
                ),
            )
        ),
    ],
)
def test_huge_numbers_are_a_finding_in_a_few_words(pointer: str, number: float) -> None:
    document = samples.rich_team()
    put(document, pointer, number)
    report = parse_document(encode_json(document)).report
    assert report.valid == (pointer == "/instances/0/execution_time_seconds")
    for found in report.findings:
        assert len(found.message) < 400
        encode_json(found.to_dict())


@pytest.mark.parametrize("number", HUGE, ids=["4,000 digits", "4,300 digits", "1e300", "400 digits"])
def test_huge_numbers_are_added_up(number: float) -> None:
    document = samples.team()
    for instance in document["instances"]:
        instance |= {"tokens_used": number, "cost": number}
    report = parse_document(encode_json(document)).report
    assert {found.rule for found in report.findings} == {"sum.tokens", "sum.cost"}
    for found in report.findings:
        assert len(found.message) < 400
        encode_json(found.to_dict())
    if isinstance(number, int) and number < 10**4000:
        document["execution_summary"] |= {"total_tokens": 4 * number, "average_tokens_per_instance": number}
        document["execution_summary"] |= {"total_cost": 4 * number}
        assert findings(document) == []


@pytest.mark.parametrize(
    "moment",
    [
        *("2025-11-06t14:00:00z", "2025-11-06T14:00:00.000000000Z", "2025-11-06T15:00:00+01:00"),
        *("2025-11-06T14:00:00-00:00", "2025-11-07T13:59:00+23:59", "2025-11-05T14:01:00-23:59"),
    ],
)
def test_one_moment_may_be_written_in_many_ways(moment: str) -> None:
    document = samples.team()
    document["instances"][0]["created_at"] = moment
    assert findings(document) == []
    document["instances"][0]["created_at"] = "2025-11-06T14:00:00Z"
    document["execution_summary"]["execution_start"] = moment
    assert findings(document) == []


@pytest.mark.parametrize(
    ("moment", "valid"),
    [
        ("2016-12-31T23:59:60Z", True),
        ("2016-12-31t23:59:60z", True),
        ("2017-01-01T00:59:60+01:00", True),
        ("0001-01-01T00:00:00Z", True),
        ("0001-01-01T00:00:00+23:59", True),
        ("0000-01-01T00:00:00Z", True),
        ("9999-12-31T23:59:59Z", True),
        ("9999-12-31T23:59:59-23:59", True),
        ("9999-12-31T23:59:60Z", True),
        ("2025-11-06T13:59:60Z", False),
        ("2025-02-29T00:00:00Z", False),
        ("10000-01-01T00:00:00Z", False),
        ("2025-11-06T14:00:00+24:00", False),
        ("2025-11-06T14:00Z", False),
        ("20251106T140000Z", False),
        ("2025-W45-4T14:00:00Z", False),
        ("２０２５-11-06T14:00:00Z", False),
        ("2025-11-06T14:00:00Z\n", False),
    ],
)
def test_times_at_the_edges_are_judged_without_a_crash(moment: str, valid: bool) -> None:  # noqa: FBT001
    for pointer in (
        "/instances/3/created_at",
        "/instances/3/terminated_at",
        "/execution_summary/execution_start",
    ):
        document = samples.team()
        put(document, pointer, moment)
        rules = {rule for rule, _ in findings(document)}
        assert ("schema.format" in rules) == (not valid), (pointer, rules)
    instance = samples.instance() | {"created_at": moment, "terminated_at": moment}
    assert (findings(instance) == []) == valid
    run = samples.run()
    run["generation"] |= {"timestamp_start": moment, "timestamp_end": moment, "duration_seconds": 0}
    assert (findings(run) == []) == valid


def test_seconds_are_rounded_down() -> None:
    document = samples.team()
    document["instances"][0]["created_at"] = "2025-11-06T14:00:00.5Z"
    document["execution_summary"] |= {
        "execution_start": "2025-11-06T14:00:00.5Z",
        "total_execution_time_seconds": 1919,
    }
    assert findings(document) == []
    document["execution_summary"]["total_execution_time_seconds"] = 1920
    assert findings(document) == [("summary.times", "/execution_summary/total_execution_time_seconds")]


def test_words_for_roles_are_mapped_and_others_are_general() -> None:
    assert {known_role(role) for role in ROLES} == set(ROLES)
    assert known_role("tester") == known_role("testing_specialist") == "qa_engineer"
    assert (
        known_role("docs")
        == known_role("technical_writer")
        == known_role("documentation_writer")
        == "tech_writer"
    )
    assert known_role("security_analyst") == "security"
    assert known_role("data_analyst") == "data_scientist"
    assert known_role("pirate") == known_role("reviewer") == known_role("code_reviewer") == "general"
    assert set(SYNONYMS.values()) <= set(ROLES)


@pytest.mark.parametrize(("word", "role"), SYNONYMS.items())
def test_a_hint_names_the_role_that_a_word_stands_for(word: str, role: str) -> None:
    document = samples.team()
    document["instances"][3]["role"] = word
    (found,) = parse_document(encode_json(document)).report.findings
    assert found.hint is not None
    assert f"'{role}'" in found.hint
