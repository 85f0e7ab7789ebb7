"""The body of a method that answers yes or no: guards that answer, and the expression at its end."""

from typing import NamedTuple

from runcard.plans.ruby.syntax_tree import Code, Node, field, parts

_GUARDS = {"if_modifier", "unless_modifier", "if", "unless"}


class Guard(NamedTuple):
    """`return false if condition`, and its kin."""

    condition: Node
    is_unless: bool
    answer: bool


def read_predicate(code: Code, body: Node) -> tuple[list[Guard], Node] | None:
    """The guards of a body and its last expression; None for a body that does anything else."""
    statements = parts(body) if body.type == "body_statement" else [body]
    if not statements:
        return None
    guards = [_guard(code, statement) for statement in statements[:-1]]
    found = [guard for guard in guards if guard is not None]
    return (found, statements[-1]) if len(found) == len(guards) else None


def _guard(code: Code, node: Node) -> Guard | None:
    condition = field(node, "condition")
    if node.type not in _GUARDS or condition is None or field(node, "alternative") is not None:
        return None
    body = field(node, "body") or field(node, "consequence")
    inner = parts(body) if body is not None and body.type == "then" else [body]
    answer = code.of(inner[0]) if len(inner) == 1 and inner[0] is not None else ""
    if answer not in {"return true", "return false"}:
        return None
    return Guard(condition, node.type.startswith("unless"), answer == "return true")
