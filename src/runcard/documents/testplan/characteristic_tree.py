"""The tree that `depends_on` and `when_parent` make of a plan's characteristics, and the ways through it.

It is never built from levels. A value may be None anywhere, which says that the schema found fault with it. Nothing
recurses: a chain may be as long as a document.
"""

from typing import NamedTuple

from runcard.encoding import JsonObject

ENOUGH = 10**9  # ways are not counted further than this


class CharacteristicTree:
    """Who depends on whom, by index; the first of a name is the one that is meant by it."""

    def __init__(self, characteristics: list[JsonObject]) -> None:
        self.all = characteristics
        self.by_name: dict[str, int] = {}
        for index, one in enumerate(characteristics):
            if one.get("name") is not None:
                self.by_name.setdefault(one["name"], index)
        self.parents = [self._parent(one) for one in characteristics]
        self.terminal = [frozenset(one.get("terminal_states") or ()) for one in characteristics]
        self.states = [self._known_states(one) for one in characteristics]
        self.depths = self._depths()

    def _parent(self, one: JsonObject) -> int | None:
        depends_on = one.get("depends_on")
        return None if depends_on is None else self.by_name.get(depends_on)

    @staticmethod
    def _known_states(one: JsonObject) -> frozenset[str] | None:
        """The states; None where one of them is faulty, so that which is meant cannot be told."""
        states = one.get("states")
        return None if states is None or None in states else frozenset(states)

    def is_root(self, index: int) -> bool:
        one = self.all[index]
        return "depends_on" in one and one["depends_on"] is None

    def _depths(self) -> list[int | None]:
        """The depth of each; None for what hangs on nothing, on a cycle, or in one."""
        depths: dict[int, int | None] = {}
        for start in range(len(self.all)):
            path: list[int] = []
            on_path: set[int] = set()
            node: int | None = start
            while node is not None and node not in depths and node not in on_path:
                path.append(node)
                on_path.add(node)
                node = self.parents[node]
            above = None if node is None or node in on_path else depths[node]
            for step in reversed(path):
                if self.is_root(step):
                    above = 1
                elif above is not None:
                    above += 1
                depths[step] = above
        return [depths[index] for index in range(len(self.all))]

    def when(self, index: int) -> list[str]:
        """The states of the parent under which a characteristic matters."""
        when = self.all[index].get("when_parent")
        return [when] if isinstance(when, str) else [state for state in when or () if state is not None]


class Ways(NamedTuple):
    """How many ways through the states of something end there, and how many leave room for what comes after it."""

    ended: int
    open: int

    def then(self, later: "Ways") -> "Ways":
        """The ways through this, and through what comes after it where there is room."""
        ended = self.ended + self.open * later.ended
        return Ways(min(ended, ENOUGH), min(self.open * later.open, ENOUGH))


def leaf_contexts(tree: CharacteristicTree) -> int:
    """How many innermost contexts the tests have: every state of every root combined, and what hangs on each state.

    A terminal state ends the method, and with it whatever would be combined with it.
    """
    return sum(_in_turn(ways_of(tree), [index for index in range(len(tree.all)) if tree.is_root(index)]))


def ways_of(tree: CharacteristicTree) -> list[Ways]:
    """The ways through each characteristic and what depends on it."""
    ways = [Ways(0, 1) for _ in tree.all]
    below: list[dict[str, list[int]]] = [{} for _ in tree.all]
    for index, parent in enumerate(tree.parents):
        for state in dict.fromkeys(tree.when(index)) if parent is not None else ():
            below[parent or 0].setdefault(state, []).append(index)
    depths = [(depth, index) for index, depth in enumerate(tree.depths) if depth is not None]
    for _, index in sorted(depths, reverse=True):
        states = set(tree.all[index].get("states") or ()) - {None}
        each = [
            Ways(1, 0) if state in tree.terminal[index] else _in_turn(ways, below[index].get(state, []))
            for state in states
        ]
        if each:
            ways[index] = _beside(each)
    return ways


def _in_turn(ways: list[Ways], group: list[int]) -> Ways:
    """The ways through characteristics of one state: combined; those that leave no room stand side by side, the last."""
    whole = Ways(0, 1)
    for index in group:
        if ways[index].open:
            whole = whole.then(ways[index])
    closing = [ways[index] for index in group if not ways[index].open]
    return whole.then(_beside(closing)) if closing else whole


def _beside(each: list[Ways]) -> Ways:
    return Ways(min(sum(way.ended for way in each), ENOUGH), min(sum(way.open for way in each), ENOUGH))
