"""A test plan from 1.3 to 2.0 and back. No characteristic is renamed, and no text of the author is reworded.

2.0 describes a `setup` as an object and lists the states of the parent; 1.3 has a word for the one and names a single
state. What 1.3 has no room for is dropped and named.
"""

from runcard.encoding import JsonObject
from runcard.errors import DocumentError

Stepped = tuple[JsonObject, tuple[str, ...], tuple[str, ...]]  # data, dropped, notes

_THRESHOLDS = ("threshold_value", "threshold_operator")


def to_2_0(plan: JsonObject) -> Stepped:
    newer = [_newer(one) for one in plan["characteristics"]]
    return _stated(plan, "2.0", newer), (), ()


def _newer(one: JsonObject) -> JsonObject:
    newer = dict(one)
    if isinstance(one.get("when_parent"), str):
        newer["when_parent"] = [one["when_parent"]]
    if isinstance(one.get("setup"), str):
        newer["setup"] = {"type": one["setup"]}
    return newer


def to_1_3(plan: JsonObject) -> Stepped:
    older, dropped = [], []
    for index, one in enumerate(plan["characteristics"]):
        kept, lost = _older(one)
        older.append(kept)
        dropped += [f"/characteristics/{index}/{field}" for field in lost]
    return _stated(plan, "1.3", older), tuple(dropped), ()


def _older(one: JsonObject) -> tuple[JsonObject, list[str]]:
    lost = [field for field in _THRESHOLDS if field in one]
    older = {key: value for key, value in one.items() if key not in lost}
    when = one.get("when_parent")
    if isinstance(when, list) and len(when) > 1:
        raise DocumentError(
            f"'{one['name']}' matters in {len(when)} states of its parent, and version 1.3 names one",
            hint="make a characteristic for each state, or keep version 2.0",
        )
    if isinstance(when, list):
        older["when_parent"] = when[0] if when else None
    setup = one.get("setup")
    if isinstance(setup, dict):
        older["setup"] = setup.get("type")
        lost += [f"setup/{key}" for key in setup if key != "type"]
    return older, lost


def _stated(plan: JsonObject, version: str, characteristics: list[JsonObject]) -> JsonObject:
    """The plan with its version stated: in its place, or before everything else."""
    return (
        {"format_version": version} | plan | {"format_version": version, "characteristics": characteristics}
    )
