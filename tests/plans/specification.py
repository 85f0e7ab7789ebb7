"""A small validator of version 1.3, as somebody writes it who knows the specification and nothing of runcard."""

import re
from datetime import datetime
from typing import Any

Fields = dict[str, Any]

_REQUIRED: dict[str, dict[str, type]] = {
    "analyzer": {"completed": bool, "timestamp": str, "source_file_mtime": int, "version": str},
    "target": {"class": str, "method": str, "method_type": str, "file": str},
}
_TEST_LEVELS = {"unit", "integration", "request", "e2e"}
_TYPES = {"binary", "enum", "range", "sequential"}


def problems(plan: object) -> list[str]:
    """What the specification forbids."""
    if not isinstance(plan, dict):
        return ["not a map"]
    found = [*_fields(plan), *_automation(plan)]
    characteristics = plan.get("characteristics")
    if not isinstance(characteristics, list):
        return [*found, "characteristics is not an array"]
    return [*found, *_characteristics(characteristics), *_factories(plan.get("factories_detected", {}))]


def _fields(plan: Fields) -> list[str]:
    found = []
    for section, fields in _REQUIRED.items():
        values = plan.get(section)
        if not isinstance(values, dict):
            found.append(f"{section} is not a map")
            continue
        found += [
            f"{section}.{name}"
            for name, kind in fields.items()
            if not isinstance(values.get(name), kind) or (kind is int and isinstance(values[name], bool))
        ]
    if found:
        return found
    analyzer, target = plan["analyzer"], plan["target"]
    if analyzer["completed"] is not True:
        found.append("analyzer.completed is not true")
    if not _is_time(analyzer["timestamp"]):
        found.append("analyzer.timestamp is not an ISO 8601 time in UTC")
    if analyzer["source_file_mtime"] <= 0:
        found.append("analyzer.source_file_mtime")
    if target["method_type"] not in {"instance", "class"}:
        found.append("target.method_type")
    if target["file"].startswith("/") or not re.fullmatch(r"(::)?[A-Z]\w*(::[A-Z]\w*)*", target["class"]):
        found.append("target")
    if plan.get("test_level") not in _TEST_LEVELS:
        found.append("test_level")
    return found


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).utcoffset() is not None and text.endswith("Z")
    except ValueError:
        return False


def _automation(plan: Fields) -> list[str]:
    automation = plan.get("automation")
    if not isinstance(automation, dict):
        return ["automation is not a map"]
    found = [
        f"automation.{name}"
        for name in ("errors", "warnings")
        if not isinstance(automation.get(name, []), list)
    ]
    validation = plan.get("validation", {"completed": True, "errors": [], "warnings": []})
    if not (validation["completed"] is True and validation["errors"] == []):
        found.append("validation")
    return found if all(isinstance(text, str) for text in validation["warnings"]) else [*found, "warnings"]


def _factories(factories: object) -> list[str]:
    if not isinstance(factories, dict):
        return ["factories_detected is not a map"]
    return [
        f"factory {name}"
        for name, factory in factories.items()
        if not isinstance(factory, dict)
        or not isinstance(factory.get("file"), str)
        or not isinstance(factory.get("traits"), list)
        or not all(isinstance(trait, str) for trait in factory["traits"])
    ]


def _characteristics(listed: list[Fields]) -> list[str]:
    names = [each.get("name") for each in listed]
    if len(set(names)) < len(names):
        return [f"names are not unique: {names}"]
    known = {each["name"]: each for each in listed}
    return [f"{each['name']}: {problem}" for each in listed for problem in _characteristic(each, known)]


def _characteristic(each: Fields, known: dict[str, Fields]) -> list[str]:
    absent = {"name", "type", "states", "default", "depends_on", "level"} - each.keys()
    if absent:
        return [f"without {absent}"]
    found = []
    states, default, level = each["states"], each["default"], each["level"]
    if not isinstance(each["name"], str) or not each["name"]:
        found.append("name")
    if each["type"] not in _TYPES:
        found.append("type")
    if not isinstance(states, list) or len(states) < 2 or not all(isinstance(state, str) for state in states):
        found.append("states")
    elif default is not None and default not in states:
        found.append("default")
    if not isinstance(level, int) or level != _depth(each, known):
        found.append("level")
    return [*found, *_dependency(each, known)]


def _dependency(each: Fields, known: dict[str, Fields]) -> list[str]:
    parent, when = each["depends_on"], each.get("when_parent")
    if parent is None:
        return [] if when is None else ["when_parent of a root"]
    if parent not in known:
        return ["depends_on"]
    is_state = isinstance(when, str) and when in known[parent]["states"]
    return [] if is_state else [f"when_parent is {when!r}"]


def _depth(each: Fields, known: dict[str, Fields]) -> int:
    """The depth; 0 for what depends on itself, or on nothing that is there."""
    seen: list[str] = []
    while each["depends_on"] is not None:
        seen.append(each["name"])
        if each["depends_on"] in seen or each["depends_on"] not in known:
            return 0
        each = known[each["depends_on"]]
    return len(seen) + 1
