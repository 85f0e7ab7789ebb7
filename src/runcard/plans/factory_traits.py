"""Traits for the states of a plan: matching traits, states without a trait, unused traits.

Names decide: the trait for the state `premium` of `customer_type` may be called `premium`, `customer_type_premium`,
`premium_customer` or `with_premium`. Of a characteristic that asks whether something is there, such as
`middle_name_present`, the traits are `with_middle_name` and `without_middle_name`.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.plans.spec_wording import happy_first

CREATE, BUILD_STUBBED = "create", "build_stubbed"
_SPLIT = re.compile(r"[\s_]+")
_ARTICLES = {"a", "an", "the"}
_FILLERS = {"with", "is", "has", *_ARTICLES}
_ROOT = re.compile(r"@{0,2}(\w+)")  # of an expression: the variable that it starts with
_PREPOSITIONS = {"with", "without"}
_THERE = {"present", "given", "exists", "existing"}
_NOT_THERE = {"absent", "missing", "blank", "empty", "nil", "none"}


@dataclass(frozen=True, slots=True)
class TraitMatch:
    """A trait that sets up a state."""

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
    """The build strategy for the test level of a plan."""
    return BUILD_STUBBED if plan["test_level"] == "unit" else CREATE


def match_traits(plan: JsonObject) -> list[TraitMatch]:
    """The traits for each state of each characteristic, in the order of the plan."""
    traits = list(all_traits(plan))
    return [
        TraitMatch(characteristic["name"], state, factory, trait)
        for characteristic in plan["characteristics"]
        for state in characteristic["states"]
        for factory, trait in traits
        if _sets_up(trait, factory, characteristic["name"], state)
        or _sets_presence(trait, factory, characteristic, state)
    ]


def factories_of(plan: JsonObject) -> JsonObject:
    """The factories that a plan lists. Names may be symbols, which Ruby writes into YAML with a colon."""
    return {
        name.removeprefix(":"): {
            **details,
            "traits": [trait.removeprefix(":") for trait in details["traits"]],
        }
        for name, details in (plan.get("factories_detected") or {}).items()
    }


def all_traits(plan: JsonObject) -> Iterator[tuple[str, str]]:
    """All traits, each with its factory."""
    for factory, details in factories_of(plan).items():
        for trait in details["traits"]:
            yield factory, trait


def missing_traits(plan: JsonObject, matches: Collection[TraitMatch]) -> dict[str, list[str]]:
    """The states that need a trait and have none, by characteristic.

    The default needs none, nor does one of two states: an object has it without a trait. What no factory of the plan
    makes needs none either: an exception, the result of a method, an argument of another class.
    """
    makers = _makers(plan)
    known = {(match.characteristic, match.state) for match in matches}
    missing: dict[str, list[str]] = {}
    for characteristic in plan["characteristics"]:
        if not _is_made(characteristic, makers):
            continue
        name = characteristic["name"]
        states = [state for state in happy_first(characteristic) if (name, state) not in known]
        if characteristic["default"] in states:
            states.remove(characteristic["default"])
        elif len(characteristic["states"]) == 2 and states:
            states.pop(0)
        if states:
            missing[name] = states
    return missing


def _makers(plan: JsonObject) -> set[str]:
    """The factories and the classes that they build, in lower case and without underscores."""
    made = {
        name: [name, given] if isinstance(given := details.get("class"), str) else [name]
        for name, details in factories_of(plan).items()
    }
    return {_folded(text) for texts in made.values() for text in texts}


def _is_made(characteristic: JsonObject, makers: Collection[str]) -> bool:
    """Whether a factory can make the object that a characteristic asks; what the plan does not tell may be one."""
    setup = characteristic.get("setup")
    if not isinstance(setup, dict) or setup.get("type") == "exception":
        return not isinstance(setup, dict)
    source, class_name = setup.get("source"), setup.get("class")
    root = _ROOT.match(source) if isinstance(source, str) else None
    names = [root[1] if root else None, class_name]
    known = [_folded(name) for name in names if isinstance(name, str)]
    return not known or any(name in makers for name in known)


def _folded(name: str) -> str:
    return name.rpartition("::")[2].replace("_", "").lower()


def _sets_up(trait: str, factory: str, name: str, state: str) -> bool:
    """Whether the name of a trait has the words of the state, and no words unrelated to the characteristic."""
    words = _words(trait)
    needed = _words(state)
    related = {*_words(name), *_words(factory), *_FILLERS}
    return needed <= words and words - needed <= related and ("not" in words) == ("not" in needed)


def _sets_presence(trait: str, factory: str, characteristic: JsonObject, state: str) -> bool:
    """Whether a trait `with_x` or `without_x` is about the x of a characteristic that asks whether x is there.

    Its other words must be those of the characteristic: `with_items` says nothing about the status of the items.
    """
    words, factory_words = _words(trait), _words(factory)
    is_there = [_presence(each) for each in characteristic["states"]]
    if sorted(is_there, key=str) != [False, True] or len(words & _PREPOSITIONS) != 1:
        return False
    about = words - _PREPOSITIONS - _ARTICLES - factory_words
    subject = _words(characteristic["name"]) - _THERE - _NOT_THERE - factory_words
    return bool(subject) and about == subject and _presence(state) is ("with" in words)


def _presence(state: str) -> bool | None:
    """Whether a state means that something is there; None if it means something else."""
    words = _words(state)
    named = words - {"not"}
    if len(named) != 1 or not named <= _THERE | _NOT_THERE:
        return None
    return (named <= _THERE) != ("not" in words)


def _words(name: str) -> set[str]:
    return {word for word in _SPLIT.split(name.lower()) if word}
