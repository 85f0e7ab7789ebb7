"""Which tests are slow: those that `make check` leaves out.

They are listed in `slow_tests.txt`, one function name per line, and get the marker `slow`. `make test ARGS=--update-slow`
measures all tests and updates the list. A test that is not in the list is fast, so a new test needs no entry, and a file can
be moved without changing the list.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

LIST = Path(__file__).with_suffix(".txt")
LIMIT = 0.05  # seconds for one case, on average over the cases of a test


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-slow", action="store_true", help=f"measure the tests and rewrite {LIST.name}")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--update-slow") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SlowTestList(), "slow-test-list")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    slow = frozenset(LIST.read_text("utf-8").splitlines())
    for item in items:
        if function_of(item.nodeid) in slow:
            item.add_marker(pytest.mark.slow)


def function_of(nodeid: str) -> str:
    return nodeid.partition("[")[0].rpartition("::")[2]


class SlowTestList:
    """Adds up how long each test takes, and writes the list at the end."""

    def __init__(self) -> None:
        self._seconds: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[function_of(report.nodeid)][report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Tests that were not run keep their entry."""
        kept = set(LIST.read_text("utf-8").splitlines()) - self._seconds.keys()
        LIST.write_text("".join(f"{test}\n" for test in sorted({*kept, *self._slow()})), "utf-8")

    def _slow(self) -> Iterator[str]:
        for test, cases in self._seconds.items():
            if sum(cases.values()) > LIMIT * len(cases):
                yield test
