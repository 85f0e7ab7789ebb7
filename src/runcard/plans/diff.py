"""The differences between two analyses of a method: characteristics, states and dependencies."""

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
    """A changed value."""

    field: str
    old: Any
    new: Any

    def to_dict(self) -> JsonObject:
        return {"field": self.field, "old": self.old, "new": self.new}


@dataclass(frozen=True, slots=True)
class PlanDiff:
    """Added, removed and changed characteristics; their order and their lines in the source do not matter."""

    added: tuple[JsonObject, ...]
    removed: tuple[JsonObject, ...]
    changed: dict[str, tuple[FieldChange, ...]]  # by characteristic
    target_changes: tuple[FieldChange, ...]  # of the target and the test level

    @property
    def is_same(self) -> bool:
        return not (self.added or self.removed or self.changed or self.target_changes)


def diff_plans(old: JsonObject, new: JsonObject) -> PlanDiff:
    """Compare two valid plans."""
    before = {item["name"]: item for item in old["characteristics"]}
    after = {item["name"]: item for item in new["characteristics"]}
    changed = {name: _changes(before[name], item) for name, item in after.items() if name in before}
    return PlanDiff(
        tuple(item for name, item in after.items() if name not in before),
        tuple(item for name, item in before.items() if name not in after),
        {name: changes for name, changes in changed.items() if changes},
        (*_target_changes(old["target"], new["target"]), *_level(old, new)),
    )


def _changes(old: JsonObject, new: JsonObject) -> tuple[FieldChange, ...]:
    pairs = ((field, _value(old, field), _value(new, field)) for field in _FIELDS)
    return tuple(FieldChange(*pair) for pair in pairs if pair[1] != pair[2])


def _value(characteristic: JsonObject, field: str) -> Any:  # noqa: ANN401
    """A value in the same form for all versions: lists for single states, None for absent."""
    value = characteristic.get(field)
    if field in _LISTS:
        return [value] if isinstance(value, str) else value or []
    return value


def _target_changes(old: JsonObject, new: JsonObject) -> tuple[FieldChange, ...]:
    return tuple(
        FieldChange(f"target.{key}", old[key], new[key])
        for key in _TARGET
        if old[key].removeprefix("./") != new[key].removeprefix("./")
    )


def _level(old: JsonObject, new: JsonObject) -> tuple[FieldChange, ...]:
    before, after = old["test_level"], new["test_level"]
    return () if before == after else (FieldChange("test_level", before, after),)
