"""What some tests need and a machine may not have: `@pytest.mark.needs("strace")`, or `skip_without("strace")` in a fixture.

A need is a package of Debian, `npm programs`, `validators`, `root` or `two cores`. `make tools` installs the first three.
"""

import os
from functools import cache

import pytest
from install_tools import CLIENTS, DEBIAN, VALIDATORS, succeeds


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(*names): skipped where one of these is missing")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs"):
        skip_without(*marker.args)


def skip_without(*needs: str) -> None:
    """Skip this test where one of these is missing."""
    if missing := [need for need in needs if not _has(need)]:
        hint = "" if missing[0] in {"root", "two cores"} else "; install it with `make tools`"
        pytest.skip(f"needs {missing[0]}{hint}")


@cache
def _has(need: str) -> bool:
    match need:
        case "root":
            return os.geteuid() == 0
        case "two cores":
            return len(os.sched_getaffinity(0)) > 1
        case "npm programs":
            return (CLIENTS / "installed").is_file()
        case "validators":
            return (VALIDATORS / "installed").is_file()
        case _:
            return succeeds(DEBIAN[need])
