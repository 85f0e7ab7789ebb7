"""Marks, which replace secrets: `[masked:<rule>]`; and the result of masking.

Invariant: a mark is ASCII without quotes, spaces and backslashes, so that JSON stays JSON and a line stays a line.
"""

from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

MARK = "[masked:"  # the start of every mark; a value with it was masked already


class Masked(NamedTuple, Generic[T]):
    """A value without its secrets, and how many were masked, by rule."""

    value: T
    counts: dict[str, int]


def mark(rule: str) -> str:
    return f"{MARK}{rule}]"


def add_counts(counts: dict[str, int], more: dict[str, int]) -> None:
    """Add `more` to `counts`."""
    for rule, number in more.items():
        counts[rule] = counts.get(rule, 0) + number
