"""The rules of a generation document that join its fields."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents import samples
from documents.samples import put
from encoding.plain_data import objects
from runcard.digests import sha256_bytes
from runcard.documents.exact_sums import all_known, exact_sum, plain_number, whole_sum
from runcard.documents.reader import parse_document
from runcard.documents.run.config_digest import config_digest
from runcard.documents.token_sources import TOKEN_SOURCES
from runcard.encoding import canonical_json, encode_json


def findings(**changes: object) -> list[tuple[str, str]]:
    """What is found about the closed run with values changed; `a__b` stands for the pointer /a/b."""
    document = samples.closed_run()
    for name, value in changes.items():
        put(document, "/" + name.replace("__", "/"), value)
    return [(found.rule, found.path) for found in parse_document(encode_json(document)).report.findings]


@pytest.mark.parametrize(
    ("seconds", "agrees"),
    [
        *((135.333, True), (134.334, True), (136.332, True), (134.3, False), (136.4, False), (0, False)),
        *((10**400, False), (1e300, False)),
    ],
)
def test_a_duration_may_be_a_second_off(seconds: float, agrees: bool) -> None:  # noqa: FBT001
    expected = [] if agrees else [("time.duration", "/generation/duration_seconds")]
    assert findings(generation__duration_seconds=seconds) == expected


@pytest.mark.parametrize("total", TOKEN_SOURCES)
@pytest.mark.parametrize("part", TOKEN_SOURCES)
def test_a_sum_is_as_sure_as_the_weakest_of_its_parts(total: str | None, part: str | None) -> None:
    surer = total is not None and TOKEN_SOURCES.index(total) < TOKEN_SOURCES.index(part)
    found = findings(data_sources__token_source=total, data_sources__files__0__token_source=part)
    assert found == ([("source.tokens", "/data_sources/token_source")] if surer else [])


def test_a_part_without_tokens_weakens_nothing() -> None:
    assert (
        findings(
            data_sources__token_source="reported",  # noqa: S106
            data_sources__files__0__tokens=None,
            data_sources__total_tokens=None,
        )
        == []
    )


def test_plain_paths_count_as_files_and_nothing_is_said_of_their_sizes() -> None:
    assert findings(data_sources__files=["a", "b"], data_sources__total_files=2) == []
    assert findings(data_sources__files=["a"], data_sources__total_files=2) == [
        ("count.files", "/data_sources/total_files")
    ]


def test_no_inputs_add_up_to_anything_but_a_count() -> None:
    assert findings(data_sources__files=[], data_sources__total_files=0) == []
    assert findings(data_sources__files=None) == []
    assert findings(data_sources__files=[]) == [("count.files", "/data_sources/total_files")]


def test_the_cache_classes_are_parts_of_the_input() -> None:
    assert findings(costs__cache_read_tokens=45_000, costs__cache_write_tokens=230) == []
    assert findings(costs__cache_read_tokens=45_231, costs__cache_write_tokens=None) == [
        ("sum.tokens", "/costs/input_tokens")
    ]
    assert findings(costs__cache_read_tokens=45_231, costs__input_tokens=None) == []


@pytest.mark.parametrize("cost", [0.26694, 0.26699, 0.26689])
def test_the_breakdown_costs_what_the_total_says(cost: float) -> None:
    assert findings(token_usage__breakdown_by_model__0__cost_usd=cost) == []


def test_a_breakdown_is_checked_only_when_it_is_known() -> None:
    assert findings(token_usage__breakdown_by_model=[]) == []
    assert findings(token_usage__breakdown_by_step=[{"step": "a", "input": None}]) == []
    assert findings(token_usage=None) == []
    assert findings(token_usage__total_output_tokens=None, token_usage__total_tokens=None) == []
    assert findings(costs__total_cost_usd=None) == []
    assert (
        findings(
            token_usage__breakdown_by_step=[{"input": 1, "output": 8750}, {"input": 45_229, "output": 0}]
        )
        == []
    )


def test_a_priced_cost_names_its_prices_and_an_unknown_or_given_one_need_not() -> None:
    assert findings(costs__price_rows=[], costs__cost_source="given") == []
    assert findings(costs__price_rows=[], costs__total_cost_usd=None) == []
    assert findings(costs__price_rows=[]) == [("source.cost", "/costs/price_rows")]


def test_what_is_expected_of_the_configuration_may_be_null_but_not_absent() -> None:
    nothing = {"config": None, "data": None, "output": None}
    assert findings(configuration={"model": None, "provider": None}, checksums=nothing) == []
    assert findings(configuration={}, checksums=nothing) == [("expected.absent", "/configuration")] * 2


@settings(deadline=None, max_examples=60)
@given(objects)
def test_the_digest_of_the_configuration_is_that_of_its_canonical_json(configuration: dict[str, Any]) -> None:
    configuration = {"model": "m", "provider": "p"} | {
        f"x{key}": value for key, value in configuration.items()
    }
    digest = str(sha256_bytes(canonical_json(configuration)))
    assert config_digest(configuration) == digest
    checksums = {"config": digest, "data": None, "output": None}
    assert findings(configuration=configuration, checksums=checksums) == []
    changed = configuration | {"one more": 0}
    assert findings(configuration=changed, checksums=checksums) == [("digest.config", "/checksums/config")]


def test_the_digest_does_not_depend_on_the_order_or_the_spelling() -> None:
    assert config_digest({"a": 1.0, "b": [2]}) == config_digest({"b": [2.0], "a": 1})


HUGE = [int("9" * 4300), 1e300]
NUMBERS = [
    *("data_sources__total_files", "data_sources__total_bytes", "data_sources__total_tokens"),
    *("data_sources__files__0__tokens", "data_sources__files__0__bytes", "costs__input_tokens"),
    *("costs__output_tokens", "costs__cache_read_tokens", "costs__total_cost_usd"),
    *(
        "token_usage__total_input_tokens",
        "token_usage__total_tokens",
        "token_usage__breakdown_by_step__0__input",
    ),
    "token_usage__breakdown_by_model__0__cost_usd",
]


@pytest.mark.parametrize("number", HUGE, ids=["4,300 digits", "1e300"])
@pytest.mark.parametrize("name", NUMBERS)
def test_huge_numbers_are_a_finding(name: str, number: float) -> None:
    assert {rule for rule, _ in findings(**{name: number})} <= {"count.files", "sum.tokens", "sum.cost"}
    assert findings(**{name: number})


def test_sums_too_long_to_write_are_told_nevertheless() -> None:
    huge = int("9" * 4300)
    document = samples.closed_run()
    document["token_usage"] |= {"total_input_tokens": huge, "total_output_tokens": huge}
    document["costs"] |= {"cache_read_tokens": huge, "cache_write_tokens": huge}
    document["data_sources"]["files"] *= 2
    for file in document["data_sources"]["files"]:
        file |= {"bytes": huge, "tokens": huge}
    report = parse_document(encode_json(document)).report
    assert len(report.errors) >= 6
    for found in report.findings:
        assert len(found.message) < 300
        encode_json(found.to_dict())
    manifest = samples.manifest()
    manifest["summary"] |= {"completed": huge, "failed": huge}
    (found,) = parse_document(encode_json(manifest)).report.findings
    assert found.rule == "count.completed"
    instance = samples.instance()
    instance["workspace"]["file_types"] = {".a": huge, ".b": huge, ".c": 1e300}
    (found,) = parse_document(encode_json(instance)).report.findings
    assert found.rule == "count.files"


@given(st.lists(st.floats(-1e9, 1e9) | st.integers(-(10**40), 10**40), max_size=6))
def test_money_is_added_in_decimal_arithmetic(amounts: list[float]) -> None:
    assert exact_sum(amounts) == exact_sum(reversed(amounts))
    assert exact_sum([*amounts, *(-amount for amount in amounts)]) == 0
    assert str(exact_sum([0.1, 0.2])) == "0.3"


@given(st.integers(-(10**6), 10**6), st.integers(0, 6))
def test_an_amount_is_written_as_the_number_that_it_is(digits: int, places: int) -> None:
    amount = Decimal(digits).scaleb(-places)
    number = plain_number(amount)
    assert Decimal(str(number)) == amount
    assert isinstance(number, int) == (amount == int(amount))


def test_whole_numbers_are_added_whole() -> None:
    assert whole_sum([10**400, 3.0, 1e300]) == 10**400 + 3 + int(1e300)
    assert all_known([1, None]) is None
    assert all_known([1, 2]) == [1, 2]
