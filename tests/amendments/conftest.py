"""Each test amends a copy of its own."""

import os
import shutil
from pathlib import Path

import pytest

from amendments.records import collect, record


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("ARTIFACT", "RUNCARD_", "PRESERVE_")):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def made_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("amending") / "outputs")


@pytest.fixture(scope="session")
def made_session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return collect(tmp_path_factory.mktemp("amending"))


@pytest.fixture
def run(made_run: Path, tmp_path: Path) -> Path:
    """A closed run in a store of its own."""
    return Path(shutil.copytree(made_run.parent, tmp_path / "outputs", symlinks=True)) / made_run.name


@pytest.fixture
def session(made_session: Path, tmp_path: Path) -> Path:
    """A closed session in a store of its own."""
    return (
        Path(shutil.copytree(made_session.parent, tmp_path / "artifacts", symlinks=True)) / made_session.name
    )
