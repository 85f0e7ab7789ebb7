"""Compares specs with a plan: which states are covered, and how that is known.

The evidence, in this order: a tag of the skeleton (`plan: 'customer_active:active'`); a branch that ran, by a coverage
report; the name of a context; the condition in the name of an example; and, of two states, the examples outside of the
contexts for the other one. A state is covered only if an example is there: a pending one, or one with a placeholder,
shows nothing. If coverage shows that the branch of a state did not run, the state is not covered, whatever a name says.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from runcard.encoding import JsonObject
from runcard.files import json_name
from runcard.plans.analysis.branch_states import MethodBranches
from runcard.plans.branch_evidence import BranchRun, StateKey
from runcard.plans.example_evidence import ProvenStates, proven_states
from runcard.plans.ruby.spec_calls import CallReader
from runcard.plans.ruby.spec_scope import SpecScope
from runcard.plans.ruby.spec_tree import (
    CONTEXT,
    DESCRIBE,
    EXPECTATION,
    HOOK,
    INCLUDE,
    IT,
    SHARED,
    SpecFile,
    SpecNode,
    read_spec,
)
from runcard.plans.spec_groups import (
    groups_around,
    is_group_of_method,
    is_of_another,
    is_of_class,
    is_of_method,
    method_groups,
    request_groups,
)
from runcard.plans.spec_paths import SHARED_ENDING
from runcard.plans.state_names import StateNames


class Status(StrEnum):
    """Whether the specs cover a state."""

    COVERED = "covered"
    NOT_COVERED = "not covered"
    UNKNOWN = "unknown"


class EvidenceKind(StrEnum):
    """How it is known that a state is covered."""

    TAG = "tag"
    COVERAGE = "coverage"
    CONTEXT = "context"
    EXAMPLE = "example"
    RESULT = "result"
    ARGUMENTS = "arguments"
    OTHERS = "other examples"


class Evidence(NamedTuple):
    """What shows that a state is covered: a place in a spec, or of a branch in the source."""

    known_by: EvidenceKind
    file: str
    line: int
    times: int | None = None  # that the branch ran

    def to_dict(self) -> JsonObject:
        data: JsonObject = {"by": self.known_by.value, "file": json_name(self.file).text, "line": self.line}
        return data if self.times is None else data | {"times": self.times}


@dataclass(frozen=True, slots=True)
class StateCoverage:
    """A state of a characteristic, and the evidence for it."""

    characteristic: str
    state: str
    status: Status
    evidence: tuple[Evidence, ...]
    lines: tuple[int, ...]  # of the contexts that name it, also of those without examples
    examples: int  # about it, by their contexts, calls and results; without pending ones
    reason: str | None = None  # why it is not covered, or not known

    @property
    def is_covered(self) -> bool:
        return self.status is Status.COVERED

    def to_dict(self) -> JsonObject:
        return {
            "characteristic": self.characteristic,
            "state": self.state,
            "status": self.status.value,
            "covered": self.is_covered,
            "reason": self.reason,
            "evidence": [each.to_dict() for each in self.evidence],
            "lines": list(self.lines),
            "examples": self.examples,
        }


@dataclass(frozen=True, slots=True)
class Review:
    """The result of the comparison."""

    states: tuple[StateCoverage, ...]
    unknown: tuple[SpecNode, ...]  # contexts that match no state of the plan
    placeholders: tuple[tuple[int, str], ...]
    has_group: bool  # whether the spec has a group for the method

    @property
    def uncovered(self) -> list[StateCoverage]:
        """The states that are not covered, or not known to be."""
        return [state for state in self.states if not state.is_covered]

    @property
    def covered(self) -> frozenset[StateKey]:
        return frozenset((state.characteristic, state.state) for state in self.states if state.is_covered)


class CoverageEvidence(NamedTuple):
    """What a coverage report shows about the states of a plan."""

    source: str
    runs: Mapping[StateKey, BranchRun]


class _Part(NamedTuple):
    """A context or example of a spec, with what it is about."""

    spec: str
    node: SpecNode
    inside: tuple[SpecNode, ...]  # the groups around it, below the group of the method
    tags: frozenset[StateKey]
    names: frozenset[StateKey]
    proven: ProvenStates = ProvenStates(frozenset(), frozenset())

    @property
    def states(self) -> frozenset[StateKey]:
        return self.tags | self.names

    @property
    def all_states(self) -> frozenset[StateKey]:
        return self.states | self.proven.by_result | self.proven.by_arguments


def read_tested(path: str) -> SpecFile:
    """A spec to compare with a plan; the shared examples in a file for nothing else count as its groups."""
    spec = read_spec(path)
    for part in spec.parts if path.endswith(SHARED_ENDING) else ():
        if part.kind == SHARED:
            part.kind, part.is_text = DESCRIBE, True
    return spec


def review(
    plan: JsonObject,
    specs: Sequence[tuple[str, SpecFile]],
    coverage: CoverageEvidence | None = None,
    facts: MethodBranches | None = None,
) -> Review:
    """Compare specs with a valid plan; only the groups for the plan's method count, if there are any.

    With the `facts` about a fresh plan's method, what the examples call and expect counts, too.
    """
    is_only = facts is not None and not facts.has_namesake
    tops = [(name, spec, _groups(spec, plan["target"], is_only=is_only)) for name, spec in specs]
    has_group = any(groups for _, _, groups in tops)
    names = StateNames(plan["characteristics"], is_policy=plan["target"]["class"].endswith("Policy"))
    parts = [
        part
        for name, spec, groups in tops
        for part in _parts(name, groups if has_group else spec.parts, groups, names, spec)
        if has_group or not _is_in_another(part, plan["target"])
    ]
    if facts is not None:
        trees = dict(specs)
        parts = [_with_proof(part, trees[part.spec], plan, facts) for part in parts]
    reader = _StateReader(parts, plan, coverage)
    states = tuple(
        reader.coverage(characteristic, state)
        for characteristic in plan["characteristics"]
        for state in characteristic["states"]
    )
    unknown = tuple(part.node for part in parts if part.node.kind == CONTEXT and not part.states)
    return Review(states, unknown, tuple(_placeholders(tops)), has_group)


def _with_proof(part: _Part, spec: SpecFile, plan: JsonObject, facts: MethodBranches) -> _Part:
    """An example with the states that its calls prove."""
    target = plan["target"]
    if part.node.kind != IT or part.node.syntax is None or spec.code is None:
        return part
    groups = groups_around(spec, part.node)
    if any(group.kind == SHARED for group in groups):
        return part  # whoever includes it may define other lets
    scope = SpecScope(spec.code, groups, target["class"])
    reader = CallReader(scope, target["method"], is_class_method=target["method_type"] == "class")
    known = {each["name"]: frozenset(each["states"]) for each in plan["characteristics"]}
    same = {name for name, states in facts.states.items() if known.get(name) == states}
    found = proven_states(facts, reader.read(part.node.syntax, is_of_attribute=part.node.word == "its"))
    return part._replace(
        proven=ProvenStates(*(frozenset(key for key in each if key[0] in same) for each in found))
    )


def _is_in_another(part: _Part, target: JsonObject) -> bool:
    return any(is_of_another(node, target) for node in (*part.inside, part.node))


def states_covered(text: str, characteristics: list[JsonObject]) -> set[tuple[str, str]]:
    """The states that the description of a context covers, as names of characteristics and of states."""
    return StateNames(characteristics).in_context(text)


def _groups(spec: SpecFile, target: JsonObject, *, is_only: bool) -> list[SpecNode]:
    """The groups of a method; else those of that name in groups of other classes, which a spec may define for itself.

    If the class has only one method of that name, `describe '#call'` is a group of a class method, too.
    """
    found = method_groups(spec, target) or request_groups(spec, target)
    if not found and is_only:
        other = "instance" if target["method_type"] == "class" else "class"
        found = method_groups(spec, target | {"method_type": other})
    if found:
        return found
    return [part for part in spec.walk() if is_of_method(part) and is_group_of_method(part.name, target)]


def _placeholders(tops: list[tuple[str, SpecFile, list[SpecNode]]]) -> Iterator[tuple[int, str]]:
    for _, spec, groups in tops:
        for line, text in spec.placeholders:
            if not groups or any(group.line <= line <= group.end_line for group in groups):
                yield line, text


def _parts(
    name: str, tops: Sequence[SpecNode], groups: list[SpecNode], names: StateNames, spec: SpecFile
) -> Iterator[_Part]:
    """The contexts and the examples that are not pending, in the order of the text; each once."""
    unfilled = [line for line, text in spec.placeholders if text.startswith("{") or text == EXPECTATION]
    shared = {part.name: part for part in spec.walk() if part.kind == SHARED}
    skipped = [part for part in spec.walk() if _is_skipped(part)]
    running = [top for top in tops if not any(part.line <= top.line <= part.end_line for part in skipped)]
    waiting: list[tuple[SpecNode, tuple[SpecNode, ...]]] = [(top, ()) for top in reversed(running)]
    while waiting:
        node, inside = waiting.pop()
        is_method = node in groups
        if _is_skipped(node) or (is_of_method(node) and not is_method):
            continue  # what is switched off, or about another method
        if node.kind == SHARED:
            continue  # it runs where it is included
        if node.kind in {CONTEXT, DESCRIBE} and not is_method and not is_of_class(node):
            yield _Part(name, node, inside, _tags(node), frozenset(names.in_context(node.name)))
        elif node.kind == INCLUDE or (node.kind == IT and _is_example(node, unfilled)):
            about = names.in_example(node.name) if node.kind == IT else set()
            yield _Part(name, node, inside, _tags(node), frozenset(about))
        around = inside if is_method or not node.is_group else (*inside, node)
        included = shared.pop(node.name, None) if node.kind == INCLUDE else None
        children = included.children if included is not None and not _is_skipped(included) else node.children
        waiting += [(child, around) for child in reversed(children)]


def _tags(node: SpecNode) -> frozenset[StateKey]:
    pairs = (tag.partition(":") for tag in node.tags)
    return frozenset((name, state) for name, _, state in pairs)


def _is_skipped(node: SpecNode) -> bool:
    """Whether a group is switched off: by itself, or by a hook in it."""
    return node.is_group and (
        node.is_pending or any(each.is_pending for each in node.children if each.kind == HOOK)
    )


def _is_example(node: SpecNode, unfilled: list[int]) -> bool:
    """Whether an example can show anything."""
    is_filled = not any(node.line <= line <= node.end_line for line in unfilled)
    return node.has_block and not node.is_empty and not node.is_pending and is_filled


class _StateReader:
    """Finds the evidence for each state."""

    def __init__(self, parts: list[_Part], plan: JsonObject, coverage: CoverageEvidence | None) -> None:
        self._parts, self._coverage = parts, coverage
        self._about = {id(part.node): part.states for part in parts}
        self._examples = [part for part in parts if part.node.kind in {IT, INCLUDE}]
        self._by_name = {each["name"]: each for each in plan["characteristics"]}

    def coverage(self, characteristic: JsonObject, state: str) -> StateCoverage:
        key = (characteristic["name"], state)
        named = [part for part in self._parts if key in part.states]
        examples = {id(part.node): part for each in named for part in self._examples_in(each)}
        proving = [each for each in self._examples if key in each.all_states]
        examples |= {id(part.node): part for part in proving}
        count = sum(not _is_elsewhere(example, key) for example in examples.values())
        lines = tuple(dict.fromkeys(part.node.line for part in named))
        status, evidence, reason = self._verdict(characteristic, state, named)
        others = sum(each.known_by is EvidenceKind.OTHERS for each in evidence)
        return StateCoverage(*key, status, tuple(evidence), lines, count or others, reason)

    def _verdict(
        self, characteristic: JsonObject, state: str, named: list[_Part]
    ) -> tuple[Status, list[Evidence], str | None]:
        key = (characteristic["name"], state)
        run = self._coverage.runs.get(key) if self._coverage else None
        if run is not None and not run.times:
            where = f"; {_place(named[0])} names it" if named else ""
            return Status.NOT_COVERED, [], f"its branch in line {run.line} did not run{where}"
        evidence = [Evidence(*each) for each in self._from_names(key, named)]
        if run is not None and self._coverage is not None and self._examples:
            ran = Evidence(EvidenceKind.COVERAGE, self._coverage.source, run.line, run.times)
            evidence = sorted([*evidence, ran], key=lambda each: list(EvidenceKind).index(each.known_by))
        if not evidence:
            evidence = [
                Evidence(EvidenceKind.OTHERS, part.spec, part.node.line)
                for part in self._others(characteristic, state)
            ]
        if evidence:
            return Status.COVERED, evidence, None
        if named and any(self._examples_in(part) for part in named):
            return Status.NOT_COVERED, [], f"the examples in {_place(named[0])} are in another state"
        if named:
            is_pending = any(_has_pending(part.node) for part in named)
            what = "only pending examples" if is_pending else "no example that is recognised"
            return Status.NOT_COVERED if is_pending else Status.UNKNOWN, [], f"{_place(named[0])} has {what}"
        if run is not None:
            return (
                Status.UNKNOWN,
                [],
                f"its branch in line {run.line} ran, but the spec has no example for the method",
            )
        if self._may_be_covered(key):
            return Status.UNKNOWN, [], "no context or example names it"
        if self._examples:
            return Status.NOT_COVERED, [], "all examples are about other states"
        return Status.UNKNOWN, [], "the spec has no example for the method"

    def _from_names(self, key: StateKey, named: list[_Part]) -> Iterator[tuple[EvidenceKind, str, int]]:
        found = False
        for part in named:
            if all(_is_elsewhere(example, key) for example in self._examples_in(part)):
                continue
            found = True
            known = EvidenceKind.EXAMPLE if part.node.kind == IT else EvidenceKind.CONTEXT
            yield EvidenceKind.TAG if key in part.tags else known, part.spec, part.node.line
        proofs = ((EvidenceKind.RESULT, "by_result"), (EvidenceKind.ARGUMENTS, "by_arguments"))
        for kind, proof in proofs:
            first = next((each for each in self._examples if key in getattr(each.proven, proof)), None)
            if first is not None and not found:
                found = True
                yield kind, first.spec, first.node.line

    def _examples_in(self, part: _Part) -> list[_Part]:
        """The examples of a context; an example itself."""
        if part.node.kind in {IT, INCLUDE}:
            return [part]
        return [each for each in self._examples if any(group is part.node for group in each.inside)]

    def _states_of(self, example: _Part) -> set[StateKey]:
        """The states that an example and the groups around it name."""
        around = (self._about.get(id(group), frozenset()) for group in example.inside)
        return set(example.states).union(*around)

    def _others(self, characteristic: JsonObject, state: str) -> list[_Part]:
        """Of two states, if the other one is named: the first example that is not about it, nor leaves before it."""
        name, states = characteristic["name"], characteristic["states"]
        if len(states) != 2:
            return []
        other = (name, next(each for each in states if each != state))
        if not any(other in self._states_of(example) for example in self._examples):
            return []
        found = (
            each for each in self._examples if each.node.kind == IT and self._reaches(each, characteristic)
        )
        return [each for each in found if other not in self._states_of(each) | each.all_states][:1]

    def _reaches(self, example: _Part, characteristic: JsonObject) -> bool:
        """Whether an example can get to the condition: it names no state in which the method ends, or takes another way."""
        parent, when = characteristic["depends_on"], characteristic.get("when_parent") or []
        allowed = {parent: [when] if isinstance(when, str) else when}
        for name, state in self._states_of(example):
            known = self._by_name.get(name)
            if known is None or name == characteristic["name"]:
                continue
            if state in (known.get("terminal_states") or ()) or state not in allowed.get(name, [state]):
                return False
        is_default = all(
            self._about.get(id(group)) for group in example.inside
        )  # no context that could be about it
        return is_default and (parent is None or any(name == parent for name, _ in self._states_of(example)))

    def _may_be_covered(self, key: StateKey) -> bool:
        """Whether there is an example that is not about another state of the same characteristic."""
        return any(all(name != key[0] for name, _ in self._states_of(example)) for example in self._examples)


def _is_elsewhere(example: _Part, key: StateKey) -> bool:
    """Whether an example proves another state of the same characteristic, whatever its name says."""
    proven = example.proven.by_result | example.proven.by_arguments
    return key not in proven and any(name == key[0] for name, _ in proven)


def _has_pending(node: SpecNode) -> bool:
    """Whether a context has an example that is switched off, or not written yet."""
    return any(part.kind == IT and not _is_example(part, []) for part in node.walk())


def _place(part: _Part) -> str:
    return f"line {part.node.line}"
