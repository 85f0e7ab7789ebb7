"""A store with sessions, made once and copied for each test."""

import shutil
from pathlib import Path

import pytest

from sessions.build import make_session


@pytest.fixture(scope="session")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("sessions") / "artifacts"
    make_session(store)
    return store


@pytest.fixture
def session(_made: Path, tmp_path: Path) -> Path:
    """A closed session in a store of its own, with a ledger."""
    shutil.copytree(_made, tmp_path / "artifacts", symlinks=True)
    (found,) = (path for path in (tmp_path / "artifacts").iterdir() if path.name[0] != ".")
    return found


@pytest.fixture
def old_session(tmp_path: Path) -> Path:
    """A session whose documents have the first version, which states no digests."""
    return make_session(tmp_path / "old", version="1.0.0", ledger=False)
