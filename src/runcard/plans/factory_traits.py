"""What factories have for the states of a plan: traits that match, states that have none, traits that nothing uses.

Names are all there is to go by: the trait of the state `premium` of `customer_type` may be called `premium`,
`customer_type_premium`, `premium_customer` or `with_premium`.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.plans.spec_wording import happy_first

STORED, STUBBED = "create", "build_stubbed"
_TWO = 2
_SPLIT = re.compile(r"[\s_]+")
_FILLERS = {"with", "is", "has", "a", "an", "the"}


@dataclass(frozen=True, slots=True)
class TraitMatch:
    """A trait that brings a state about."""

    characteristic: str
    state: str
    factory: str
    trait: str

    def to_dict(self) -> JsonObject:
        return {
            "characteristic": self.characteristic,
            "state": self.state,
            "factory": self.factory,
            "trait": self.trait,
        }


def strategy(plan: JsonObject) -> str:
    """How a test of this level gets its objects."""
    return STUBBED if plan["test_level"] == "unit" else STORED


def matches(plan: JsonObject) -> list[TraitMatch]:
    """The traits for each state of each characteristic, in the order of the plan."""
    return [
        TraitMatch(one["name"], state, factory, trait)
        for one in plan["characteristics"]
        for state in one["states"]
        for factory, trait in traits(plan)
        if _is_for(trait, factory, one["name"], state)
    ]


def traits(plan: JsonObject) -> Iterator[tuple[str, str]]:
    """All factories and their traits."""
    for factory, known in (plan.get("factories_detected") or {}).items():
        for trait in known["traits"]:
            yield factory, trait


def missing(plan: JsonObject, found: Collection[TraitMatch]) -> dict[str, list[str]]:
    """The states that want a trait and have none, by characteristic.

    The default needs none, and neither does one of two states: an object has it without any trait. What an exception
    brings about is no matter of factories.
    """
    known = {(match.characteristic, match.state) for match in found}
    wanted: dict[str, list[str]] = {}
    for one in plan["characteristics"]:
        setup = one.get("setup")
        if isinstance(setup, dict) and setup.get("type") == "exception":
            continue
        bare = [state for state in happy_first(one) if (one["name"], state) not in known]
        if one["default"] in bare:
            bare.remove(one["default"])
        elif len(one["states"]) == _TWO and bare:
            bare.pop(0)
        if bare:
            wanted[one["name"]] = bare
    return wanted


def _is_for(trait: str, factory: str, name: str, state: str) -> bool:
    """Whether the name of a trait says this state, and nothing that is not about this characteristic."""
    said = _words(trait)
    needed = _words(state)
    about = {*_words(name), *_words(factory), *_FILLERS}
    return needed <= said and said - needed <= about and ("not" in said) == ("not" in needed)


def _words(name: str) -> set[str]:
    return {word for word in _SPLIT.split(name.lower()) if word}
