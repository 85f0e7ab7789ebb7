"""The dependencies between characteristics: parents, levels and terminal states, from the paths of the questions."""

from collections.abc import Mapping, Sequence

from runcard.plans.analysis.questions import Exit, Path, PathQuestion
from runcard.plans.analysis.states import Characteristic, Characteristics, Requirement

Parents = Mapping[Characteristic, Requirement | None]


def parents_of(
    questions: Sequence[PathQuestion], characteristics: Characteristics
) -> dict[Characteristic, Requirement | None]:
    """The parent of each characteristic, and the states of the parent in which it is reached.

    A question asked in several places depends on what their paths have in common.
    """
    paths: dict[Characteristic, list[Requirement]] = {}
    for question, path, *_ in questions:
        characteristic = characteristics.of(question)
        if len(characteristic.states) < 2:
            continue
        requirements = _requirements(path, characteristic, characteristics)
        paths[characteristic] = (
            requirements if characteristic not in paths else _common(paths[characteristic], requirements)
        )
    return {
        characteristic: requirements[-1] if requirements else None
        for characteristic, requirements in paths.items()
    }


def _requirements(path: Path, of: Characteristic, characteristics: Characteristics) -> list[Requirement]:
    """The requirements of a path, each characteristic once, up to the characteristic itself.

    Of several ways to a place the first is taken: in the tree each characteristic has one parent.
    """
    required: dict[Characteristic, frozenset[str]] = {}
    for condition, truth in path:
        for characteristic, states in next(iter(characteristics.ways(condition, truth=truth)), []):
            if characteristic is of:
                return _restricting(required)
            if len(characteristic.states) > 1:
                both = required.get(characteristic, states) & states
                required[characteristic] = both or states
    return _restricting(required)


def _restricting(required: dict[Characteristic, frozenset[str]]) -> list[Requirement]:
    return [
        (characteristic, states)
        for characteristic, states in required.items()
        if states and states != set(characteristic.states)
    ]


def _common(first: list[Requirement], second: list[Requirement]) -> list[Requirement]:
    shared: list[Requirement] = []
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


def _open_states(path: Path, of: Characteristic, characteristics: Characteristics) -> frozenset[str]:
    """The states of a characteristic that are possible on a path."""
    states = frozenset(of.states)
    for condition, truth in path:
        requirement = characteristics.single_requirement(condition)
        if requirement is not None and requirement[0] is of:
            states &= requirement[1] if truth else frozenset(of.states) - requirement[1]
    return states


def levels_of(parents: Parents) -> dict[Characteristic, int]:
    """The depth of each characteristic in the tree; parents come before children."""
    levels: dict[Characteristic, int] = {}
    for characteristic, requirement in parents.items():
        levels[characteristic] = 1 if requirement is None else levels[requirement[0]] + 1
    return levels


def terminal_states(
    exits: Sequence[Exit], parents: Parents, characteristics: Characteristics
) -> dict[Characteristic, set[str]]:
    """The states in which the method is left, and on which no other characteristic depends."""
    terminal: dict[Characteristic, set[str]] = {}
    for path, condition, truth in exits:
        for way in characteristics.ways(condition, truth=truth):
            if way:
                characteristic, states = way[-1]
                terminal.setdefault(characteristic, set()).update(
                    states & _open_states(path, characteristic, characteristics)
                )
    for requirement in parents.values():
        if requirement is not None:
            terminal.get(requirement[0], set()).difference_update(requirement[1])
    return terminal
