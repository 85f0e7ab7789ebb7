"""The source of a method: its body, its parameters, and the private methods and predicates of its class."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from runcard.encoding import JsonObject
from runcard.plans.ruby.literals import Literals
from runcard.plans.ruby.syntax_tree import METHODS, Code, Node, children, descendants, field_of, line_of
from runcard.plans.ruby.targets import Target

_CLASSES = {"class", "module", "singleton_class"}
_VISIBILITIES = {"private", "public", "protected"}
_BINDING = {"block_parameters", "lambda_parameters", "exception_variable", "left_assignment_list", "for"}
_MATCHING = {"in_clause", "match_pattern", "test_pattern"}
_PATTERNS = {"as_pattern", "array_pattern", "find_pattern", "keyword_pattern", "splat_parameter"}
_PATTERNS |= {"hash_splat_parameter"}
_MAKERS = {"define_method", "define_singleton_method", "scope"}


@dataclass(frozen=True, slots=True)
class Method:
    """A method, its body, and its class."""

    node: Node
    body: Node | None
    owner: Node | None  # the body of the class
    defaults: JsonObject  # of its parameters
    parameters: frozenset[str]
    variables: frozenset[str]  # local ones, also those of blocks


def find_method(code: Code, target: Target, literals: Literals) -> Method | None:
    """The definition of a target; None for one without a body, such as `attr_reader`."""
    for node in _nodes_at(code.root, target.line):
        if (
            node.type in METHODS
            and (name := field_of(node, "name"))
            and _is_same_name(code.text_of(name), target.method)
        ):
            return _method(code, node, field_of(node, "body"), field_of(node, "parameters"), literals)
        if node.type == "call" and (method := field_of(node, "method")) and code.text_of(method) in _MAKERS:
            arguments = children(field_of(node, "arguments"))
            block = field_of(node, "block") or next(
                (argument for argument in arguments if argument.type == "lambda"), None
            )
            if arguments and block and literals.value(arguments[0]) == target.method:
                inner = field_of(block, "body")
                return _method(code, node, _block_body(inner), field_of(block, "parameters"), literals)
    return None


def _block_body(node: Node | None) -> Node | None:
    return field_of(node, "body") if node is not None and node.type in {"block", "do_block"} else node


def _is_same_name(written: str, name: str) -> bool:
    return "".join(written.split()) in {name, f"{name}@"}


def _nodes_at(root: Node, line: int) -> Iterator[Node]:
    """The nodes that begin on a line, outermost first."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if line_of(node) == line:
            yield node
        if line_of(node) <= line <= node.end_point[0] + 1:
            waiting += reversed(node.named_children)


def _method(code: Code, node: Node, body: Node | None, parameters: Node | None, literals: Literals) -> Method:
    defaults: JsonObject = {}
    names: set[str] = set()
    for parameter in children(parameters):
        name = field_of(parameter, "name") or (parameter if parameter.type == "identifier" else None)
        if name is None:
            continue
        names.add(code.text_of(name))
        if (value := field_of(parameter, "value")) is not None:
            known = literals.value(value)
            if known is not None or value.type == "nil":
                defaults[code.text_of(name)] = known
    return Method(node, body, _owner(node), defaults, frozenset(names), _variables(code, body) - names)


def local_names(code: Code, body: Node) -> frozenset[str]:
    """The parameters and variables of a method, by its body."""
    parameters = children(field_of(body.parent, "parameters")) if body.parent is not None else []
    names = [field_of(parameter, "name") or parameter for parameter in parameters]
    return _variables(code, body) | {code.text_of(name) for name in names}


def _variables(code: Code, body: Node | None) -> frozenset[str]:
    """The local names in a body: assigned variables, block parameters, rescued errors."""
    names: set[str] = set()
    for node in descendants(body):
        if node.type in {"assignment", "operator_assignment"}:
            named = [field_of(node, "left")]
        elif node.type in _BINDING:
            named = list(node.named_children)
        elif node.type in _MATCHING:
            named = [field_of(node, "pattern")]
        elif node.type in _PATTERNS:  # where a bare word binds a name
            named = list(node.named_children)
            names |= {code.text_of(key) for key in _keys(node)}
        else:
            continue
        names |= {code.text_of(name) for name in named if name is not None and name.type == "identifier"}
    return frozenset(names)


def _keys(node: Node) -> list[Node]:
    """The key of `in {name:}`, which binds a name when it has no value."""
    key = field_of(node, "key") if node.type == "keyword_pattern" else None
    return [key] if key is not None and field_of(node, "value") is None else []


def _owner(node: Node) -> Node | None:
    at = node.parent
    while at is not None and at.type not in _CLASSES:
        at = at.parent
    return field_of(at, "body") if at is not None else None


