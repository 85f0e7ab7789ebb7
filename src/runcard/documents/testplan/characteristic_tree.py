"""The tree that `depends_on` and `when_parent` make of a plan's characteristics, and the ways through it.

Levels are not used. A value may be None anywhere: then the schema found a fault in it. Nothing recurses, because a chain
may be as long as the document.
"""

from typing import NamedTuple

from runcard.encoding import JsonObject

MAX_COUNT = 10**9  # ways are not counted further


class CharacteristicTree:
    """Parents, states and depths, by index; of characteristics with the same name, the first counts."""

    def __init__(self, characteristics: list[JsonObject]) -> None:
        self.all = characteristics
        self.by_name: dict[str, int] = {}
        for index, characteristic in enumerate(characteristics):
            if characteristic.get("name") is not None:
                self.by_name.setdefault(characteristic["name"], index)
        self.parents = [self._parent(item) for item in characteristics]
        self.terminal = [frozenset(item.get("terminal_states") or ()) for item in characteristics]
        self.states = [self._known_states(item) for item in characteristics]
        self.depths = self._depths()

    def _parent(self, characteristic: JsonObject) -> int | None:
        depends_on = characteristic.get("depends_on")
        return None if depends_on is None else self.by_name.get(depends_on)

    @staticmethod
    def _known_states(characteristic: JsonObject) -> frozenset[str] | None:
        """The states; None if one of them is faulty, so that they cannot be compared."""
        states = characteristic.get("states")
        return None if states is None or None in states else frozenset(states)

    def is_root(self, index: int) -> bool:
        characteristic = self.all[index]
        return "depends_on" in characteristic and characteristic["depends_on"] is None

    def _depths(self) -> list[int | None]:
        """The depth of each; None if its ancestors are missing or form a cycle."""
        depths: dict[int, int | None] = {}
        for start in range(len(self.all)):
            path: list[int] = []
            on_path: set[int] = set()
            node: int | None = start
            while node is not None and node not in depths and node not in on_path:
                path.append(node)
                on_path.add(node)
                node = self.parents[node]
            depth = None if node is None or node in on_path else depths[node]
            for step in reversed(path):
                if self.is_root(step):
                    depth = 1
                elif depth is not None:
                    depth += 1
                depths[step] = depth
        return [depths[index] for index in range(len(self.all))]

    def when(self, index: int) -> list[str]:
        """The states of the parent in which a characteristic matters."""
        when = self.all[index].get("when_parent")
        return [when] if isinstance(when, str) else [state for state in when or () if state is not None]


class Ways(NamedTuple):
    """The number of ways through a characteristic that end the method, and of those that continue."""

    ended: int
    open: int

    def then(self, later: "Ways") -> "Ways":
        """The ways through this and then, where they continue, through `later`."""
        ended = self.ended + self.open * later.ended
        return Ways(min(ended, MAX_COUNT), min(self.open * later.open, MAX_COUNT))


def leaf_contexts(tree: CharacteristicTree) -> int:
    """The number of innermost contexts of the tests: all states of all roots combined, with their dependents.

    A terminal state ends the method, so nothing is combined with it.
    """
    return sum(_combined(ways_of(tree), [index for index in range(len(tree.all)) if tree.is_root(index)]))


def ways_of(tree: CharacteristicTree) -> list[Ways]:
    """The ways through each characteristic and what depends on it."""
    ways = [Ways(0, 1) for _ in tree.all]
    dependents: list[dict[str, list[int]]] = [{} for _ in tree.all]
    for index, parent in enumerate(tree.parents):
        for state in dict.fromkeys(tree.when(index)) if parent is not None else ():
            dependents[parent or 0].setdefault(state, []).append(index)
    depths = [(depth, index) for index, depth in enumerate(tree.depths) if depth is not None]
    for _, index in sorted(depths, reverse=True):
        states = set(tree.all[index].get("states") or ()) - {None}
        each = [
            Ways(1, 0) if state in tree.terminal[index] else _combined(ways, dependents[index].get(state, []))
            for state in states
        ]
        if each:
            ways[index] = _alternatives(each)
    return ways


def _combined(ways: list[Ways], group: list[int]) -> Ways:
    """The ways through the characteristics of one state; those that always end the method are alternatives, at the end."""
    total = Ways(0, 1)
    for index in group:
        if ways[index].open:
            total = total.then(ways[index])
    closing = [ways[index] for index in group if not ways[index].open]
    return total.then(_alternatives(closing)) if closing else total


def _alternatives(each: list[Ways]) -> Ways:
    return Ways(min(sum(way.ended for way in each), MAX_COUNT), min(sum(way.open for way in each), MAX_COUNT))
