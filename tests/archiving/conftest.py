"""Every test of archiving works in a folder of its own, with no settings but its own."""

import os
from pathlib import Path

import pytest

from archiving.records import make_run, make_session


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.startswith(("ARTIFACT", "RUNCARD_", "PRESERVE_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(here: Path) -> Path:
    return make_run(here / "outputs")


@pytest.fixture
def session(here: Path) -> Path:
    return make_session(here)
