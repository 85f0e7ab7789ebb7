"""The FactoryBot DSL: reads the factories and traits that one file defines, in `FactoryBot.define` and `.modify`."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import ClassVar

from runcard.plans.ruby.literals import LOOPS, NO_NAMES, Literals, Names
from runcard.plans.ruby.rails import camelize, underscore
from runcard.plans.ruby.source_text import ReadWarning
from runcard.plans.ruby.syntax_tree import METHODS, Code, Node, children, field_of, line_of

MAX_DEPTH = 100  # nested factories, and parents of parents
_LIBRARIES = {"FactoryBot", "FactoryGirl", "::FactoryBot", "::FactoryGirl"}
_CONSTANTS = {"constant", "scope_resolution"}
_CONDITIONALS = {"if", "unless", "if_modifier", "unless_modifier", "elsif"}
_NOT_VISITED = METHODS | {
    "comment",
    "lambda",
    "string",
    "array",
    "hash",
    "identifier",
    "constant",
    "superclass",
}


@dataclass(slots=True)
class Factory:
    """A factory as defined; in `FactoryBot.modify`, only what it adds."""

    name: str
    line: int
    parent: str | None = None
    class_name: str | None = None
    aliases: list[str] = field(default_factory=list)
    traits: list[str] = field(default_factory=list)
    enums: dict[str, list[str] | None] = field(
        default_factory=dict
    )  # by attribute; None: the values are in the model
    file: str = ""
    associations: list[str] = field(default_factory=list)  # the factories that it uses
    condition: str | None = None  # of an `if` around it
    conditional_traits: dict[str, str] = field(default_factory=dict)  # traits in an `if`, with its condition


@dataclass(slots=True)
class FileFactories:
    """The definitions of a file in their order, and warnings."""

    factories: list[Factory] = field(default_factory=list)
    modified: list[Factory] = field(default_factory=list)
    traits: list[str] = field(default_factory=list)
    warnings: list[ReadWarning] = field(default_factory=list)


class _FactoryBlock(Enum):
    NOTHING = "nothing"
    DEFINE = "define"
    MODIFY = "modify"
    FACTORY = "factory"


@dataclass(frozen=True, slots=True)
class _FactoryScope:
    """The scope of a statement: its block, its factory, and its loop variables."""

    inside: _FactoryBlock = _FactoryBlock.NOTHING
    factory: Factory | None = None
    may_have_children: bool = True  # factory_bot ignores those in FactoryBot.modify
    depth: int = 0
    names: Names = field(default_factory=lambda: NO_NAMES)
    condition: str | None = None  # of the `if` around the statement, in this block


_Pending = list[tuple[Node, _FactoryScope]]


def read_factory_file(code: Code) -> FileFactories:
    """Read all definitions of a file."""
    reader = _FactoryReader(code)
    waiting: _Pending = [(code.root, _FactoryScope())]
    while waiting:
        waiting += reversed(reader.visit(*waiting.pop()))
    reader.result.warnings += reader.literals.warnings
    return reader.result


class _FactoryReader:
    def __init__(self, code: Code) -> None:
        self.result = FileFactories()
        self._text_of = code.text_of
        self.literals = Literals(code)

    def visit(self, node: Node, scope: _FactoryScope) -> _Pending:
        if node.type in _CONDITIONALS:
            return self._conditional(node, scope)
        match node.type:
            case "call":
                return self._call(node, scope)
            case "for":
                return self._loop(node, field_of(node, "body"), scope)
            case "assignment":
                left, right = field_of(node, "left"), field_of(node, "right")
                if left and right:
                    self.literals.remember(self._text_of(left).rpartition("::")[2], right)
                return []
        return [(child, scope) for child in node.named_children if child.type not in _NOT_VISITED]

    def _conditional(self, node: Node, scope: _FactoryScope) -> _Pending:
        """Both branches of an `if`: what they define may not exist, so it is marked with the condition."""
        test = field_of(node, "condition")
        if test is None or scope.inside is _FactoryBlock.NOTHING:
            return [(child, scope) for child in node.named_children if child.type not in _NOT_VISITED]
        text = " ".join(self._text_of(test).split())
        yes, no = (text, f"!({text})")
        if node.type.startswith("unless"):
            yes, no = no, yes
        outer = f"{scope.condition} && " if scope.condition else ""
        body = field_of(node, "consequence") or field_of(node, "body")
        other = field_of(node, "alternative")
        branches = ((body, yes), (other, no))
        return [
            (branch, replace(scope, condition=f"{outer}{condition}"))
            for branch, condition in branches
            if branch is not None
        ]

    def _call(self, node: Node, scope: _FactoryScope) -> _Pending:
        method, receiver, block = (field_of(node, name) for name in ("method", "receiver", "block"))
        if method is None:
            return []
        name, body = self._text_of(method), field_of(block, "body") if block else None
        if scope.inside is _FactoryBlock.NOTHING:
            if receiver and self._text_of(receiver) in _LIBRARIES and name in {"define", "modify"}:
                return [(body, replace(scope, inside=_FactoryBlock(name)))] if body else []
            return self._loop(node, body, scope)
        is_own = receiver is None or receiver.type == "self"
        if is_own and name in self._DSL_METHODS:
            return self._DSL_METHODS[name](self, node, body, scope)
        if is_own and name == "transient":
            return [(body, scope)] if body else []
        return self._loop(node, body, scope) if name in LOOPS else []

    def _loop(self, loop: Node, body: Node | None, scope: _FactoryScope) -> _Pending:
        if body is None:
            return []
        iterations = self.literals.iterations(loop, scope.names)
        return [(body, replace(scope, names=names)) for names in iterations]

    def _factory(self, node: Node, body: Node | None, scope: _FactoryScope) -> _Pending:
        name = self._name(node, scope)
        if name is None or not scope.may_have_children:
            return []
        if scope.depth == MAX_DEPTH:
            message = f"factories nested more than {MAX_DEPTH:,} levels deep are left out"
            self.result.warnings.append(ReadWarning(line_of(node), message))
            return []
        options = self.literals.options(children(field_of(node, "arguments")))
        parent = self.literals.value(options.get("parent"), scope.names)
        aliases = self.literals.value(options.get("aliases"), scope.names)
        enclosing = scope.factory.name if scope.factory else None
        factory = Factory(
            name,
            line_of(node),
            parent=parent if isinstance(parent, str) else enclosing,
            class_name=self._class_name(options.get("class"), scope.names),
            aliases=[alias for alias in aliases if isinstance(alias, str)]
            if isinstance(aliases, list)
            else [],
        )
        factory.condition = scope.condition
        factory.associations = self._associations(body, scope)
        is_new = scope.inside is not _FactoryBlock.MODIFY
        (self.result.factories if is_new else self.result.modified).append(factory)
        inner = _FactoryScope(_FactoryBlock.FACTORY, factory, is_new, scope.depth + 1, scope.names)
        return [(body, inner)] if body else []

    def _class_name(self, node: Node | None, names: Names) -> str | None:
        if node is None:
            return None
        value = self.literals.value(node, names)
        if isinstance(value, str):
            return camelize(value).removeprefix("::")
        return self._text_of(node).removeprefix("::") if node.type in _CONSTANTS else None

    def _trait(self, node: Node, _: Node | None, scope: _FactoryScope) -> _Pending:
        name = self._name(node, scope)
        if name is not None:
            traits = scope.factory.traits if scope.factory else self.result.traits
            if name not in traits:
                traits.append(name)
                if scope.factory and scope.condition:
                    scope.factory.conditional_traits[name] = scope.condition
        return []

    def _associations(self, body: Node | None, scope: _FactoryScope) -> list[str]:
        """The factories that a factory uses: `association :user`, `author factory: :user`, or just `user`."""
        names: list[str] = []
        waiting = [body] if body is not None else []
        while waiting:
            node = waiting.pop()
            method = field_of(node, "method") if node.type == "call" else None
            name = self._text_of(method) if method is not None else ""
            if node.type == "identifier":
                names.append(self._text_of(node))
            elif node.type == "call" and name != "factory":
                arguments = children(field_of(node, "arguments"))
                used = self.literals.options(arguments).get("factory")
                first = arguments[0] if name == "association" and arguments else None
                values = self.literals.values([part for part in (used or first,) if part], scope.names)
                flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
                names += [value for value in flat[:1] if isinstance(value, str)]
                block = field_of(node, "block") if name == "trait" else None
                waiting += children(field_of(block, "body")) if block is not None else []
            elif node.type != "call":
                waiting += reversed(children(node))
        return list(dict.fromkeys(names))

    def _enum(self, node: Node, _: Node | None, scope: _FactoryScope) -> _Pending:
        arguments = children(field_of(node, "arguments"))
        name = self._name(node, scope)
        if name is None or scope.factory is None:
            return []
        values = self.literals.value(arguments[1], scope.names) if len(arguments) > 1 else None
        values = list(self.literals.options(arguments)) or values
        names = [str(value) for value in values] if isinstance(values, list | dict) else None
        scope.factory.enums[name] = names
        return []

    def _name(self, node: Node, scope: _FactoryScope) -> str | None:
        """The name that a call defines; None, with a warning, if it is not a literal."""
        arguments = children(field_of(node, "arguments"))
        value = self.literals.value(arguments[0], scope.names) if arguments else None
        if isinstance(value, str):
            return value
        if arguments and arguments[0].type in _CONSTANTS:
            return underscore(self._text_of(arguments[0]))
        word = self._text_of(node).split(None, 1)[0].partition("(")[0]
        self.result.warnings.append(
            ReadWarning(line_of(node), f"a {word} whose name is not a literal is left out")
        )
        return None

    # Plain functions: bound methods would make a reference cycle that keeps the syntax tree alive.
    _DSL_METHODS: ClassVar[dict[str, Callable[..., _Pending]]] = {
        "factory": _factory,
        "trait": _trait,
        "traits_for_enum": _enum,
    }
