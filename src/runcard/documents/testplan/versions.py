"""The versions of test plans: how to recognise them, and how to convert between 1.3 and 2.0.

`format_version` decides if it is there. Files of older tools do not have it; then the newest feature decides: in 2.0 a
`setup` is an object and thresholds exist; 1.0 to 1.2 lack what later versions have.

2.0 has an object for `setup` and a list of parent states; 1.3 has a word and a single state, and what else belongs to the
setup in `setup_class` and `setup_source`. A migration renames no characteristic and rewords no text; what 1.3 has no
room for is dropped, and reported as dropped. New analyses are put into a shape: then a characteristic that depends on
several states of its parent is split into copies. Whoever reads a plan uses `in_latest_shape`, which joins them.
"""

from collections.abc import Iterator
from typing import NamedTuple

from runcard.documents.testplan.state_copies import join_copies, split_states
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
        is_later = _has_lists(plan) or version not in {"1.3", *_OLDER}
        return DetectedVersion(version, True, is_later, absent)
    if features != "1.3":
        return DetectedVersion("1.3" if features == "later 1.3" else features, False, True, absent)
    return DetectedVersion(_version_by_absent(absent), False, False, absent)


def _features(plan: JsonObject) -> str:
    """By its characteristics alone: 1.3, later 1.3 or 2.0. A setup that is a text does not exist in 2.0."""
    items = _objects(plan)
    setups = [item.get("setup") for item in items]
    has_thresholds = any(key in item for item in items for key in _OF_2_0)
    has_texts = any(isinstance(setup, str) for setup in setups)
    if any(isinstance(setup, dict) for setup in setups) or (has_thresholds and not has_texts):
        return "2.0"
    is_later = _has_lists(plan) or any(key in item for item in items for key in _OF_LATER_1_3)
    return "later 1.3" if is_later else "1.3"


def _has_lists(plan: JsonObject) -> bool:
    return any(isinstance(item.get("when_parent"), list) for item in _objects(plan))


def _objects(plan: JsonObject) -> list[JsonObject]:
    """The characteristics that are objects."""
    listed = plan.get("characteristics")
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


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


class PlanShape(NamedTuple):
    """The form in which an analysis is written."""

    version: str  # 1.3 or 2.0
    has_lists: bool  # whether `when_parent` is a list, as in 2.0 and in later files of 1.3
    stated: object = None  # the value of `format_version`; None: the file has none

    @classmethod
    def of_version(cls, version: str) -> "PlanShape":
        """The shape of new plans of a version."""
        return cls(version, version == "2.0", version)

    @classmethod
    def of_plan(cls, plan: JsonObject) -> "PlanShape":
        """The shape of an existing plan, whatever is in it."""
        detected = detect_version(plan)
        version = "1.3" if detected.is_older or detected.version == "1.3" else "2.0"
        stated = plan.get("format_version") if detected.is_stated else None
        return cls(
            version, version == "2.0" or _has_lists(plan), version if stated and detected.is_older else stated
        )


def in_shape(plan: JsonObject, shape: PlanShape) -> JsonObject:
    """A valid plan of 2.0 in a shape; nothing is lost."""
    characteristics = plan["characteristics"]
    if not shape.has_lists:
        characteristics = split_states(characteristics)
    if shape.version == "1.3":
        characteristics = [_with_flat_setup(item) for item in characteristics]
    unstated = {key: value for key, value in plan.items() if key != "format_version"}
    stated = {} if shape.stated is None else {"format_version": shape.stated}
    return stated | unstated | {"characteristics": characteristics}


def in_latest_shape(plan: JsonObject) -> JsonObject:
    """Any plan with its characteristics as 2.0 has them, so that all shapes can be read alike."""
    listed = plan.get("characteristics")
    if not isinstance(listed, list) or len(_objects(plan)) < len(listed):
        return plan
    return plan | {"characteristics": join_copies([_newer(item) for item in listed])}


Conversion = tuple[JsonObject, tuple[str, ...], tuple[str, ...]]  # data, dropped, notes

_SETUP = {"class": "setup_class", "source": "setup_source"}  # keys of a setup, and those beside it in 1.3


def to_2_0(plan: JsonObject) -> Conversion:
    newer = [_newer(item) for item in plan["characteristics"]]
    return _with_version(plan, "2.0", newer), (), ()


def _newer(characteristic: JsonObject) -> JsonObject:
    newer = dict(characteristic)
    if isinstance(characteristic.get("when_parent"), str):
        newer["when_parent"] = [characteristic["when_parent"]]
    setup = characteristic.get("setup")
    if "setup" not in characteristic or not (setup is None or isinstance(setup, str)):
        return newer
    beside = {key: newer[name] for key, name in _SETUP.items() if isinstance(newer.get(name, 0), str | None)}
    if isinstance(setup, str) or beside:
        newer["setup"] = {"type": setup, **beside}
    return {key: value for key, value in newer.items() if key not in {_SETUP[each] for each in beside}}


def to_1_3(plan: JsonObject) -> Conversion:
    older, dropped = [], []
    for index, characteristic in enumerate(plan["characteristics"]):
        older.append(_older(characteristic))
        dropped += [f"/characteristics/{index}/setup/{key}" for key in _without_room(characteristic)]
    return _with_version(plan, "1.3", older), tuple(dropped), ()


def _older(characteristic: JsonObject) -> JsonObject:
    older = _with_flat_setup(characteristic)
    when = characteristic.get("when_parent")
    if isinstance(when, list) and len(when) > 1:
        raise DocumentError(
            f"'{characteristic['name']}' depends on {len(when)} states of its parent, but version 1.3 allows one",
            hint="run `runcard plan analyze --format 1.3 --write`, which splits it, or keep version 2.0",
        )
    if isinstance(when, list):
        older["when_parent"] = when[0] if when else None
    return older


def _with_flat_setup(characteristic: JsonObject) -> JsonObject:
    """A characteristic with the type of its setup as a text, and the rest of it beside."""
    setup = characteristic.get("setup")
    if not isinstance(setup, dict):
        return dict(characteristic)
    beside = {name: setup[key] for key, name in _SETUP.items() if key in setup and name not in characteristic}
    flat: JsonObject = {}
    for key, value in characteristic.items():
        flat |= {"setup": setup.get("type"), **beside} if key == "setup" else {key: value}
    return flat


def _without_room(characteristic: JsonObject) -> list[str]:
    """The keys of a setup that 1.3 has no room for."""
    setup = characteristic.get("setup")
    if not isinstance(setup, dict):
        return []
    return [key for key in setup if key != "type" and (key not in _SETUP or _SETUP[key] in characteristic)]


def _with_version(plan: JsonObject, version: str, characteristics: list[JsonObject]) -> JsonObject:
    """The plan with its version: in the existing position, or at the beginning."""
    return (
        {"format_version": version} | plan | {"format_version": version, "characteristics": characteristics}
    )
