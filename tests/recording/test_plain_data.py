"""Values in a configuration, in labels and in events: what is recorded for each type."""

import argparse
import datetime as dt
import enum
import pickle
import subprocess
import sys
import traceback
import types
import uuid
from collections import ChainMap, OrderedDict, deque
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pydantic
import pydantic.v1
import pytest
from pydantic import SecretStr

import runcard
from runcard.errors import EncodingError, UsageError
from runcard.recording.plain_data import plain_data
from runs.runs import read


class Color(enum.Enum):
    """Colors."""

    RED = "red"
    BOTH = ("red", 2)


class Size(enum.IntEnum):
    """Sizes."""

    SMALL = 1


class Mode(enum.StrEnum):
    """Modes."""

    FAST = "fast"


class Pair(NamedTuple):
    """Two values."""

    first: int
    second: Path


@dataclass
class Inner:
    """A part."""

    path: Path
    when: dt.date = dt.date(2026, 11, 16)


@dataclass(frozen=True, slots=True)
class Outer:
    """A whole."""

    rate: Decimal
    inner: Inner
    names: tuple[str, ...] = ("a", "b")
    hidden: int = field(default=3, repr=False)


class Model(pydantic.BaseModel):
    """A model."""

    path: Path
    color: Color = Color.RED
    token: SecretStr = SecretStr("nothing that looks like a secret")
    dsn: SecretStr = SecretStr("hidden by its type")


class Numbers(pydantic.RootModel[list[int]]):
    """A model that is a list."""


class OldModel(pydantic.v1.BaseModel):
    """A model of pydantic 1."""

    path: Path
    dsn: pydantic.v1.SecretStr = pydantic.v1.SecretStr("hidden by its type")


class FakeDtype:
    """As numpy's."""

    kind = "f"


class FakeScalar:
    """A number as numpy and torch have it: the packages are not needed for it."""

    dtype, ndim = FakeDtype(), 0

    def item(self) -> float:
        return 0.5


class FakeArray(FakeScalar):
    """Several of them."""

    ndim = 1

    def tolist(self) -> list[float]:
        return [0.5]


class OddFields:
    """Has fields, and is no model."""

    __fields__ = ("a",)


MASKED = "[masked:named-secret]"

