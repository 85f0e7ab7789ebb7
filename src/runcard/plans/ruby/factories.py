"""The factories of a project with their traits, as factory_bot would load them.

Nothing is run, so names must be literals. Files are read in the order of factory_bot; the last definition of a name
counts.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError
from runcard.files import json_name
from runcard.plans.ruby.factory_files import FactoryFile, factory_files
from runcard.plans.ruby.factory_reader import MAX_DEPTH, Factory, FileFactories, read_factory_file
from runcard.plans.ruby.rails import camelize, model_enums
from runcard.plans.ruby.source_text import read_source
from runcard.plans.ruby.syntax_tree import NoRubyError, read_code


@dataclass(frozen=True, slots=True)
class FactoryWarning:
    """A warning about a file of factories."""

    file: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message}"


@dataclass(slots=True)
class Factories:
    """All factories by name, in the order of their definition."""

    root: str
    known: dict[str, Factory] = field(default_factory=dict)
    global_traits: list[str] = field(default_factory=list)
    warnings: list[FactoryWarning] = field(default_factory=list)
    _positions: dict[str, int] = field(default_factory=dict)
    is_incomplete: bool = False  # whether some files could not be read completely

    def to_dict(self) -> JsonObject:
        """Each factory as a plan lists it."""
        return {name: _entry(factory) for name, factory in self.known.items()}

    def of(self, names: Collection[str]) -> JsonObject:
        """Some of the factories as a plan lists them, in the order of their definition."""
        return {name: _entry(self.known[name]) for name in sorted(names, key=self._position)}

    def _position(self, name: str) -> int:
        if len(self._positions) != len(self.known):
            self._positions = {known: at for at, known in enumerate(self.known)}
        return self._positions[name]


def _entry(factory: Factory) -> JsonObject:
    entry: JsonObject = {"file": json_name(factory.file).text, "traits": list(factory.traits)}
    if factory.condition is not None:
        entry["only_if"] = factory.condition
    if factory.conditional_traits:
        entry["traits_only_if"] = dict(factory.conditional_traits)
    return entry


def read_factories(start: str, root: str, limits: Limits | None = None) -> Factories:
    """Read all factories in a file or below a directory; `start` and `root` are real paths, `start` is in `root`."""
    factories = Factories(root)
    modified: list[Factory] = []

    def on_skip(name: str, reason: str, may_miss: bool) -> None:  # noqa: FBT001 - a callback
        factories.warnings.append(FactoryWarning(name, reason))
        factories.is_incomplete |= may_miss

    for file in factory_files(start, root, on_skip):
        definitions = _read(file, factories, limits)
        _register(factories, definitions.factories)
        factories.global_traits += [
            name for name in definitions.traits if name not in factories.global_traits
        ]
        modified += definitions.modified
    _modify(factories, modified)
    return factories


def _read(file: FactoryFile, factories: Factories, limits: Limits | None) -> FileFactories:
    try:
        code, warnings = read_code(read_source(file.path, limits))
    except NoRubyError:
        raise
    except RuncardError as error:
        factories.warnings.append(FactoryWarning(file.name, error.message))
        factories.is_incomplete = True
        return FileFactories()
    definitions = read_factory_file(code)
    factories.is_incomplete |= bool(warnings)
    factories.warnings += [
        FactoryWarning(file.name, warning.message, warning.line)
        for warning in (*warnings, *definitions.warnings)
    ]
    for factory in (*definitions.factories, *definitions.modified):
        factory.file = file.name
    return definitions


def _register(factories: Factories, definitions: list[Factory]) -> None:
    for factory in definitions:
        before = factories.known.pop(factory.name, None)
        factories.known[factory.name] = factory
        if before is not None:
            message = f"factory {factory.name} is defined again: this definition counts, not {before.file}:{before.line}"
            factories.warnings.append(FactoryWarning(factory.file, message, factory.line))


def _modify(factories: Factories, modified: list[Factory]) -> None:
    """Apply `FactoryBot.modify` to the factories of all files."""
    by_alias = {alias: factory for factory in factories.known.values() for alias in factory.aliases}
    for change in modified:
        factory = factories.known.get(change.name) or by_alias.get(change.name)
        if factory is None:
            factories.known[change.name] = change
            message = f"factory {change.name} is modified here, but no file defines it"
            factories.warnings.append(FactoryWarning(change.file, message, change.line))
        else:
            factory.traits += [name for name in change.traits if name not in factory.traits]
            factory.enums |= change.enums


class FactoryDetails:
    """The factories of a project with parents, classes, inherited traits and enum traits."""

    def __init__(self, factories: Factories) -> None:
        self.warnings: dict[FactoryWarning, None] = {}  # without duplicates
        self._factories = factories
        self._enum_names: dict[str, list[str]] = {}
        self._enums: dict[str, dict[str, list[str]]] = {}
        self._by_name = {alias: f for f in factories.known.values() for alias in f.aliases} | factories.known

    def to_dict(self) -> JsonObject:
        """Each factory with all details."""
        plain = self._factories.to_dict()
        return {name: plain[name] | self._details(f) for name, f in self._factories.known.items()}

    def class_of(self, factory: Factory) -> str | None:
        """The class that a factory builds; None if a parent is unknown."""
        return _class_of(self._ancestry(factory))

    def _details(self, factory: Factory) -> JsonObject:
        ancestry = self._ancestry(factory)
        own = {*factory.traits, *self._enum_traits(factory)}
        inherited = [
            trait for f in ancestry[1:] for trait in (*f.traits, *self._enum_traits(f)) if trait not in own
        ]
        return {
            "parent": factory.parent,
            "class": _class_of(ancestry),
            "aliases": factory.aliases,
            "inherited_traits": list(dict.fromkeys(inherited)),
            "enum_traits": self._enum_traits(factory),
            "global_traits": self._factories.global_traits,
        }

    def _ancestry(self, factory: Factory) -> list[Factory]:
        """A factory and its parents, the nearest first."""
        ancestry, seen = [factory], {factory.name}
        while (name := ancestry[-1].parent) is not None:
            parent = self._by_name.get(name)
            if parent is None:
                self._warn(ancestry[-1], f"the parent {name} of factory {ancestry[-1].name} is not defined")
            elif parent.name in seen:
                self._warn(factory, f"factory {factory.name} is its own ancestor")
            elif len(ancestry) == MAX_DEPTH:
                self._warn(
                    factory,
                    f"factory {factory.name} has more than {MAX_DEPTH} ancestors; the rest are left out",
                )
            else:
                ancestry.append(parent)
                seen.add(parent.name)
                continue
            break
        return ancestry

    def _enum_traits(self, factory: Factory) -> list[str]:
        """The traits that factory_bot makes from enums: those of `traits_for_enum`, and all that the model declares."""
        if factory.name not in self._enum_names:
            self._enum_names[factory.name] = list(dict.fromkeys(self._enum_values(factory)))
        return self._enum_names[factory.name]

    def _enum_values(self, factory: Factory) -> Iterator[str]:
        declared = self._declared(_class_of(self._ancestry(factory)))
        enums: dict[str, list[str] | None] = {**declared, **factory.enums}
        for attribute, values in enums.items():
            known = values if values is not None else declared.get(attribute)
            if known is None:
                self._warn(factory, f"the values of {attribute} in factory {factory.name} are unknown")
            yield from known or ()

    def _declared(self, class_name: str | None) -> dict[str, list[str]]:
        if class_name is None:
            return {}
        if class_name not in self._enums:
            self._enums[class_name] = model_enums(self._factories.root, class_name)
        return self._enums[class_name]

    def _warn(self, factory: Factory, message: str) -> None:
        self.warnings[FactoryWarning(factory.file, message, factory.line)] = None


def _class_of(ancestry: list[Factory]) -> str | None:
    """The class that a factory builds: its own or the nearest ancestor's, or the one named like the eldest ancestor."""
    given = next((factory.class_name for factory in ancestry if factory.class_name), None)
    eldest = ancestry[-1]
    return given or (camelize(eldest.name) if eldest.parent is None else None)
