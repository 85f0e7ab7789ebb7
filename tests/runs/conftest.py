"""A place for runs that is quick to write to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from runs.harness import in_memory


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with in_memory() as path:
        monkeypatch.chdir(path)
        yield path
