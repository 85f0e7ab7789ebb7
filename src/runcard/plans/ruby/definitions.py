"""The classes and modules that a Ruby text defines, and their methods, without running it.

A method counts however it is defined (`def`, `attr_reader`, `delegate`, `Struct.new`, …) and whatever its visibility.
The body of a method is not read: it defines nothing before the method is called.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from runcard.plans.ruby.literals import NO_NAMES, Literals, Names
from runcard.plans.ruby.macros import expand
from runcard.plans.ruby.source_text import ReadWarning
from runcard.plans.ruby.syntax_tree import METHODS, Code, Node, children, field_of, line_of

INSTANCE, CLASS = "instance", "class"
PUBLIC, PRIVATE, PROTECTED = "public", "private", "protected"
TOP = "Object"  # owns the methods outside of any class
_CONCERN = "::ClassMethods"  # ActiveSupport::Concern extends including classes with it


@dataclass(slots=True)
class Definition:
    """A class or module: where it is first opened, and the lines of its methods by name and type."""

    line: int
    methods: dict[tuple[str, str], int] = field(default_factory=dict)
    extends_itself: bool = False
    visibility: dict[tuple[str, str], str] = field(default_factory=dict)  # of methods that are not public
    is_module: bool = False
    superclass: str = ""  # as written


@dataclass(frozen=True, slots=True)
class ClassScope:
    """The scope of a statement: its class, whether it is in the singleton class, and its loop variables."""

    name: str = ""
    depth: int = 0
    singleton: bool = False
    names: Names = field(default_factory=lambda: NO_NAMES)
    functions: list[bool] = field(default_factory=lambda: [False])  # whether `module_function` was called
    visibility: list[str] = field(default_factory=lambda: [PUBLIC])  # of the methods that follow

    @property
    def type(self) -> str:
        return CLASS if self.singleton else INSTANCE

    def in_singleton(self, name: str) -> "ClassScope":
        """The scope of the singleton class of a class."""
        return replace(self, name=name, singleton=True, functions=[False], visibility=[PUBLIC])


class Classes(dict[str, Definition]):
    """All classes by full name (without a leading `::`), in the order in which they are first opened."""

    def __init__(self) -> None:
        self.constants: set[str] = set()  # the full names of constants that are not classes

    def open(self, scope: ClassScope, line: int) -> Definition:
        return self.setdefault(scope.name or TOP, Definition(line))

    def add(self, scope: ClassScope, method: str, kind: str, line: int) -> None:
        definition = self.open(scope, line)
        definition.methods[method, kind] = line
        if kind == scope.type and scope.visibility[0] != PUBLIC:
            definition.visibility[method, kind] = scope.visibility[0]
        if kind == CLASS:
            return
        if scope.functions[0]:
            definition.methods[method, CLASS] = line
            definition.visibility[method, kind] = PRIVATE  # the copy for classes that include the module
        if scope.name.endswith(_CONCERN):
            including = self.open(ClassScope(scope.name.removesuffix(_CONCERN)), line)
            including.methods[method, CLASS] = line
            if scope.visibility[0] != PUBLIC:
                including.visibility[method, CLASS] = scope.visibility[0]

    def set_visibility(self, scope: ClassScope, methods: Iterable[str], kind: str, visibility: str) -> None:
        """Apply `private :x` and the like."""
        known = self.open(scope, 1).visibility
        for method in methods:
            known[method, kind] = visibility

    def remove(self, scope: ClassScope, methods: Iterable[Any]) -> None:
        if known := self.get(scope.name or TOP):
            for method in methods:
                known.methods.pop((method, scope.type), None)

    def finish(self) -> None:
        """Apply `extend self`, which applies to all methods of a module, also those after it."""
        for definition in self.values():
            if definition.extends_itself:
                for by_method in (definition.methods, definition.visibility):
                    _copy_to_class(by_method)

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
        """The full name of a class that is referenced as `A::B`, resolved from the innermost scope outwards."""
        if parts[0] == "self":
            return _joined(scope.name, *parts[1:])
        text, around = "::".join(parts), scope.name
        while around and parts[0]:
            if around == text or around.endswith(f"::{text}"):
                return around
            if (inner := _joined(around, text)) in self or inner in self.constants:
                return inner
            around = around.rpartition("::")[0]
        return text.removeprefix("::")


def _copy_to_class(by_method: dict[tuple[str, str], Any]) -> None:
    by_method |= {(name, CLASS): value for (name, kind), value in by_method.items() if kind == INSTANCE}


def _joined(*parts: str) -> str:
    return "::".join(part for part in parts if part)


MAX_DEPTH = 1_000  # nested classes
_CONSTANTS = {"constant", "scope_resolution"}
_CLASS_BUILDERS = {"Class.new", "Module.new", "Struct.new", "Data.define"}
_CLASS_EVALS = {"class_eval", "class_exec", "module_eval", "module_exec"}
_INSTANCE_EVALS = {"instance_eval", "instance_exec"}
_VISIBILITIES = {PUBLIC, PRIVATE, PROTECTED}
_CLASS_VISIBILITIES = {"private_class_method": PRIVATE, "public_class_method": PUBLIC}
_NOT_VISITED = {"comment", "lambda", "string", "array", "hash", "constant", "superclass", "heredoc_body"}

Pending = list[tuple[Node, ClassScope]]  # nodes to visit next


def read_definitions(code: Code) -> tuple[Classes, tuple[ReadWarning, ...]]:
    """All classes of a text, and warnings about parts that were left out."""
    reader = _DefinitionReader(code)
    waiting: Pending = [(code.root, ClassScope())]
    while waiting:
        waiting += reversed(reader.visit(*waiting.pop()))
    reader.classes.finish()
    return reader.classes, (*reader.warnings, *reader.literals.warnings)


class _DefinitionReader:
    def __init__(self, code: Code) -> None:
        self.classes = Classes()
        self.warnings: list[ReadWarning] = []
        self._text_of = code.text_of
        self.literals = Literals(code)

    def visit(self, node: Node, scope: ClassScope) -> Pending:
        visit = self._VISITS.get(node.type)
        if visit is not None:
            return visit(self, node, scope)
        return [(child, scope) for child in node.named_children if child.type not in _NOT_VISITED]

    # Classes

    def _class(self, node: Node, scope: ClassScope) -> Pending:
        name, body = field_of(node, "name"), field_of(node, "body")
        if name is None:
            return []
        if scope.depth == MAX_DEPTH:
            message = f"classes nested more than {MAX_DEPTH:,} levels deep are left out"
            self.warnings.append(ReadWarning(line_of(node), message))
            return []
        inner = self._open(name, node, scope)
        parents = children(field_of(node, "superclass"))
        definition = self.classes.open(inner, line_of(node))
        definition.is_module = definition.is_module or node.type == "module"
        definition.superclass = definition.superclass or "".join(map(self._text_of, parents[:1]))
        made = [part for parent in parents for part in self._build_class(parent, inner)]
        return [*made, (body, inner)] if body else made

    def _open(self, name: Node, node: Node, scope: ClassScope) -> ClassScope:
        inner = ClassScope(
            self.classes.full_name(scope, self._constant(name)), scope.depth + 1, names=scope.names
        )
        self.classes.open(inner, line_of(node))
        return inner

    def _singleton_class(self, node: Node, scope: ClassScope) -> Pending:
        value, body = field_of(node, "value"), field_of(node, "body")
        if value is None or body is None:
            return []
        return [(body, scope.in_singleton(self._owner(value, scope)))]

    def _assignment(self, node: Node, scope: ClassScope) -> Pending:
        left, right = field_of(node, "left"), field_of(node, "right")
        if left is None or right is None:
            return []
        right = self._unfrozen(right)
        is_constant = left.type in _CONSTANTS
        if self._class_builder(right):
            return self._build_class(right, self._open(left, node, scope)) if is_constant else []
        if is_constant:
            self.classes.constants.add(self.classes.full_name(scope, self._constant(left)))
        self.literals.remember(self._constant(left)[-1], right)
        return [(right, scope)]

    def _unfrozen(self, node: Node) -> Node:
        """An expression without `.freeze` at its end."""
        method, receiver = field_of(node, "method"), field_of(node, "receiver")
        if node.type != "call" or method is None or receiver is None or self._text_of(method) != "freeze":
            return node
        return receiver if receiver.type == "call" else node

    def _class_builder(self, node: Node) -> str | None:
        """`Struct.new` and similar calls, whose result becomes a class when assigned to a constant."""
        receiver, method = field_of(node, "receiver"), field_of(node, "method")
        if node.type != "call" or receiver is None or method is None:
            return None
        text = f"{self._text_of(receiver).removeprefix('::')}.{self._text_of(method)}"
        return text if text in _CLASS_BUILDERS else None

    def _build_class(self, call: Node, scope: ClassScope) -> Pending:
        """The members and the block of `Struct.new` and similar calls."""
        builder, block = self._class_builder(call), field_of(call, "block")
        if builder in {"Struct.new", "Data.define"}:
            arguments = [node for node in children(field_of(call, "arguments")) if node.type != "pair"]
            for name in self.literals.values(arguments, scope.names):
                if isinstance(name, str) and not name[:1].isupper():
                    self.classes.add(scope, name, INSTANCE, line_of(call))
                    if builder == "Struct.new":
                        self.classes.add(scope, f"{name}=", INSTANCE, line_of(call))
        body = field_of(block, "body") if block and builder else None
        return [(body, scope)] if body else []

    # Methods

    def _method(self, node: Node, scope: ClassScope) -> Pending:
        if name := field_of(node, "name"):
            self.classes.add(scope, self._name(name), scope.type, line_of(node))
        return []

    def _singleton_method(self, node: Node, scope: ClassScope) -> Pending:
        owner, name = field_of(node, "object"), field_of(node, "name")
        if owner and name:
            receiver_scope = replace(scope, name=self._owner(owner, scope))
            self.classes.add(receiver_scope, self._name(name), CLASS, line_of(node))
        return []

    def _alias(self, node: Node, scope: ClassScope) -> Pending:
        if (name := field_of(node, "name")) and name.type != "global_variable":
            self.classes.add(scope, self._name(name), scope.type, line_of(node))
        return []

    def _undef(self, node: Node, scope: ClassScope) -> Pending:
        self.classes.remove(scope, map(self._name, children(node)))
        return []

    def _identifier(self, node: Node, scope: ClassScope) -> Pending:
        word = self._text_of(node)
        if word == "module_function":
            scope.functions[0] = True
        elif word in _VISIBILITIES and scope.name:
            scope.visibility[0] = word
        return []

    def _for(self, node: Node, scope: ClassScope) -> Pending:
        return self._loop(node, field_of(node, "body"), scope)

    def _call(self, node: Node, scope: ClassScope) -> Pending:
        method, receiver, block = (
            field_of(node, "method"),
            field_of(node, "receiver"),
            field_of(node, "block"),
        )
        if method is None or self._class_builder(node):
            return []  # an anonymous class
        name, arguments = self._text_of(method), children(field_of(node, "arguments"))
        inner = [(part, scope) for part in arguments if part.type in METHODS or part.type == "call"]
        receiver_scope = self._receiver_scope(receiver, scope)
        if receiver_scope is not None:
            self._define(name, arguments, receiver_scope, line_of(node))
            self._set_visibility(name, arguments, receiver_scope)
        elif receiver is not None and receiver.type == "call":
            inner.append((receiver, scope))
        body = field_of(block, "body") if block else None
        if receiver_scope is not None and body:
            if name in _CLASS_EVALS:
                return [*inner, (body, receiver_scope)]
            if name == "class_methods" or name in _INSTANCE_EVALS:
                return [*inner, (body, receiver_scope.in_singleton(receiver_scope.name))]
        return [*inner, *self._loop(node, body, scope)]

    def _loop(self, loop: Node, body: Node | None, scope: ClassScope) -> Pending:
        if body is None:
            return []
        iterations = self.literals.iterations(loop, scope.names)
        return [(body, replace(scope, names=names)) for names in iterations]

    def _receiver_scope(self, receiver: Node | None, scope: ClassScope) -> ClassScope | None:
        """The class that a call applies to, if it applies to one."""
        if receiver is None or receiver.type == "self":
            return scope
        if receiver.type in _CONSTANTS:
            return ClassScope(self._owner(receiver, scope), scope.depth, names=scope.names)
        if self._text_of(receiver) in {"singleton_class", "self.singleton_class"}:
            return replace(scope, singleton=True)
        return None

    def _define(self, name: str, arguments: list[Node], scope: ClassScope, line: int) -> None:
        """Apply a call in the body of a class that adds or removes methods."""
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
            methods, is_instance, is_class = expand(name, arguments, self.literals, scope.names)
            for known in methods:
                if is_instance:
                    self.classes.add(scope, known, scope.type, line)
                if is_class:
                    self.classes.add(scope, known, CLASS, line)

    def _set_visibility(self, name: str, arguments: list[Node], scope: ClassScope) -> None:
        """Apply `private :x`, `private_class_method :x` and the like."""
        if name in _VISIBILITIES or name in _CLASS_VISIBILITIES:
            kind = CLASS if name in _CLASS_VISIBILITIES else scope.type
            visibility = _CLASS_VISIBILITIES.get(name, name)
            self.classes.set_visibility(scope, self._named_methods(arguments, scope), kind, visibility)

    def _named_methods(self, arguments: list[Node], scope: ClassScope) -> list[str]:
        """The methods that `private` and the like are given: names, lists of them, definitions."""
        names: list[Any] = []
        for node in arguments:
            known = field_of(node, "name") if node.type in METHODS else field_of(node, "method")
            if node.type in METHODS and known is not None:
                names.append(self._name(known))
            elif node.type == "call" and known is not None:
                inner = children(field_of(node, "arguments"))
                names += expand(self._text_of(known), inner, self.literals, scope.names)[0]
            else:
                for value in self.literals.values([node], scope.names):
                    names += value if isinstance(value, list) else [value]
        return [name for name in names if isinstance(name, str)]

    # Names

    def _name(self, node: Node) -> str:
        """The name of a method; in an `alias` it can be a symbol, and a unary operator can have a surplus `@`."""
        if node.type in {"simple_symbol", "delimited_symbol"}:
            return str(self.literals.value(node) or self._text_of(node))
        name = "".join(self._text_of(node).split())
        return name[0] if name in {"!@", "~@"} else name

    def _constant(self, node: Node) -> list[str]:
        return "".join(self._text_of(node).split()).split("::")

    def _owner(self, node: Node, scope: ClassScope) -> str:
        """The full name of the class of a receiver: a constant is resolved, anything else is the current class."""
        if node.type not in _CONSTANTS:
            return scope.name
        return self.classes.resolve(scope, self._constant(node))

    # Plain functions: bound methods would make a reference cycle that keeps the syntax tree alive.
    _VISITS: ClassVar[dict[str, Callable[..., Pending]]] = {
        "class": _class,
        "module": _class,
        "singleton_class": _singleton_class,
        "method": _method,
        "singleton_method": _singleton_method,
        "alias": _alias,
        "undef": _undef,
        "call": _call,
        "identifier": _identifier,
        "assignment": _assignment,
        "operator_assignment": _assignment,
        "for": _for,
    }
