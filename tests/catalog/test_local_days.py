"""Local days in SQL are those of the time zone, also around a change of the clocks."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime

import pytest

from runcard.catalog.local_days import local_day

pytestmark = pytest.mark.file_only

HOUR = 3_600_000


@pytest.fixture(
    params=["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kolkata", "Africa/Casablanca", "Pacific/Apia"]
)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone")
def test_every_hour_of_some_years_has_its_day() -> None:
    first, last = (round(datetime(year, 1, 1, tzinfo=UTC).timestamp() * 1000) for year in (2011, 2014))
    times = [first, *range(first + HOUR - 1, last, HOUR), last]
    with closing(sqlite3.connect(":memory:")) as database:
        sql = f"SELECT {local_day('value', first, last)} FROM json_each(?)"  # noqa: S608
        found = [day for (day,) in database.execute(sql, (str(times),))]
    expected = [(datetime.fromtimestamp(one / 1000).date() - date(1970, 1, 1)).days for one in times]  # noqa: DTZ006
    assert found == expected


@pytest.mark.usefixtures("zone")
def test_times_of_any_size() -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        sql = f"SELECT {local_day('value', -(10**17), 10**17)} FROM json_each(?)"  # noqa: S608
        early, late = (day for (day,) in database.execute(sql, (str([-1, 10**17]),)))
    assert early is None
    assert late > 10**9
