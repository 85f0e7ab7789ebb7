"""Counts by class: what is not known stays not known, and sums are as sure as the weakest of their parts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcard.accounting import CLASSES, Tokens, sum_tokens, weakest
from runcard.accounting.tokens import MAX_COUNT, split_writes
from runcard.documents.token_sources import TOKEN_SOURCES
from runcard.errors import UsageError

COUNTS = st.none() | st.integers(0, 10**9)
SOURCES = st.sampled_from(TOKEN_SOURCES)


@st.composite
def some_tokens(draw: st.DrawFn) -> Tokens:
    """Any counts of which no part is larger than its whole."""
    read, short, long, reasoning = (draw(COUNTS) for _ in range(4))
    plain, visible = draw(COUNTS), draw(COUNTS)
    sent = None if plain is None else plain + (read or 0) + (short or 0) + (long or 0)
    return Tokens(sent, None if visible is None else visible + (reasoning or 0), read, short, long, reasoning)


@given(some_tokens())
def test_counts_read_back_as_they_were_written(tokens: Tokens) -> None:
    assert Tokens.from_dict(tokens.to_dict()) == tokens
    assert None not in tokens.to_dict().values()


def test_what_is_not_known_is_left_out_and_other_keys_are_left_alone() -> None:
    assert Tokens(input=7, reasoning=0, output=3).to_dict() == {"input": 7, "output": 3, "reasoning": 0}
    assert Tokens.from_dict({"input": 7, "later": 1}) == Tokens(input=7)


def test_cache_writes_are_known_when_both_parts_are() -> None:
    assert Tokens(10, 0, 0, 4, 5).cache_write == 9
    assert Tokens(10, 0, 0, 4, None).cache_write is None
    assert Tokens(10, 0, 0, None, 5).cache_write is None
    assert Tokens().cache_write is None


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("count", [-1, True, 1.0, "12", MAX_COUNT + 1, pytest.param(10**5000, id="huge")])
def test_what_is_no_count_is_refused_by_name(name: str, count: Any) -> None:
    with pytest.raises(UsageError, match=f"^{name} is ") as caught:
        Tokens(**{name: count})
    assert caught.value.hint is not None


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (
            {"input": 10, "cache_read": 6, "cache_write_1h": 5},
            "11 cached tokens are more than the 10 input tokens",
        ),
        ({"output": 10, "reasoning": 11}, "11 reasoning tokens are more than the 10 output tokens"),
    ],
)
def test_a_part_is_not_larger_than_its_whole(counts: dict[str, int], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        Tokens(**counts)
    assert caught.value.message == said


@given(st.lists(some_tokens(), min_size=1, max_size=5))
def test_a_total_is_known_exactly_where_all_parts_are(parts: list[Tokens]) -> None:
    total = sum_tokens(parts)
    for name in CLASSES:
        counts = [getattr(part, name) for part in parts]
        assert getattr(total, name) == (None if None in counts else sum(counts))


def test_nothing_observed_is_not_zero() -> None:
    assert sum_tokens([]) == Tokens()
    assert weakest([]) is None


@given(st.lists(SOURCES, min_size=1), st.lists(SOURCES, min_size=1))
def test_a_sum_carries_the_weakest_source_of_its_parts(one: list[str | None], two: list[str | None]) -> None:
    both = weakest([*one, *two])
    assert both == weakest([weakest(one), weakest(two)])
    assert all(TOKEN_SOURCES.index(both) >= TOKEN_SOURCES.index(part) for part in [*one, *two])
    assert both in {*one, *two}


def test_an_unknown_source_is_refused() -> None:
    with pytest.raises(UsageError, match="'guessed' is not a source"):
        weakest(["reported", "guessed"])


def test_writes_that_no_part_explains_were_for_the_usual_time() -> None:
    assert split_writes(10, None, 4, "written") == (6, 4)
    assert split_writes(10, 2, 4, "written") == (6, 4)
    assert split_writes(10, None, None, "written") == (10, 0)
    assert split_writes(None, 3, None, "written") == (3, None)
    with pytest.raises(UsageError, match="written is 10, less than the 11 of its parts"):
        split_writes(10, 5, 6, "written")
