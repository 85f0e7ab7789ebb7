"""Questions: what the code asks about one subject, the answers that make it true, and the path that leads to it.

No syntax is known here. Questions of the same kind with the same key belong to one characteristic; its states are known
when all of its questions are (`states.py`).
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from runcard.plans.analysis.subjects import Subject

PRESENT, EMPTY, ABSENT = "present", "empty", "absent"
OTHER = "other"


class Presence(NamedTuple):
    """Whether a value is present: the states (present, empty, absent) in which the answer is yes."""

    holds: frozenset[str]
    tells: frozenset[str]  # the states that it distinguishes from present


class DeclaredValues(NamedTuple):
    """The values that a class declares for an attribute."""

    values: tuple[str, ...]
    is_ordered: bool = False  # by a state machine
    default: str | None = None


class Choice(NamedTuple):
    """Whether a value is one of several."""

    values: tuple[str, ...]
    is_closed: bool = False  # a `case` without `else`: other values do not matter
    declared: DeclaredValues | None = None
    instead_of: "Question | None" = None  # the question itself, when it is not part of a choice


class Threshold(NamedTuple):
    """The right side of a comparison; with its number, if it is one."""

    text: str
    number: float | int | None = None


class Pair(NamedTuple):
    """A question with two named answers."""

    positive: str
    negative: str
    holds: bool = True  # whether the code asks for the positive one
    equals: Threshold | None = None  # the right side of `==`


class Cut(NamedTuple):
    """A position on the number line: just below a threshold, or just above it."""

    threshold: Threshold
    is_above: bool


class Interval(NamedTuple):
    """The values from one cut to another; None means unbounded."""

    low: Cut | None
    high: Cut | None


class Bounds(NamedTuple):
    """Whether a value is in one of several intervals."""

    intervals: tuple[Interval, ...]
    operator: str
    value: Threshold
    is_closed: bool = False


class RescueOutcome(NamedTuple):
    """Whether code succeeded, or which error it raised."""

    errors: tuple[str, ...]
    classes: tuple[str, ...] = ()  # the same errors, as written


Answer = Presence | Pair | Choice | Bounds | RescueOutcome


class Wording(NamedTuple):
    """A subject, and what each state says of it; without a subject, each is a whole clause."""

    subject: str
    states: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question at one place of the code."""

    subject: Subject
    key: tuple[str, str]  # the kind, and the subject
    name: str  # of the characteristic
    answer: Answer
    text: str  # the condition, as written
    line: int
    via: str | None = None  # the private method that contains it
    wording: "Wording | None" = None  # what its answers read like, if their names do not tell
    counted: Subject | None = None  # what `size`, `length` or `count` is asked of


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of a condition."""

    inner: "Condition"


@dataclass(frozen=True, slots=True)
class Both:
    """`left && right`: the second is evaluated only when the first holds."""

    left: "Condition"
    right: "Condition"


Condition = Question | Not | Both


def either(left: Condition, right: Condition) -> Condition:
    """`left || right`: the second is evaluated only when the first does not hold."""
    return Not(Both(Not(left), Not(right)))


Known = Condition | bool  # a condition, or one that always or never holds
Truth = Known | None  # None: it is not known when it holds


def negation(truth: Known) -> Known:
    if isinstance(truth, bool):
        return not truth
    return truth.inner if isinstance(truth, Not) else Not(truth)


def conjunction(left: Known, right: Known) -> Known:
    if left is False or right is False:
        return False
    if isinstance(left, bool) or isinstance(right, bool):
        return right if isinstance(left, bool) else left
    return left if left == right else Both(left, right)


def alternative(left: Known, right: Known) -> Known:
    return negation(conjunction(negation(left), negation(right)))


def chosen(test: Known, yes: Known, no: Known) -> Known:
    """`test ? yes : no`."""
    if isinstance(test, bool):
        return yes if test else no
    if yes == no:
        return yes
    if isinstance(yes, bool):
        return alternative(test, no) if yes else conjunction(negation(test), no)
    if isinstance(no, bool):
        return alternative(negation(test), yes) if no else conjunction(test, yes)
    return alternative(conjunction(test, yes), conjunction(negation(test), no))


def questions_in(condition: Condition) -> list[Question]:
    """All questions of a condition, in the order of evaluation."""
    if isinstance(condition, Question):
        return [condition]
    if isinstance(condition, Not):
        return questions_in(condition.inner)
    return [*questions_in(condition.left), *questions_in(condition.right)]


Path = tuple[tuple[Condition, bool], ...]  # what must hold for a place to be reached


class PathQuestion(NamedTuple):
    """A question, and the path that leads to it."""

    question: Question
    path: Path
    passed: Path = ()  # guards before it that are on no path
    is_sure: bool = (
        False  # it is asked whenever its path holds and no error is raised: not in a block or a `rescue`
    )


class Exit(NamedTuple):
    """A branch that leaves the method, the block or the loop iteration."""

    path: Path  # that leads to the condition
    condition: Condition
    truth: bool


class FlowResult(NamedTuple):
    """The result of walking code: how it ends, or else what holds after it."""

    ends: str | None = None
    after: Path = ()
    passed: Path = ()  # what also holds after it: a guard with a modifier was passed


class Arm(NamedTuple):
    """One way through a branch, and what must hold for it to run."""

    label: str  # as Ruby's branch coverage names it: then, else, when, in, body
    path: Path


Span = tuple[int, int, int, int]  # first line and column (in bytes), last line and column


class Branch(NamedTuple):
    """A branch of the code, as Ruby's branch coverage counts it; or, with the kind `line`, a line of its own.

    The kind `rescue` is a body that ran more often than the handlers after it.
    """

    kind: str  # if, unless, case, while, until, &., line, rescue
    span: Span
    arms: tuple[Arm, ...]
    questions: tuple[Question, ...]  # that decide which arm runs
    handlers: tuple[int, ...] = ()  # of a `rescue`: the first lines of its handlers
    is_caught: bool = True  # of a `rescue`: whether the handlers catch all errors


@dataclass(slots=True)
class MethodFlow:
    """All questions of a method in the order of the text, all branches that leave it, and all that coverage counts."""

    questions: list[PathQuestion]
    exits: list[Exit]
    too_deep: int | None = None  # the first line that was left out
    branches: list[Branch] = field(default_factory=list)
    partial: set[int] = field(default_factory=set)  # ids of conditions that are not read in full
    ways_out: list[Any] = field(default_factory=list)  # what it returns or raises, with their paths


def then(path: Path, condition: Condition | None, *, truth: bool) -> Path:
    """The path after a condition; a constant adds nothing."""
    return path if condition is None or not questions_in(condition) else (*path, (condition, truth))


def as_exclusive_choice(conditions: list[Condition | None]) -> list[Condition | None]:
    """The conditions of an `if` and its `elsif`s; as one choice when they are all predicates of one subject.

    `if user.admin? … elsif user.editor? … else …` has three branches, and a user takes the first that matches.
    """
    pairs = [pair for condition in conditions if (pair := _predicate(condition)) is not None]
    owners = {owner for _, _, owner in pairs}
    if len(conditions) < 2 or len(pairs) != len(conditions) or len(owners) != 1 or owners == {""}:
        return conditions
    first, answer, _ = pairs[0]
    name = f"{first.name.removesuffix(answer.positive).strip('_')}_status"
    return [_as_choice(question, answer, owner, name) for question, answer, owner in pairs]


def _predicate(condition: Condition | None) -> tuple[Question, Pair, str] | None:
    """A plain predicate such as `user.admin?`, with its owner; the owner is empty for `self`."""
    if not isinstance(condition, Question) or not isinstance(condition.answer, Pair):
        return None
    if not condition.answer.holds or not condition.subject.key.endswith("?"):
        return None
    return condition, condition.answer, condition.subject.key.rpartition(".")[0]


def _as_choice(question: Question, answer: Pair, owner: str, name: str) -> Question:
    subject = Subject(f"{owner}.status?", name, question.subject.text, question.subject.root)
    choice = Choice((answer.positive,), instead_of=question)
    return Question(subject, ("value", subject.key), name, choice, question.text, question.line, question.via)
