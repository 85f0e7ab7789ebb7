"""Who depends on whom: the paths of the questions, made into one tree."""

from collections.abc import Mapping, Sequence

from runcard.plans.analysis.questions import Exit, Path, PathQuestion
from runcard.plans.analysis.states import Characteristic, Characteristics, Needed

Parents = Mapping[Characteristic, Needed | None]


def parents_of(
    asked: Sequence[PathQuestion], characteristics: Characteristics
) -> dict[Characteristic, Needed | None]:
    """The parent of each characteristic, and the states of it under which it is asked.

    What is asked in several places hangs on what these have in common.
    """
    paths: dict[Characteristic, list[Needed]] = {}
    for question, path in asked:
        characteristic = characteristics.of(question)
        if len(characteristic.states) < 2:
            continue
        needed = _needed(path, characteristic, characteristics)
        paths[characteristic] = (
            needed if characteristic not in paths else _common(paths[characteristic], needed)
        )
    return {characteristic: needed[-1] if needed else None for characteristic, needed in paths.items()}


def _needed(path: Path, of: Characteristic, characteristics: Characteristics) -> list[Needed]:
    """What must hold for a place to be reached, each characteristic once; nothing behind the one that is asked about.

    Where there are several ways to a place, it is the first of them: the tree has one parent for each.
    """
    found: dict[Characteristic, frozenset[str]] = {}
    for condition, truth in path:
        for characteristic, states in next(iter(characteristics.ways(condition, truth=truth)), []):
            if characteristic is of:
                return _telling(found)
            if len(characteristic.states) > 1:
                both = found.get(characteristic, states) & states
                found[characteristic] = both or states
    return _telling(found)


def _telling(found: dict[Characteristic, frozenset[str]]) -> list[Needed]:
    return [
        (characteristic, states)
        for characteristic, states in found.items()
        if states and states != set(characteristic.states)
    ]


def _common(first: list[Needed], second: list[Needed]) -> list[Needed]:
    shared: list[Needed] = []
    for (characteristic, states), (other, others) in zip(first, second, strict=False):
        if characteristic is not other:
            break
        union = states | others
        if union == set(characteristic.states):
            break
        shared.append((characteristic, union))
        if states != others:
            break
    return shared


def _possible(path: Path, of: Characteristic, characteristics: Characteristics) -> frozenset[str]:
    """The states of a characteristic that a path leaves open."""
    left = frozenset(of.states)
    for condition, truth in path:
        one = characteristics.about_one(condition)
        if one is not None and one[0] is of:
            left &= one[1] if truth else frozenset(of.states) - one[1]
    return left


def levels_of(parents: Parents) -> dict[Characteristic, int]:
    """The depth of each in the tree; a parent always stands before its children."""
    levels: dict[Characteristic, int] = {}
    for characteristic, needed in parents.items():
        levels[characteristic] = 1 if needed is None else levels[needed[0]] + 1
    return levels


def terminal_states(
    left: Sequence[Exit], parents: Parents, characteristics: Characteristics
) -> dict[Characteristic, set[str]]:
    """The states in which the method is left, and on which nothing hangs."""
    found: dict[Characteristic, set[str]] = {}
    for path, condition, truth in left:
        for way in characteristics.ways(condition, truth=truth):
            if way:
                characteristic, states = way[-1]
                found.setdefault(characteristic, set()).update(
                    states & _possible(path, characteristic, characteristics)
                )
    for needed in parents.values():
        if needed is not None:
            found.get(needed[0], set()).difference_update(needed[1])
    return found
