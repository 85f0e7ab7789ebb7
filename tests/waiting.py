"""Waiting for a condition: the only place where tests sleep.

The limits are generous, since a busy machine can be ten times slower. A test that needs one of them has failed.
"""

import time
from collections.abc import Callable

LIMIT = 60.0  # seconds
POLL_INTERVAL = 0.005


def wait_until(condition: Callable[[], object], what: str = "the condition", limit: float = LIMIT) -> None:
    """Return when the condition is true; fail after the limit."""
    if not is_true_within(limit, condition):
        raise AssertionError(f"waited {limit:g} seconds for {what}")


def is_true_within(seconds: float, condition: Callable[[], object]) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(POLL_INTERVAL)
    return True
