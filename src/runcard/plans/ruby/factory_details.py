"""What is known about factories beyond their own words: from their parents, and from the models of the project."""

from collections.abc import Iterator

from runcard.encoding import JsonObject
from runcard.plans.ruby.enums import model_enums
from runcard.plans.ruby.factories import Complaint, Factories
from runcard.plans.ruby.factory_reader import DEEPEST, Factory
from runcard.plans.ruby.inflections import camelize


class Details:
    """The factories of a project, each with what factory_bot would make of it."""

    def __init__(self, factories: Factories) -> None:
        self.complaints: dict[Complaint, None] = {}  # each once
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
        self.complaints[Complaint(factory.file, message, factory.line)] = None


def _class_of(line: list[Factory]) -> str | None:
    """The class that a factory builds: its own, that of the nearest parent which names one, or by the eldest's name."""
    given = next((factory.class_name for factory in line if factory.class_name), None)
    eldest = line[-1]
    return given or (camelize(eldest.name) if eldest.parent is None else None)