RECORDED: list[tuple[object, object]] = [
    (Path("in/a.md"), "in/a.md"),
    (PurePosixPath("a\udcff"), "a\\xff"),
    (dt.datetime(2026, 11, 16, 7, 30, tzinfo=dt.UTC), "2026-11-16T07:30:00+00:00"),
    (dt.datetime(2026, 11, 16, 7, 30), "2026-11-16T07:30:00"),  # noqa: DTZ001 - as the user has it
    (dt.date(2026, 11, 16), "2026-11-16"),
    (dt.time(7, 30), "07:30:00"),
    (dt.timedelta(minutes=1, milliseconds=500), 60.5),
    (Decimal("0.2"), 0.2),
    (Decimal(3), 3),
    (Decimal("1e9999999"), "1E+9999999"),
    (Decimal("0.1000000000000000000000000001"), "0.1000000000000000000000000001"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (Color.RED, "red"),
    (Color.BOTH, ["red", 2]),
    (Size.SMALL, 1),
    (Mode.FAST, "fast"),
    ((1, (2, 3)), [1, [2, 3]]),
    ({3, 1, 2}, [1, 2, 3]),
    (frozenset({"b", "a"}), ["a", "b"]),
    (deque([1]), [1]),
    (Pair(1, Path("x")), {"first": 1, "second": "x"}),
    (OrderedDict(a=1), {"a": 1}),
    (ChainMap({"a": Path("x")}), {"a": "x"}),
    (types.MappingProxyType({"a": 1}), {"a": 1}),
    ({1: "a", Color.RED: 2, Path("x"): 3}, {"1": "a", "red": 2, "x": 3}),
    (
        Outer(Decimal("0.5"), Inner(Path("x"))),
        {"rate": 0.5, "inner": {"path": "x", "when": "2026-11-16"}, "names": ["a", "b"], "hidden": 3},
    ),
    (Model(path=Path("x")), {"path": "x", "color": "red", "token": MASKED, "dsn": MASKED}),
    (Numbers([1, 2]), [1, 2]),
    (OldModel(path=Path("x")), {"path": "x", "dsn": MASKED}),
    (argparse.Namespace(rate=0.1, out=Path("x")), {"rate": 0.1, "out": "x"}),
    (types.SimpleNamespace(a=1), {"a": 1}),
    (SecretStr("x"), MASKED),
    (FakeScalar(), 0.5),
    (len, "builtins.len"),
    (Inner, f"{__name__}.Inner"),
    (True, True),
    (None, None),
]


@pytest.mark.parametrize(("value", "expected"), RECORDED, ids=lambda value: type(value).__name__)
def test_what_is_recorded_for_a_value(value: object, expected: object) -> None:
    assert plain_data(value).value == expected
    nested = plain_data({"a": [value]}).value
    assert nested == {"a": [expected]}
    assert type(nested["a"][0]) is type(expected)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "object cannot be recorded, at /a/0/b~1c"),
        (b"x", "bytes cannot be recorded, at /a/0/b~1c"),
        (FakeArray(), f"{__name__}.FakeArray cannot be recorded, at /a/0/b~1c"),
        (range(3), "range cannot be recorded, at /a/0/b~1c"),
        (1j, "complex cannot be recorded, at /a/0/b~1c"),
        ({(1, 2): 3}, "a key of the type tuple, at /a/0/b~1c"),
        ({True: 3}, "a key of the type bool, at /a/0/b~1c"),
        (OddFields(), f"{__name__}.OddFields cannot be recorded, at /a/0/b~1c"),
        ({1: 2, "1": 3}, "two keys that are both '1' as text, at /a/0/b~1c"),
        ({object()}, "object cannot be recorded, at /a/0/b~1c"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_other_value_is_an_error_that_names_its_place_and_type(value: object, message: str) -> None:
    with pytest.raises(EncodingError) as raised:
        plain_data({"a": [{"b/c": value}]})
    assert raised.value.message == message


def test_data_that_contains_itself_or_is_too_deep_is_refused() -> None:
    own: dict[str, Any] = {}
    own["a"] = [own, own]
    with pytest.raises(EncodingError, match="contains itself, at /a/1"):
        plain_data(own)
    same = ["x"]
    assert plain_data([same, same]).value == [["x"], ["x"]]
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(EncodingError, match="more than 1,000 levels"):
        plain_data(deep)


def test_the_exception_of_an_object_that_cannot_be_read_passes_unchanged() -> None:
    class Broken(pydantic.BaseModel):
        def model_dump(self, **_: object) -> dict[str, Any]:
            raise LookupError("not today")

    with pytest.raises(LookupError, match="not today"):
        plain_data({"a": Broken()})


def test_the_whole_configuration_may_be_a_dataclass_a_model_or_a_namespace(outputs: Path) -> None:
    for config in (
        Outer(Decimal("0.5"), Inner(Path("x"))),
        Model(path=Path("x")),
        argparse.Namespace(path=Path("x"), func=len),
    ):
        with runcard.record(outputs, config=config, model="m", strict=True) as run:
            pass
        expected: Any = plain_data(config).value
        assert read(run.path)["configuration"] == {"model": "m", "provider": None, **expected}
    with pytest.raises(UsageError, match="config is a list"):
        runcard.record(outputs, config=[1])


@pytest.mark.parametrize("labels", [["a"], "x", 0])
def test_labels_without_names_are_an_error_whose_traceback_says_what_to_pass(
    labels: Any, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=f"labels is a {type(labels).__name__}") as raised:
        runcard.record(tmp_path, labels=labels)
    shown = "".join(traceback.format_exception(raised.value))
    assert shown.endswith("hint: pass names with their values, such as {'team': 'search'}\n")
    copy = pickle.loads(pickle.dumps(raised.value))  # noqa: S301
    assert "".join(traceback.format_exception_only(copy)) in shown  # once


def test_secrets_are_masked_by_type_and_by_name_and_counted(outputs: Path) -> None:
    config = {"model_of": Model(path=Path("x")), "inner": {"password": "xK9mQ2vLp7wZt4rB"}}
    with runcard.record(outputs, config=config, strict=True) as run:
        run.set_config(Model(path=Path("y")), api_key=SecretStr("z"), other=Path("z"))
        run.log("seen", dsn=SecretStr("hidden by its type"), at=Path("x"), color=Color.RED)
        run.set_labels(color=Color.RED, path=Path("x"), round=3)
    document = read(run.path)
    assert document["configuration"]["api_key"] == document["configuration"]["dsn"] == MASKED
    assert document["configuration"]["other"] == "z"
    assert document["generation"]["labels"] == {"color": "red", "path": "x", "round": "3"}
    counts = {(entry["rule"], entry["where"]): entry["count"] for entry in document["redactions"]}
    assert counts == {
        ("named-secret", "configuration"): 5,
        ("password", "configuration"): 1,
        ("named-secret", "events"): 1,
    }
    for file in run.path.iterdir():
        assert b"hidden by its type" not in file.read_bytes()


def test_a_secret_type_stays_masked_when_secrets_are_kept(outputs: Path) -> None:
    with runcard.record(outputs, config={"dsn": SecretStr("x")}, keep_secrets=True, strict=True) as run:
        pass
    document = read(run.path)
    assert document["configuration"]["dsn"] == MASKED
    assert document["redactions"] == [{"rule": "named-secret", "where": "configuration", "count": 1}]


def test_a_recorder_without_a_directory_takes_the_same_values() -> None:
    recorder = runcard.MetadataRecorder()
    recorder.start(config=Inner(Path("x")), labels={"color": Color.RED})
    recorder.set_config(size=Size.SMALL)
    document = recorder.document().to_dict()
    assert document["configuration"]["path"] == "x"
    assert document["configuration"]["size"] == 1
    assert document["generation"]["labels"] == {"color": "red"}


def test_no_library_is_imported_for_its_types(here: Path) -> None:
    code = """
import sys, runcard
with runcard.record("outputs", config={"a": [1, (2,)], "b": {3}}) as run:
    run.log("seen", a=1)
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=here)
    assert not {"pydantic", "numpy", "argparse", "attrs"} & set(done.stdout.split())