def superclass_of(code: Code, method: Method) -> str:
    """The superclass of the class of a method, as written; empty if there is none."""
    owner = method.owner.parent if method.owner is not None else None
    while owner is not None and owner.type == "singleton_class":
        owner = owner.parent.parent if owner.parent is not None else None
    above = field_of(owner, "superclass") if owner is not None else None
    return code.text_of(children(above)[0]) if above is not None and children(above) else ""


def private_methods(code: Code, owner: Node | None, literals: Literals) -> dict[str, Node]:
    """The bodies of the private methods of a class, by name."""
    bodies: dict[str, Node] = {}
    private: set[str] = set()
    is_private = False
    for node in children(owner):
        if node.type == "identifier" and code.text_of(node) in _VISIBILITIES:
            is_private = code.text_of(node) == "private"
        elif node.type == "method":
            _add_body(code, node, bodies)
            name = code.text_of(known) if (known := field_of(node, "name")) else ""
            private |= {name} if is_private else set()
        elif node.type == "call":
            private |= _made_private(code, node, bodies, literals)
    return {name: body for name, body in bodies.items() if name in private}


def _add_body(code: Code, node: Node, bodies: dict[str, Node]) -> None:
    name, body = field_of(node, "name"), field_of(node, "body")
    if name is not None and body is not None:
        bodies[code.text_of(name)] = body


def _made_private(code: Code, call: Node, bodies: dict[str, Node], literals: Literals) -> set[str]:
    """`private def x`, and `private :x, :y`."""
    method = field_of(call, "method")
    if method is None or code.text_of(method) != "private":
        return set()
    arguments = children(field_of(call, "arguments"))
    inside = [node for node in arguments if node.type == "method"]
    for node in inside:
        _add_body(code, node, bodies)
    names = [code.text_of(name) for node in inside if (name := field_of(node, "name"))]
    return {*names, *(value for value in literals.values(arguments) if isinstance(value, str))}


_GUARDS = {"if_modifier", "unless_modifier", "if", "unless"}


class PredicateGuard(NamedTuple):
    """A guard such as `return false if condition`."""

    condition: Node
    is_unless: bool
    answer: bool


def read_predicate(code: Code, body: Node) -> tuple[list[PredicateGuard], Node] | None:
    """The parsed of a predicate and its last expression; None for a body that does anything else."""
    statements = children(body) if body.type == "body_statement" else [body]
    if not statements:
        return None
    parsed = [_guard(code, statement) for statement in statements[:-1]]
    guards = [guard for guard in parsed if guard is not None]
    return (guards, statements[-1]) if len(guards) == len(parsed) else None


def _guard(code: Code, node: Node) -> PredicateGuard | None:
    condition = field_of(node, "condition")
    if node.type not in _GUARDS or condition is None or field_of(node, "alternative") is not None:
        return None
    body = field_of(node, "body") or field_of(node, "consequence")
    inner = children(body) if body is not None and body.type == "then" else [body]
    answer = code.text_of(inner[0]) if len(inner) == 1 and inner[0] is not None else ""
    if answer not in {"return true", "return false"}:
        return None
    return PredicateGuard(condition, node.type.startswith("unless"), answer == "return true")


_BRANCHES = {
    "if",
    "unless",
    "conditional",
    "case",
    "case_match",
    "if_modifier",
    "unless_modifier",
    "rescue",
    "while",
}


def has_branches(body: Node) -> bool:
    """Whether a method has branches."""
    return any(node.type in _BRANCHES for node in descendants(body))


class Raises(Enum):
    """Whether a method raises an error."""

    NEVER = "never"
    SOMETIMES = "sometimes"
    ALWAYS = "always"


_RAISING = {"raise", "fail"}


def raises_error(code: Code, body: Node) -> Raises:
    """Whether a method raises an error by itself; one that it rescues does not count."""
    statements = children(body) if body.type == "body_statement" else [body]
    if any(part.type == "rescue" for part in statements):
        return Raises.NEVER
    if any(_is_raise(code, part) for part in statements):
        return Raises.ALWAYS
    waiting = list(statements)
    while waiting:
        node = waiting.pop()
        inner = children(node)
        if node.type in METHODS | {"lambda"} or any(part.type == "rescue" for part in inner):
            continue
        if _is_raise(code, node):
            return Raises.SOMETIMES
        waiting += inner
    return Raises.NEVER


def _is_raise(code: Code, node: Node) -> bool:
    method = field_of(node, "method") if node.type == "call" and field_of(node, "receiver") is None else node
    return method is not None and method.type == "identifier" and code.text_of(method) in _RAISING
