from pathlib import Path

import pytest

from plans.projects import RubyProject


@pytest.fixture
def project(tmp_path: Path) -> RubyProject:
    return RubyProject(tmp_path / "shop")
