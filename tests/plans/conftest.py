from pathlib import Path

import pytest

from plans.projects import RubyProject
from plans.shop import Shop


@pytest.fixture
def project(tmp_path: Path) -> RubyProject:
    return RubyProject(tmp_path / "shop")


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A project with a method whose conditions depend on two states of their parent, without plans."""
    return Shop(tmp_path / "shop")
