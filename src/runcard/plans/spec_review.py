"""A spec beside its plan: which states it has a context for, which not, and what in it the plan does not know.

A context speaks of a state when it has the words that a skeleton has for it, or when it names the state and what the
state is about; "when", "with", "and", "but" and the like do not matter. Where two characteristics have states of one
name, the one that is meant must be named.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.plans.ruby.spec_reader import CONTEXT, INCLUDE, IT, SpecFile, SpecNode
from runcard.plans.spec_wording import description, words

_LINKS = {
    "when",
    "with",
    "and",
    "but",
    "if",
    "for",
    "is",
    "are",
    "the",
    "a",
    "an",
    "has",
    "have",
    "was",
    "being",
}
_NEGATIONS = {"not", "no", "without", "isn't", "aren't", "doesn't", "never"}
_PIECES = re.compile(r"[^\s_,;:()\"`]+")


@dataclass(frozen=True, slots=True)
class StateCoverage:
    """A state of a characteristic, and the contexts that speak of it."""

    characteristic: str
    state: str
    lines: tuple[int, ...]
    examples: int  # in these contexts, those that are only announced left out

    @property
    def is_covered(self) -> bool:
        return bool(self.lines)

    def to_dict(self) -> JsonObject:
        return {
            "characteristic": self.characteristic,
            "state": self.state,
            "covered": self.is_covered,
            "lines": list(self.lines),
            "examples": self.examples,
        }


@dataclass(frozen=True, slots=True)
class Review:
    """What came of the comparison."""

    states: tuple[StateCoverage, ...]
    unknown: tuple[SpecNode, ...]  # contexts that speak of no state of the plan
    placeholders: tuple[tuple[int, str], ...]
    has_group: bool  # whether the spec has a group for the method

    @property
    def uncovered(self) -> list[StateCoverage]:
        return [one for one in self.states if not one.is_covered]

    @property
    def empty(self) -> list[StateCoverage]:
        """The states that have a context and no example in it."""
        return [one for one in self.states if one.is_covered and not one.examples]


def review(plan: JsonObject, spec: SpecFile) -> Review:
    """Compare the spec with a valid plan; of the spec counts what is about the plan's method, if it has a group for it."""
    target = plan["target"]
    groups = [part for part in spec.walk() if part.is_group and _is_of(part.name, target)]
    contexts = [
        part
        for top in groups or spec.parts
        for part in top.walk()
        if part.kind == CONTEXT and part not in groups
    ]
    states = [(one, state) for one in plan["characteristics"] for state in one["states"]]
    known = {id(part): _spoken(part.name, states) for part in contexts}
    covered = tuple(
        _covered(one["name"], state, [part for part in contexts if (one["name"], state) in known[id(part)]])
        for one, state in states
    )
    lines = [(top.line, top.end_line) for top in groups]
    left = [
        (line, text)
        for line, text in spec.placeholders
        if not lines or any(first <= line <= last for first, last in lines)
    ]
    unknown = tuple(part for part in contexts if not known[id(part)])
    return Review(covered, unknown, tuple(left), bool(groups))


def _is_of(name: str, target: JsonObject) -> bool:
    """Whether a group is called like the method, perhaps with something before it: `Order#total`, `Order, #total`."""
    method = ("." if target["method_type"] == "class" else "#") + target["method"]
    return name in {method, target["class"] + method} or name.endswith(f" {method}")


def _covered(name: str, state: str, contexts: list[SpecNode]) -> StateCoverage:
    examples = {
        (part.line, part.name)
        for context in contexts
        for part in context.walk()
        if part.kind == INCLUDE or (part.kind == IT and part.has_block)
    }
    return StateCoverage(name, state, tuple(part.line for part in contexts), len(examples))


def _spoken(said: str, states: list[tuple[JsonObject, str]]) -> set[tuple[str, str]]:
    """The states that a description speaks of: those it has the very words of, or else those it names."""
    pieces = _pieces(said)
    exact = {
        (one["name"], state)
        for one, state in states
        if any(_pieces(description(one, state, depth)) == pieces for depth in (1, 2))
    }
    if exact:
        return exact
    named = list(_named(set(pieces), states))
    about = {(one["name"], state) for one, state, is_about in named if is_about}
    if about or len(named) != 1:
        return about
    return {(one["name"], state) for one, state, _ in named}


def _named(pieces: set[str], states: list[tuple[JsonObject, str]]) -> Iterator[tuple[JsonObject, str, bool]]:
    """The states whose words stand in a description, and whether it also says what they are about."""
    for one, state in states:
        needed = set(_pieces(words(state)))
        if needed <= pieces and bool(needed & _NEGATIONS) == bool(pieces & _NEGATIONS):
            yield one, state, bool((set(_pieces(words(one["name"]))) - needed) & pieces)


def _pieces(text: str) -> tuple[str, ...]:
    return tuple(piece for piece in _PIECES.findall(text.lower()) if piece not in _LINKS)
