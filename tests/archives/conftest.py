"""Every test of archiving works in a folder of its own, with no settings but its own."""

from pathlib import Path

import pytest

from archives.records import make_run, make_session


@pytest.fixture(autouse=True)
def _always_here(here: Path) -> None: ...


@pytest.fixture
def run(here: Path) -> Path:
    return make_run(here / "outputs")


@pytest.fixture
def session(here: Path) -> Path:
    return make_session(here)
