"""The factories of a project with their traits, as factory_bot would know them after loading their files.

Nothing is run: what a name is must be written out. Files come in the order in which factory_bot would load them, and the
last definition of a name is the one that counts.
"""

from dataclasses import dataclass, field

from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError
from runcard.files import json_name
from runcard.plans.ruby.factory_files import Place, factory_files
from runcard.plans.ruby.factory_reader import Factory, Found, find_factories
from runcard.plans.ruby.source_text import read_source
from runcard.plans.ruby.syntax_tree import NoRubyError, read_code


@dataclass(frozen=True, slots=True)
class Complaint:
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
    complaints: list[Complaint] = field(default_factory=list)
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
        factories.complaints.append(Complaint(name, why))
        factories.is_damaged |= is_damage

    for place in factory_files(start, root, passed_over):
        found = _read(place, factories, limits)
        _register(factories, found.factories)
        factories.global_traits += [name for name in found.traits if name not in factories.global_traits]
        modified += found.modified
    _modify(factories, modified)
    return factories


def _read(place: Place, factories: Factories, limits: Limits | None) -> Found:
    try:
        code, trouble = read_code(read_source(place.path, limits))
    except NoRubyError:
        raise
    except RuncardError as error:
        factories.complaints.append(Complaint(place.name, error.message))
        factories.is_damaged = True
        return Found()
    found = find_factories(code)
    factories.is_damaged |= bool(trouble)
    factories.complaints += [Complaint(place.name, t.message, t.line) for t in (*trouble, *found.trouble)]
    for factory in (*found.factories, *found.modified):
        factory.file = place.name
    return found


def _register(factories: Factories, found: list[Factory]) -> None:
    for factory in found:
        before = factories.known.pop(factory.name, None)
        factories.known[factory.name] = factory
        if before is not None:
            said = f"factory {factory.name} is defined here again: this one counts, not {before.file}:{before.line}"
            factories.complaints.append(Complaint(factory.file, said, factory.line))


def _modify(factories: Factories, modified: list[Factory]) -> None:
    """Add what `FactoryBot.modify` says to what was defined, in whatever file."""
    by_alias = {alias: factory for factory in factories.known.values() for alias in factory.aliases}
    for change in modified:
        factory = factories.known.get(change.name) or by_alias.get(change.name)
        if factory is None:
            factories.known[change.name] = change
            said = f"factory {change.name} is modified here, and defined in none of the files read"
            factories.complaints.append(Complaint(change.file, said, change.line))
        else:
            factory.traits += [name for name in change.traits if name not in factory.traits]
            factory.enums |= change.enums
