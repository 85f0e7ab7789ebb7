"""Numbers as text for people."""

import pytest

from runcard.views.formats import money, money_at_least


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (None, "unknown"),
        (0, "$0.00"),
        (4.125, "$4.13"),
        (1.125, "$1.13"),
        (1.005, "$1.01"),  # as a float it is a little less
        (2.675, "$2.68"),
        (1234567.895, "$1,234,567.90"),
        (0.25, "$0.25"),
        (0.1, "$0.10"),
        (0.3761075, "$0.376108"),
        (6.25e-05, "$0.000063"),
        (1.95e-05, "$0.00002"),
        (0.9999999, "$1.00"),
        (4e-07, "less than $0.000001"),
        (9.9e-07, "less than $0.000001"),
        (1e-06, "$0.000001"),
        (1e300, "$1" + ",000" * 100 + ".00"),
        (-0.5, "$-0.50"),
    ],
)
def test_dollars_are_rounded_as_people_do(amount: float | None, text: str) -> None:
    assert money(amount) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (4.129, "≥ $4.12"),
        (0.3761079, "≥ $0.376107"),
        (0.9999999, "≥ $0.999999"),
        (0.29, "≥ $0.29"),
        (4e-07, "> $0.00"),
        (1e300, "≥ $1" + ",000" * 100 + ".00"),
    ],
)
def test_what_is_at_least_known_is_rounded_down(amount: float, text: str) -> None:
    assert money_at_least(amount) == text
