"""Parse YAML: a fast parser for simple texts, the composer for everything else.

The fast parser is yaml-rs. It gets only texts that it reads as the composer does. Without it the result is the same, later.
A text that it refuses is parsed again by the composer, whose errors have a line and a column.
"""

from collections.abc import Callable
from typing import Any

from runcard.encoding.frozen_data import freeze, thaw
from runcard.encoding.json.reader import as_text
from runcard.encoding.json.types import JsonObject
from runcard.encoding.limits import DEFAULT, Limits
from runcard.encoding.yaml.repeated_sections import SectionText, cached, find_section
from runcard.encoding.yaml.simple_text import is_simple

_DEPTH, _DIGITS = 128, 20  # more than a simple text can have
_TEXT, _CONTAINERS = frozenset({str}), frozenset({dict, list})


def _fast_parser() -> Callable[..., Any] | None:
    try:
        from yaml_rs import loads  # noqa: PLC0415 - it may be absent
    except ImportError:  # a new Python, or a platform without a wheel
        return None
    return loads


loads = _fast_parser()


class _NotSimpleError(Exception):
    """The fast path cannot read this text, or not surely in the same way."""


def decode_yaml(data: bytes, limits: Limits = DEFAULT, *, repeated: str | None = None) -> Any:  # noqa: ANN401 - YAML is any plain data
    """Read a YAML document; raises EncodingError with rule, line and column.

    `repeated` is the key of a section that many documents have in common: it is parsed once. The result is the same.
    """
    text = as_text(data, limits)
    section = find_section(text, repeated) if repeated else None
    if section is not None:
        value = _joined(section, limits)
        if value is not None:
            return value
    try:
        return _fast(text, limits)
    except _NotSimpleError:
        pass
    from runcard.encoding.yaml.composer import compose  # noqa: PLC0415 - its parser takes long to import
    from runcard.encoding.yaml.nodes import to_data  # noqa: PLC0415

    return to_data(compose(text, limits))


def _joined(section: SectionText, limits: Limits) -> JsonObject | None:
    """A document with a section that is parsed once; None if the document must be parsed as a whole."""
    try:
        return section.join(_fast(section.rest, limits), thaw(_frozen(section.text, limits)))
    except _NotSimpleError:
        return None


@cached
def _frozen(text: str, limits: Limits) -> bytes:
    """The data of a section."""
    frozen = freeze(_fast(text, limits))
    if frozen is None:
        raise _NotSimpleError
    return frozen


def _fast(text: str, limits: Limits) -> Any:  # noqa: ANN401
    """The data of a simple text; raises _NotSimpleError if only the composer can decide."""
    if loads is None or limits.depth < _DEPTH or limits.digits < _DIGITS or not is_simple(text):
        raise _NotSimpleError
    try:
        value = loads(text, parse_datetime=False)
    except ValueError as error:  # the composer reports what and where
        raise _NotSimpleError from error
    if not _has_text_keys(value):
        raise _NotSimpleError
    return value


def _has_text_keys(value: object) -> bool:
    todo = [value]
    while todo:
        item = todo.pop()
        if type(item) is dict:
            if not _TEXT.issuperset(map(type, item)):
                return False
            item = item.values()
        elif type(item) is not list:
            continue
        todo += [part for part in item if type(part) in _CONTAINERS]
    return True
