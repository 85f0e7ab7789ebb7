"""Checks of values in a text, prepared for a name: many values in a text have the same name, sign and quote.

A prepared check does what `value_spans` and `secret_values` do, with short cuts for the usual forms: a value in quotes without
an escape, and a value of letters and digits.

Invariant: a short cut changes no result. Values that a short cut calls a secret are not remembered.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from runcard.masking import value_spans
from runcard.masking.matches import SecretMatch, ValueCheck
from runcard.masking.secret_names import name_hint
from runcard.masking.secret_values import (
    ValueContext,
    is_enough,
    is_placeholder,
    is_random_base64,
    least_length,
    looks_random,
    secret_rule,
)
from runcard.masking.value_spans import CHECKED, WINDOW

MIN_VALUE = 3  # a shorter value is not a secret in a text
_MIN_WEAK_VALUE = 16  # under a name that is a weak hint
_LONGEST_JOINED = 24  # a name in a program; a key in base64 is longer
_MOST_VALUES = 64  # that are remembered for one name

_Span = Callable[[bytes, int], tuple[int, re.Pattern[bytes] | None]]


class Assignment(NamedTuple):
    """A name, the context of its value, and what ends a value without quotes."""

    name: str
    context: ValueContext
    ends: bytes


def check_of_value(assignment: Assignment, quote: bytes | None) -> ValueCheck:
    """The check of values under a secret name."""
    name, context, ends = assignment
    hint = name_hint(name)
    rule, certain = (hint.rule, is_enough(hint, context)) if hint else ("", False)
    is_bare_pass = context is ValueContext.LOOSE and name == "pass"  # a word that means many things
    least = max(
        _MIN_WEAK_VALUE if is_bare_pass else MIN_VALUE, 0 if certain or not hint else least_length(hint)
    )
    span, is_markup, same = span_of(quote, ends), ends == value_spans.MARKUP, name.encode("ascii")
    known: dict[bytes, str | None] = {}

    def check(text: bytes, start: int) -> SecretMatch | None:
        end, more = span(text, start)
        if end - start < least or (is_markup and text[end : end + 2] != b"</"):
            return None
        value = text[start:end] if end - start <= CHECKED else text[start : start + CHECKED]
        if rule and value != same and is_random_base64(value, certain):
            return SecretMatch(start, end, rule, more)
        if value not in known:
            if len(known) >= _MOST_VALUES:
                known.clear()
            decoded = value.decode("latin-1")
            is_name = quote is not None and _is_joined(decoded)
            known[value] = None if is_name else secret_rule(name, decoded, context)
        masked_by = known[value]
        return SecretMatch(start, end, masked_by, more) if masked_by else None

    return check


def check_of_bare_key(assignment: Assignment, quote: bytes | None) -> ValueCheck | None:
    """`KEY=…`, `--key=…`, `?key=…`: the name alone is a weak hint, so the value must be long and random."""
    if assignment.ends not in {value_spans.SHELL, value_spans.QUERY}:
        return None
    span = span_of(quote, assignment.ends)
    known: dict[bytes, bool] = {}

    def check(text: bytes, start: int) -> SecretMatch | None:
        end, more = span(text, start)
        value = text[start : min(end, start + CHECKED)]
        if len(value) < _MIN_WEAK_VALUE:
            return None
        if value not in known:
            if len(known) >= _MOST_VALUES:
                known.clear()
            decoded = value.decode("latin-1")
            known[value] = looks_random(decoded) and not is_placeholder(decoded)
        return SecretMatch(start, end, "named-secret", more) if known[value] else None

    return check


@cache
def span_of(quote: bytes | None, ends: bytes) -> _Span:
    """A function for the end of a value, and what may follow it: `value_spans.at`, with a short cut."""
    if quote is None:
        return _bare_span(ends)
    mark = quote[-1:]
    inside = re.compile(rb"[^\\\"\n" + mark + rb"]*+").match

    def span(text: bytes, start: int) -> tuple[int, re.Pattern[bytes] | None]:
        if len(quote) == 1:
            run = inside(text, start, start + WINDOW)
            end = run.end() if run else start
            if end < start + WINDOW and text[end : end + 1] == mark:
                return end, None
        return value_spans.at(text, start, quote, ends)

    return span


def _bare_span(ends: bytes) -> _Span:
    pattern = value_spans.bare_pattern(ends)
    inside = pattern.match

    def span(text: bytes, start: int) -> tuple[int, re.Pattern[bytes] | None]:
        run = inside(text, start, start + CHECKED)
        end = run.end() if run else start
        # A value that ends before both limits ends there: a byte follows that is no part of it.
        is_whole = end < start + CHECKED - 1 and end + 1 < len(text)
        return end, None if is_whole else pattern

    return span


def _is_joined(value: str) -> bool:
    """Whether the quote before `value` closes a string of a program: `"password=" + name`."""
    return value.startswith("+") and len(value) <= _LONGEST_JOINED and value.strip("+").isidentifier()
