"""Where the values of a YAML text stand, and how they are spelled."""

from collections.abc import Iterable
from typing import NamedTuple

from runcard.encoding.json.positions import positions, split_pointer
from runcard.encoding.limits import NONE
from runcard.encoding.yaml.nodes import YamlNode


class YamlPosition(NamedTuple):
    """A value in a text: its line and column, counted from 1, and what stands there."""

    line: int
    column: int
    plain: str | None  # the text of a scalar without quotes, which others may read as something else


def locate_yaml(text: str, pointers: Iterable[str]) -> dict[str, YamlPosition]:
    """Where the values at these pointers stand; for one that does not exist, where its nearest ancestor does."""
    from runcard.encoding.yaml.composer import compose  # noqa: PLC0415 - its parser takes long to import

    root = compose(text, NONE)
    nodes = {pointer: _find(root, pointer) for pointer in pointers}
    found = positions(text, {pointer: node.start for pointer, node in nodes.items()})
    return {pointer: YamlPosition(*found[pointer], node.plain) for pointer, node in nodes.items()}


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
