"""Reading a reply by the names of its fields, whatever kind of object it is.

A vendor's own object, a dataclass and a plain mapping look the same from here, and no vendor's package is imported. Objects
are looked at one level at a time: the text of a reply is neither copied nor turned into anything. A field that is null
is a field that is absent. What a field means is somebody else's business.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any

from runcard.accounting.tokens import check_count
from runcard.errors import UsageError

_ROADS = ("to_json_dict", "to_dict", "model_dump")
_SCALARS = (str, bytes, int, float, list, tuple, set, type(None), type)


def as_mapping(value: object) -> Mapping[str, Any] | None:
    """An object's fields by name; None for what has none."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, _SCALARS):
        return None
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if hasattr(value, "__pydantic_fields_set__"):  # cheaper than model_dump, and no word about odd values
        return {**vars(value), **(getattr(value, "__pydantic_extra__", None) or {})}
    for road in _ROADS:
        if callable(method := getattr(value, road, None)) and isinstance(said := method(), Mapping):
            return said
    return getattr(value, "__dict__", None)


@dataclass(frozen=True, slots=True)
class ReplyFields:
    """The fields of one object of a reply, and where in the reply it stands."""

    data: Mapping[str, Any]
    path: str = ""

    def has(self, *names: str) -> bool:
        """Whether any of these fields is there, be it null."""
        return any(name in self.data for name in names)

    def get(self, *names: str) -> Any:  # noqa: ANN401 - a reply may hold anything
        """The first of these fields that is not null."""
        return next((self.data[name] for name in names if self.data.get(name) is not None), None)

    def count(self, *names: str) -> int | None:
        for name in names:
            if self.data.get(name) is not None:
                return check_count(self.data[name], self._named(name))
        return None

    def text(self, *names: str) -> str | None:
        value = self.get(*names)
        value = value.value if isinstance(value, Enum) else value
        return value if isinstance(value, str) else None

    def part(self, *names: str) -> "ReplyFields":
        """The object in the first of these fields that is not null; an empty one when there is none."""
        for name in names:
            if (value := self.data.get(name)) is not None:
                return self._part(value, self._named(name))
        return ReplyFields({}, self._named(names[0]))

    def parts(self, *names: str) -> list["ReplyFields"]:
        """The objects of a list; none when it is absent."""
        values = self.get(*names)
        if not isinstance(values, list | tuple):
            return []
        return [self._part(value, f"{self._named(names[0])}[{n}]") for n, value in enumerate(values)]

    def _part(self, value: object, path: str) -> "ReplyFields":
        data = as_mapping(value)
        if data is None:
            raise UsageError(
                f"{path} is a {type(value).__name__}, not an object", hint="pass the reply as it came"
            )
        return ReplyFields(data, path)

    def _named(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name
