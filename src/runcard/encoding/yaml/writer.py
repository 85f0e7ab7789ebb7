"""Write data as YAML that every reader parses the same: block style, quotes if in doubt.

A text is unquoted only if it is plain text in YAML 1.1, in YAML 1.2 and in Ruby. Short lists of words are written in
brackets on one line. There is no recursion.
"""

import math
import re
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from json.encoder import encode_basestring as quoted
from typing import Any

from runcard.encoding.frozen_data import freeze, thaw
from runcard.encoding.json.positions import join_pointer
from runcard.encoding.json.types import JsonObject
from runcard.encoding.json.writer import Layout, render, text_key, to_bytes
from runcard.encoding.yaml.repeated_sections import SIZES, cached
from runcard.encoding.yaml.scalars import yaml_1_1_type
from runcard.errors import EncodingError

INDENT = 2

_WIDTH = 80  # of a list in brackets
_SHORT = 64  # characters of a text that is likely to be repeated
_LONG_KEY = 1_000  # characters: longer keys need a `?`
# A text that needs no quotes, unless YAML 1.1 takes it for another type: a word, a path, a few words.
_WORDS = re.compile(r"[A-Za-z0-9_/.](?:[A-Za-z0-9_/.()+@=-]| (?=[A-Za-z0-9_/.(]))*+")
# What single quotes may contain; what must be escaped.
_PRINTABLE = re.compile("[ -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*")
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")

Container = JsonObject | list[Any] | tuple[Any, ...]


def encode_yaml(value: Any, *, repeated: str | None = None) -> bytes:  # noqa: ANN401
    """The bytes of a YAML document, ending in a newline; raises EncodingError for data that is not plain.

    `repeated` is the key of a section that many documents have in common: it is written once. The result is the same.
    """
    section = freeze(value[repeated]) if isinstance(value, dict) and repeated in value else None
    if repeated is None or section is None or len(section) not in SIZES:
        return to_bytes(_document(value))
    members = list(value.items())
    at = list(value).index(repeated)
    before, after = dict(members[:at]), dict(members[at + 1 :])
    parts = (
        _document(before) if before else "",
        _section(repeated, section),
        _document(after) if after else "",
    )
    return to_bytes("".join(parts))


@cached
def _section(key: str, frozen: bytes) -> str:
    return _document({key: thaw(frozen)})


def _document(value: Any) -> str:  # noqa: ANN401
    text = inline(value)
    return "\n".join([*block(value), ""]) if text is None else f"{text}\n"


def block(value: Container, indent: int = 0) -> Iterator[str]:
    """The lines of a list or map that is not empty."""
    blocks = [_OpenBlock(value, " " * indent)]
    waiting = ""  # the start of the current line: the dash before a list or map
    while blocks:
        current = blocks[-1]
        for key, member in current.rest:
            current.key = key
            lead, waiting = waiting or current.indent, ""
            if current.is_map:
                name = _short_text(key) if type(key) is str and len(key) <= _SHORT else encode_key(key)
                if len(name) > _LONG_KEY:
                    yield f"{lead}? {name}"
                    name, lead = "", current.indent
                lead = f"{lead}{name}:"
            else:
                lead = f"{lead}-"
            # The most common value first: a short text.
            text = (
                _short_text(member)
                if type(member) is str and len(member) <= _SHORT
                else inline(member, room=_WIDTH - len(lead), blocks=blocks)
            )
            if text is not None:
                yield f"{lead} {text}"
                continue
            if any(member is outer.container for outer in blocks):
                raise _refused("json.not-plain", "a container that contains itself", blocks)
            if current.is_map:
                yield lead
            else:
                waiting = f"{lead} "
            blocks.append(_OpenBlock(member, current.indent + " " * INDENT))
            break  # its members first
        else:
            blocks.pop()


class _OpenBlock:
    """A list or map that is being written: its members that are left, and the key of the current one."""

    def __init__(self, container: Container, indent: str) -> None:
        self.container = container
        self.indent = indent
        self.is_map = isinstance(container, dict)
        self.rest: Iterator[tuple[Any, Any]] = iter(
            container.items() if isinstance(container, dict) else enumerate(container)
        )
        self.key: Any = None


def inline(value: object, room: int = _WIDTH, blocks: Sequence[_OpenBlock] = ()) -> str | None:
    """A value on the line of its key; None for a list or map that needs more lines."""
    if isinstance(value, dict):
        return None if value else "{}"
    if not isinstance(value, list | tuple):
        return scalar(value, blocks)
    if value and (len(value) * 3 > room or not all(map(_is_word, value))):
        return None
    text = f"[{', '.join(map(scalar, value))}]"
    return text if len(text) <= room or not value else None


def _is_word(value: object) -> bool:
    """Whether a value reads well in a list on one line."""
    if isinstance(value, str):
        return " " not in value and "\n" not in value
    if isinstance(value, int | float):
        return abs(value) < 1e15
    return value is None


def flow(value: Any) -> str:  # noqa: ANN401
    """A value on one line, in nested brackets: JSON, with special line breaks escaped, is YAML."""
    text = inline(value, room=sys.maxsize)
    return _escaped(render(value, _FLOW)) if text is None else text


def scalar(value: object, blocks: Sequence[_OpenBlock] = ()) -> str:
    """A value that is not a list or map."""
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        try:
            return str(int(value))
        except ValueError:
            raise _refused("json.too-many-digits", "an integer of too many digits", blocks) from None
    if isinstance(value, float):
        if math.isfinite(value):
            return _real(float(value))
        raise _refused("json.not-finite", f"{value} is not a finite number", blocks)
    raise _refused("json.not-plain", f"{type(value).__name__} is not plain data", blocks)


def encode_key(key: object) -> str:
    return _text(text_key(key))


def _text(text: str) -> str:
    return _short_text(text) if len(text) <= _SHORT else _any_text(text)


@lru_cache(maxsize=4096)
def _short_text(text: str) -> str:
    """The same for keys and other words: documents repeat them."""
    return _any_text(text)


def _any_text(text: str) -> str:
    if _WORDS.fullmatch(text) and yaml_1_1_type(text) == "text":
        return text
    if "\\" not in text and _PRINTABLE.fullmatch(text):
        return "'" + text.replace("'", "''") + "'"
    return _escaped(quoted(text))


def _escaped(text: str) -> str:
    """JSON text with the characters escaped that YAML refuses or takes for a line break."""
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _real(value: float) -> str:
    """A number as YAML 1.1 needs it: never an exponent without a point."""
    text = repr(value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def _refused(rule: str, message: str, blocks: Sequence[_OpenBlock]) -> EncodingError:
    pointer = join_pointer(container.key for container in blocks)
    return EncodingError(rule, f"{message}, at {pointer or 'the root'}")


_FLOW = Layout(indent=None, comma=", ", real=_real)
