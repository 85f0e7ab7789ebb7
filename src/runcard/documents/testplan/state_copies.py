"""Characteristics that depend on several states of their parent, in a form that allows one state each.

`split_states` makes a copy of the characteristic for each of these states, and for each copy of its parent. The first
copy keeps the name; the others name it in `repeats`. `join_copies` reverses this. Copies that differ in more than their
name and their place in the tree, or that are not complete, stay characteristics of their own.
"""

import re
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from runcard.documents.testplan.characteristic_tree import CharacteristicTree
from runcard.encoding import JsonObject
from runcard.errors import DocumentError

REPEATS = "repeats"
MAX_CHARACTERISTICS = 1_000  # of a plan with copies; a spec with more contexts is refused as well

_PLACE = {"name", "depends_on", "when_parent", "level", REPEATS}  # in which copies differ
_NO_WORD = re.compile(r"\W+")


class _Copy(NamedTuple):
    """One copy of a characteristic."""

    name: str
    parent: str | None
    when: str | None
    states: tuple[str, ...]  # in which it differs from the original, from the root down; empty: the original


def split_states(characteristics: list[JsonObject]) -> list[JsonObject]:
    """Valid characteristics, each with one state of its parent at most; `when_parent` is this state."""
    tree = CharacteristicTree(characteristics)
    copies = _copies(tree)
    return [
        _copied(item, copy) for item, of_item in zip(characteristics, copies, strict=True) for copy in of_item
    ]


def _copies(tree: CharacteristicTree) -> list[list[_Copy]]:
    """The copies of each characteristic, the original first."""
    taken = set(tree.by_name)
    copies: list[list[_Copy]] = [[] for _ in tree.all]
    made = 0
    for index in sorted(range(len(tree.all)), key=lambda each: tree.depths[each] or 0):
        for states, parent, when in _places(tree, index, copies):
            name = _unique(tree.all[index]["name"], states, taken)
            copies[index].append(_Copy(name, parent, when, states))
            made += 1
            if made > MAX_CHARACTERISTICS:
                raise DocumentError(
                    f"version 1.3 needs more than {MAX_CHARACTERISTICS:,} characteristics: one for each state of a parent",
                    hint="choose version 2.0 by --format or the setting plans.format, or plan parts of the method separately",
                )
    return copies


def _places(
    tree: CharacteristicTree, index: int, copies: list[list[_Copy]]
) -> Iterator[tuple[tuple[str, ...], str | None, str | None]]:
    """The places of a characteristic in the tree: states that distinguish them, parent, state of the parent."""
    parent = tree.parents[index]
    if parent is None:
        yield (), None, None
        return
    when = list(dict.fromkeys(tree.when(index)))
    for above in copies[parent]:
        for state in when:
            yield (*above.states, *(() if state == when[0] else (state,))), above.name, state


def _unique(name: str, states: tuple[str, ...], taken: set[str]) -> str:
    """`card_valid` for the original, `card_valid_when_prepaid` for a copy, with a number if that is taken."""
    if not states:
        return name
    words = "_and_".join(_NO_WORD.sub("_", state).strip("_") for state in states)
    wanted = f"{name}_when_{words}"
    free = next(each for each in _numbered(wanted) if each not in taken)
    taken.add(free)
    return free


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in count(2))


def _copied(characteristic: JsonObject, copy: _Copy) -> JsonObject:
    place = {"name": copy.name, "depends_on": copy.parent, "when_parent": copy.when}
    return characteristic | place | ({REPEATS: characteristic["name"]} if copy.states else {})


def join_copies(characteristics: list[JsonObject]) -> list[JsonObject]:
    """Any characteristics, with each `when_parent` a list; complete and identical copies are joined again."""
    has_copies = any(REPEATS in item for item in characteristics)
    if not has_copies or not all(isinstance(item.get("name"), str) for item in characteristics):
        return characteristics
    return _CopyGroups(characteristics).joined()


class _CopyGroups:
    """Characteristics by what they repeat: each group is an original and its copies, as indices.

    A group is joined if the join says the same as its members. Groups below each other are joined together or not at all,
    since the copies of a child name the copies of its parent.
    """

    def __init__(self, characteristics: list[JsonObject]) -> None:
        self._all = characteristics
        self._by_name = {item["name"]: index for index, item in enumerate(characteristics)}
        self._original = [self._original_of(index) for index in range(len(characteristics))]
        self._members: dict[int, list[int]] = {}
        for index, original in enumerate(self._original):
            self._members.setdefault(original, []).append(index)

    def _original_of(self, index: int) -> int:
        repeats = self._all[index].get(REPEATS)
        original = self._by_name.get(repeats) if isinstance(repeats, str) else None
        return index if original is None or REPEATS in self._all[original] else original

    def joined(self) -> list[JsonObject]:
        separate = self._separate()
        return [
            self._join(index) if self._is_group(index) and index not in separate else item
            for index, item in enumerate(self._all)
            if self._original[index] == index or self._original[index] in separate
        ]

    def _is_group(self, original: int) -> bool:
        return len(self._members.get(original, ())) > 1

    def _separate(self) -> set[int]:
        """The originals of the groups that cannot be joined."""
        links: dict[int, set[int]] = {}
        waiting: list[int] = []
        for original in self._members:
            above = {parent for parent in self._parents(original) if self._is_group(parent)}
            if self._is_group(original):
                for parent in above:
                    links.setdefault(parent, set()).add(original)
                    links.setdefault(original, set()).add(parent)
            if not self._is_complete(original):
                waiting += [original, *above]
        separate: set[int] = set()
        while waiting:
            group = waiting.pop()
            if group not in separate:
                separate.add(group)
                waiting += links.get(group, ())
        return separate

    def _is_complete(self, original: int) -> bool:
        """Whether the members are identical, and there is one in each of their states of each copy of the parent."""
        members = self._members[original]
        if any(_body(self._all[member]) != _body(self._all[original]) for member in members):
            return False
        parents = self._parents(original)
        if not all(self._parent(member) is not None and self._when(member) for member in members):
            return not self._is_group(original) and not parents  # one without a place would be lost
        places = [(self._parent(member), state) for member in members for state in self._when(member)]
        expected = {
            (copy, state) for parent in parents for copy in self._members[parent] for _, state in places
        }
        return len(parents) == 1 and len(places) == len(expected) and set(places) == expected

    def _parents(self, original: int) -> set[int]:
        """The originals of the parents of a group."""
        parents = (self._parent(member) for member in self._members[original])
        return {self._original[parent] for parent in parents if parent is not None}

    def _parent(self, index: int) -> int | None:
        depends_on = self._all[index].get("depends_on")
        return self._by_name.get(depends_on) if isinstance(depends_on, str) else None

    def _when(self, index: int) -> list[str]:
        when = self._all[index].get("when_parent")
        return [state for state in when if isinstance(state, str)] if isinstance(when, list) else []

    def _join(self, original: int) -> JsonObject:
        when = dict.fromkeys(state for member in self._members[original] for state in self._when(member))
        (parent,) = self._parents(original)
        return self._all[original] | {"depends_on": self._all[parent]["name"], "when_parent": list(when)}


def _body(characteristic: JsonObject) -> JsonObject:
    """What copies have in common."""
    return {key: value for key, value in characteristic.items() if key not in _PLACE}
