"""The classes and modules that a Ruby text defines, and the methods of each, without running it.

A method counts however it is defined (`def`, `attr_reader`, `delegate`, `Struct.new`, …) and whatever its visibility.
What stands inside the body of a method is not looked at: it defines nothing before that method is called.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from runcard.plans.ruby.literals import NO_NAMES, Literals, Names
from runcard.plans.ruby.macros import expand
from runcard.plans.ruby.source_text import ReadWarning
from runcard.plans.ruby.syntax_tree import METHODS, Code, Node, field_of, line_of, parts

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
class ClassScope:
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

    def open(self, scope: ClassScope, line: int) -> Definition:
        return self.setdefault(scope.name or TOP, Definition(line))

    def add(self, scope: ClassScope, method: str, kind: str, line: int) -> None:
        methods = self.open(scope, line).methods
        methods[method, kind] = line
        if kind == CLASS:
            return
        if scope.functions[0]:
            methods[method, CLASS] = line
        if scope.name.endswith(_CONCERN):
            around = ClassScope(scope.name.removesuffix(_CONCERN))
            self.open(around, line).methods[method, CLASS] = line

    def remove(self, scope: ClassScope, methods: Iterable[Any]) -> None:
        if known := self.get(scope.name or TOP):
            for method in methods:
                known.methods.pop((method, scope.type), None)

    def settle(self) -> None:
        """What can be told only at the end: `extend self` speaks of all methods of a module."""
        for found in self.values():
            if found.extends_itself:
                methods = found.methods.items()
                found.methods |= {(name, CLASS): line for (name, kind), line in methods if kind == INSTANCE}

    def full_name(self, scope: ClassScope, parts: Sequence[str]) -> str:
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

    def resolve(self, scope: ClassScope, parts: Sequence[str]) -> str:
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


DEEPEST = 1_000  # classes within classes
_CONSTANTS = {"constant", "scope_resolution"}
_MAKERS = {"Class.new", "Module.new", "Struct.new", "Data.define"}
_OF_CLASS = {"class_eval", "class_exec", "module_eval", "module_exec"}
_OF_SINGLETON = {"instance_eval", "instance_exec"}
_NO_STATEMENTS = {"comment", "lambda", "string", "array", "hash", "constant", "superclass", "heredoc_body"}

Inner = list[tuple[Node, ClassScope]]  # what is to be visited next


def read_definitions(code: Code) -> tuple[Classes, tuple[ReadWarning, ...]]:
    """All classes of a text, and what was left out."""
    reader = _DefinitionReader(code)
    waiting: Inner = [(code.root, ClassScope())]
    while waiting:
        waiting += reversed(reader.visit(*waiting.pop()))
    reader.classes.settle()
    return reader.classes, (*reader.trouble, *reader.literals.trouble)


class _DefinitionReader:
    def __init__(self, code: Code) -> None:
        self.classes = Classes()
        self.trouble: list[ReadWarning] = []
        self._of = code.of
        self.literals = Literals(code)

    def visit(self, node: Node, scope: ClassScope) -> Inner:
        visit = self._VISITS.get(node.type)
        if visit is not None:
            return visit(self, node, scope)
        return [(child, scope) for child in node.named_children if child.type not in _NO_STATEMENTS]

    # What opens a class

    def _class(self, node: Node, scope: ClassScope) -> Inner:
        name, body = field_of(node, "name"), field_of(node, "body")
        if name is None:
            return []
        if scope.depth == DEEPEST:
            what = f"classes nested deeper than {DEEPEST:,} are left out"
            self.trouble.append(ReadWarning(line_of(node), what))
            return []
        inner = self._opened(name, node, scope)
        made = [part for parent in parts(field_of(node, "superclass")) for part in self._made(parent, inner)]
        return [*made, (body, inner)] if body else made

    def _opened(self, name: Node, node: Node, scope: ClassScope) -> ClassScope:
        inner = ClassScope(
            self.classes.full_name(scope, self._constant(name)), scope.depth + 1, names=scope.names
        )
        self.classes.open(inner, line_of(node))
        return inner

    def _singleton_class(self, node: Node, scope: ClassScope) -> Inner:
        value, body = field_of(node, "value"), field_of(node, "body")
        if value is None or body is None:
            return []
        name = self._meant(value, scope)
        return [(body, replace(scope, name=name, singleton=True, functions=[False]))]

    def _assignment(self, node: Node, scope: ClassScope) -> Inner:
        left, right = field_of(node, "left"), field_of(node, "right")
        if left is None or right is None:
            return []
        is_constant = left.type in _CONSTANTS
        if self._maker(right):
            return self._made(right, self._opened(left, node, scope)) if is_constant else []
        if is_constant:
            self.classes.constants.add(self.classes.full_name(scope, self._constant(left)))
        self.literals.remember(self._constant(left)[-1], right)
        return [(right, scope)]

    def _maker(self, node: Node) -> str | None:
        """`Struct.new` and its kin, of which a constant makes a class."""
        receiver, method = field_of(node, "receiver"), field_of(node, "method")
        if node.type != "call" or receiver is None or method is None:
            return None
        text = f"{self._of(receiver).removeprefix('::')}.{self._of(method)}"
        return text if text in _MAKERS else None

    def _made(self, call: Node, scope: ClassScope) -> Inner:
        """The members and the block of `Struct.new` and its kin."""
        maker, block = self._maker(call), field_of(call, "block")
        if maker in {"Struct.new", "Data.define"}:
            arguments = [node for node in parts(field_of(call, "arguments")) if node.type != "pair"]
            for name in self.literals.values(arguments, scope.names):
                if isinstance(name, str) and not name[:1].isupper():
                    self.classes.add(scope, name, INSTANCE, line_of(call))
                    if maker == "Struct.new":
                        self.classes.add(scope, f"{name}=", INSTANCE, line_of(call))
        body = field_of(block, "body") if block and maker else None
        return [(body, scope)] if body else []

    # What defines a method

    def _method(self, node: Node, scope: ClassScope) -> Inner:
        if name := field_of(node, "name"):
            self.classes.add(scope, self._name(name), scope.type, line_of(node))
        return []

    def _singleton_method(self, node: Node, scope: ClassScope) -> Inner:
        owner, name = field_of(node, "object"), field_of(node, "name")
        if owner and name:
            whose = replace(scope, name=self._meant(owner, scope))
            self.classes.add(whose, self._name(name), CLASS, line_of(node))
        return []

    def _alias(self, node: Node, scope: ClassScope) -> Inner:
        if (name := field_of(node, "name")) and name.type != "global_variable":
            self.classes.add(scope, self._name(name), scope.type, line_of(node))
        return []

    def _undef(self, node: Node, scope: ClassScope) -> Inner:
        self.classes.remove(scope, map(self._name, parts(node)))
        return []

    def _word(self, node: Node, scope: ClassScope) -> Inner:
        if self._of(node) == "module_function":
            scope.functions[0] = True
        return []

    def _for(self, node: Node, scope: ClassScope) -> Inner:
        return self._rounds(node, field_of(node, "body"), scope)

    def _call(self, node: Node, scope: ClassScope) -> Inner:
        method, receiver, block = (
            field_of(node, "method"),
            field_of(node, "receiver"),
            field_of(node, "block"),
        )
        if method is None or self._maker(node):
            return []  # a class without a name
        name, arguments = self._of(method), parts(field_of(node, "arguments"))
        inner = [(part, scope) for part in arguments if part.type in METHODS or part.type == "call"]
        whose = self._whose(receiver, scope)
        if whose is not None:
            self._define(name, arguments, whose, line_of(node))
        elif receiver is not None and receiver.type == "call":
            inner.append((receiver, scope))
        body = field_of(block, "body") if block else None
        if whose is not None and body:
            if name in _OF_CLASS:
                return [*inner, (body, whose)]
            if name == "class_methods" or name in _OF_SINGLETON:
                return [*inner, (body, replace(whose, singleton=True, functions=[False]))]
        return [*inner, *self._rounds(node, body, scope)]

    def _rounds(self, loop: Node, body: Node | None, scope: ClassScope) -> Inner:
        if body is None:
            return []
        rounds = self.literals.rounds(loop, scope.names)
        return [(body, replace(scope, names=names)) for names in rounds]

    def _whose(self, receiver: Node | None, scope: ClassScope) -> ClassScope | None:
        """The class that a call is about, when it is about one."""
        if receiver is None or receiver.type == "self":
            return scope
        if receiver.type in _CONSTANTS:
            return ClassScope(self._meant(receiver, scope), scope.depth, names=scope.names)
        if self._of(receiver) in {"singleton_class", "self.singleton_class"}:
            return replace(scope, singleton=True)
        return None

    def _define(self, name: str, arguments: list[Node], scope: ClassScope, line: int) -> None:
        """What a call in the body of a class adds to it or takes from it."""
        if name == "extend":
            if scope.name and any(argument.type == "self" for argument in arguments):
                self.classes.open(scope, line).extends_itself = True
        elif name == "module_function":
            inside = (field_of(argument, "name") for argument in arguments if argument.type == "method")
            names = [*self.literals.values(arguments, scope.names), *(self._name(n) for n in inside if n)]
            for known in names:
                if isinstance(known, str):
                    self.classes.add(scope, known, CLASS, line)
        elif name in {"undef_method", "remove_method"}:
            self.classes.remove(scope, self.literals.values(arguments, scope.names))
        else:
            found, own, singleton = expand(name, arguments, self.literals, scope.names)
            for known in found:
                if own:
                    self.classes.add(scope, known, scope.type, line)
                if singleton:
                    self.classes.add(scope, known, CLASS, line)

    # Names

    def _name(self, node: Node) -> str:
        """The name of a method: in an `alias` it can be a symbol, a unary operator can have an `@` too many."""
        if node.type in {"simple_symbol", "delimited_symbol"}:
            return str(self.literals.value(node) or self._of(node))
        name = "".join(self._of(node).split())
        return name[0] if name in {"!@", "~@"} else name

    def _constant(self, node: Node) -> list[str]:
        return "".join(self._of(node).split()).split("::")

    def _meant(self, node: Node, scope: ClassScope) -> str:
        """The class that an object stands for: a constant for itself, anything else for where it stands."""
        if node.type not in _CONSTANTS:
            return scope.name
        return self.classes.resolve(scope, self._constant(node))

    # Functions, not methods of this reader: in a circle with itself it would hold its tree until circles are looked for.
    _VISITS: ClassVar[dict[str, Callable[..., Inner]]] = {
        "class": _class,
        "module": _class,
        "singleton_class": _singleton_class,
        "method": _method,
        "singleton_method": _singleton_method,
        "alias": _alias,
        "undef": _undef,
        "call": _call,
        "identifier": _word,
        "assignment": _assignment,
        "operator_assignment": _assignment,
        "for": _for,
    }
