"""What a branch that ran proves: the states that a characteristic can have had.

Only what is certain counts. After `a || b` ran neither is certain; after its `else` both are false.
"""

from collections.abc import Mapping
from typing import NamedTuple

from runcard.plans.analysis.argument_states import ArgumentStates
from runcard.plans.analysis.method_source import Method
from runcard.plans.analysis.outcome_notes import Result
from runcard.plans.analysis.questions import Condition, MethodFlow, Not, Path, Question, Span
from runcard.plans.analysis.states import Characteristic, Characteristics
from runcard.plans.ruby.ruby_values import RubyValue
from runcard.plans.ruby.syntax_tree import Code

_ONE_ARM = {"while", "until", "line", "rescue"}  # these do not count when their condition is false
Possible = dict[Characteristic, frozenset[str]]


class ArmStates(NamedTuple):
    """One way through a branch, and the states that are possible when it runs, by characteristic."""

    label: str
    states: Mapping[str, frozenset[str]]


class BranchStates(NamedTuple):
    """A branch, as Ruby's branch coverage names it."""

    kind: str
    span: Span
    arms: tuple[ArmStates, ...]
    deciding: frozenset[str]  # the characteristics that its condition asks for
    handlers: tuple[int, ...] = ()  # of a `rescue`: the first lines of its handlers
    is_caught: bool = True  # of a `rescue`: whether the handlers catch all errors


class WayStates(NamedTuple):
    """A way out of a method, and the states that are possible when it is taken, by characteristic."""

    result: Result
    value: RubyValue | None
    error: str
    states: Mapping[str, frozenset[str]]


class AskedStates(NamedTuple):
    """A characteristic that is surely asked for, and the states of others in which it is."""

    name: str
    needs: Mapping[str, frozenset[str]]


class MethodBranches(NamedTuple):
    """The branches of a method, its lines, and the characteristics that other code than these branches asks for, too."""

    branches: tuple[BranchStates, ...]
    states: Mapping[str, frozenset[str]]  # of each characteristic
    asked_elsewhere: frozenset[str]
    ways_out: tuple[WayStates, ...] = ()
    asked: tuple[AskedStates, ...] = ()
    arguments: ArgumentStates | None = None
    has_namesake: bool = False  # whether the class has an instance method and a class method of this name


def method_branches(code: Code, method: Method, flow: MethodFlow) -> MethodBranches:
    """What each branch of a method, and each way out of it, proves."""
    defaults = method.defaults
    characteristics = Characteristics([item.question for item in flow.questions], defaults)
    known = {characteristic.name: frozenset(characteristic.states) for characteristic in characteristics.all}
    reader = _Implications(characteristics, flow.partial)
    branches: list[BranchStates] = []
    seen: set[int] = set()
    for branch in flow.branches:
        if not all(map(reader.is_known, branch.questions)):
            continue
        if branch.kind not in _ONE_ARM:
            seen |= set(map(id, branch.questions))
        deciding = frozenset(characteristics.of(question).name for question in branch.questions)
        arms = tuple(ArmStates(arm.label, reader.on_path(arm.path)) for arm in branch.arms)
        branches.append(
            BranchStates(
                branch.kind, branch.span, arms, deciding & known.keys(), branch.handlers, branch.is_caught
            )
        )
    asked = {
        characteristics.of(item.question).name for item in flow.questions if id(item.question) not in seen
    }
    ways = tuple(
        WayStates(way.result, way.value, way.error, reader.on_path(way.path)) for way in flow.ways_out
    )
    sure = tuple(
        AskedStates(characteristics.of(item.question).name, reader.on_path(item.path + item.passed))
        for item in flow.questions
        if item.is_sure and reader.is_exact(item.path + item.passed)
    )
    arguments = ArgumentStates(code, method.node, characteristics.all)
    return MethodBranches(
        tuple(branches), known, frozenset(asked), () if flow.too_deep else ways, sure, arguments
    )


class _Implications:
    def __init__(self, characteristics: Characteristics, partial: set[int]) -> None:
        self._characteristics, self._partial = characteristics, partial

    def is_known(self, question: Question) -> bool:
        return self._characteristics.knows(question)

    def on_path(self, path: Path) -> dict[str, frozenset[str]]:
        """The states that are possible after all conditions of a path; only for those that it restricts."""
        possible: Possible = {}
        for condition, truth in path:
            if id(condition) not in self._partial:
                possible = _both(possible, self._of(condition, truth=truth))
        return {
            characteristic.name: states
            for characteristic, states in possible.items()
            if len(characteristic.states) > 1
        }

    def is_exact(self, path: Path) -> bool:
        """Whether the states of a path say all that it needs."""
        plain = [condition.inner if isinstance(condition, Not) else condition for condition, _ in path]
        return all(
            isinstance(condition, Question) and self.is_known(condition) and id(whole) not in self._partial
            for condition, (whole, _) in zip(plain, path, strict=True)
        )

    def _of(self, condition: Condition, *, truth: bool) -> Possible:
        if isinstance(condition, Question):
            return self._of_question(condition, truth=truth)
        if isinstance(condition, Not):
            return self._of(condition.inner, truth=not truth)
        left = self._of(condition.left, truth=True)
        if truth:
            return _both(left, self._of(condition.right, truth=True))
        second = _both(left, self._of(condition.right, truth=False))
        first = self._of(condition.left, truth=False)
        return {each: first[each] | second[each] for each in first.keys() & second.keys()}

    def _of_question(self, question: Question, *, truth: bool) -> Possible:
        requirement = self._characteristics.single_requirement(question) if self.is_known(question) else None
        if requirement is None:
            return {}
        characteristic, states = requirement
        return {characteristic: states if truth else frozenset(characteristic.states) - states}


def _both(first: Possible, second: Possible) -> Possible:
    joint = {each: first[each] & second[each] for each in first.keys() & second.keys()}
    return first | second | joint
