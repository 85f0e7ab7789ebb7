"""What changed between two analyses of a method: characteristics, their states, and what depends on what."""

from dataclasses import dataclass
from typing import Any

from runcard.encoding import JsonObject

_FIELDS = (
    "type",
    "states",
    "default",
    "depends_on",
    "when_parent",
    "terminal_states",
    "threshold_value",
    "threshold_operator",
)
_LISTS = {"when_parent", "terminal_states"}
_TARGET = ("class", "method", "method_type", "file")


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A value that is another one now."""

    field: str
    old: Any
    new: Any

    def to_dict(self) -> JsonObject:
        return {"field": self.field, "old": self.old, "new": self.new}


@dataclass(frozen=True, slots=True)
class PlanDiff:
    """What is new, gone and different; the order of characteristics and the lines they come from do not matter."""

    added: tuple[JsonObject, ...]
    removed: tuple[JsonObject, ...]
    changed: dict[str, tuple[FieldChange, ...]]  # by characteristic
    about: tuple[FieldChange, ...]  # the target, and the level of the tests

    @property
    def is_same(self) -> bool:
        return not (self.added or self.removed or self.changed or self.about)


def diff_plans(old: JsonObject, new: JsonObject) -> PlanDiff:
    """Compare two valid plans."""
    before = {one["name"]: one for one in old["characteristics"]}
    after = {one["name"]: one for one in new["characteristics"]}
    changed = {name: _changes(before[name], one) for name, one in after.items() if name in before}
    return PlanDiff(
        tuple(one for name, one in after.items() if name not in before),
        tuple(one for name, one in before.items() if name not in after),
        {name: changes for name, changes in changed.items() if changes},
        (*_about(old["target"], new["target"]), *_level(old, new)),
    )


def _changes(old: JsonObject, new: JsonObject) -> tuple[FieldChange, ...]:
    pairs = ((field, _value(old, field), _value(new, field)) for field in _FIELDS)
    return tuple(FieldChange(*pair) for pair in pairs if pair[1] != pair[2])


def _value(one: JsonObject, field: str) -> Any:  # noqa: ANN401
    """A value in one shape, however the version of the plan writes it: one state or a list, null or nothing."""
    value = one.get(field)
    if field in _LISTS:
        return [value] if isinstance(value, str) else value or []
    return value


def _about(old: JsonObject, new: JsonObject) -> tuple[FieldChange, ...]:
    return tuple(
        FieldChange(f"target.{key}", old[key], new[key])
        for key in _TARGET
        if old[key].removeprefix("./") != new[key].removeprefix("./")
    )


def _level(old: JsonObject, new: JsonObject) -> tuple[FieldChange, ...]:
    before, after = old["test_level"], new["test_level"]
    return () if before == after else (FieldChange("test_level", before, after),)
