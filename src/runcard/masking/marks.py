"""What stands where a secret was, and what masking gives back.

Invariant: a mark is ASCII without quotes, spaces and backslashes, so that JSON stays JSON and a line stays a line.
"""

from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

MARK = "[masked:"  # every mark begins so; a value that holds it has been masked already


class Masked(NamedTuple, Generic[T]):
    """What was given, without its secrets; and how many were taken out, by rule."""

    value: T
    counts: dict[str, int]


def mark(rule: str) -> str:
    return f"{MARK}{rule}]"


def count(counts: dict[str, int], more: dict[str, int]) -> None:
    """Add `more` to `counts`."""
    for rule, number in more.items():
        counts[rule] = counts.get(rule, 0) + number
