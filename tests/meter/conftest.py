"""A scripted upstream for one test."""

from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("meter.records")

from meter.scripted_upstream import ScriptedUpstream, scripted_upstream  # noqa: E402


@pytest.fixture
def upstream() -> Iterator[ScriptedUpstream]:
    with scripted_upstream() as server:
        yield server
