"""The factories that belong to a target: those of its class, of what it mentions, and what these are associated with."""

from collections.abc import Collection

from runcard.plans.ruby.factories import Factories, FactoryDetails
from runcard.plans.ruby.rails import camelize
from runcard.plans.ruby.syntax_tree import Code, Node, descendants

_NAMES = {"identifier", "instance_variable", "constant"}


def mentioned_names(code: Code, node: Node) -> frozenset[str]:
    """The variables, methods and constants that a method mentions."""
    return frozenset(code.text_of(at).lstrip("@") for at in descendants(node) if at.type in _NAMES)


class TargetFactories:
    """Chooses among the factories of a project; the lookups are made once."""

    def __init__(self, factories: Factories) -> None:
        self._factories = factories
        self._by_class: dict[str, list[str]] = {}
        self._by_name = {
            name: factory.name
            for factory in factories.known.values()
            for name in (factory.name, *factory.aliases)
        }
        details = FactoryDetails(factories)
        for factory in factories.known.values():
            built = details.class_of(factory)
            for name in {built, built.rpartition("::")[2]} if built else ():
                self._by_class.setdefault(name, []).append(factory.name)

    def of(self, class_name: str, names: Collection[str]) -> set[str]:
        """The names of the factories that belong to a method of a class, which mentions these names."""
        own = {*self._of_class(class_name), *self._of_class(class_name.rpartition("::")[2])}
        for name in names:
            own.update(self._by_class.get(name, ()) if name[:1].isupper() else self._named(name))
        return own | {other for name in own for other in self._related(name)}

    def _of_class(self, class_name: str) -> list[str]:
        return self._by_class.get(class_name, [])

    def _named(self, variable: str) -> list[str]:
        """The factories of the class that a variable is named after."""
        if variable in self._by_name:
            return [self._by_name[variable]]
        return self._by_class.get(camelize(variable), [])

    def _related(self, name: str) -> list[str]:
        factory = self._factories.known[name]
        related = [*factory.associations, *([factory.parent] if factory.parent else [])]
        return [self._by_name[other] for other in related if other in self._by_name]
