"""Shared by exporting and importing a bundle: the limits, the result, and the first problem of a run."""

from typing import NamedTuple

from runcard.store.verification import Verdict

MAX_SIZE = 10 << 30  # bytes that a bundle may hold unless the user allows more
MAX_FILES = 100_000  # files, folders and links, likewise


class BundleResult(NamedTuple):
    """The bundle or run that was written."""

    path: str  # of the bundle, or of the run that was in it
    warnings: list[str]


def first_problem(verdict: Verdict) -> str | None:
    """The first finding about a run that is not intact and complete."""
    return None if verdict.intact and verdict.complete else verdict.findings[0].message
