"""The names of the directories of runs and sessions: made of the start time, for a session also of its id."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count

# Patterns are compiled when they are first used.
_RUN_NAME = r"(\d{4}-\d{2}-\d{2}_\d{6})(?:-(\d{1,9}))?"
_SESSION_NAME = r"(\d{4}-\d{2}-\d{2}_\d{2}-\d{2}-\d{2})-(.+)"


class RunNames:
    """The names that the directory of a run may have: the second one of the same second gets a number."""

    def __init__(self, start: datetime) -> None:
        self._first = f"{start:%Y-%m-%d_%H%M%S}"

    def name(self, number: int) -> str:
        """The name of the run with this number among those of one second; the first one has number 1."""
        return self._first if number == 1 else f"{self._first}-{number}"

    def numbered_from(self, number: int) -> Iterator[str]:
        return map(self.name, count(number))

    def first_free(self, is_taken: Callable[[str], bool]) -> int:
        """The number after those that are taken, found in few steps. Where some in between are free, it may be one of them."""
        taken, free = 0, 1
        while is_taken(self.name(free)):
            taken, free = free, 2 * free
        while free - taken > 1:
            middle = (taken + free) // 2
            taken, free = (middle, free) if is_taken(self.name(middle)) else (taken, middle)
        return free


def session_name(moment: datetime, session_id: str) -> str:
    """The name of a session's directory."""
    return f"{moment:%Y-%m-%d_%H-%M-%S}-{session_id}"


def session_id_in(name: str) -> str | None:
    """The session id in the name of a session's directory; None for another name."""
    match = re.fullmatch(_SESSION_NAME, name, re.ASCII | re.DOTALL)
    return match[2] if match else None


def start_in(name: str) -> tuple[datetime, int] | None:
    """The start time in the name of a record's directory, and its number among those of one second."""
    run = re.fullmatch(_RUN_NAME, name, re.ASCII)
    session = None if run else re.fullmatch(_SESSION_NAME, name, re.ASCII | re.DOTALL)
    match, form = (run, "%Y-%m-%d_%H%M%S") if run else (session, "%Y-%m-%d_%H-%M-%S")
    if match is None:
        return None
    try:
        return datetime.strptime(match[1], form).replace(tzinfo=UTC), int((run and run[2]) or 1)
    except ValueError:
        return None
