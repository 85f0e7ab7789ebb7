"""The contexts of a spec: the tree of characteristics and states, as nested groups of examples.

It is made of `depends_on` and `when_parent`, never of `level`. Characteristics that do not depend on each other are
combined: the second stands in every state of the first. Nothing follows a terminal state. Every state has a context,
unless it hangs on a terminal state.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from runcard.documents.testplan.characteristic_tree import Tree, ways_of
from runcard.encoding import JsonObject
from runcard.errors import DocumentError
from runcard.plans.spec_wording import description, happy_first

Step = tuple[int, ...]  # characteristics side by side

MOST_LEAVES = 1_000
DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Context:
    """A group of examples: one state of a characteristic, and what is told apart in it."""

    one: JsonObject  # the characteristic
    state: str
    description: str
    children: tuple["Context", ...]

    def walk(self) -> Iterator["Context"]:
        """This one and all below it, in their order."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def is_leaf(self) -> bool:
        return not self.children


def contexts_of(characteristics: list[JsonObject]) -> tuple[Context, ...]:
    """The contexts of a valid plan's characteristics; raises DocumentError for more than a spec can hold."""
    return _Builder(Tree(characteristics)).contexts


class _Builder:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._left = MOST_LEAVES
        self._below: dict[tuple[int, str], list[int]] = {}
        for index, parent in enumerate(tree.parents):
            if parent is not None:
                for state in dict.fromkeys(tree.when(index)):
                    self._below.setdefault((parent, state), []).append(index)
        self._ending = {index for index, ways in enumerate(ways_of(tree)) if not ways.open}

    @cached_property
    def contexts(self) -> tuple[Context, ...]:
        roots = [index for index in range(len(self._tree.all)) if self._tree.is_root(index)]
        return self._nested(self._steps(roots), 1)

    def _steps(self, group: list[int]) -> tuple[Step, ...]:
        """Characteristics of one state, to be nested one in the other; those that let nothing follow are the last."""
        going = tuple((index,) for index in group if index not in self._ending)
        ending = tuple(index for index in group if index in self._ending)
        return (*going, ending) if ending else going

    def _nested(self, steps: tuple[Step, ...], depth: int) -> tuple[Context, ...]:
        if not steps:
            self._left -= 1
            return ()
        self._check(depth)
        first, *rest = steps
        return tuple(
            self._context(index, state, tuple(rest), depth)
            for index in first
            for state in happy_first(self._tree.all[index])
        )

    def _context(self, index: int, state: str, rest: tuple[Step, ...], depth: int) -> Context:
        one = self._tree.all[index]
        is_terminal = state in self._tree.terminal[index]
        steps = () if is_terminal else (*self._steps(self._below.get((index, state), [])), *rest)
        return Context(one, state, description(one, state, depth), self._nested(steps, depth + 1))

    def _check(self, depth: int) -> None:
        if self._left <= 0 or depth > DEEPEST:
            much = f"more than {MOST_LEAVES:,} examples" if self._left <= 0 else f"more than {DEEPEST} levels"
            raise DocumentError(
                f"the characteristics make {much}: no spec can be read with that many",
                hint="plan a part of the method by itself, or take out what need not be combined",
            )
