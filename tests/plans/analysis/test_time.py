"""The time of an analysis."""

from datetime import UTC, datetime

import pytest
import yaml

from conftest import Cli
from plans.shop import PAY, Shop


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is an hour later for each analysis."""
    times = [datetime(2026, 11, 8, hour, 0, 5, tzinfo=UTC) for hour in range(1, 24)]
    monkeypatch.setattr("runcard.plans.analysis.analyzer._now", lambda: times.pop(0))


@pytest.mark.usefixtures("clock")
def test_it_is_that_of_the_analysis(cli: Cli, shop: Shop) -> None:
    plan = yaml.safe_load(cli("plan", "analyze", shop.source, *PAY).out)
    assert plan["analyzer"]["timestamp"] == "2026-11-08T01:00:05Z"
    assert plan["analyzer"]["source_file_mtime"] == int(shop.source.stat().st_mtime)
    again = yaml.safe_load(cli("plan", "analyze", shop.source, *PAY).out)
    assert again["analyzer"].pop("timestamp") == "2026-11-08T02:00:05Z"
    del plan["analyzer"]["timestamp"]
    assert again == plan


@pytest.mark.usefixtures("clock")
def test_a_plan_that_says_the_same_keeps_its_bytes(cli: Cli, shop: Shop) -> None:
    cli("plan", "analyze", shop.source, *PAY, "--write")
    before = shop.plan.read_bytes()
    cli("plan", "analyze", shop.source, *PAY, "--write")
    assert shop.plan.read_bytes() == before
    shop.change("class", "# moved\nclass")
    cli("plan", "analyze", shop.source, *PAY, "--write")
    assert shop.read()["analyzer"]["timestamp"] == "2026-11-08T03:00:05Z"
