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
    seen = set()
    for item in items:
        test = item.nodeid.partition("[")[0]
        item.stash[IS_MEASURED] = test not in seen and not test.startswith(NOT_MEASURED)
        seen.add(test)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    variable = None if item.stash[IS_MEASURED] else os.environ.pop(VARIABLE, None)
    try:
        return (yield)
    finally:
        if variable is not None:
            os.environ[VARIABLE] = variable
