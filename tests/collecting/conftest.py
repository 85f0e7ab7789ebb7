"""Every test of collecting works in a folder of its own, with no settings but its own."""

import os
from pathlib import Path

import pytest

from collecting.teams import lay_out


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.startswith(("ARTIFACT", "RUNCARD_", "PRESERVE_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def spec(here: Path) -> Path:
    """The SPEC of a team whose files are there."""
    return lay_out(here)
