"""Parse YAML: a fast path for simple documents, the composer for everything else.

The fast path is ryaml, libyaml in Rust, which is several times as fast. It is used only where its result is the same: no
anchors, tags, merge keys or directives, no number that it would round. A text that it refuses is parsed again by the
composer, whose errors have a line and a column.
"""

import math
import re
from contextlib import suppress
from typing import Any

from ryaml import InvalidYamlError, loads  # type: ignore[attr-defined] # it exports them in passing

from runcard.encoding.frozen_data import freeze, thaw
from runcard.encoding.json.reader import as_text
from runcard.encoding.json.types import JsonObject
from runcard.encoding.limits import DEFAULT, Limits
from runcard.encoding.yaml.repeated_sections import SectionText, cached, find_section

_DEPTH = 128  # of the fast path
_BRACKETS = 32  # nested brackets up to which it is fast
# An anchor, alias, tag or directive; a merge key. It begins with a set of characters, which is several times as fast.
_MARKS = re.compile(r"[&*!%<](?:(?<![^\s\[{,:].)(?<!<)|(?<=<)<)", re.DOTALL)
# A line that is a key and a text in quotes, or a list of such texts: marks in quotes mean nothing.
_QUOTED = r"'(?:[^'\n]|'')*+'"
_ITEM = rf"(?:{_QUOTED}|[A-Za-z0-9_.-]++)"
_QUOTED_LINE = re.compile(rf" *+(?:- )?[A-Za-z0-9_]++: (?:{_QUOTED}|\[{_ITEM}(?:, {_ITEM})*+\])")
# Numbers beyond 64 bits or beyond a float: first a quick check, then an exact one that ignores ids and digests.
_MAYBE_LONG = re.compile(r"[0-9.](?:[0-9]{18}|x[0-9a-fA-F]{16}|[eE][-+]?[0-9]{3,}+(?![^\s\]},:]))")
_LONG = re.compile(
    r"(?<![^\s\[{,:])[-+]?"
    r"(?:[0-9.]{19,}+(?:[eE][-+]?[0-9]++)?|0x[0-9a-fA-F]{16,}+|0[ob][0-7]{17,}+|[0-9.]++[eE][-+]?[0-9]{3,}+)"
    r"(?![^\s\]},:])"
)
_TEXT, _CHECKED = frozenset({str}), frozenset({dict, list, float})
_NO_BRACKETS = re.compile(r"[^\[\]{}]++")


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
    """The data of a simple document; raises _NotSimpleError if only the composer can decide."""
    if _is_simple(text, limits):
        with suppress(InvalidYamlError, ValueError):  # the composer reports what and where
            value = loads(text)
            if _is_plain_data(value):
                return value
    raise _NotSimpleError


def _is_simple(text: str, limits: Limits) -> bool:
    if limits.depth < _DEPTH or limits.digits < 20 or "\ufeff" in text:
        return False
    if may_have_marks(text):
        return False
    if _MAYBE_LONG.search(text) and _LONG.search(text):
        return False
    return not _is_deep(text)


def may_have_marks(text: str) -> bool:
    """Whether there may be an anchor, alias, tag, directive or merge key.

    Marks in quotes mean nothing. If no quote is left after the lines with texts in quotes are removed, every text in quotes
    ends on its own line. So these lines begin outside of quotes, and the quote after a key and a colon does begin a text.
    """
    if not any(mark in text for mark in "&*!%<") or not _MARKS.search(text):
        return False
    rest = []
    for line in text.split("\n"):
        if "'" not in line and '"' not in line:
            rest.append(line)
        elif not _QUOTED_LINE.fullmatch(line):
            return True
    return _MARKS.search("\n".join(rest)) is not None


def _is_deep(text: str) -> bool:
    """Whether brackets may be nested so deep that the fast path is slow."""
    if text.count("[") + text.count("{") <= _BRACKETS:
        return False
    left, before = _NO_BRACKETS.sub("", text), 0
    for _ in range(_BRACKETS):  # each round removes the innermost level
        before, left = len(left), left.replace("[]", "").replace("{}", "")
        if len(left) == before:
            break
    return bool(left)  # or brackets inside a text, which do no harm


def _is_plain_data(value: object) -> bool:
    """Whether all keys are text and all numbers finite."""
    todo = [value]
    while todo:
        item = todo.pop()
        if type(item) is float and not math.isfinite(item):
            return False
        if type(item) is dict:
            if not _TEXT.issuperset(map(type, item)):
                return False
            item = item.values()
        elif type(item) is not list:
            continue
        todo += [part for part in item if type(part) in _CHECKED]
    return True
