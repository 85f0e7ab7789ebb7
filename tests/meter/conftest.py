"""A scripted upstream for one test."""

from collections.abc import Iterator

import pytest

from meter.scripted_upstream import ScriptedUpstream, scripted_upstream


@pytest.fixture
def upstream() -> Iterator[ScriptedUpstream]:
    with scripted_upstream() as server:
        yield server
