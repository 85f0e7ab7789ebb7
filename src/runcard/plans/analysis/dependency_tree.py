"""Who depends on whom: the paths of the questions, made into one tree."""

from collections.abc import Mapping, Sequence

from runcard.plans.analysis.path_conditions import Asked, Left, Path
from runcard.plans.analysis.states import Needed, Trait, Traits

Parents = Mapping[Trait, Needed | None]


def parents_of(asked: Sequence[Asked], traits: Traits) -> dict[Trait, Needed | None]:
    """The parent of each characteristic, and the states of it under which it is asked.

    What is asked in several places hangs on what these have in common.
    """
    paths: dict[Trait, list[Needed]] = {}
    for question, path in asked:
        trait = traits.of(question)
        if len(trait.states) < 2:
            continue
        needed = _needed(path, trait, traits)
        paths[trait] = needed if trait not in paths else _common(paths[trait], needed)
    return {trait: needed[-1] if needed else None for trait, needed in paths.items()}


def _needed(path: Path, of: Trait, traits: Traits) -> list[Needed]:
    """What must hold for a place to be reached, each characteristic once; nothing behind the one that is asked about.

    Where there are several ways to a place, it is the first of them: the tree has one parent for each.
    """
    found: dict[Trait, frozenset[str]] = {}
    for condition, truth in path:
        for trait, states in next(iter(traits.ways(condition, truth=truth)), []):
            if trait is of:
                return _telling(found)
            if len(trait.states) > 1:
                both = found.get(trait, states) & states
                found[trait] = both or states
    return _telling(found)


def _telling(found: dict[Trait, frozenset[str]]) -> list[Needed]:
    return [(trait, states) for trait, states in found.items() if states and states != set(trait.states)]


def _common(first: list[Needed], second: list[Needed]) -> list[Needed]:
    shared: list[Needed] = []
    for (trait, states), (other, others) in zip(first, second, strict=False):
        if trait is not other:
            break
        union = states | others
        if union == set(trait.states):
            break
        shared.append((trait, union))
        if states != others:
            break
    return shared


def _possible(path: Path, of: Trait, traits: Traits) -> frozenset[str]:
    """The states of a characteristic that a path leaves open."""
    left = frozenset(of.states)
    for condition, truth in path:
        one = traits.about_one(condition)
        if one is not None and one[0] is of:
            left &= one[1] if truth else frozenset(of.states) - one[1]
    return left


def levels_of(parents: Parents) -> dict[Trait, int]:
    """The depth of each in the tree; a parent always stands before its children."""
    levels: dict[Trait, int] = {}
    for trait, needed in parents.items():
        levels[trait] = 1 if needed is None else levels[needed[0]] + 1
    return levels


def terminal_states(left: Sequence[Left], parents: Parents, traits: Traits) -> dict[Trait, set[str]]:
    """The states in which the method is left, and on which nothing hangs."""
    found: dict[Trait, set[str]] = {}
    for path, condition, truth in left:
        for way in traits.ways(condition, truth=truth):
            if way:
                trait, states = way[-1]
                found.setdefault(trait, set()).update(states & _possible(path, trait, traits))
    for needed in parents.values():
        if needed is not None:
            found.get(needed[0], set()).difference_update(needed[1])
    return found
