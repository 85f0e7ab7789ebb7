"""Shorten plain data: long texts first, then long lists and objects. Numbers are never changed.

A text that was cut says so at its end. The caller reports lists and objects that lost members.

Invariant: no recursion, however deep the data is nested.
"""

from itertools import islice
from typing import Any

from runcard.encoding.json.types import JsonObject
from runcard.encoding.json.writer import COMPACT, encode_json

# The limits to try in turn: characters of a text, members of an inner container.
_STEPS = (
    *((characters, None) for characters in (524_288, 131_072, 32_768, 8_192, 1_024)),
    *((1_024, 10_000), (256, 1_000), (256, 100), (64, 16)),
)
_FEW = 100  # members of the outermost object that are kept if nothing else is enough


def size(value: object) -> int:
    """The size of a value in bytes, encoded on one line."""
    return len(encode_json(value, COMPACT))


def cut(text: str, most: int) -> str:
    """The text, or its first `most` characters and a remark."""
    return text if len(text) <= most else f"{text[:most]}… [cut: {len(text):,} characters]"


def shortened(fields: JsonObject, text: int, members: int | None = None) -> JsonObject:
    """A copy with texts of at most `text` characters and, inside it, the first `members` members of each container."""
    result: JsonObject = {}
    queue: list[tuple[Any, Any, int | None]] = [(fields, result, None)]
    while queue:
        source, target, most = queue.pop()
        is_object = isinstance(source, dict)
        for key, item in islice(source.items() if is_object else enumerate(source), most):
            copy: Any = item
            if isinstance(item, str):
                copy = cut(item, text)
            elif isinstance(item, dict):
                copy = {}
                queue.append((item, copy, members))
            elif isinstance(item, list | tuple):
                copy = [None] * len(item[:members])
                queue.append((item, copy, members))
            target[cut(key, text) if is_object else key] = copy
    return result


def fitted(fields: JsonObject, most: int) -> JsonObject:
    """The fields, shortened if they take more than `most` bytes on one line."""
    if size(fields) <= most:
        return fields
    smaller = fields
    for text, members in _STEPS:
        smaller = shortened(fields, text, members)
        if size(smaller) <= most:
            return smaller
    share = most // (_FEW + 1)
    few = islice(smaller.items(), _FEW)
    return {key: item if size([key, item]) <= share else _emptied(item) for key, item in few}


def _emptied(item: object) -> object:
    return type(item)() if isinstance(item, dict | list) else item
