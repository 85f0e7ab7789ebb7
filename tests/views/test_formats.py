"""Numbers as text for people."""

from typing import Any

import pytest

from runcard.views.charges import server_tools, special_prices
from runcard.views.formats import cost_or_known, money, money_at_least, total_or_known
from runcard.views.run_readme import readme
from runcard.views.run_screen import run_screen
from views.samples import run


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


@pytest.mark.parametrize(
    ("known", "text"),
    [(0.25, "≥ $0.25"), (1e-9, "> $0.00"), (0, "unknown"), (None, "unknown")],
)
def test_the_known_part_of_a_cost(known: float | None, text: str) -> None:
    assert cost_or_known(None, known) == text
    assert cost_or_known(0.5, known) == "$0.50"
    assert total_or_known(None, known, money).removesuffix(" (a part is unknown)") == text


def test_what_is_paid_besides_tokens_is_named() -> None:
    parts = [
        {"server_tools": {"web_search": 2}},
        {},
        {"server_tools": {"web_search": 1, "code_execution": 1}},
    ]
    assert server_tools(parts) == "web search (3), code execution (1)"
    assert server_tools([{}]) is None
    rows: list[dict[str, Any]] = [
        {"service_tier": "batch"},
        {"tier": {"above_input_tokens": 200_000}},
        {"service_tier": "batch"},
    ]
    assert special_prices(rows) == "batch prices, prices above 200,000 input tokens"
    assert special_prices([{}]) is None
    assert special_prices(None) is None


def test_a_run_names_its_searches_and_its_prices() -> None:
    document = run()
    document["token_usage"]["breakdown_by_model"] = [{"model": "m", "server_tools": {"web_search": 3}}]
    document["costs"]["price_rows"] = [{"service_tier": "batch"}]
    page = readme(document, [])
    assert "* **Tools of the vendor**: web search (3)\n* **Prices**: batch prices\n" in page
    lines = run_screen("outputs/x", document, "completed", [])
    assert "  tools   web search (3)" in lines
    assert "  prices  batch prices" in lines
