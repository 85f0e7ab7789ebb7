"""The positions of values in a YAML text, and their spelling."""

from collections.abc import Iterable
from typing import NamedTuple

from runcard.encoding.json.positions import positions, split_pointer
from runcard.encoding.limits import NONE
from runcard.encoding.yaml.nodes import YamlNode


class YamlPosition(NamedTuple):
    """The line and column of a value, counted from 1, and its text if it is an unquoted scalar."""

    line: int
    column: int
    plain: str | None  # the text of an unquoted scalar, which other readers may take for another type


def locate_yaml(text: str, pointers: Iterable[str]) -> dict[str, YamlPosition]:
    """The position of the value at each pointer; if it does not exist, that of its nearest ancestor."""
    from runcard.encoding.yaml.composer import compose  # noqa: PLC0415 - its parser takes long to import

    root = compose(text, NONE)
    nodes = {pointer: _find(root, pointer) for pointer in pointers}
    located = positions(text, {pointer: node.start for pointer, node in nodes.items()})
    return {pointer: YamlPosition(*located[pointer], node.plain) for pointer, node in nodes.items()}


def _find(root: YamlNode, pointer: str) -> YamlNode:
    node = root
    for step in split_pointer(pointer):
        if node.kind == "map" and step in node.members:
            node = node.members[step]
        elif node.kind == "list" and step.isdecimal() and int(step) < len(node.items):
            node = node.items[int(step)]
        else:
            break
    return node
