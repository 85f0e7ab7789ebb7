"""Changing a JSON text only where its data changes: everything else keeps its bytes.

Indentation, blanks, the spelling of numbers and the order of keys are the author's; new members look like their
neighbours.
"""

import re
from dataclasses import replace
from json.encoder import encode_basestring as quoted
from typing import Any

from runcard.encoding.reader import BOM
from runcard.encoding.spans import Span, end_of_value, skip_space, spans
from runcard.encoding.writer import Layout, render, to_bytes

_FIRST_INDENT = re.compile(r"[\[{]\r?\n([ \t]+)")


def edit_json(data: bytes, old: Any, new: Any) -> bytes:  # noqa: ANN401
    """The bytes `data`, which say `old`, changed to say `new`."""
    mark = BOM if data.startswith(BOM) else b""
    text = data[len(mark) :].decode()
    start = skip_space(text, 0)
    end = end_of_value(text, start)
    return mark + to_bytes(text[:start] + _value(text, start, end, old, new, _layout(text)) + text[end:])


def _layout(text: str) -> Layout:
    """How this text is written."""
    indented = _FIRST_INDENT.search(text)
    colon = ": " if '": ' in text or '":' not in text else ":"
    if indented:
        return Layout(indent=indented[1], colon=colon)
    return Layout(indent=None, comma=", " if '", ' in text else ",", colon=colon)


def _value(text: str, start: int, end: int, old: object, new: object, layout: Layout) -> str:
    if old is new or (type(old) is type(new) and old == new):
        return text[start:end]
    if isinstance(old, dict) and isinstance(new, dict) and old and new:
        return _members(text, start, end, old, new, layout)
    if isinstance(old, list) and isinstance(new, list) and old and new:
        return _elements(text, start, end, old, new, layout)
    line = text.rfind("\n", 0, start) + 1
    return render(new, replace(layout, prefix=text[line : skip_space(text, line)]))


def _members(
    text: str, start: int, end: int, old: dict[str, Any], new: dict[str, Any], layout: Layout
) -> str:
    found = {span.key: span for span in spans(text, start)}
    lead = _fresh_lead(text, list(found.values()), layout)
    pieces = []
    for key, value in new.items():
        if span := found.get(key):
            edited = _value(text, span.start, span.end, old[key], value, layout)
            pieces.append(_lead(text, span) + text[span.begin : span.start] + edited)
        else:
            fresh = render(value, replace(layout, prefix=lead.rpartition("\n")[2]))
            pieces.append(f"{lead}{quoted(key)}{layout.colon}{fresh}")
    return _joined(text, start, end, list(found.values()), pieces)


def _elements(text: str, start: int, end: int, old: list[Any], new: list[Any], layout: Layout) -> str:
    found = list(spans(text, start))
    lead = _fresh_lead(text, found, layout)
    pieces = []
    for index, value in enumerate(new):
        if index < len(found):
            span = found[index]
            edited = _value(text, span.start, span.end, old[index], value, layout)
            pieces.append(_lead(text, span) + edited)
        else:
            pieces.append(lead + render(value, replace(layout, prefix=lead.rpartition("\n")[2])))
    return _joined(text, start, end, found, pieces)


def _lead(text: str, span: Span) -> str:
    """The blanks before a member: what stands between it and the comma or bracket before it."""
    at = span.begin
    while text[at - 1] in " \t\r\n":
        at -= 1
    return text[at : span.begin]


def _fresh_lead(text: str, found: list[Span], layout: Layout) -> str:
    """The blanks before a new member."""
    if len(found) > 1 or layout.indent is not None:
        return _lead(text, found[-1])
    return layout.comma[1:]


def _joined(text: str, start: int, end: int, found: list[Span], pieces: list[str]) -> str:
    return f"{text[start]}{','.join(pieces)}{text[found[-1].end : end]}"
