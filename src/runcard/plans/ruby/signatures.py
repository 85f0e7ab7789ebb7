"""What must be handed to a Ruby method: its required parameters, by the text of its definition."""

from dataclasses import dataclass

from runcard.plans.ruby.source_text import read_source
from runcard.plans.ruby.syntax_tree import METHODS, Code, Node, field, line_of, parts, read_code
from runcard.plans.ruby.targets import Outcome, find_target


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that has no default."""

    name: str  # empty where it has none, because it is taken apart
    is_keyword: bool = False


def parameters(path: str, class_name: str, method: str, method_type: str) -> tuple[Parameter, ...]:
    """The required parameters of a method; none where it is not there, or not defined by `def`."""
    found = find_target(path, class_name, method, method_type)
    if found.outcome is not Outcome.FOUND or found.line is None:
        return ()
    code, _ = read_code(read_source(path))
    node = _definition(code, method, found.line)
    return tuple(_required(code, node)) if node is not None else ()


def _definition(code: Code, method: str, line: int) -> Node | None:
    waiting = [code.root]
    while waiting:
        node = waiting.pop()
        if node.type in METHODS and line_of(node) == line:
            name = field(node, "name")
            if name is not None and code.of(name) == method:
                return node
        waiting += node.named_children
    return None


def _required(code: Code, node: Node) -> list[Parameter]:
    found: list[Parameter] = []
    for part in parts(field(node, "parameters")):
        if part.type == "identifier":
            found.append(Parameter(code.of(part)))
        elif part.type == "destructured_parameter":
            found.append(Parameter(""))
        elif part.type == "keyword_parameter" and field(part, "value") is None:
            name = field(part, "name")
            found.append(Parameter(code.of(name) if name else "", is_keyword=True))
    return found
