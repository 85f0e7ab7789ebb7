from pathlib import Path

import pytest

from runs.command.commands import Runner


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)
