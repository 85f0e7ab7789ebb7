"""A directory with many files; helpers that are started at once."""

import os
from typing import Any

import pytest

from parallel.directories import ManyFiles
from runcard.parallel import chunks, helper_pool
from runcard.parallel.helper_pool import HelperThread
from runcard.parallel.worker import SMALL_FILE


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> ManyFiles:
    """Some hundred small files in a few directories, and others."""
    root = tmp_path_factory.mktemp("many")
    files = {f"{number % 7}/sub/{number}": b"%d " % number * (number % 50 + 1) for number in range(400)}
    files |= {"empty": b"", "1/large": os.urandom(SMALL_FILE + 1), "1/limit": os.urandom(SMALL_FILE)}
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return ManyFiles(root, files)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> list[HelperThread]:
    """Helpers are started at once, on two cores, for small chunks, and noted."""
    started: list[HelperThread] = []

    class Counted(HelperThread):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            started.append(self)

    monkeypatch.setattr(helper_pool, "START_AFTER", 0)
    monkeypatch.setattr(chunks, "CHUNK_FILES", 16)
    monkeypatch.setattr(chunks, "cores", lambda: 2)
    monkeypatch.setattr(helper_pool, "HelperThread", Counted)
    return started
