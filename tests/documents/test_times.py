"""Times as documents write them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcard.documents.times import format_time, parse_time, whole_seconds

zones = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=zones)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2025-11-06T14:05:00Z", "2025-11-06T14:05:00+00:00"),
        ("2025-11-06t14:05:00z", "2025-11-06T14:05:00+00:00"),
        ("2025-11-06T14:05:00+00:00", "2025-11-06T14:05:00+00:00"),
        ("2025-11-06T14:05:00.5-01:30", "2025-11-06T15:35:00.500000+00:00"),
        ("2025-11-06T14:05:00.123456789Z", "2025-11-06T14:05:00.123456+00:00"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00+00:00"),
        ("2016-12-31t23:59:60.5z", "2017-01-01T00:00:00.500000+00:00"),
        ("2017-01-01T00:59:60+01:00", "2017-01-01T00:00:00+00:00"),
    ],
)
def test_a_time_names_a_moment(text: str, utc: str) -> None:
    moment = parse_time(text)
    assert moment is not None
    assert moment.astimezone(UTC).isoformat() == utc


@pytest.mark.parametrize(
    "text",
    [
        *(
            None,
            "",
            "now",
            "2025-11-06T14:05:00",
            "2025-11-06",
            "2016-12-31T23:59:60",
            "0000-01-01T00:00:00Z",
        ),
        *("9999-12-31T23:59:60Z", "2025-13-01T00:00:00Z", "2025-11-06t14:05:00", ":60", "x" * 100),
    ],
)
def test_what_is_no_time_or_has_no_zone_names_no_moment(text: str | None) -> None:
    assert parse_time(text) is None


@given(moments)
def test_what_is_written_is_read_back_and_ends_in_z(moment: datetime) -> None:
    assert format_time(moment).endswith("Z")
    assert parse_time(format_time(moment)) == moment


def test_a_fraction_is_written_only_where_there_is_one() -> None:
    assert format_time(datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)) == "2025-01-02T03:04:05Z"
    assert format_time(datetime(2025, 1, 2, 3, 4, 5, 1000, tzinfo=UTC)) == "2025-01-02T03:04:05.001000Z"


def test_seconds_between_moments_are_rounded_down() -> None:
    start = datetime(2025, 1, 1, tzinfo=UTC)
    assert whole_seconds(start, start + timedelta(seconds=1.999)) == 1
    assert whole_seconds(start, start + timedelta(seconds=2)) == 2
    assert whole_seconds(start, start) == 0
