"""The text of a method: its body, its parameters, and the private methods of its class."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from runcard.encoding import JsonObject
from runcard.plans.ruby.literals import Literals
from runcard.plans.ruby.syntax_tree import METHODS, Code, Node, field_of, line_of, parts
from runcard.plans.ruby.targets import Target

_CLASSES = {"class", "module", "singleton_class"}
_VISIBILITIES = {"private", "public", "protected"}
_NAMING = {"block_parameters", "lambda_parameters", "exception_variable", "left_assignment_list", "for"}
_MATCHING = {"in_clause", "match_pattern", "test_pattern"}
_PATTERNS = {"as_pattern", "array_pattern", "find_pattern", "keyword_pattern", "splat_parameter"}
_PATTERNS |= {"hash_splat_parameter"}
_MAKERS = {"define_method", "define_singleton_method", "scope"}


@dataclass(frozen=True, slots=True)
class Method:
    """A method, its body, and the class that it stands in."""

    node: Node
    body: Node | None
    owner: Node | None  # the body of the class
    defaults: JsonObject  # what its parameters are when they are not given
    parameters: frozenset[str]
    variables: frozenset[str]  # of the method itself and of its blocks


def find_method(code: Code, target: Target, literals: Literals) -> Method | None:
    """The definition that a target means; None for one without a body, such as that of `attr_reader`."""
    for node in _at(code.root, target.line):
        if node.type in METHODS and (name := field_of(node, "name")) and _same(code.of(name), target.method):
            return _method(code, node, field_of(node, "body"), field_of(node, "parameters"), literals)
        if node.type == "call" and (method := field_of(node, "method")) and code.of(method) in _MAKERS:
            arguments = parts(field_of(node, "arguments"))
            block = field_of(node, "block") or next((one for one in arguments if one.type == "lambda"), None)
            if arguments and block and literals.value(arguments[0]) == target.method:
                inner = field_of(block, "body")
                return _method(code, node, _block_body(inner), field_of(block, "parameters"), literals)
    return None


def _block_body(node: Node | None) -> Node | None:
    return field_of(node, "body") if node is not None and node.type in {"block", "do_block"} else node


def _same(written: str, name: str) -> bool:
    return "".join(written.split()) in {name, f"{name}@"}


def _at(root: Node, line: int) -> Iterator[Node]:
    """The nodes that begin on a line, the outermost first; what ends before it is not entered."""
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
    for parameter in parts(parameters):
        name = field_of(parameter, "name") or (parameter if parameter.type == "identifier" else None)
        if name is None:
            continue
        names.add(code.of(name))
        if (value := field_of(parameter, "value")) is not None:
            known = literals.value(value)
            if known is not None or value.type == "nil":
                defaults[code.of(name)] = known
    return Method(node, body, _owner(node), defaults, frozenset(names), _variables(code, body) - names)


def local_names(code: Code, body: Node) -> frozenset[str]:
    """The parameters and variables of a method, by its body."""
    parameters = parts(field_of(body.parent, "parameters")) if body.parent is not None else []
    named = [field_of(one, "name") or one for one in parameters]
    return _variables(code, body) | {code.of(name) for name in named}


def _variables(code: Code, body: Node | None) -> frozenset[str]:
    """The names that a body gives to something: by assigning, as parameters of blocks, by rescuing."""
    found: set[str] = set()
    waiting = [body] if body else []
    while waiting:
        node = waiting.pop()
        waiting += node.named_children
        if node.type in {"assignment", "operator_assignment"}:
            named = [field_of(node, "left")]
        elif node.type in _NAMING:
            named = list(node.named_children)
        elif node.type in _MATCHING:
            named = [field_of(node, "pattern")]
        elif node.type in _PATTERNS:  # in which a word alone is a name
            named = list(node.named_children)
            found |= {code.of(key) for key in _keys(node)}
        else:
            continue
        found |= {code.of(one) for one in named if one is not None and one.type == "identifier"}
    return frozenset(found)


def _keys(node: Node) -> list[Node]:
    """The key of `in {name:}`, which is a name when nothing stands behind it."""
    key = field_of(node, "key") if node.type == "keyword_pattern" else None
    return [key] if key is not None and field_of(node, "value") is None else []


def _owner(node: Node) -> Node | None:
    at = node.parent
    while at is not None and at.type not in _CLASSES:
        at = at.parent
    return field_of(at, "body") if at is not None else None


def superclass_of(code: Code, method: Method) -> str:
    """What the class of a method inherits from, as it is written."""
    owner = method.owner.parent if method.owner is not None else None
    while owner is not None and owner.type == "singleton_class":
        owner = owner.parent.parent if owner.parent is not None else None
    above = field_of(owner, "superclass") if owner is not None else None
    return code.of(parts(above)[0]) if above is not None and parts(above) else ""


def private_methods(code: Code, owner: Node | None, literals: Literals) -> dict[str, Node]:
    """The bodies of the private methods of a class, by name."""
    bodies: dict[str, Node] = {}
    private: set[str] = set()
    is_private = False
    for node in parts(owner):
        if node.type == "identifier" and code.of(node) in _VISIBILITIES:
            is_private = code.of(node) == "private"
        elif node.type == "method":
            _add(code, node, bodies)
            name = code.of(known) if (known := field_of(node, "name")) else ""
            private |= {name} if is_private else set()
        elif node.type == "call":
            private |= _made_private(code, node, bodies, literals)
    return {name: body for name, body in bodies.items() if name in private}


def _add(code: Code, node: Node, bodies: dict[str, Node]) -> None:
    name, body = field_of(node, "name"), field_of(node, "body")
    if name is not None and body is not None:
        bodies[code.of(name)] = body


def _made_private(code: Code, call: Node, bodies: dict[str, Node], literals: Literals) -> set[str]:
    """`private def x`, and `private :x, :y`."""
    method = field_of(call, "method")
    if method is None or code.of(method) != "private":
        return set()
    arguments = parts(field_of(call, "arguments"))
    inside = [node for node in arguments if node.type == "method"]
    for node in inside:
        _add(code, node, bodies)
    names = [code.of(name) for node in inside if (name := field_of(node, "name"))]
    return {*names, *(value for value in literals.values(arguments) if isinstance(value, str))}


_GUARDS = {"if_modifier", "unless_modifier", "if", "unless"}


class PredicateGuard(NamedTuple):
    """`return false if condition`, and its kin."""

    condition: Node
    is_unless: bool
    answer: bool


def read_predicate(code: Code, body: Node) -> tuple[list[PredicateGuard], Node] | None:
    """The guards of a body and its last expression; None for a body that does anything else."""
    statements = parts(body) if body.type == "body_statement" else [body]
    if not statements:
        return None
    guards = [_guard(code, statement) for statement in statements[:-1]]
    found = [guard for guard in guards if guard is not None]
    return (found, statements[-1]) if len(found) == len(guards) else None


def _guard(code: Code, node: Node) -> PredicateGuard | None:
    condition = field_of(node, "condition")
    if node.type not in _GUARDS or condition is None or field_of(node, "alternative") is not None:
        return None
    body = field_of(node, "body") or field_of(node, "consequence")
    inner = parts(body) if body is not None and body.type == "then" else [body]
    answer = code.of(inner[0]) if len(inner) == 1 and inner[0] is not None else ""
    if answer not in {"return true", "return false"}:
        return None
    return PredicateGuard(condition, node.type.startswith("unless"), answer == "return true")
