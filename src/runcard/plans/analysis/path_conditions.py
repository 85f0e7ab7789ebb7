"""What must hold for a place in the code to be reached, and what was noted on the way through a method."""

from dataclasses import dataclass
from typing import NamedTuple

from runcard.plans.analysis.questions import Condition, Question, asked_in

Path = tuple[tuple[Condition, bool], ...]


class Asked(NamedTuple):
    """A question, and what must hold for it to be asked."""

    question: Question
    path: Path


class Left(NamedTuple):
    """A branch that leaves the method, the block or the round."""

    path: Path  # what must hold for the condition to be asked
    condition: Condition
    truth: bool


class Flow(NamedTuple):
    """What comes of a piece of code: whether it is left for good, and what holds behind it otherwise."""

    ends: str | None = None
    after: Path = ()


@dataclass(slots=True)
class Way:
    """All questions of a method in the order of the text, and where it is left."""

    asked: list[Asked]
    left: list[Left]
    too_deep: int | None = None  # the line of what was left out


def then(path: Path, condition: Condition | None, *, truth: bool) -> Path:
    """A path that goes on behind a condition; what is always the same adds nothing."""
    return path if condition is None or not asked_in(condition) else (*path, (condition, truth))
