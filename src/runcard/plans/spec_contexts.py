"""The contexts of a spec: one for each state of a plan's characteristics, nested.

Contexts follow `depends_on` and `when_parent`, never `level`. Independent characteristics are combined: the second is
nested in every state of the first. Nothing follows a terminal state. Every state has a context, unless it depends on a
terminal state.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from runcard.documents.testplan.characteristic_tree import CharacteristicTree, ways_of
from runcard.encoding import JsonObject
from runcard.errors import DocumentError
from runcard.plans.spec_wording import description, happy_first

Siblings = tuple[int, ...]  # characteristics at the same depth

MAX_LEAVES = 1_000
MAX_DEPTH = 50


@dataclass(frozen=True, slots=True)
class Context:
    """A group of examples: one state of a characteristic, and the contexts in it."""

    characteristic: JsonObject
    state: str
    description: str
    children: tuple["Context", ...]

    def walk(self) -> Iterator["Context"]:
        """This context and all contexts in it, in order."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def is_leaf(self) -> bool:
        return not self.children

    @property
    def tag(self) -> str:
        """The state, as the metadata of a context name it."""
        return f"{self.characteristic['name']}:{self.state}"


def contexts_of(characteristics: list[JsonObject]) -> tuple[Context, ...]:
    """The contexts of a valid plan's characteristics; raises DocumentError if there are too many."""
    return _ContextBuilder(CharacteristicTree(characteristics)).contexts


class _ContextBuilder:
    def __init__(self, tree: CharacteristicTree) -> None:
        self._tree = tree
        self._leaves_left = MAX_LEAVES
        self._dependents: dict[tuple[int, str], list[int]] = {}
        for index, parent in enumerate(tree.parents):
            if parent is not None:
                for state in dict.fromkeys(tree.when(index)):
                    self._dependents.setdefault((parent, state), []).append(index)
        self._terminating = {index for index, ways in enumerate(ways_of(tree)) if not ways.open}

    @cached_property
    def contexts(self) -> tuple[Context, ...]:
        roots = [index for index in range(len(self._tree.all)) if self._tree.is_root(index)]
        return self._nested(self._steps(roots), 1)

    def _steps(self, group: list[int]) -> tuple[Siblings, ...]:
        """Nest the characteristics of a state; those that let nothing follow come last."""
        continuing = tuple((index,) for index in group if index not in self._terminating)
        terminating = tuple(index for index in group if index in self._terminating)
        return (*continuing, terminating) if terminating else continuing

    def _nested(self, steps: tuple[Siblings, ...], depth: int) -> tuple[Context, ...]:
        if not steps:
            self._leaves_left -= 1
            return ()
        self._check_size(depth)
        first, *rest = steps
        return tuple(
            self._context(index, state, tuple(rest), depth)
            for index in first
            for state in happy_first(self._tree.all[index])
        )

    def _context(self, index: int, state: str, rest: tuple[Siblings, ...], depth: int) -> Context:
        characteristic = self._tree.all[index]
        is_terminal = state in self._tree.terminal[index]
        steps = () if is_terminal else (*self._steps(self._dependents.get((index, state), [])), *rest)
        children = self._nested(steps, depth + 1)
        return Context(characteristic, state, description(characteristic, state, depth), children)

    def _check_size(self, depth: int) -> None:
        if self._leaves_left <= 0 or depth > MAX_DEPTH:
            size = (
                f"more than {MAX_LEAVES:,} examples"
                if self._leaves_left <= 0
                else f"more than {MAX_DEPTH} levels"
            )
            raise DocumentError(
                f"the characteristics make {size}, too many for a spec",
                hint="plan a part of the method separately, or remove characteristics that need not be combined",
            )
