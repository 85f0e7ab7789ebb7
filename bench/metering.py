"""What the meter of `runcard run` adds to the model calls of a program, compared with no meter and with claude-tap.

One program makes the same calls in turns: to an upstream on this machine, to the same through the meter, and through
claude-tap, a recording proxy. All are the real thing: the program runs under `runcard run`, and its calls are recorded.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

from bench import peers
from bench.measuring import RUNCARD, BenchError, environment, scratch
from bench.table import Row, Target, Times, at_most

UPSTREAM = Path(__file__).with_name("model_upstream.py")
CLIENT = Path(__file__).with_name("model_client.py")
TAP = "claude-tap"
TAP_SECONDS = 30.0  # to start
SMALL = 5  # MB
OURS, DIRECT = "runcard", "direct"


class Measured(NamedTuple):
    """What a work took, by the name of the way that its calls took."""

    began: dict[str, list[float]]  # seconds of the first call
    seconds: dict[str, list[float]]
    peaks: dict[str, list[float]]  # MiB, before and after

    def times(self, factor: float = 1) -> dict[str, Times]:
        return {way: Times.of(values, factor) for way, values in self.seconds.items()}


def measure(*, quick: bool = False) -> Iterator[Row]:
    with scratch() as folder, upstream() as url, tap(folder, url) as peer:
        program = Program(folder, url, quick=quick)
        ways = {DIRECT: url, OURS: "env"}
        all_ways = ways if isinstance(peer, str) else {**ways, TAP: peer.url}
        label = peer if isinstance(peer, str) else TAP
        yield from first_byte(program.calls("first-byte", 300, all_ways), label)
        for work, events, target in (
            ("stream", "small events", at_most(1.11)),
            ("large-events", "events of 16 kB", None),
        ):
            size = 20 if quick else 100
            times = program.calls(work, 10, ways, size).times()
            yield Row(f"{size} MB of stream, {events}", times[OURS], DIRECT, times[DIRECT], "s", target)
        yield from small_stream(program.calls("stream", 3, all_ways, SMALL), label)
        yield from together(program.calls("together", 10, all_ways), label)


def first_byte(measured: Measured, label: str) -> Iterator[Row]:
    """How much later the first byte of a reply comes than without a meter."""
    seconds = measured.seconds
    for name, most, value in (("median", 3, median), ("p95", 5, p95)):
        later = {way: (value(seconds[way]) - value(seconds[DIRECT])) * 1e3 for way in seconds}
        theirs = Times.once(later[TAP]) if TAP in later else None
        work = f"model call, first byte later than direct ({name})"
        yield Row(
            work,
            Times.once(later[OURS]),
            label,
            theirs,
            "ms",
            Target("<=", most, "ms"),
        )
    started = Times.once((measured.began[OURS][0] - measured.began[DIRECT][0]) * 1e3)
    yield Row("first call of a run, later than direct", started, "", None, "ms")


def p95(values: list[float]) -> float:
    return quantiles(values, n=20)[-1]


def small_stream(measured: Measured, label: str) -> Iterator[Row]:
    """Smaller, as the peer takes long."""
    times, work = measured.times(), f"{SMALL} MB of stream, small events"
    yield Row(work, times[OURS], label, times.get(TAP), "s", at_most(1))
    grown = {way: Times.once(after - before) for way, (before, after) in measured.peaks.items()}
    yield Row(f"{work}: memory added", grown[OURS], label, grown.get(TAP), "MB", Target("<=", 16, "MB"))


def together(measured: Measured, label: str) -> Iterator[Row]:
    times = measured.times(1e3)
    work = "64 model calls at once, 0.2 s each"
    yield Row(work, times[OURS], DIRECT, times[DIRECT], "ms", at_most(1.5))
    yield Row(work, times[OURS], label, times.get(TAP), "ms", at_most(1))


class Program:
    """A program that calls models, under `runcard run`."""

    def __init__(self, folder: Path, url: str, *, quick: bool) -> None:
        self._folder, self._url, self._quick = folder, url, quick

    def calls(self, work: str, rounds: int, ways: dict[str, str], megabytes: int = 0) -> Measured:
        """Do some work with each of these base URLs, in turns."""
        rounds = max(2, rounds // 4) if self._quick else rounds
        targets = [f"{name}={way}" for name, way in ways.items()]
        done = subprocess.run(
            [RUNCARD, "run", "--quiet", "--", sys.executable, CLIENT, work, str(rounds), *targets],
            cwd=self._folder,
            env=environment(ANTHROPIC_BASE_URL=self._url, BENCH_STREAM=str(megabytes), NO_PROXY="127.0.0.1"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise BenchError(f"{work}: {done.stderr[-500:]}")
        return Measured(**json.loads(done.stdout))


@contextlib.contextmanager
def upstream() -> Iterator[str]:
    """The URL of an upstream in a process of its own."""
    with subprocess.Popen([sys.executable, UPSTREAM], stdout=subprocess.PIPE, text=True) as process:
        try:
            port = process.stdout.readline().strip() if process.stdout else ""
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


class TapProxy(NamedTuple):
    """A running claude-tap."""

    url: str  # with its process behind a `#`


@contextlib.contextmanager
def tap(folder: Path, url: str) -> Iterator[TapProxy | str]:
    """claude-tap as a proxy, without its client and its dashboard; or why it is not measured."""
    if reason := peers.unavailable(TAP):
        yield reason
        return
    home = folder / TAP
    home.mkdir()
    options = ["--tap-no-launch", "--tap-no-live", "--tap-no-open", "--tap-host", "127.0.0.1"]
    command = [str(peers.program(TAP)), *options, "--tap-target", url]
    log = home / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=home, env={**os.environ, "HOME": str(home)}, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        port = wait_for_port(log)
        yield (
            f"not measured: {TAP} does not start"
            if port is None
            else TapProxy(f"http://127.0.0.1:{port}#{process.pid}")
        )
    finally:
        process.kill()
        process.wait()


def wait_for_port(log: Path) -> str | None:
    end = time.monotonic() + TAP_SECONDS
    while time.monotonic() < end:
        if found := re.search(r"listening on http://127\.0\.0\.1:(\d+)", log.read_text("utf-8", "replace")):
            return found[1]
        time.sleep(0.05)
    return None
