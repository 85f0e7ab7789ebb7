"""A project with runs and a session, in which a server works."""

import os
from pathlib import Path

import pytest

import runcard
from sessions.build import make_session

LARGE = 64 << 20  # bytes


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs and a session, of a user who works here."""
    monkeypatch.chdir(tmp_path)
    for temperature in (0.2, 0.7):
        config = {"temperature": temperature}
        with runcard.record(
            "outputs", model="claude-sonnet-4-5", provider="anthropic", config=config, strict=True
        ) as run:
            run.add_usage({"input": 1000, "output": 200})
            (run.path / "out.txt").write_text(f"{temperature}\n")
    make_session(tmp_path / "artifacts")
    return tmp_path


@pytest.fixture
def large_run(tmp_path: Path) -> Path:
    """The folder of a project with one run, which a slow server takes more than a minute to verify."""
    place = tmp_path / "large"
    with runcard.record(place / "outputs", strict=True) as run:
        (run.path / "large.bin").touch()
        os.truncate(run.path / "large.bin", LARGE)
    return place
