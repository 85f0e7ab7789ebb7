"""Every test of importing works in a folder of its own, with a home of its own for the agent tools."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _always_here(here: Path) -> None: ...


@pytest.fixture(autouse=True)
def _user(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
