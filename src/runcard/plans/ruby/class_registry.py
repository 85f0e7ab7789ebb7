"""The books of a reader: which classes were opened, which methods each has, and which class a constant means.

It knows no syntax. Invariant: every class stands under its full name, without a leading `::`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from runcard.plans.ruby.literals import NO_NAMES, Names

INSTANCE, CLASS = "instance", "class"
TOP = "Object"  # whose methods those outside of any class are
_CONCERN = "::ClassMethods"  # the module with which ActiveSupport::Concern extends whoever includes the one around it


@dataclass(slots=True)
class Definition:
    """A class or module: where it was first opened, and the lines of its methods by name and type."""

    line: int
    methods: dict[tuple[str, str], int] = field(default_factory=dict)
    extends_itself: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a statement stands: in which class, on which side of it, and in which loops."""

    name: str = ""
    depth: int = 0
    singleton: bool = False
    names: Names = field(default_factory=lambda: NO_NAMES)
    functions: list[bool] = field(default_factory=lambda: [False])  # whether `module_function` was said

    @property
    def type(self) -> str:
        return CLASS if self.singleton else INSTANCE


class Classes(dict[str, Definition]):
    """All classes by their full names, in the order in which they are first opened."""

    def __init__(self) -> None:
        self.constants: set[str] = set()  # the full names of those that stand for something else

    def open(self, scope: Scope, line: int) -> Definition:
        return self.setdefault(scope.name or TOP, Definition(line))

    def add(self, scope: Scope, method: str, kind: str, line: int) -> None:
        methods = self.open(scope, line).methods
        methods[method, kind] = line
        if kind == CLASS:
            return
        if scope.functions[0]:
            methods[method, CLASS] = line
        if scope.name.endswith(_CONCERN):
            around = Scope(scope.name.removesuffix(_CONCERN))
            self.open(around, line).methods[method, CLASS] = line

    def remove(self, scope: Scope, methods: Iterable[Any]) -> None:
        if known := self.get(scope.name or TOP):
            for method in methods:
                known.methods.pop((method, scope.type), None)

    def settle(self) -> None:
        """What can be told only at the end: `extend self` speaks of all methods of a module."""
        for found in self.values():
            if found.extends_itself:
                methods = found.methods.items()
                found.methods |= {(name, CLASS): line for (name, kind), line in methods if kind == INSTANCE}

    def full_name(self, scope: Scope, parts: Sequence[str]) -> str:
        """The full name of a class that is opened as `A::B`; the first part is empty for `::A`."""
        if parts[0] == "":
            return "::".join(parts[1:])
        if parts[0] == "self":
            return _joined(scope.name, *parts[1:])
        if len(parts) > 1 and _joined(scope.name, parts[0]) not in self:
            outer = self.resolve(scope, parts[:1])
            if outer in self:
                return _joined(outer, *parts[1:])
        return _joined(scope.name, *parts)

    def resolve(self, scope: Scope, parts: Sequence[str]) -> str:
        """The full name of a class that is mentioned as `A::B`, looked for from the inside out."""
        text, around = "::".join(parts), scope.name
        while around and parts[0]:
            if around == text or around.endswith(f"::{text}"):
                return around
            if (inner := _joined(around, text)) in self or inner in self.constants:
                return inner
            around = around.rpartition("::")[0]
        return text.removeprefix("::")


def _joined(*parts: str) -> str:
    return "::".join(part for part in parts if part)
