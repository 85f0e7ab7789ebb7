"""Compares a spec with its plan: states with and without a context, and contexts that are not in the plan.

A context covers a state when it has the words that a skeleton uses for it, or when it has the words of the state and of
its characteristic; "when", "with", "and", "but" and the like do not matter. If two characteristics have a state of the
same name, the context must name the characteristic.
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
_WORDS = re.compile(r"[^\s_,;:()\"`]+")


@dataclass(frozen=True, slots=True)
class StateCoverage:
    """A state of a characteristic, and the contexts that cover it."""

    characteristic: str
    state: str
    lines: tuple[int, ...]
    examples: int  # in these contexts; without pending ones

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
    """The result of the comparison."""

    states: tuple[StateCoverage, ...]
    unknown: tuple[SpecNode, ...]  # contexts that match no state of the plan
    placeholders: tuple[tuple[int, str], ...]
    has_group: bool  # whether the spec has a group for the method

    @property
    def uncovered(self) -> list[StateCoverage]:
        return [state for state in self.states if not state.is_covered]

    @property
    def empty(self) -> list[StateCoverage]:
        """The states whose contexts have no examples."""
        return [state for state in self.states if state.is_covered and not state.examples]


def review(plan: JsonObject, spec: SpecFile) -> Review:
    """Compare a spec with a valid plan; only the groups for the plan's method count, if there are any."""
    target = plan["target"]
    groups = [part for part in spec.walk() if part.is_group and _is_group_of(part.name, target)]
    contexts = [
        part
        for top in groups or spec.parts
        for part in top.walk()
        if part.kind == CONTEXT and part not in groups
    ]
    states = [
        (characteristic, state)
        for characteristic in plan["characteristics"]
        for state in characteristic["states"]
    ]
    known = {id(part): _states_in(part.name, states) for part in contexts}
    covered = tuple(
        _coverage(
            characteristic["name"],
            state,
            [part for part in contexts if (characteristic["name"], state) in known[id(part)]],
        )
        for characteristic, state in states
    )
    line_ranges = [(top.line, top.end_line) for top in groups]
    placeholders = [
        (line, text)
        for line, text in spec.placeholders
        if not line_ranges or any(first <= line <= last for first, last in line_ranges)
    ]
    unknown = tuple(part for part in contexts if not known[id(part)])
    return Review(covered, unknown, tuple(placeholders), bool(groups))


def _is_group_of(name: str, target: JsonObject) -> bool:
    """Whether a group is named after the method, perhaps with its class: `Order#total`, `Order, #total`."""
    method = ("." if target["method_type"] == "class" else "#") + target["method"]
    return name in {method, target["class"] + method} or name.endswith(f" {method}")


def _coverage(name: str, state: str, contexts: list[SpecNode]) -> StateCoverage:
    examples = {
        (part.line, part.name)
        for context in contexts
        for part in context.walk()
        if part.kind == INCLUDE or (part.kind == IT and part.has_block)
    }
    return StateCoverage(name, state, tuple(part.line for part in contexts), len(examples))


def _states_in(text: str, states: list[tuple[JsonObject, str]]) -> set[tuple[str, str]]:
    """The states that a description covers: exact matches, or else those whose words it contains."""
    words_used = _significant_words(text)
    exact = {
        (characteristic["name"], state)
        for characteristic, state in states
        if any(
            _significant_words(description(characteristic, state, depth)) == words_used for depth in (1, 2)
        )
    }
    if exact:
        return exact
    matches = list(_by_words(set(words_used), states))
    about = {(characteristic["name"], state) for characteristic, state, is_about in matches if is_about}
    if about or len(matches) != 1:
        return about
    return {(characteristic["name"], state) for characteristic, state, _ in matches}


def _by_words(
    words_used: set[str], states: list[tuple[JsonObject, str]]
) -> Iterator[tuple[JsonObject, str, bool]]:
    """The states whose words are in a description, and whether it also names their characteristic."""
    for characteristic, state in states:
        needed = set(_significant_words(words(state)))
        if needed <= words_used and bool(needed & _NEGATIONS) == bool(words_used & _NEGATIONS):
            yield (
                characteristic,
                state,
                bool((set(_significant_words(words(characteristic["name"]))) - needed) & words_used),
            )


def _significant_words(text: str) -> tuple[str, ...]:
    return tuple(word for word in _WORDS.findall(text.lower()) if word not in _LINKS)
