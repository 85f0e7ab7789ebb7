"""The factories of a project with their traits, as factory_bot would know them after loading their files.

Nothing is run: what a name is must be written out. Files come in the order in which factory_bot would load them, and the
last definition of a name is the one that counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError
from runcard.files import json_name
from runcard.plans.ruby.factory_files import FactoryFile, factory_files
from runcard.plans.ruby.factory_reader import DEEPEST, Factory, FileFactories, find_factories
from runcard.plans.ruby.rails import camelize, model_enums
from runcard.plans.ruby.source_text import read_source
from runcard.plans.ruby.syntax_tree import NoRubyError, read_code


@dataclass(frozen=True, slots=True)
class FactoryWarning:
    """What there is to say about a file, and where in it."""

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
    complaints: list[FactoryWarning] = field(default_factory=list)
    is_damaged: bool = False  # whether some of it could not be read

    def to_dict(self) -> JsonObject:
        """Each factory as a plan has it."""
        return {
            name: {"file": json_name(factory.file).text, "traits": factory.traits}
            for name, factory in self.known.items()
        }


def read_factories(start: str, root: str, limits: Limits | None = None) -> Factories:
    """Read all factories from a directory or file downwards; real paths, `start` in the project at `root`."""
    factories = Factories(root)
    modified: list[Factory] = []

    def passed_over(name: str, why: str, is_damage: bool) -> None:  # noqa: FBT001 - as the search tells it
        factories.complaints.append(FactoryWarning(name, why))
        factories.is_damaged |= is_damage

    for place in factory_files(start, root, passed_over):
        found = _read(place, factories, limits)
        _register(factories, found.factories)
        factories.global_traits += [name for name in found.traits if name not in factories.global_traits]
        modified += found.modified
    _modify(factories, modified)
    return factories


def _read(place: FactoryFile, factories: Factories, limits: Limits | None) -> FileFactories:
    try:
        code, trouble = read_code(read_source(place.path, limits))
    except NoRubyError:
        raise
    except RuncardError as error:
        factories.complaints.append(FactoryWarning(place.name, error.message))
        factories.is_damaged = True
        return FileFactories()
    found = find_factories(code)
    factories.is_damaged |= bool(trouble)
    factories.complaints += [
        FactoryWarning(place.name, t.message, t.line) for t in (*trouble, *found.trouble)
    ]
    for factory in (*found.factories, *found.modified):
        factory.file = place.name
    return found


def _register(factories: Factories, found: list[Factory]) -> None:
    for factory in found:
        before = factories.known.pop(factory.name, None)
        factories.known[factory.name] = factory
        if before is not None:
            said = f"factory {factory.name} is defined here again: this one counts, not {before.file}:{before.line}"
            factories.complaints.append(FactoryWarning(factory.file, said, factory.line))


def _modify(factories: Factories, modified: list[Factory]) -> None:
    """Add what `FactoryBot.modify` says to what was defined, in whatever file."""
    by_alias = {alias: factory for factory in factories.known.values() for alias in factory.aliases}
    for change in modified:
        factory = factories.known.get(change.name) or by_alias.get(change.name)
        if factory is None:
            factories.known[change.name] = change
            said = f"factory {change.name} is modified here, and defined in none of the files read"
            factories.complaints.append(FactoryWarning(change.file, said, change.line))
        else:
            factory.traits += [name for name in change.traits if name not in factory.traits]
            factory.enums |= change.enums


class FactoryDetails:
    """The factories of a project, each with what factory_bot would make of it."""

    def __init__(self, factories: Factories) -> None:
        self.complaints: dict[FactoryWarning, None] = {}  # each once
        self._factories = factories
        self._enum_names: dict[str, list[str]] = {}
        self._enums: dict[str, dict[str, list[str]]] = {}
        self._by_name = {alias: f for f in factories.known.values() for alias in f.aliases} | factories.known

    def to_dict(self) -> JsonObject:
        """Each factory with all that is known about it."""
        plain = self._factories.to_dict()
        return {name: plain[name] | self._details(f) for name, f in self._factories.known.items()}

    def _details(self, factory: Factory) -> JsonObject:
        line = self._line(factory)
        own = {*factory.traits, *self._enum_traits(factory)}
        inherited = [
            trait for f in line[1:] for trait in (*f.traits, *self._enum_traits(f)) if trait not in own
        ]
        return {
            "parent": factory.parent,
            "class": _class_of(line),
            "aliases": factory.aliases,
            "inherited_traits": list(dict.fromkeys(inherited)),
            "enum_traits": self._enum_traits(factory),
            "global_traits": self._factories.global_traits,
        }

    def _line(self, factory: Factory) -> list[Factory]:
        """A factory and its parents, the nearest first."""
        line, seen = [factory], {factory.name}
        while (name := line[-1].parent) is not None:
            parent = self._by_name.get(name)
            if parent is None:
                self._complain(line[-1], f"the parent {name} of factory {line[-1].name} is not defined")
            elif parent.name in seen:
                self._complain(factory, f"factory {factory.name} comes to be its own parent")
            elif len(line) == DEEPEST:
                self._complain(factory, f"factory {factory.name} has more than {DEEPEST} parents: left out")
            else:
                line.append(parent)
                seen.add(parent.name)
                continue
            break
        return line

    def _enum_traits(self, factory: Factory) -> list[str]:
        """The traits that factory_bot makes of enums: those that are asked for, and all that the model declares."""
        if factory.name not in self._enum_names:
            self._enum_names[factory.name] = list(dict.fromkeys(self._enum_values(factory)))
        return self._enum_names[factory.name]

    def _enum_values(self, factory: Factory) -> Iterator[str]:
        declared = self._declared(_class_of(self._line(factory)))
        wanted: dict[str, list[str] | None] = {**declared, **factory.enums}
        for attribute, values in wanted.items():
            told = values if values is not None else declared.get(attribute)
            if told is None:
                self._complain(factory, f"the values of {attribute} in factory {factory.name} are not known")
            yield from told or ()

    def _declared(self, class_name: str | None) -> dict[str, list[str]]:
        if class_name is None:
            return {}
        if class_name not in self._enums:
            self._enums[class_name] = model_enums(self._factories.root, class_name)
        return self._enums[class_name]

    def _complain(self, factory: Factory, message: str) -> None:
        self.complaints[FactoryWarning(factory.file, message, factory.line)] = None


def _class_of(line: list[Factory]) -> str | None:
    """The class that a factory builds: its own, that of the nearest parent which names one, or by the eldest's name."""
    given = next((factory.class_name for factory in line if factory.class_name), None)
    eldest = line[-1]
    return given or (camelize(eldest.name) if eldest.parent is None else None)
