"""The values that a record is found by under a name of the user: `config.*`, `label.*`, `metric.*`, `score.*`, `tag.*`."""

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

from runcard.catalog.document_values import LONGEST_TEXT, as_number, as_object, as_text, clean_text
from runcard.encoding import JsonObject

Facts = dict[str, tuple[float | None, str | None]]  # a number, a text, by key

_LONGEST_KEY = 200
_MOST_FACTS = 1000  # of one record
_MOST_DEPTH = 5  # levels of a configuration


def nested_facts(prefix: str, data: Mapping[str, Any]) -> Facts:
    """The values of a configuration by their names, with dots between the names of levels."""
    facts: Facts = {}
    work: list[tuple[str, Any, int]] = [
        (f"{prefix}.{key}", value, 1) for key, value in reversed(list(data.items()))
    ]
    while work and len(facts) < _MOST_FACTS:
        key, value, depth = work.pop()
        if isinstance(value, dict) and depth < _MOST_DEPTH:
            work += [(f"{key}.{name}", inner, depth + 1) for name, inner in reversed(value.items())]
        elif (fact := _fact(value)) is not None:
            facts[clean_text(key)[:_LONGEST_KEY]] = fact
    return facts


def flat_facts(prefix: str, data: Mapping[str, Any]) -> Facts:
    facts: Facts = {}
    for key, value in list(data.items())[:_MOST_FACTS]:
        if (fact := _fact(value)) is not None:
            facts[clean_text(f"{prefix}.{key}")[:_LONGEST_KEY]] = fact
    return facts


def metric_facts(metrics: Mapping[str, Any]) -> Facts:
    """The last value of a metric under its name; the smallest and the largest with `.min` and `.max`."""
    facts: Facts = {}
    for suffix, key in (
        (".min", "min"),
        (".max", "max"),
        ("", "last"),
    ):  # a metric may be called `a.min`: its own value counts
        for name, values in list(metrics.items())[:_MOST_FACTS]:
            if (number := as_number(as_object(values).get(key))) is not None:
                facts[clean_text(f"metric.{name}{suffix}")[:_LONGEST_KEY]] = (float(number), None)
    return facts


def remark_facts(
    remarks: Iterable[tuple[str, JsonObject]],
) -> Facts:
    """Tags and evaluations, the latest of each name."""
    facts: Facts = {}
    for kind, payload in remarks:
        if kind == "tag" and (tag := as_text(payload.get("tag"))):
            facts[f"tag.{tag}"[:_LONGEST_KEY]] = (1.0, tag)
        elif kind == "evaluation" and (name := as_text(payload.get("name"))):
            fact = _fact(payload.get("value"))
            if fact is not None:
                facts[f"score.{name}"[:_LONGEST_KEY]] = fact
    return facts


def _fact(value: object) -> tuple[float | None, str | None] | None:
    """A value as a number and as a text; None for what is neither."""
    if isinstance(value, bool):
        return float(value), "true" if value else "false"
    if isinstance(value, int | float):
        with contextlib.suppress(OverflowError):
            return float(value), None
        return None, str(value)[:LONGEST_TEXT]
    if isinstance(value, str):
        return None, clean_text(value)[:LONGEST_TEXT]
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value[:100]):
        return None, clean_text(", ".join(map(str, value[:100])))[:LONGEST_TEXT]
    return None
