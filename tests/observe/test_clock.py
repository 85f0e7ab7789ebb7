import sys
import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcard.documents.times import parse_time
from runcard.observe.clock import Clock, timestamp, whole

START = 1_794_737_700.1239  # 2026-11-15T10:15:00.1239Z


class Hands:
    """A wall clock and a monotonic clock that a test moves."""

    def __init__(self, wall: float = START, monotonic: float = 500.0) -> None:
        self.wall, self.monotonic = wall, monotonic

    def clock(self) -> Clock:
        return Clock(wall=lambda: self.wall, monotonic=lambda: self.monotonic)


def test_the_start_is_utc_in_whole_milliseconds_and_never_in_the_future() -> None:
    assert Hands().clock().started == datetime(2026, 11, 15, 10, 15, 0, 123_000, tzinfo=UTC)


def test_a_wall_clock_that_jumps_back_changes_nothing() -> None:
    hands = Hands()
    clock = hands.clock()
    hands.wall -= 86_400
    hands.monotonic += 135.333
    assert abs(clock.elapsed() - 135.333) < 1e-9
    assert clock.duration() == 135.333
    assert clock.timestamp() == "2026-11-15T10:17:15.456Z"
    assert abs(clock.now() - datetime(2026, 11, 15, 10, 17, 15, 456_000, tzinfo=UTC)) < timedelta(
        milliseconds=1
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the name of this clock on Linux")
def test_it_goes_on_while_the_machine_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "clock_gettime", {time.CLOCK_BOOTTIME: 5.0}.__getitem__)
    assert Clock().elapsed() == 0


def test_a_monotonic_clock_that_is_none_gives_no_negative_duration() -> None:
    hands = Hands()
    clock = hands.clock()
    hands.monotonic -= 3
    assert clock.elapsed() == 0
    assert clock.now() == clock.started


def test_a_whole_duration_is_an_integer() -> None:
    hands = Hands()
    clock = hands.clock()
    hands.monotonic += 2.0
    assert repr(clock.duration()) == "2"
    assert repr(whole(2.5)) == "2.5"
    assert repr(whole(0.0)) == "0"


def test_milliseconds_are_always_written() -> None:
    assert timestamp(datetime(2026, 11, 15, 12, 0, tzinfo=UTC)) == "2026-11-15T12:00:00.000Z"


@given(
    st.floats(0, 4e9),
    st.lists(st.floats(0, 1e5), min_size=1, max_size=20),
)
def test_times_never_decrease_and_agree_with_the_elapsed_seconds(wall: float, steps: list[float]) -> None:
    hands = Hands(wall, 1.0)
    clock = hands.clock()
    last = timestamp(clock.started)
    for step in steps:
        hands.monotonic += step
        reading = clock.read()
        moment = parse_time(reading.timestamp)
        assert moment is not None
        assert reading.timestamp >= last
        assert (moment - clock.started) == timedelta(seconds=reading.elapsed)
        last = reading.timestamp


def test_the_real_clocks_are_the_default() -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    clock = Clock()
    assert before <= clock.started <= datetime.now(UTC)
    assert 0 <= clock.elapsed() < 5
