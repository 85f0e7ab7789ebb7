"""A YAML text as a tree whose values know where they stand."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, eq=False)
class YamlNode:
    """A value and its place in the text."""

    start: int
    end: int
    kind: str  # scalar, list or map
    value: Any = None  # of a scalar
    plain: str | None = None  # the text of a scalar that has no quotes
    flow: bool = False  # a list or map in brackets
    items: list["YamlNode"] = field(default_factory=list)  # of a list
    members: dict[str, "YamlNode"] = field(
        default_factory=dict
    )  # of a map, those that were merged into it as well
    keys: dict[str, "YamlNode"] = field(default_factory=dict)  # of a map: the keys that stand in it
    size: int = 1  # how many values it is, aliases written out
    height: int = 0  # how many levels of lists and maps it has
    closed: bool = False
    alias: bool = False  # its own text stands elsewhere


def count(outer: YamlNode, node: YamlNode) -> None:
    """Count a node in what holds it."""
    outer.size += node.size
    outer.height = max(outer.height, node.height + 1)


def to_data(root: YamlNode) -> Any:  # noqa: ANN401
    """The plain data of a tree: every alias gets a copy of its own."""
    top: list[Any] = []
    todo: list[tuple[YamlNode, Any]] = [(YamlNode(0, 0, "list", items=[root]), top)]
    while todo:
        node, container = todo.pop()
        if isinstance(container, dict):
            container.update({key: _value(child, todo) for key, child in node.members.items()})
        else:
            container += [_value(child, todo) for child in node.items]
    return top[0]


def _value(node: YamlNode, todo: list[tuple[YamlNode, Any]]) -> Any:  # noqa: ANN401
    """The value of a scalar, or an empty container that waits to be filled."""
    if node.kind == "scalar":
        return node.value
    container: Any = {} if node.kind == "map" else []
    todo.append((node, container))
    return container
