"""The dependencies between characteristics: parents, levels and terminal states, from the paths of the questions."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from runcard.plans.analysis.questions import Exit, Path, PathQuestion
from runcard.plans.analysis.states import Characteristic, Characteristics, Requirement

_MAX_WAYS = 64  # to one place

Parents = Mapping[Characteristic, Requirement | None]
Way = dict[Characteristic, frozenset[str]]  # the states that it needs; in the order of the conditions


class Reach(NamedTuple):
    """All ways to the places where a characteristic is asked for."""

    ways: list[Way]
    is_exact: bool  # whether it is asked for on these ways and no others
    inside: frozenset[tuple[int, bool]]  # the branches that contain it: ids of their conditions


def reaches_of(
    questions: Sequence[PathQuestion], characteristics: Characteristics, partial: Collection[int] = ()
) -> dict[Characteristic, Reach]:
    """The ways to each characteristic, in the order of the text; `partial` are ids of conditions not read in full."""
    reaches: dict[Characteristic, Reach] = {}
    for question, path, *_ in questions:
        characteristic = characteristics.of(question)
        if len(characteristic.states) < 2:
            continue
        ways, is_exact = _ways_to(path, characteristic, characteristics)
        is_exact = is_exact and all(id(condition) not in partial for condition, _ in path)
        inside = frozenset((id(condition), truth) for condition, truth in path)
        if before := reaches.get(characteristic):
            ways, is_exact = [*before.ways, *ways], is_exact and before.is_exact
            inside |= before.inside
        reaches[characteristic] = Reach(ways, is_exact, inside)
    return reaches


def parents_of(reaches: Mapping[Characteristic, Reach]) -> dict[Characteristic, Requirement | None]:
    """The parent of each characteristic, and the states of the parent in which it is reached.

    What is reached on several ways depends on what these have in common.
    """
    parents: dict[Characteristic, Requirement | None] = {}
    for characteristic, reach in reaches.items():
        shared = [item for item in _shared(reach.ways).items() if item[0] in parents]
        parents[characteristic] = shared[-1] if shared else None
    return parents


def _ways_to(path: Path, of: Characteristic, characteristics: Characteristics) -> tuple[list[Way], bool]:
    """The ways along a path, up to the characteristic itself; and whether they are exact."""
    ways: list[Way] = [{}]
    is_exact = True
    for condition, truth in path:
        each = characteristics.ways(condition, truth=truth) or [[]]
        if any(characteristic is of for way in each for characteristic, _ in way):
            return ways, False
        ways = _continued(ways, each)
        if len(ways) > _MAX_WAYS:
            ways, is_exact = [_shared(ways)], False
    return ways, is_exact


def _continued(ways: list[Way], each: Sequence[Sequence[Requirement]]) -> list[Way]:
    """All ways, continued by each way through a condition; what contradicts itself is left out, unless all do."""
    longer = [_with(way, requirements) for way in ways for requirements in each]
    possible = [way for way in longer if all(way.values())]
    return possible or [_with(ways[0], each[0], is_forced=True)]


def _with(way: Way, requirements: Sequence[Requirement], *, is_forced: bool = False) -> Way:
    longer = dict(way)
    for characteristic, states in requirements:
        if len(characteristic.states) > 1:
            both = longer.get(characteristic, states) & states
            longer[characteristic] = both or (states if is_forced else both)
    return longer


def _shared(ways: Sequence[Way]) -> Way:
    """What all ways need: the states of a characteristic that any of them allows, if these are not all."""
    shared: Way = {}
    for characteristic in ways[0]:
        if all(characteristic in way for way in ways):
            states = frozenset().union(*(way[characteristic] for way in ways))
            if states and states != set(characteristic.states):
                shared[characteristic] = states
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
    exits: Sequence[Exit],
    parents: Parents,
    characteristics: Characteristics,
    reaches: Mapping[Characteristic, Reach],
) -> dict[Characteristic, set[str]]:
    """The states in which the method is left or asks for nothing more, and on which no characteristic depends."""
    terminal: dict[Characteristic, set[str]] = {}
    for path, condition, truth in exits:
        inside = [each for each, reach in reaches.items() if (id(condition), truth) in reach.inside]
        for way in characteristics.ways(condition, truth=truth):
            if way:
                characteristic, states = way[-1]
                left = states & _open_states(path, characteristic, characteristics)
                terminal.setdefault(characteristic, set()).update(
                    state
                    for state in left
                    if _has_nothing_beside(characteristic, state, inside, parents, reaches)
                )
    for characteristic, state in _without_more(parents, reaches):
        terminal.setdefault(characteristic, set()).add(state)
    for requirement in parents.values():
        if requirement is not None:
            terminal.get(requirement[0], set()).difference_update(requirement[1])
    return terminal


def _without_more(
    parents: Parents, reaches: Mapping[Characteristic, Reach]
) -> Iterator[tuple[Characteristic, str]]:
    """The states that exclude what would be combined with them: `a && b` excludes its `elsif c`, which hangs beside `a`."""
    order = list(parents)
    for at, characteristic in enumerate(order):
        later = order[at + 1 :]
        for state in characteristic.states:
            beside = _beside(characteristic, state, later, parents)
            if beside and _has_nothing_beside(characteristic, state, beside, parents, reaches):
                yield characteristic, state


def _beside(
    characteristic: Characteristic, state: str, others: Sequence[Characteristic], parents: Parents
) -> list[Characteristic]:
    """Those of other characteristics that can be combined with a state."""
    here = _chain(parents, characteristic) | {characteristic: frozenset({state})}
    return [each for each in others if each not in here and not _is_apart(_chain(parents, each), here)]


def _has_nothing_beside(
    characteristic: Characteristic,
    state: str,
    others: Sequence[Characteristic],
    parents: Parents,
    reaches: Mapping[Characteristic, Reach],
) -> bool:
    """Whether none of the others that can be combined with a state is asked for in it."""
    here = _chain(parents, characteristic) | {characteristic: frozenset({state})}
    beside = _beside(characteristic, state, others, parents)
    return all(_is_excluded(reaches[each], here) for each in beside)


def _chain(parents: Parents, characteristic: Characteristic) -> Way:
    """The states of its ancestors in which a characteristic is reached."""
    chain: Way = {}
    requirement = parents[characteristic]
    while requirement is not None:
        chain[requirement[0]] = requirement[1]
        requirement = parents[requirement[0]]
    return chain


def _is_excluded(reach: Reach, here: Way) -> bool:
    return reach.is_exact and all(_is_apart(way, here) for way in reach.ways)


def _is_apart(first: Way, second: Way) -> bool:
    """Whether two ways cannot both be taken."""
    return any(not first[each] & second[each] for each in first.keys() & second.keys())
