"""What tokens cost by a row: exact, or not known."""

import json
from decimal import Context, Decimal, localcontext

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcard.accounting import PriceRow, Rates, Tier, Tokens, cost, json_number
from runcard.documents.schema import schema_bytes

D = Decimal
BASE = Rates(D(3), D(15), D("0.3"), D("3.75"), D(6))
LONG = Rates(D(6), D("22.5"), D("0.6"), D("7.5"), D(12))
ROW = PriceRow("claude-x", "anthropic", "genai-prices", "2026-10-30", BASE)
TIERED = PriceRow("claude-x", "anthropic", "genai-prices", "2026-10-30", BASE, tiers=(Tier(200_000, LONG),))

COUNTS = st.integers(0, 10**7)


@st.composite
def all_known(draw: st.DrawFn) -> Tokens:
    plain, output, read, short, long = (draw(COUNTS) for _ in range(5))
    return Tokens(plain + read + short + long, output, read, short, long)


def test_the_documented_example() -> None:
    assert cost(Tokens(45_230, 8_750), ROW) == D("0.26694")


def test_each_class_is_paid_at_its_own_rate() -> None:
    """1,000 of each: plain input, output, read, written short and long."""
    tokens = Tokens(input=4_000, output=1_000, cache_read=1_000, cache_write_5m=1_000, cache_write_1h=1_000)
    assert cost(tokens, ROW) == (3 + 15 + D("0.3") + D("3.75") + 6) / 1000


def test_cached_input_is_not_paid_twice() -> None:
    """188,086 of 189,137 tokens were read from a cache: adding them at the full rate once more is the known bug."""
    assert cost(Tokens(189_137, 393, 188_086, 30, 1_000), ROW) == D("0.0684963")


def test_reasoning_is_paid_as_the_output_it_is_a_part_of() -> None:
    assert cost(Tokens(0, 1_000, reasoning=900), ROW) == cost(Tokens(0, 1_000), ROW)


@pytest.mark.parametrize("missing", ["input", "output", "cache_read", "cache_write_5m", "cache_write_1h"])
def test_a_class_that_occurs_and_has_no_rate_makes_the_cost_unknown(missing: str) -> None:
    names = {name: rate for name in BASE.to_dict() if (rate := getattr(BASE, name)) and name != missing}
    row = PriceRow("m", "p", "s", "2026-10-30", Rates(**names))
    counts = {"input": 0, "output": 0, "cache_read": 0, "cache_write_5m": 0, "cache_write_1h": 0}
    assert cost(Tokens(**counts), row) == 0
    assert cost(Tokens(**{**counts, "input": 1, missing: 1}), row) is None


@pytest.mark.parametrize(
    "tokens", [Tokens(), Tokens(input=5), Tokens(output=5), Tokens(output=5, cache_read=3)]
)
def test_an_unknown_count_makes_the_cost_unknown(tokens: Tokens) -> None:
    assert cost(tokens, ROW) is None
    assert cost(tokens, TIERED) is None


def test_free_is_zero_and_not_unknown() -> None:
    free = PriceRow("m:free", "p", "s", "2026-10-30", Rates(*[D(0)] * 5))
    assert cost(Tokens(10**9, 10**9, 5, 6, 7), free) == D(0)


def test_a_cost_is_written_plainly() -> None:
    assert str(cost(Tokens(100_000, 0), ROW)) == "0.3"
    assert str(cost(Tokens(100_000_000, 0), ROW)) == "300"
    assert str(cost(Tokens(0, 0), ROW)) == "0"


def test_a_tier_is_for_the_whole_call_and_begins_above_its_border() -> None:
    at, above = Tokens(200_000, 10), Tokens(200_001, 10)
    assert cost(at, TIERED) == D("0.60015")
    assert cost(above, TIERED) == D("1.200231")
    assert cost(Tokens(200_001, 10, cache_read=200_001), TIERED) == D("0.1202256")


def test_the_highest_tier_that_was_reached_counts() -> None:
    tiers = (Tier(32_000, Rates(D(2), D(2))), Tier(128_000, Rates(D(3), D(3))))
    row = PriceRow("m", "p", "s", "2026-10-30", Rates(D(1), D(1)), tiers=tiers)
    sizes = (32_000, 32_001, 128_000, 128_001)
    assert [row.applied(Tokens(size)).rates.input for size in sizes] == [1, 2, 2, 3]


def test_the_row_to_record_is_the_one_that_was_applied() -> None:
    below, above = TIERED.applied(Tokens(200_000)), TIERED.applied(Tokens(200_001))
    assert (below.rates, below.tiers, below.tier) == (BASE, (), None)
    assert "tier" not in below.to_dict()
    assert above.to_dict() == {
        "model": "claude-x",
        "provider": "anthropic",
        "source": "genai-prices",
        "as_of": "2026-10-30",
        "usd_per_million": {
            "input": 6,
            "output": 22.5,
            "cache_read": 0.6,
            "cache_write_5m": 7.5,
            "cache_write_1h": 12,
        },
        "tier": {"above_input_tokens": 200_000},
    }
    assert TIERED.applied(Tokens()) == TIERED
    assert above.applied(Tokens(5)) == above


def test_a_row_is_what_the_schema_of_a_document_asks_for() -> None:
    schema = json.loads(schema_bytes("generation"))
    checker = jsonschema_rs.Draft7Validator(
        {"$ref": "#/definitions/PriceRow", "definitions": schema["definitions"]}
    )
    for row in (
        ROW,
        TIERED.applied(Tokens(10**6)),
        PriceRow("m", "p", "s", "d", Rates(), service_tier="flex"),
    ):
        assert checker.is_valid(row.to_dict())
    assert PriceRow("m", "p", "s", "d", Rates(), service_tier="flex").to_dict()["service_tier"] == "flex"


@given(all_known(), all_known())
def test_costs_add_up_where_there_are_no_tiers(one: Tokens, two: Tokens) -> None:
    both = Tokens(**{name: one.to_dict()[name] + two.to_dict()[name] for name in one.to_dict()})
    costs = cost(one, ROW), cost(two, ROW), cost(both, ROW)
    assert costs[0] is not None
    assert costs[1] is not None
    assert costs[0] + costs[1] == costs[2]


@given(
    all_known(),
    st.sampled_from(["output", "cache_read", "cache_write_5m", "cache_write_1h", "input"]),
    COUNTS,
)
def test_more_tokens_never_cost_less(tokens: Tokens, name: str, more: int) -> None:
    counts = tokens.to_dict()
    counts[name] += more
    if name.startswith("cache_"):
        counts["input"] += more
    for row in (ROW, TIERED):
        before, after = cost(tokens, row), cost(Tokens(**counts), row)
        assert before is not None
        assert after is not None
        assert before <= after


@given(all_known(), st.integers(1, 3))
def test_the_digits_of_a_cost_do_not_depend_on_the_callers_context(tokens: Tokens, digits: int) -> None:
    expected = cost(tokens, ROW)
    with localcontext(Context(prec=digits)):
        assert cost(tokens, ROW) == expected


@given(st.integers(0, 10**15 - 1), st.integers(0, 12))
def test_a_number_for_json_reads_back_as_the_same_decimal(digits: int, places: int) -> None:
    value = Decimal(digits).scaleb(-places)
    written = json.dumps(json_number(value))
    assert Decimal(written) == value
    assert ("." in written or "e" in written) == (value != value.to_integral_value())
