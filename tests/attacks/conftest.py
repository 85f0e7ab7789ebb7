"""A place for runs that is quick to write to, and a process for all tests of a worker that forks commands."""

from collections.abc import Iterator

import pytest

from attacks.command_server import running_server
from runs.conftest import place

__all__ = ["place"]


@pytest.fixture(scope="session", autouse=True)
def _command_server(_folders_of_worker: object) -> Iterator[None]:
    with running_server():
        yield
