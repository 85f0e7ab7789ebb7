"""The versions of test plans: how to recognise them, and how to convert between 1.3 and 2.0.

`format_version` decides if it is there. Files of older tools do not have it; then the newest feature decides: in 2.0 a
`setup` is an object and thresholds exist; 1.0 to 1.2 lack what later versions have.

A conversion renames no characteristic and rewords no text. 2.0 has an object for `setup` and a list of parent states;
1.3 has a word and a single state. Values that 1.3 cannot hold are dropped, and reported as dropped.
"""

from collections.abc import Iterator
from typing import NamedTuple

from runcard.encoding import JsonObject
from runcard.errors import DocumentError

_OLDER = {"1.0", "1.1", "1.2"}
_OF_2_0 = ("threshold_value", "threshold_operator")
_OF_LATER_1_3 = ("terminal_states", "source", "setup")
# What each version added, the newest first: a file that lacks it is older.
_ADDED = (
    ("1.3", ("validation", "analyzer.source_file_mtime")),
    ("1.2", ("automation",)),
    ("1.1", ("factories_detected",)),
)


class DetectedVersion(NamedTuple):
    """The version of a plan."""

    version: str  # as stated, or as recognised
    is_stated: bool
    is_later: bool  # late 1.3 or 2.0: such files may number their roots
    absent: tuple[str, ...]  # sections and fields that some version added

    @property
    def is_older(self) -> bool:
        """Whether it is older than the first version with a schema."""
        return self.version in _OLDER


def detect_version(plan: JsonObject) -> DetectedVersion:
    """Detect the version of a plan, which may be any data."""
    stated = plan.get("format_version")
    absent = tuple(_absent(plan))
    features = _features(plan)
    if isinstance(stated, str | int | float) and not isinstance(stated, bool):
        version = f"{stated}.0" if isinstance(stated, int) else str(stated)
        is_later = features != "1.3" or version not in {"1.3", *_OLDER}
        return DetectedVersion(version, True, is_later, absent)
    if features != "1.3":
        return DetectedVersion("1.3" if features == "later 1.3" else features, False, True, absent)
    return DetectedVersion(_version_by_absent(absent), False, False, absent)


def _features(plan: JsonObject) -> str:
    """By its characteristics alone: 1.3, later 1.3 or 2.0."""
    listed = plan.get("characteristics")
    features = "1.3"
    for item in listed if isinstance(listed, list) else ():
        if not isinstance(item, dict):
            continue
        if isinstance(item.get("setup"), dict) or any(key in item for key in _OF_2_0):
            return "2.0"
        if isinstance(item.get("when_parent"), list) or any(key in item for key in _OF_LATER_1_3):
            features = "later 1.3"
    return features


def _absent(plan: JsonObject) -> Iterator[str]:
    for _, fields in reversed(_ADDED):
        for path in fields:
            section, _, key = path.partition(".")
            inside = plan.get(section)
            if section not in plan or (key and isinstance(inside, dict) and key not in inside):
                yield path


def _version_by_absent(absent: tuple[str, ...]) -> str:
    """A file that lacks all that 1.3 added is older. One that lacks only the validation was never validated."""
    version = "1.3"
    for since, fields in _ADDED:
        if not set(fields) <= set(absent):
            break
        version = f"1.{int(since[2:]) - 1}"
    return version


Conversion = tuple[JsonObject, tuple[str, ...], tuple[str, ...]]  # data, dropped, notes

_THRESHOLDS = ("threshold_value", "threshold_operator")


def to_2_0(plan: JsonObject) -> Conversion:
    newer = [_newer(item) for item in plan["characteristics"]]
    return _with_version(plan, "2.0", newer), (), ()


def _newer(characteristic: JsonObject) -> JsonObject:
    newer = dict(characteristic)
    if isinstance(characteristic.get("when_parent"), str):
        newer["when_parent"] = [characteristic["when_parent"]]
    if isinstance(characteristic.get("setup"), str):
        newer["setup"] = {"type": characteristic["setup"]}
    return newer


def to_1_3(plan: JsonObject) -> Conversion:
    older, dropped = [], []
    for index, characteristic in enumerate(plan["characteristics"]):
        kept, lost = _older(characteristic)
        older.append(kept)
        dropped += [f"/characteristics/{index}/{field}" for field in lost]
    return _with_version(plan, "1.3", older), tuple(dropped), ()


def _older(characteristic: JsonObject) -> tuple[JsonObject, list[str]]:
    lost = [field for field in _THRESHOLDS if field in characteristic]
    older = {key: value for key, value in characteristic.items() if key not in lost}
    when = characteristic.get("when_parent")
    if isinstance(when, list) and len(when) > 1:
        raise DocumentError(
            f"'{characteristic['name']}' depends on {len(when)} states of its parent, but version 1.3 allows one",
            hint="split it into a characteristic for each state, or keep version 2.0",
        )
    if isinstance(when, list):
        older["when_parent"] = when[0] if when else None
    setup = characteristic.get("setup")
    if isinstance(setup, dict):
        older["setup"] = setup.get("type")
        lost += [f"setup/{key}" for key in setup if key != "type"]
    return older, lost


def _with_version(plan: JsonObject, version: str, characteristics: list[JsonObject]) -> JsonObject:
    """The plan with its version: in the existing position, or at the beginning."""
    return (
        {"format_version": version} | plan | {"format_version": version, "characteristics": characteristics}
    )
