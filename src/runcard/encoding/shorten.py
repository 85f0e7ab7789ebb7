"""Making plain data smaller: long texts first, then long lists and objects. Numbers are never changed.

What a text lost is said at its end. That a list or an object lost members is for the caller to say, who knows where.

Invariant: it needs no recursion, however deep the data are nested.
"""

from itertools import islice
from typing import Any

from runcard.encoding.json.types import JsonObject
from runcard.encoding.json.writer import COMPACT, encode_json

# Texts of at most so many characters, inner containers of at most so many members: tried one after the other.
_STEPS = (
    *((characters, None) for characters in (524_288, 131_072, 32_768, 8_192, 1_024)),
    *((1_024, 10_000), (256, 1_000), (256, 100), (64, 16)),
)
_FEW = 100  # members of the outermost object that are kept when nothing else helps


def size(value: object) -> int:
    """How many bytes a value takes on one line."""
    return len(encode_json(value, COMPACT))


def cut(text: str, most: int) -> str:
    """A text of at most `most` characters; of a longer one, the beginning and a remark."""
    return text if len(text) <= most else f"{text[:most]}… [cut: {len(text):,} characters]"


def shortened(fields: JsonObject, text: int, members: int | None = None) -> JsonObject:
    """A copy whose texts have at most `text` characters; containers inside it keep the first `members` members."""
    result: JsonObject = {}
    waiting: list[tuple[Any, Any, int | None]] = [(fields, result, None)]
    while waiting:
        source, target, most = waiting.pop()
        is_object = isinstance(source, dict)
        for key, item in islice(source.items() if is_object else enumerate(source), most):
            copy: Any = item
            if isinstance(item, str):
                copy = cut(item, text)
            elif isinstance(item, dict):
                copy = {}
                waiting.append((item, copy, members))
            elif isinstance(item, list | tuple):
                copy = [None] * len(item[:members])
                waiting.append((item, copy, members))
            target[cut(key, text) if is_object else key] = copy
    return result


def fitted(fields: JsonObject, most: int) -> JsonObject:
    """The fields themselves, or as much of them as takes at most `most` bytes on one line."""
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
