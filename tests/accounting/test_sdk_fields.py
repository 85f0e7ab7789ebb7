"""Every count in the usage classes of the vendors' libraries is known by its name: a reply of today never fails."""

import importlib
import inspect
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

from runcard.accounting.vendors import anthropic, google, openai
from runcard.accounting.vendors.known_fields import unknown_counts
from runcard.accounting.vendors.reply_fields import ReplyFields

FIELDS = ("usage", "usage_metadata", "svg_usage")
DEFINES_USAGE = re.compile(rf"^ +({'|'.join(FIELDS)}): ", re.MULTILINE)
READERS: dict[str, Any] = {"anthropic.types": anthropic, "openai.types": openai, "google.genai": google}
# Reports about an organization or a file, not about a call; and tests.
OTHERS = ("admin", "organization", "evals", "tests", "CachedContentUsageMetadata")


def modules(package: str) -> Iterator[ModuleType]:
    """The modules of a package that define a field for usage."""
    folder = Path(importlib.import_module(package).__path__[0])
    for file in folder.rglob("*.py"):
        path = file.relative_to(folder).with_suffix("").parts
        if not {*path} & {*OTHERS} and DEFINES_USAGE.search(file.read_text()):
            yield importlib.import_module(".".join((package, *path)))


def models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for part in typing.get_args(annotation):
        yield from models_in(part)


def usage_classes(package: str) -> set[type[BaseModel]]:
    """The classes of the fields for usage that have counts of tokens."""
    return {
        model
        for module in modules(package)
        for reply in vars(module).values()
        if inspect.isclass(reply) and issubclass(reply, BaseModel)
        for name in FIELDS
        if name in reply.model_fields
        for model in models_in(reply.model_fields[name].annotation)
        if model.__name__ not in OTHERS and any("token" in field for field in model.model_fields)
    }


def sample(model: type[BaseModel]) -> dict[str, object]:
    """An object of this class with a number in each field that can hold one."""
    return {name: value(field.annotation) for name, field in model.model_fields.items()}


def value(annotation: object) -> object:
    inner = list(models_in(annotation))
    if inner:
        objects = [sample(model) for model in inner]
        return objects if "List" in str(annotation) or "list" in str(annotation) else objects[0]
    return 7 if int in {annotation, *typing.get_args(annotation)} else "text"


@pytest.mark.parametrize("package", READERS)
def test_every_count_of_a_library_is_known(package: str) -> None:
    found = usage_classes(package)
    assert len(found) >= 2, "the library has other names for usage now"
    unknown = {
        f"{model.__module__}.{model.__name__}": names
        for model in found
        if (names := unknown_counts(ReplyFields(sample(model)), READERS[package].KNOWN))
    }
    assert unknown == {}
