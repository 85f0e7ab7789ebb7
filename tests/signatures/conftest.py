"""A run, and the keys of two people."""

from pathlib import Path

import pytest

import runcard
from runcard.operations.signatures.keygen import keygen
from signatures.authority import Authority


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(here: Path) -> Path:
    with runcard.record(here / "outputs", strict=True) as recorded:
        recorded.log("page.read", number=1)
        (recorded.path / "notes.txt").write_text("two\nlines\n")
    return Path(recorded.path)


@pytest.fixture
def signers(here: Path) -> Path:
    """The keys of Alice and Bob, and a file that trusts both."""
    lines = [
        keygen(here / name, name=f"{name},{role}").signers_line
        for name, role in (("alice", "author"), ("bob", "reviewer"))
    ]
    path = here / "signers"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def first_authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("first"))


@pytest.fixture
def authority(first_authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """A time-stamping authority, with its own CA."""
    return first_authority.copied(tmp_path_factory.mktemp("authority"))
