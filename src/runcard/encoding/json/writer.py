"""Write data as JSON, without recursion: one loop for the readable and the canonical form.

Only plain data with text keys is accepted; anything else is refused by name, never converted.
"""

import math
from collections.abc import Callable
from json.encoder import encode_basestring as quoted
from typing import Any, NamedTuple

from runcard.encoding.json.fast_writer import fast_encode, fast_encode_indented
from runcard.encoding.json.positions import join_pointer
from runcard.encoding.json.types import JsonObject
from runcard.errors import EncodingError


def sorted_by_utf16(keys: list[str]) -> list[str]:
    return sorted(keys, key=lambda key: key.encode("utf-16-be", "surrogatepass"))


def _finite(value: float) -> str:
    return repr(value)


class Layout(NamedTuple):
    """The layout of a text: line breaks, spaces, the order of keys and the format of numbers."""

    indent: str | None = "  "  # None: everything on one line
    newline: str = "\n"
    comma: str = ","
    colon: str = ": "
    prefix: str = ""  # the indentation of the line where the value begins
    integer: Callable[[int], str] = str
    real: Callable[[float], str] = _finite
    keys: Callable[[list[str]], list[str]] | None = None

    def line(self, depth: int) -> str:
        return "" if self.indent is None else f"{self.newline}{self.prefix}{self.indent * depth}"


READABLE = Layout()
COMPACT = Layout(indent=None, colon=":")


def encode_json(value: Any, layout: Layout = READABLE) -> bytes:  # noqa: ANN401
    """The bytes of a JSON document, ending in a newline; raises EncodingError for data that JSON cannot represent."""
    text = None
    if layout is READABLE:
        text = fast_encode_indented(value)
    elif layout is COMPACT:
        text = fast_encode(value, sort_keys=False)
    return to_bytes((render(value, layout) if text is None else text) + "\n")


def to_bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise EncodingError(
            "json.lone-surrogate",
            f"{text[error.start]!a} is a lone surrogate and cannot be written",
            hint="escape names that are not UTF-8, and add their bytes in base64",
        ) from None


def render(root: Any, layout: Layout) -> str:  # noqa: ANN401
    """The text of a value."""
    parts: list[str] = []
    containers: list[_OpenContainer] = []
    value, have_value = root, True
    while True:
        if have_value and isinstance(value, dict | list | tuple) and value:
            if any(outer.container is value for outer in containers):
                raise _refused("json.not-plain", "a container that contains itself", containers)
            containers.append(_OpenContainer(value, layout))
            parts.append(containers[-1].opening)
        elif have_value:
            parts.append(_scalar(value, layout, containers))
        if not containers:
            return "".join(parts)
        current = containers[-1]
        have_value = current.step()
        if have_value:
            parts.append(current.lead(layout, len(containers)))
            value = current.value
        else:
            containers.pop()
            parts.append(layout.line(len(containers)) + current.closing)


class _OpenContainer:
    """A container that is being written: its next value, and the key of it."""

    def __init__(self, container: JsonObject | list[Any] | tuple[Any, ...], layout: Layout) -> None:
        self.first = True
        self.key: str | int = -1
        self.value: Any = None
        self.is_object = isinstance(container, dict)
        self.opening, self.closing = "{}" if self.is_object else "[]"
        if isinstance(container, dict):
            keys = (
                list(container) if layout.keys is None else layout.keys([text_key(key) for key in container])
            )
            self.keys: list[str] | range = keys
        else:
            self.keys = range(len(container))
        self.container: Any = container
        self.next = 0

    def step(self) -> bool:
        if self.next == len(self.keys):
            return False
        self.key = self.keys[self.next]
        self.value = self.container[self.key]
        self.next += 1
        return True

    def lead(self, layout: Layout, depth: int) -> str:
        """The text before the value: a comma, the line break, the key."""
        comma = "" if self.first else layout.comma
        self.first = False
        if not self.is_object:
            return comma + layout.line(depth)
        return f"{comma}{layout.line(depth)}{quoted(text_key(self.key))}{layout.colon}"


def text_key(key: object) -> str:
    if isinstance(key, str):
        return key
    raise EncodingError("json.not-plain", f"a key must be text, found {key!r} ({type(key).__name__})")


def _scalar(value: object, layout: Layout, containers: list[_OpenContainer]) -> str:
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        try:
            return layout.integer(int(value))
        except ValueError:
            message, rule = "an integer of too many digits", "json.too-many-digits"
    elif isinstance(value, float):
        if math.isfinite(value):
            return layout.real(float(value))
        message, rule = f"{value} is not a JSON number", "json.not-finite"
    elif isinstance(value, dict | list | tuple):
        return "{}" if isinstance(value, dict) else "[]"
    else:
        message, rule = f"{type(value).__name__} is not plain data", "json.not-plain"
    raise _refused(rule, message, containers)


def _refused(rule: str, message: str, containers: list[_OpenContainer]) -> EncodingError:
    pointer = join_pointer(container.key for container in containers)
    return EncodingError(rule, f"{message}, at {pointer or 'the root'}")
