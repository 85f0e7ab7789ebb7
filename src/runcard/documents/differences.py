"""Compare two pieces of plain data, by JSON pointer. No recursion: data can be nested deeper than Python allows.

An absent key and a null value count as equal.
"""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from runcard.documents.findings import display_value
from runcard.encoding import join_pointer

Path = tuple[str | int, ...]

_CONTAINERS = frozenset({dict, list})
_TEXTS = frozenset({str, type(None)})
_TEXTS_AND_OBJECTS = _TEXTS | {dict}


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
    waiting: list[tuple[Path, Any, Any]] = [] if _is_same(expected, found) else [((), expected, found)]
    members: Iterator[tuple[str | int, Any, Any]]
    while waiting:
        path, left, right = waiting.pop()
        pointer = join_pointer(path)
        if pointer in exempt:
            continue
        if isinstance(left, dict) and isinstance(right, dict):
            keys = sorted(left.keys() | right.keys(), reverse=True)
            members = ((key, left.get(key), right.get(key)) for key in keys)
        elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
            members = ((index, left[index], right[index]) for index in reversed(range(len(left))))
        else:
            yield ValueDifference(pointer, left, right)
            continue
        waiting += [((*path, key), one, other) for key, one, other in members if not _is_same(one, other)]


def _is_same(left: Any, right: Any) -> bool:  # noqa: ANN401
    """Whether two values are surely the same in JSON: true is not 1, but 1 and 1.0 are equal."""
    try:
        if left != right:
            return False
        kinds = {type(left), type(right)}
        if kinds <= _CONTAINERS:
            return _has_only_texts(left) or repr(left) == repr(right)
    except RecursionError:
        return left is right
    return bool not in kinds or left is right


def _has_only_texts(container: Any) -> bool:  # noqa: ANN401
    """Whether nothing in a list or an object equals anything of another type: neither numbers nor true and false."""
    members = container.values() if type(container) is dict else container
    kinds = set(map(type, members))
    if kinds <= _TEXTS:
        return True
    return kinds <= _TEXTS_AND_OBJECTS and all(
        _TEXTS.issuperset(map(type, member.values())) for member in members if type(member) is dict
    )
