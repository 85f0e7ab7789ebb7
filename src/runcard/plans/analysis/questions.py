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


class DeclaredValues(NamedTuple):
    """The values that a class declares for an attribute."""

    values: tuple[str, ...]
    is_ordered: bool = False  # by a state machine
    default: str | None = None


class Choice(NamedTuple):
    """Whether it is one of several values."""

    values: tuple[str, ...]
    is_closed: bool = False  # a `case` without `else`: nothing is said about further values
    declared: DeclaredValues | None = None
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


class RescueOutcome(NamedTuple):
    """Whether a piece of code ran through, or which error it raised."""

    errors: tuple[str, ...]


Answer = Presence | Pair | Choice | Bounds | RescueOutcome


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


def questions_in(condition: Condition) -> list[Question]:
    """All questions of a condition, in the order in which they are asked."""
    if isinstance(condition, Question):
        return [condition]
    if isinstance(condition, Not):
        return questions_in(condition.inner)
    return [*questions_in(condition.left), *questions_in(condition.right)]


Path = tuple[tuple[Condition, bool], ...]


class PathQuestion(NamedTuple):
    """A question, and what must hold for it to be asked."""

    question: Question
    path: Path


class Exit(NamedTuple):
    """A branch that leaves the method, the block or the round."""

    path: Path  # what must hold for the condition to be asked
    condition: Condition
    truth: bool


class FlowResult(NamedTuple):
    """What comes of a piece of code: whether it is left for good, and what holds behind it otherwise."""

    ends: str | None = None
    after: Path = ()


@dataclass(slots=True)
class MethodFlow:
    """All questions of a method in the order of the text, and where it is left."""

    asked: list[PathQuestion]
    left: list[Exit]
    too_deep: int | None = None  # the line of what was left out


def then(path: Path, condition: Condition | None, *, truth: bool) -> Path:
    """A path that goes on behind a condition; what is always the same adds nothing."""
    return path if condition is None or not questions_in(condition) else (*path, (condition, truth))


def as_exclusive_choice(conditions: list[Condition | None]) -> list[Condition | None]:
    """The conditions of an `if` with its `elsif`s: as a choice where they are that, else as they are."""
    pairs = [pair for one in conditions if (pair := _predicate(one)) is not None]
    owners = {owner for _, _, owner in pairs}
    if len(conditions) < 2 or len(pairs) != len(conditions) or len(owners) != 1 or owners == {""}:
        return conditions
    first, answer, _ = pairs[0]
    name = f"{first.name.removesuffix(answer.positive).strip('_')}_status"
    return [_chosen(question, answer, owner, name) for question, answer, owner in pairs]


def _predicate(condition: Condition | None) -> tuple[Question, Pair, str] | None:
    """A plain question of a subject, such as `user.admin?`; and the subject, empty for the object itself."""
    if not isinstance(condition, Question) or not isinstance(condition.answer, Pair):
        return None
    if not condition.answer.holds or not condition.subject.key.endswith("?"):
        return None
    return condition, condition.answer, condition.subject.key.rpartition(".")[0]


def _chosen(question: Question, answer: Pair, owner: str, name: str) -> Question:
    subject = Subject(f"{owner}.status?", name, question.subject.text, question.subject.root)
    choice = Choice((answer.positive,), instead_of=question)
    return Question(subject, ("value", subject.key), name, choice, question.text, question.line, question.via)
