"""No test leaves a session open in this process: runs of the next tests would belong to it."""

from collections.abc import Iterator

import pytest

from runcard.recording.session_link import started_sessions


@pytest.fixture(autouse=True)
def _all_sessions_have_ended() -> Iterator[None]:
    yield
    assert started_sessions() == ()
