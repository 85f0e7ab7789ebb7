"""A question that the code asks about one subject, and the answers that make it true. No syntax is known here.

Questions of the same kind with the same key are about one characteristic. What its states are can be told only when all
of them are known: `states` does it.
"""

from dataclasses import dataclass
from typing import NamedTuple

from runcard.plans.analysis.subjects import Subject

PRESENT, EMPTY, ABSENT = "present", "empty", "absent"
OTHER = "other"


class Presence(NamedTuple):
    """Whether there is something: in which of present, empty and absent the answer is yes."""

    holds: frozenset[str]
    tells: frozenset[str]  # the states besides present that it tells apart from it


class Declared(NamedTuple):
    """The values that a class declares for an attribute."""

    values: tuple[str, ...]
    is_ordered: bool = False  # by a state machine
    default: str | None = None


class Choice(NamedTuple):
    """Whether it is one of several values."""

    values: tuple[str, ...]
    is_closed: bool = False  # a `case` without `else`: nothing is said about further values
    declared: Declared | None = None
    instead_of: "Question | None" = None  # what is asked when it is not taken for a choice


class Threshold(NamedTuple):
    """What something is compared with; a number where it is one."""

    text: str
    number: float | int | None = None


class Pair(NamedTuple):
    """A question with two answers of its own."""

    positive: str
    negative: str
    holds: bool = True  # whether the code asks for the positive one
    equals: Threshold | None = None  # what it is compared with by `==`


class Cut(NamedTuple):
    """A place on the line of values: before the threshold, or behind it."""

    threshold: Threshold
    is_behind: bool


class Interval(NamedTuple):
    """The values from one cut to another; None is no end."""

    low: Cut | None
    high: Cut | None


class Bounds(NamedTuple):
    """Whether it lies in one of some intervals."""

    intervals: tuple[Interval, ...]
    operator: str
    value: Threshold
    is_closed: bool = False


class Outcome(NamedTuple):
    """Whether a piece of code ran through, or which error it raised."""

    errors: tuple[str, ...]


Answer = Presence | Pair | Choice | Bounds | Outcome


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked at one place of the code."""

    subject: Subject
    key: tuple[str, str]  # the kind, and what is asked about
    name: str  # of the characteristic
    answer: Answer
    text: str  # the condition, as written
    line: int
    via: str | None = None  # the private method that it stands in


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a condition."""

    inner: "Condition"


@dataclass(frozen=True, slots=True)
class Both:
    """Two conditions, of which the second is asked only when the first holds."""

    left: "Condition"
    right: "Condition"


Condition = Question | Not | Both


def either(left: Condition, right: Condition) -> Condition:
    """Two conditions, of which the second is asked only when the first does not hold."""
    return Not(Both(Not(left), Not(right)))


def asked_in(condition: Condition) -> list[Question]:
    """All questions of a condition, in the order in which they are asked."""
    if isinstance(condition, Question):
        return [condition]
    if isinstance(condition, Not):
        return asked_in(condition.inner)
    return [*asked_in(condition.left), *asked_in(condition.right)]
