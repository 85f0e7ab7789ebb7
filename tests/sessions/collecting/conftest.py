"""Every test of collecting works in a folder of its own, with no settings but its own."""

from pathlib import Path

import pytest

from sessions.collecting.teams import lay_out


@pytest.fixture(autouse=True)
def _always_here(here: Path) -> None: ...


@pytest.fixture
def spec(here: Path) -> Path:
    """The SPEC of a team whose files are there."""
    return lay_out(here)
