"""Memoization: `@x ||= …` and its longer forms. It is no characteristic: callers do not see whether a value is kept."""

from runcard.plans.ruby.syntax_tree import Code, Node, children, field_of

_KEPT = {"instance_variable", "class_variable", "global_variable"}
_LITERALS = {"simple_symbol", "string", "integer"}
_TESTS = {"nil?", "present?", "blank?", "empty?"}


def is_memo(left: Node) -> bool:
    """Whether `||=` keeps a value: in a variable of the object, or in a hash by a key that is computed."""
    if left.type in _KEPT:
        return True
    if left.type != "element_reference":
        return False
    owner = field_of(left, "object")
    keys = [node for node in children(left) if node != owner]
    return (owner is not None and owner.type in _KEPT) or any(key.type not in _LITERALS for key in keys)


def is_memoization(code: Code, node: Node) -> bool:
    """Whether an `if` or `unless` only keeps a value: `return @x if @x`, `@x = … if @x.nil?`."""
    test = field_of(node, "condition")
    body = field_of(node, "body") or field_of(node, "consequence")
    if test is None or body is None or field_of(node, "alternative") is not None:
        return False
    kept = _tested_variable(code, test)
    statements = children(body) if body.type == "then" else [body]
    if not statements:
        return False
    last = statements[-1]
    if last.type == "return":
        values = [code.text_of(part) for argument in children(last) for part in children(argument)]
        return (
            len(statements) == 1
            and len(values) == 1
            and (values[0] == kept or _leads_to(code, test, values[0]))
        )
    if kept is None:
        return False
    target = field_of(last, "left") if last.type == "assignment" else None
    return target is not None and code.text_of(target) == kept


def _leads_to(code: Code, test: Node, value: str) -> bool:
    """Whether a test only looks whether a kept value is there: `@x && @x[key]`, before `return @x[key]`."""
    operands, waiting = [], [test]
    while waiting:
        node = waiting.pop()
        operator = field_of(node, "operator")
        if node.type == "binary" and operator is not None and operator.type in {"&&", "and"}:
            waiting += children(node)
        else:
            operands.append(code.text_of(node))
    return value.startswith("@") and value in operands and all(value.startswith(text) for text in operands)


def _tested_variable(code: Code, test: Node) -> str | None:
    """The variable of the object that a test asks for: `@x`, `!@x`, `@x.nil?`, `defined?(@x)`."""
    at: Node | None = test
    while at is not None and at.type in {"unary", "parenthesized_statements"}:
        inner = children(at)
        at = field_of(at, "operand") if at.type == "unary" else inner[0] if len(inner) == 1 else None
    if at is not None and at.type == "call":
        method = field_of(at, "method")
        name = code.text_of(method) if method is not None else ""
        at = field_of(at, "receiver") if name in _TESTS else None
    return code.text_of(at) if at is not None and at.type in _KEPT else None
