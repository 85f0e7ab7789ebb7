"""The page: its first byte over many sessions, its weight, and a transcript of 100 MB in Chromium.

The client of the first rows is this process; the pages are those that a person opens first. The browser is Debian's Chromium, driven by
Playwright; where one of the two is missing, its rows are left out, with a line that says so.
"""

import gzip
import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from bench import catalog, transcripts
from bench.measuring import RUNCARD, BenchError, environment, scratch
from bench.table import Row, Target, Times

_CHROMIUM = "/usr/bin/chromium"
_FIRST_BYTE, _WEIGHT, _OPEN, _HEAP = 100.0, 150.0, 1.0, 100.0  # ms, KB, s, MB
_PAGES = ("/", "/sessions", "/sessions?sort=-cost", "/instances", "/costs")
_LOADED = re.compile(r'(?:src|href|hx-get|data-chart)="(/[^"]+)"')


def measure(*, quick: bool = False) -> Iterator[Row]:
    count, megabytes = (2_000, 20) if quick else (100_000, 100)
    with scratch() as folder:
        catalog.write_sessions(folder / "artifacts", count)
        home = _home(folder)
        subprocess.run([RUNCARD, "index"], cwd=folder, env=home, check=True, capture_output=True)
        with _server(folder, home) as address:
            for path in _PAGES:
                yield _first_byte(address, path, count, 5 if quick else 20)
            yield _weight(address)
    with scratch() as folder:
        yield from _transcript(folder, megabytes, 5)


def _home(folder: Path) -> dict[str, str]:
    return environment(
        HOME=str(folder), XDG_STATE_HOME=str(folder / "state"), XDG_CACHE_HOME=str(folder / "cache")
    )


@contextmanager
def _server(folder: Path, home: dict[str, str]) -> Iterator[str]:
    """The address of a `runcard serve`."""
    words = [RUNCARD, "serve", "--port", "0", "--no-open", "--no-token"]
    process = subprocess.Popen(words, cwd=folder, env=home, stdout=subprocess.PIPE, text=True)
    try:
        found = re.search(r"http://([\d.:]+)/", process.stdout.readline() if process.stdout else "")
        if found is None:
            raise BenchError("runcard serve did not print its address")
        yield found[1]
    finally:
        process.kill()
        process.wait()


def _get(address: str, path: str) -> tuple[float, bytes, str]:
    """Seconds to the first byte, the body, and its type."""
    connection = http.client.HTTPConnection(address, timeout=120)
    try:
        began = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        seconds = time.perf_counter() - began
        body = answer.read()
    finally:
        connection.close()
    if answer.status != 200:
        raise BenchError(f"{path} gave {answer.status}")
    return seconds, body, answer.headers["content-type"]


def _first_byte(address: str, path: str, count: int, rounds: int) -> Row:
    _get(address, path)
    times = [_get(address, path)[0] for _ in range(rounds)]
    work = f"page: first byte of {path} over {count:,} sessions"
    return Row(work, Times.of(times, 1e3), "", None, "ms", Target("<=", _FIRST_BYTE, "ms"))


def _weight(address: str) -> Row:
    """The heaviest page, with all that it loads, as gzip makes it."""
    weights = []
    for path in _PAGES:
        text = _get(address, path)[1]
        parts = {
            part
            for part in _LOADED.findall(text.decode())
            if part.startswith(("/static/", "/home/", "/costs.json"))
        }
        bodies = [text, *(_get(address, part.replace("&amp;", "&"))[1] for part in sorted(parts))]
        weights.append(sum(len(gzip.compress(body, 6)) for body in bodies) / 1000)
    return Row("page: weight, gzipped", Times.once(max(weights)), "", None, "KB", Target("<=", _WEIGHT, "KB"))


def _transcript(folder: Path, megabytes: int, rounds: int) -> Iterator[Row]:
    """A transcript opens in Chromium, and its pages are turned, with a flat heap."""
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only where it is installed
    except ImportError:
        print("  not measured: playwright is not installed", file=sys.stderr)
        return
    if not os.path.exists(_CHROMIUM):
        print("  not measured: Chromium is not installed", file=sys.stderr)
        return
    home = _home(folder)
    transcripts.write_sessions(folder / ".claude", megabytes, megabytes)
    words = [RUNCARD, "import", "claude-code", "--all", "--json"]
    done = subprocess.run(words, cwd=folder, env=home, check=False, capture_output=True, text=True)
    listed = json.loads(
        subprocess.run(
            [RUNCARD, "ls", "instances", "--json"],
            cwd=folder,
            env=home,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    )
    if not listed["records"]:
        raise BenchError(f"no session was imported: {done.stderr[-300:]}")
    row = listed["records"][0]
    times, heaps = [], []
    with _server(folder, home) as address, sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-background-networking", "--enable-precise-memory-info"]
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=arguments)
        for _ in range(rounds):
            page = browser.new_page()
            url = f"http://{urlsplit('//' + address).netloc}/sessions/{row['session']}/agents/{row['id']}"
            began = time.perf_counter()
            page.goto(url)
            page.locator(".transcript .step").first.wait_for()
            times.append(time.perf_counter() - began)
            for _ in range(20):
                page.locator("a[rel=next]").first.click()
                page.locator(".transcript").wait_for()
            heaps.append(page.evaluate("performance.memory.usedJSHeapSize") / 1e6)
            page.close()
        browser.close()
    yield Row(
        f"page: open a transcript of {megabytes} MB in Chromium",
        Times.of(times),
        "",
        None,
        "s",
        Target("<=", _OPEN, "s"),
    )
    yield Row("page: heap after 20 pages of it", Times.of(heaps), "", None, "MB", Target("<=", _HEAP, "MB"))
