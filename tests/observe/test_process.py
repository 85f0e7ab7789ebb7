import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runcard.documents.times import format_time, parse_time
from runcard.files import processes
from runcard.observe import process as module
from runcard.observe.process import is_alive, resources, this_process

DESCRIBE = "import json; from runcard.observe.process import this_process; print(json.dumps(this_process()), flush=True); "
WAIT = "import sys; sys.stdin.read()"


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    """A process looks at itself once; each test here is another process, as it were."""
    caches = (module._description, processes._identity)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


class Other:
    """Another real process, as it describes itself."""

    def __init__(self, code: str = "") -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-c", code + DESCRIBE + WAIT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.popen.stdout is not None
        self.described: dict[str, Any] = json.loads(self.popen.stdout.readline())

    def become_zombie(self) -> None:
        self.popen.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, self.popen.pid, os.WEXITED | os.WNOWAIT)

    def end(self) -> None:
        with self.popen:
            self.popen.kill()


@pytest.fixture
def other() -> Iterator[Other]:
    other = Other()
    yield other
    other.end()


def without(process: dict[str, Any], *keys: str, **changes: Any) -> dict[str, Any]:
    return {key: value for key, value in process.items() if key not in keys} | changes


def test_this_process_says_who_it_is() -> None:
    process = this_process()
    assert process["pid"] == os.getpid()
    assert process["host"] == os.uname().nodename
    assert process["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def test_the_start_is_that_of_the_process_and_not_of_the_question(other: Other) -> None:
    started = parse_time(other.described["started"])
    assert started is not None
    assert other.described["started"].endswith("Z")
    assert timedelta(0) <= datetime.now(UTC) - started < timedelta(seconds=30)
    assert datetime.now(UTC) - started < timedelta(seconds=time.monotonic())


def test_a_process_that_works_is_alive(other: Other) -> None:
    assert is_alive(this_process()) is True
    assert is_alive(other.described) is True


def test_a_zombie_is_gone(other: Other) -> None:
    other.become_zombie()
    assert is_alive(other.described) is False


def test_an_ended_process_is_gone(other: Other) -> None:
    other.end()
    assert is_alive(other.described) is False


def test_a_pid_that_is_used_again_does_not_look_alive() -> None:
    mine = this_process()
    assert is_alive(mine | {"start_ticks": mine["start_ticks"] - 1}) is False
    assert is_alive(without(mine, "start_ticks", started="2001-01-01T00:00:00Z")) is False


@pytest.mark.parametrize("seconds", [-3, -1, 0, 1, 3])
def test_without_ticks_a_clock_that_was_set_by_some_seconds_does_no_harm(seconds: int) -> None:
    mine = this_process()
    started = parse_time(mine["started"])
    assert started is not None
    shifted = format_time(started + timedelta(seconds=seconds) * 0.9)
    assert is_alive(without(mine, "start_ticks", started=shifted)) is True


def test_with_ticks_the_time_of_day_does_not_matter() -> None:
    assert is_alive(this_process() | {"started": "2001-01-01T00:00:00Z"}) is True


@pytest.mark.parametrize("started", [None, "yesterday", 5, "2026-11-15T10:00:00"])
def test_without_a_start_nobody_can_tell_whether_the_pid_was_used_again(started: object) -> None:
    assert is_alive(without(this_process(), "start_ticks", started=started)) is None


def test_of_another_host_nothing_is_known() -> None:
    assert is_alive(this_process() | {"host": "elsewhere"}) is None
    assert is_alive(this_process() | {"host": None}) is None


def test_a_boot_ends_all_processes() -> None:
    assert is_alive(this_process() | {"boot_id": "another"}) is False


def test_without_a_boot_id_the_rest_decides() -> None:
    assert is_alive(this_process() | {"boot_id": None}) is True


def test_a_pid_of_another_container_says_nothing() -> None:
    assert is_alive(this_process() | {"pid_namespace": 1}) is None


@pytest.mark.parametrize("pid", [None, 0, -1, True, "1", 1.0, 2**31, 2**80])
def test_what_is_no_pid_says_nothing(pid: object) -> None:
    assert is_alive(this_process() | {"pid": pid}) is None


def test_an_empty_description_says_nothing() -> None:
    assert is_alive({}) is None


def test_the_name_of_a_program_can_hold_anything() -> None:
    other = Other("open('/proc/self/comm', 'w').write(') Z 1 (x'); ")
    try:
        assert is_alive(other.described) is True
        assert other.described["start_ticks"] > 1000
    finally:
        other.end()


class TestWithoutProc:
    """Systems that show no /proc, or hide other people's processes there."""

    @pytest.fixture(autouse=True)
    def _hide(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(processes, "system_text", lambda _: None)

    def test_nothing_is_made_up(self) -> None:
        process = this_process()
        assert process["started"] is None
        assert process["boot_id"] is None
        assert process["start_ticks"] is None
        assert process["pid"] == os.getpid()

    def test_a_pid_that_exists_may_be_another_process(self) -> None:
        assert is_alive(this_process()) is None

    def test_a_pid_that_does_not_exist_is_gone(self, other: Other) -> None:
        other.end()
        assert is_alive(other.described) is False

    def test_a_process_of_somebody_else_exists(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(_pid: int, _signal: int) -> None:
            raise PermissionError

        monkeypatch.setattr(os, "kill", refuse)
        assert is_alive(this_process()) is None

    def test_the_peak_of_memory_is_what_the_system_counts(self) -> None:
        assert resources()["peak_memory_bytes"] > 1 << 20


@pytest.mark.parametrize("text", ["", "1 (x", "1 (x) S 1 2", "1 (x) S " + "word " * 30])
def test_a_table_that_cannot_be_read_says_nothing(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = this_process()
    monkeypatch.setattr(processes, "system_text", lambda _: text)
    assert is_alive(mine | {"boot_id": None}) is None


def test_without_a_clock_since_the_boot_there_is_no_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(time, "CLOCK_BOOTTIME")
    assert this_process()["started"] is None
    assert is_alive(this_process()) is True
    assert is_alive(without(this_process(), "start_ticks", started="2026-01-01T00:00:00Z")) is None


def test_an_odd_namespace_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "readlink", lambda _: "pid:[odd]")
    assert this_process()["pid_namespace"] is None
    assert is_alive(this_process()) is True


def test_a_host_without_a_name_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    names = os.uname_result(("Linux", "", "6", "1", "x86_64"))
    monkeypatch.setattr(os, "uname", lambda: names)
    assert this_process()["host"] is None
    assert is_alive(this_process()) is None


def test_work_and_waited_for_children_count() -> None:
    before = resources()["cpu_seconds"]
    subprocess.run([sys.executable, "-c", "sum(range(3_000_000))"], check=True)
    after = resources()["cpu_seconds"]
    assert after > before + 0.01


def test_the_peak_is_of_the_largest_process_in_bytes() -> None:
    subprocess.run([sys.executable, "-c", "bytearray(200 << 20)"], check=True)
    assert 200 << 20 <= resources()["peak_memory_bytes"] < 16 << 30


def test_the_memory_of_whoever_started_it_does_not_count() -> None:
    code = """
import subprocess, sys
ballast = bytearray(300 << 20)
ask = "from runcard.observe.process import resources; print(resources()['peak_memory_bytes'])"
subprocess.run([sys.executable, "-c", ask], check=True)
"""
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(printed.stdout) < 200 << 20


def test_an_unreadable_peak_is_counted_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "system_text", lambda _: "Name:\tx\nVmHWM:\t odd kB\n")
    assert resources()["peak_memory_bytes"] > 1 << 20
