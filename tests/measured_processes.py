"""Which processes that tests start are measured for coverage: those of the first case of each test.

A measured process needs several times the CPU time of one that is not. Further cases, attacks and samples of the docs use
the same commands with other data. So coverage may be higher than reported, never lower.
"""

import os
from collections.abc import Generator

import pytest

VARIABLE = "COVERAGE_PROCESS_CONFIG"  # set by coverage for the processes that are started
NOT_MEASURED = ("tests/attacks/", "tests/docs/")
IS_MEASURED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first case by name: the order of the tests is random."""
    first: dict[str, str] = {}
    for item in items:
        test = item.nodeid.partition("[")[0]
        first[test] = min(item.nodeid, first.get(test, item.nodeid))
    for item in items:
        test = item.nodeid.partition("[")[0]
        item.stash[IS_MEASURED] = item.nodeid == first[test] and not test.startswith(NOT_MEASURED)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    variable = None if item.stash[IS_MEASURED] else os.environ.pop(VARIABLE, None)
    try:
        return (yield)
    finally:
        if variable is not None:
            os.environ[VARIABLE] = variable
