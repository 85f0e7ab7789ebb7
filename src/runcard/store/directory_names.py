"""The names of the directories of runs and sessions: made of the start time, for a session also of its id."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count

# Patterns are compiled when they are first used.
_RUN_NAME = r"(\d{4}-\d{2}-\d{2}_\d{6})(?:-(\d{1,9}))?"
_SESSION_NAME = r"(\d{4}-\d{2}-\d{2}_\d{2}-\d{2}-\d{2})-(.+)"


def run_names(moment: datetime) -> Iterator[str]:
    """The names that a run's directory may have: the second one of the same second gets a number."""
    name = f"{moment:%Y-%m-%d_%H%M%S}"
    yield name
    for number in count(2):
        yield f"{name}-{number}"


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
