"""Write JSON with the standard library's encoder, which is much faster, where it writes the same as `writer`.

That is most data: ASCII keys (which sort the same everywhere), integers below 2⁵³, numbers without an exponent. For
everything else the functions return None, and `writer` does the work.
"""

from collections.abc import Callable
from functools import lru_cache
from json import JSONEncoder, encoder
from json.encoder import encode_basestring as quoted
from typing import Any

_EXACT = 2**53
_MAX_CONTAINERS = 1_000_000  # containers that are checked: data that contains itself would never end
_SIMPLE = frozenset({str, bool, type(None)})
_CONTAINERS = frozenset({dict, list})
_WORDS = {None: "null", True: "true", False: "false"}


def fast_encode(value: Any, *, sort_keys: bool, is_plain: bool = False) -> str | None:  # noqa: ANN401
    """The value on one line without spaces; None if the fast encoder cannot write it. It surely can if `is_plain`."""
    if not is_plain and not _is_simple(value):
        return None
    try:
        return _encoder(",", ":", sort_keys=sort_keys)(value)
    except RecursionError:
        return None


def compact_and_sorted(value: Any) -> tuple[str, str] | None:  # noqa: ANN401
    """The value on one line, as it is and with sorted keys; None if the fast encoder cannot write it."""
    if not _is_simple(value):
        return None
    try:
        return _encoder(",", ":", sort_keys=False)(value), _encoder(",", ":", sort_keys=True)(value)
    except RecursionError:
        return None


def fast_encode_indented(value: Any) -> str | None:  # noqa: ANN401
    """The value with a line for each member; None if the fast encoder cannot write it."""
    if not _is_simple(value):
        return None
    try:
        return _indented(value, "\n")
    except RecursionError:
        return None


def _indented(value: Any, line: str) -> str:  # noqa: ANN401
    kind = type(value)
    if kind is str:
        return quoted(value)
    if kind not in _CONTAINERS:
        return _WORDS[value] if kind in _SIMPLE else repr(value)
    if not value:
        return "{}" if kind is dict else "[]"
    inner = line + "  "
    comma = "," + inner
    if _CONTAINERS.isdisjoint(map(type, value.values() if kind is dict else value)):
        text = _encoder(comma, ": ", sort_keys=False)(value)  # all members at once
        return f"{text[0]}{inner}{text[1:-1]}{line}{text[-1]}"
    if kind is list:
        return f"[{inner}{comma.join([_indented(member, inner) for member in value])}{line}]"
    named = [f"{quoted(key)}: {_indented(member, inner)}" for key, member in value.items()]
    return f"{{{inner}{comma.join(named)}{line}}}"


@lru_cache(maxsize=64)
def _encoder(comma: str, colon: str, *, sort_keys: bool) -> Callable[[Any], str]:
    """An encoder that is made once; the library's own front door makes one for each value."""
    thorough = JSONEncoder(
        ensure_ascii=False, sort_keys=sort_keys, separators=(comma, colon), check_circular=False
    )
    make = getattr(encoder, "c_make_encoder", None)
    if make is None:  # an interpreter without the C accelerator
        return thorough.encode
    parts = make(None, thorough.default, quoted, None, colon, comma, sort_keys, False, True)
    return lambda value: "".join(parts(value, 0))


def _is_simple(value: object) -> bool:
    queue: list[Any] = [[value]]
    for _ in range(_MAX_CONTAINERS):
        if not queue:
            return True
        container = queue.pop()
        members = container
        if type(container) is dict:
            try:
                if not "".join(container).isascii():
                    return False
            except TypeError:  # a key that is not text
                return False
            members = container.values()
        if set(map(type, members)) <= _SIMPLE:
            continue
        for member in members:
            kind = type(member)
            if kind is dict or kind is list:
                queue.append(member)
            elif kind not in _SIMPLE and not is_simple_number(member):
                return False
    return False


def is_simple_number(item: object) -> bool:
    """Whether the fast encoder writes a number as it is hashed."""
    if type(item) is int:
        return -_EXACT < item < _EXACT
    return type(item) is float and 1e-4 <= abs(item) < 1e16 and item % 1 != 0
