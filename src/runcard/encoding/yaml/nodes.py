"""A YAML text as a tree of nodes with their offsets."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, eq=False)
class YamlNode:
    """A value and its offsets in the text."""

    start: int
    end: int
    kind: str  # scalar, list or map
    value: Any = None  # of a scalar
    plain: str | None = None  # the text of an unquoted scalar
    flow: bool = False  # a list or map in brackets
    items: list["YamlNode"] = field(default_factory=list)  # of a list
    members: dict[str, "YamlNode"] = field(default_factory=dict)  # of a map, with merged ones
    keys: dict[str, "YamlNode"] = field(default_factory=dict)  # of a map: its own keys
    size: int = 1  # number of values, with aliases expanded
    height: int = 0  # nested levels of lists and maps
    closed: bool = False
    alias: bool = False  # its text is at the anchor


def count(outer: YamlNode, node: YamlNode) -> None:
    """Add a node's size and height to its container."""
    outer.size += node.size
    outer.height = max(outer.height, node.height + 1)


def to_data(root: YamlNode) -> Any:  # noqa: ANN401
    """The plain data of a tree; every alias becomes a copy."""
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
    """The value of a scalar, or an empty container to be filled later."""
    if node.kind == "scalar":
        return node.value
    container: Any = {} if node.kind == "map" else []
    todo.append((node, container))
    return container
