from pathlib import Path

import pytest

from child_process.commands import Runner


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)
