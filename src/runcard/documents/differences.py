"""Compare two pieces of plain data, by JSON pointer. No recursion: data can be nested deeper than Python allows.

An absent key and a null value count as equal.
"""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from runcard.documents.findings import display_value
from runcard.encoding import join_pointer

Path = tuple[str | int, ...]


class ValueDifference(NamedTuple):
    """A value that differs."""

    pointer: str
    expected: Any
    found: Any

    def describe(self, source: str) -> str:
        """A message for people; `source` is what the document was compared with."""
        return f"{self.pointer}: {source} says {display_value(self.expected)}, the document says {display_value(self.found)}"


def differences(expected: Any, found: Any, exempt: Collection[str] = ()) -> Iterator[ValueDifference]:  # noqa: ANN401
    """The smallest parts that differ, in the order of their pointers; those at or below `exempt` are left out."""
    waiting: list[tuple[Path, Any, Any]] = [((), expected, found)]
    while waiting:
        path, left, right = waiting.pop()
        if _is_same(left, right) or _is_written_alike(left, right):
            continue
        pointer = join_pointer(path)
        if pointer in exempt:
            continue
        if isinstance(left, dict) and isinstance(right, dict):
            keys = sorted(left.keys() | right.keys(), reverse=True)
            waiting += [((*path, key), left.get(key), right.get(key)) for key in keys]
        elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
            pairs = list(zip(left, right, strict=True))
            waiting += [((*path, index), *pairs[index]) for index in reversed(range(len(pairs)))]
        else:
            yield ValueDifference(pointer, left, right)


def _is_written_alike(left: Any, right: Any) -> bool:  # noqa: ANN401
    """Whether two containers are surely the same, by their texts: much faster than looking at every value."""
    try:
        return isinstance(left, dict | list) and left == right and repr(left) == repr(right)
    except RecursionError:
        return False


def _is_same(left: Any, right: Any) -> bool:  # noqa: ANN401
    """Whether two scalars are the same JSON value: true is not 1, but 1 and 1.0 are equal."""
    if isinstance(left, dict | list) or isinstance(right, dict | list):
        return left is right
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)
