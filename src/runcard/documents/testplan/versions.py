"""The shapes of test plans in the wild, told apart by looking: files of the older tools do not name their version.

`format_version` decides where it stands. Elsewhere the newest thing that a file has decides: 2.0 is what describes a
`setup` as an object or states a threshold; 1.0 to 1.2 are what lacks what later ones have.
"""

from collections.abc import Iterator
from typing import NamedTuple

from runcard.encoding import JsonObject
from runcard.errors import DocumentError

_OLDER = {"1.0", "1.1", "1.2"}
_OF_2_0 = ("threshold_value", "threshold_operator")
_OF_LATER_1_3 = ("terminal_states", "source", "setup")
# What a version brought, the newest first: a file that lacks it is older than that.
_BROUGHT = (
    ("1.3", ("validation", "analyzer.source_file_mtime")),
    ("1.2", ("automation",)),
    ("1.1", ("factories_detected",)),
)


class Shape(NamedTuple):
    """What a plan looks like."""

    version: str  # as stated, or as it looks
    is_stated: bool
    is_later: bool  # late 1.3 or 2.0: files that may number their roots
    absent: tuple[str, ...]  # of what some version brought

    @property
    def is_older(self) -> bool:
        """Whether it is of a version before the first that has a schema."""
        return self.version in _OLDER


def shape_of(plan: JsonObject) -> Shape:
    """What a plan looks like; it may be any data."""
    stated = plan.get("format_version")
    absent = tuple(_absent(plan))
    looks = _looks(plan)
    if isinstance(stated, str | int | float) and not isinstance(stated, bool):
        version = f"{stated}.0" if isinstance(stated, int) else str(stated)
        is_later = looks != "1.3" or version not in {"1.3", *_OLDER}
        return Shape(version, True, is_later, absent)
    if looks != "1.3":
        return Shape("1.3" if looks == "later 1.3" else looks, False, True, absent)
    return Shape(_by_what_is_absent(absent), False, False, absent)


def _looks(plan: JsonObject) -> str:
    """By its characteristics alone: 1.3, later 1.3 or 2.0."""
    listed = plan.get("characteristics")
    looks = "1.3"
    for one in listed if isinstance(listed, list) else ():
        if not isinstance(one, dict):
            continue
        if isinstance(one.get("setup"), dict) or any(key in one for key in _OF_2_0):
            return "2.0"
        if isinstance(one.get("when_parent"), list) or any(key in one for key in _OF_LATER_1_3):
            looks = "later 1.3"
    return looks


def _absent(plan: JsonObject) -> Iterator[str]:
    for _, places in reversed(_BROUGHT):
        for place in places:
            section, _, field = place.partition(".")
            inside = plan.get(section)
            if section not in plan or (field and isinstance(inside, dict) and field not in inside):
                yield place


def _by_what_is_absent(absent: tuple[str, ...]) -> str:
    """A file that lacks all that 1.3 brought is older. One that lacks only the validation was never validated."""
    version = "1.3"
    for since, places in _BROUGHT:
        if not set(places) <= set(absent):
            break
        version = f"1.{int(since[2:]) - 1}"
    return version


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
