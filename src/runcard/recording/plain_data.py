"""The user's values as plain JSON data: paths, times, enums, dataclasses, models and the like.

The libraries of these types are never imported for this: a type that is not loaded cannot have a value. A value of any other
type is an error that names its place. Secrets that hide in a type of their own, such as pydantic's `SecretStr`, are masked here:
their text is never asked for.

Invariants: the user's data is not changed; the result has only dict, list, str, int, float, bool and None; deep data needs no
recursion, and data that contains itself is refused.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any, NamedTuple

from runcard.encoding import canonical_json
from runcard.encoding.json.positions import join_pointer
from runcard.errors import EncodingError
from runcard.files import json_name
from runcard.masking.marks import Masked, add_counts, mark

_SECRET_RULE = "named-secret"  # noqa: S105 - the type of a value is as good as its name

_PLAIN = frozenset({str, int, float, bool, type(None)})
_MAX_DEPTH = 1000  # what is read by default
_LONGEST_DECIMAL = 4000  # digits; readers accept a few more
_NOT_LISTS = (str, bytes, bytearray, memoryview, range)


class _ValuePath(NamedTuple):
    """Where a value is: its key, the place of what contains it, and that container."""

    key: str | int
    above: "_ValuePath | None"
    container: object
    depth: int

    def pointer(self) -> str:
        return join_pointer(reversed([place.key for place in self.with_outer()]))

    def with_outer(self) -> "Iterator[_ValuePath]":
        place: _ValuePath | None = self
        while place is not None:
            yield place
            place = place.above


def plain_data(value: object) -> Masked[Any]:
    """A copy of a value as plain data, and how many secrets were masked; raises EncodingError that names the place."""
    counts: dict[str, int] = {}
    return Masked(_plain(value, None, counts), counts)


def _plain(root: object, root_place: _ValuePath | None, counts: dict[str, int]) -> Any:  # noqa: ANN401
    result: list[Any] = [None]
    work: list[tuple[Any, Any, Any, _ValuePath | None]] = [(result, 0, root, root_place)]
    while work:
        into, slot, value, place = work.pop()
        if type(value) in _PLAIN:
            into[slot] = value
            continue
        data = _converted(value, place, counts)
        if isinstance(data, dict | list):
            keys = list(data) if isinstance(data, dict) else range(len(data))
            inside = _members_of(value, place)
            into[slot] = dict.fromkeys(keys) if isinstance(data, dict) else [None] * len(data)
            work += [(into[slot], key, data[key], inside(key)) for key in keys]
        else:
            into[slot] = data
    return result[0]


def _members_of(container: object, place: _ValuePath | None) -> Callable[[str | int], _ValuePath]:
    """The places of the members of a container."""
    depth = 1 if place is None else place.depth + 1
    if depth > _MAX_DEPTH:
        raise _refused(f"data of more than {_MAX_DEPTH:,} levels", place, None)
    if place is not None and any(outer.container is container for outer in place.with_outer()):
        raise _refused("a container that contains itself", place, None)
    return lambda key: _ValuePath(key, place, container, depth)


def _converted(value: Any, place: _ValuePath | None, counts: dict[str, int]) -> Any:  # noqa: ANN401
    """A value as plain data, or as a dict or list whose members are converted later."""
    if callable(getattr(type(value), "get_secret_value", None)):
        add_counts(counts, {_SECRET_RULE: 1})
        return mark(_SECRET_RULE)
    fields = _fields(value)
    if fields is not None:
        return _with_text_keys(fields, place)
    data = _stand_in(value)
    if data is not value:
        return data if type(data) in _PLAIN else _plain(data, place, counts)
    if isinstance(value, AbstractSet):
        return sorted((_plain(member, place, counts) for member in value), key=canonical_json)
    if isinstance(value, Sequence) and not isinstance(value, _NOT_LISTS):
        return list(value)
    raise _refused(f"{_name_of(type(value))} cannot be recorded", place, _hint(value))


def _fields(value: Any) -> Mapping[Any, Any] | None:  # noqa: ANN401
    """The fields of a value that is, or stands for, an object."""
    kind = type(value)
    if isinstance(value, Mapping):
        return value
    if isinstance(value, type):
        return None
    is_old_model = not hasattr(kind, "model_fields") and hasattr(kind, "__fields__")  # pydantic 1
    if is_old_model and callable(getattr(value, "dict", None)):
        return dict(value.dict())
    if hasattr(kind, "__dataclass_fields__"):
        return _present(value, (field.name for field in sys.modules["dataclasses"].fields(value)))
    if hasattr(kind, "__attrs_attrs__"):
        return _present(value, (field.name for field in kind.__attrs_attrs__))
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return dict(zip(kind._fields, value, strict=True))
    if _is_a(value, "argparse", "Namespace") or _is_a(value, "types", "SimpleNamespace"):
        return dict(vars(value))
    return None


def _present(value: object, names: Iterator[str]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _stand_in(value: Any) -> Any:  # noqa: ANN401
    """What is recorded for a value: a text, a number, other data; the same value if nothing is."""
    if isinstance(value, Enum):
        return value.value
    if hasattr(type(value), "model_fields") and callable(getattr(value, "model_dump", None)):  # pydantic
        return value.model_dump()
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, os.PathLike):
        return json_name(os.fspath(value)).text
    for module, name, convert in _CONVERSIONS:
        if _is_a(value, module, name):
            return convert(value)
    if (
        hasattr(value, "dtype")
        and getattr(value, "ndim", None) == 0
        and callable(getattr(value, "item", None))
    ):
        return _array_scalar(value)
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return f"{value.__module__}.{value.__qualname__}"
    return value


def _decimal(value: Any) -> object:  # noqa: ANN401
    """A number that reads back as the same decimal, or its text."""
    if value.is_finite() and value.adjusted() > _LONGEST_DECIMAL:
        return str(value)  # 1e9999999 has ten million digits
    number = int(value) if value == value.to_integral_value() else float(value)
    return number if type(value)(repr(number)) == value else str(value)


def _array_scalar(value: Any) -> object:  # noqa: ANN401
    """A number of numpy, torch or jax."""
    if getattr(value.dtype, "kind", "") in {"M", "m"}:  # a time: as a number it would lose its unit
        return str(value)
    item = value.item()
    return value if type(item) is type(value) else item


_CONVERSIONS: tuple[tuple[str, str, Callable[[Any], object]], ...] = (
    ("datetime", "date", lambda value: value.isoformat()),  # also a datetime
    ("datetime", "time", lambda value: value.isoformat()),
    ("datetime", "timedelta", lambda value: value.total_seconds()),
    ("decimal", "Decimal", _decimal),
    ("uuid", "UUID", str),
)


def _is_a(value: object, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def _with_text_keys(fields: Mapping[Any, Any], place: _ValuePath | None) -> dict[str, Any]:
    if all(type(key) is str for key in fields):
        return dict(fields)
    named: dict[str, Any] = {}
    for key, value in fields.items():
        plain = key if isinstance(key, bool) else _stand_in(key)
        if type(plain) is int:
            plain = str(plain)
        if type(plain) is not str:
            raise _refused(f"a key of the type {_name_of(type(key))}", place, "use texts as keys")
        if plain in named:
            raise _refused(f"two keys that are both {plain!r} as text", place, "use texts as keys")
        named[plain] = value
    return named


def _name_of(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _hint(value: object) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return "decode it to text, or record its digest"
    if hasattr(value, "tolist"):
        return "pass value.tolist(), or the digest of a large array"
    return "pass a text, a number, or an object with fields"


def _refused(message: str, place: _ValuePath | None, hint: str | None) -> EncodingError:
    where = place.pointer() if place is not None else "the root"
    return EncodingError("json.not-plain", f"{message}, at {where}", hint=hint)
