"""The characteristics of a method: their types and states, and the states in which each question is true."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from runcard.plans.analysis.questions import (
    ABSENT,
    EMPTY,
    OTHER,
    PRESENT,
    Bounds,
    Choice,
    Condition,
    Cut,
    DeclaredValues,
    Interval,
    Not,
    Pair,
    Presence,
    Question,
    RescueOutcome,
    Threshold,
)
from runcard.plans.analysis.ranges import NumberLine, number_line
from runcard.plans.analysis.subjects import Subject
from runcard.plans.analysis.vocabulary import GOOD, SUCCEEDED, is_count

Key = tuple[str, str]
_MAX_WAYS = 4  # to satisfy a part of a condition that are followed
Requirement = tuple["Characteristic", frozenset[str]]  # a characteristic, and the states it must be in


@dataclass(slots=True, eq=False)
class Characteristic:
    """A characteristic, before it is written into a plan."""

    name: str
    questions: list[Question]
    type: str = "binary"
    states: list[str] = field(default_factory=list)
    default: str | None = None
    line: NumberLine | None = None

    def true_in(self, question: Question) -> frozenset[str]:
        """The states in which the answer to a question is yes."""
        answer = question.answer
        if isinstance(answer, Presence):
            return answer.holds.intersection(self.states)
        if isinstance(answer, Pair):
            return frozenset({self.states[0 if answer.holds else 1]})
        if isinstance(answer, Choice):
            return frozenset(answer.values)
        if isinstance(answer, RescueOutcome):
            return frozenset(answer.errors)
        line = self.line
        states = [
            state for interval in answer.intervals for state in (line.segments_in(interval) if line else ())
        ]
        return frozenset(states).intersection(self.states)


class Characteristics:
    """All characteristics of a method, in the order of their first question."""

    def __init__(self, questions: list[Question], defaults: Mapping[str, Any]) -> None:
        self._ways: dict[tuple[int, bool], list[list[Requirement]]] = {}  # by id of the condition
        keys = {question.key for question in questions}
        self._not_exclusive = {
            question.key
            for question in questions
            if isinstance(question.answer, Choice)
            and question.answer.instead_of is not None
            and question.answer.instead_of.key in keys
        }
        self._emptiness = _asked_for_emptiness(questions)
        resolved = [self._resolved(question) for question in questions]
        self._aliases = _aliases(resolved)
        self._by_key: dict[Key, Characteristic] = {}
        for question in resolved:
            characteristic = self._by_key.setdefault(self._key(question), Characteristic(question.name, []))
            characteristic.questions.append(self._with_bounds(question))
        names: set[str] = set()
        for characteristic in self._by_key.values():
            _set_states(characteristic, defaults)
            characteristic.name = _unique_name(characteristic.name, names)

    @property
    def all(self) -> list[Characteristic]:
        return [characteristic for characteristic in self._by_key.values() if len(characteristic.states) > 1]

    def of(self, question: Question) -> Characteristic:
        return self._by_key[self._key(self._resolved(question))]

    def knows(self, question: Question) -> bool:
        """Whether the code asks for it, so that it belongs to a characteristic."""
        return self._key(self._resolved(question)) in self._by_key

    def _resolved(self, question: Question) -> Question:
        """The predicate instead of the choice, when it is also asked alone: then the predicates need not be exclusive."""
        answer = question.answer
        if question.key in self._not_exclusive and isinstance(answer, Choice) and answer.instead_of:
            return answer.instead_of
        if question.key in self._emptiness and question.counted is not None and isinstance(answer, Bounds):
            return _as_emptiness(question, question.counted, answer)
        return question

    def _key(self, question: Question) -> Key:
        return self._aliases.get(question.key, question.key)

    def _with_bounds(self, question: Question) -> Question:
        if question.key not in self._aliases or not isinstance(question.answer, Choice | Pair):
            return question
        return replace(question, answer=_as_bounds(question.answer))

    def single_requirement(self, condition: Condition) -> Requirement | None:
        """The characteristic and the states in which a condition holds; None when it involves several."""
        if isinstance(condition, Question):
            characteristic = self.of(condition)
            return characteristic, characteristic.true_in(self._with_bounds(self._resolved(condition)))
        if isinstance(condition, Not):
            inner = self.single_requirement(condition.inner)
            return None if inner is None else (inner[0], frozenset(inner[0].states) - inner[1])
        left, right = self.single_requirement(condition.left), self.single_requirement(condition.right)
        if left is None or right is None or left[0] is not right[0]:
            return None
        return left[0], left[1] & right[1]

    def ways(self, condition: Condition, *, truth: bool) -> list[list[Requirement]]:
        """The ways to make a condition true or false, each as a list of requirements."""
        known = self._ways.get((id(condition), truth))
        if known is None:
            known = self._ways[id(condition), truth] = self._compute_ways(condition, truth=truth)
        return known

    def _compute_ways(self, condition: Condition, *, truth: bool) -> list[list[Requirement]]:
        requirement = self.single_requirement(condition)
        if requirement is not None:
            characteristic, states = requirement
            return [[(characteristic, states if truth else frozenset(characteristic.states) - states)]]
        if isinstance(condition, Not):
            return self.ways(condition.inner, truth=not truth)
        if isinstance(condition, Question):
            return []
        left = self.ways(condition.left, truth=True)[:_MAX_WAYS]
        right = self.ways(condition.right, truth=truth)[:_MAX_WAYS]
        through = [[*first, *second] for first in left for second in right]
        return through if truth else [*self.ways(condition.left, truth=False), *through]


_EMPTY_BELOW = {("<", 1), ("<=", 0), ("==", 0)}
_FILLED_FROM = {(">", 0), (">=", 1)}


def _asked_for_emptiness(questions: list[Question]) -> set[Key]:
    """The keys of counts that are only compared to tell whether there is anything: `list.size > 0`."""
    counts: dict[Key, bool] = {}
    for question in questions:
        answer = question.answer
        if isinstance(answer, Bounds):
            limit = (answer.operator, answer.value.number)
            only = question.counted is not None and limit in _EMPTY_BELOW | _FILLED_FROM
            counts[question.key] = counts.get(question.key, True) and only
    return {key for key, only in counts.items() if only}


def _as_emptiness(question: Question, counted: Subject, answer: Bounds) -> Question:
    is_empty = (answer.operator, answer.value.number) in _EMPTY_BELOW
    presence = Presence(frozenset({EMPTY if is_empty else PRESENT}), frozenset({EMPTY}))
    key = ("presence", counted.key)
    return replace(question, subject=counted, key=key, name=f"{counted.name}_present", answer=presence)


def _aliases(questions: list[Question]) -> dict[Key, Key]:
    """Keys of `==` questions that belong to a range, because the subject is also compared by `>=` with the same value."""
    limits: dict[str, set[Threshold]] = {}
    for question in questions:
        if isinstance(question.answer, Bounds):
            limits.setdefault(question.subject.key, set()).add(question.answer.value)
    chosen: dict[Key, bool] = {}
    keys: dict[Key, Key] = {}
    for question in questions:
        answer, known = question.answer, limits.get(question.subject.key)
        if isinstance(answer, Choice) and known:
            numeric = all(value.isdecimal() for value in answer.values)
            chosen[question.key] = chosen.get(question.key, True) and numeric
        elif isinstance(answer, Pair) and known and answer.equals in known:
            keys[question.key] = ("range", question.subject.key)
    return keys | {key: ("range", key[1]) for key, numeric in chosen.items() if numeric}


def _as_bounds(answer: Choice | Pair) -> Bounds:
    if isinstance(answer, Choice):
        values = [Threshold(value, int(value)) for value in answer.values]
    else:
        values = [answer.equals] if answer.equals else []
    intervals = tuple(Interval(Cut(value, False), Cut(value, True)) for value in values)
    return Bounds(intervals, "==", values[0], isinstance(answer, Choice) and answer.is_closed)


def _unique_name(name: str, used: set[str]) -> str:
    unique, number = name, 2
    while unique in used:
        unique, number = f"{name}_{number}", number + 1
    used.add(unique)
    return unique


def _set_states(characteristic: Characteristic, defaults: Mapping[str, Any]) -> None:
    answers = [question.answer for question in characteristic.questions]
    first = answers[0]
    if isinstance(first, Presence):
        _presence(characteristic, [answer for answer in answers if isinstance(answer, Presence)])
    elif isinstance(first, Pair):
        characteristic.states = [first.positive, first.negative]
    elif isinstance(first, Choice):
        _choice(characteristic, [answer for answer in answers if isinstance(answer, Choice)])
    elif isinstance(first, RescueOutcome):
        errors = [error for answer in answers if isinstance(answer, RescueOutcome) for error in answer.errors]
        characteristic.states = [SUCCEEDED, *dict.fromkeys(errors)]
        characteristic.type = "enum" if len(characteristic.states) > 2 else "binary"
    else:
        _range(characteristic, [answer for answer in answers if isinstance(answer, Bounds)])
    subject = characteristic.questions[0].subject
    if characteristic.default is None and subject.key in defaults:
        characteristic.default = _default(characteristic, defaults[subject.key])


def _presence(characteristic: Characteristic, answers: list[Presence]) -> None:
    distinguished = {state for answer in answers for state in answer.tells}
    characteristic.states = [PRESENT, *(state for state in (EMPTY, ABSENT) if state in distinguished)]
    characteristic.type = "enum" if len(characteristic.states) > 2 else "binary"


def _choice(characteristic: Characteristic, answers: list[Choice]) -> None:
    values = list(dict.fromkeys(value for answer in answers for value in answer.values))
    declared = [answer.declared for answer in answers]
    known = declared[0]
    if known is not None and None not in declared:
        _declared(characteristic, known)
        return
    is_closed = all(answer.is_closed for answer in answers) and len(values) > 1
    characteristic.type = "enum"
    if is_closed:
        characteristic.states = values
    elif len(values) == 1:
        characteristic.states, characteristic.type = [values[0], f"not_{values[0]}"], "binary"
    else:
        characteristic.states = [*values, _other(values)]


def _other(values: list[str]) -> str:
    return OTHER if OTHER not in values else "none_of_these"


def _declared(characteristic: Characteristic, declared: DeclaredValues) -> None:
    characteristic.states = list(declared.values)
    characteristic.type = "sequential" if declared.is_ordered else "enum"
    characteristic.default = declared.default


def _range(characteristic: Characteristic, answers: list[Bounds]) -> None:
    characteristic.line = number_line(characteristic.name, answers)
    characteristic.states, characteristic.type = list(characteristic.line.names), "range"
    if characteristic.line.is_point and all(answer.operator == "==" for answer in answers):
        characteristic.states, characteristic.type = (
            [characteristic.line.names[1], f"not_{characteristic.line.names[1]}"],
            "binary",
        )
        return
    if is_count(characteristic.name) and characteristic.states[0] == "negative":
        asks = any(characteristic.true_in(question) == {"negative"} for question in characteristic.questions)
        characteristic.states = characteristic.states if asks else characteristic.states[1:]
    if all(answer.is_closed for answer in answers):
        used = {
            state
            for answer in answers
            for interval in answer.intervals
            for state in characteristic.line.segments_in(interval)
        }
        chosen = [state for state in characteristic.states if state in used]
        characteristic.states = chosen if len(chosen) > 1 else characteristic.states
    if len(characteristic.states) == 2:
        is_second = characteristic.true_in(characteristic.questions[0]) == {characteristic.states[1]}
        if characteristic.states[1] in GOOD or (is_second and characteristic.states[0] not in GOOD):
            characteristic.states.reverse()


def _default(characteristic: Characteristic, value: object) -> str | None:
    """The state for the default of a parameter."""
    if characteristic.states == ["enabled", "disabled"] and isinstance(value, bool):
        return "enabled" if value else "disabled"
    answer = characteristic.questions[0].answer
    if isinstance(answer, Presence):
        return default_presence(characteristic, answer, value)
    return value if isinstance(value, str) and value in characteristic.states else None


def default_presence(characteristic: Characteristic, answer: Presence, value: object) -> str | None:
    """Whether a value is present; an empty value may count as absent, as with `blank?`."""
    state = PRESENT
    if value is None or value is False:
        state = ABSENT
    elif value in ("", [], {}):
        state = EMPTY
        if EMPTY not in characteristic.states:
            state = PRESENT if (EMPTY in answer.holds) == (PRESENT in answer.holds) else ABSENT
    return state if state in characteristic.states else None
