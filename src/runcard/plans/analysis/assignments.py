"""The variables of a method: what each was assigned, on which path, and when it is present because of that.

After `survey = a || b`, a condition on `survey` is one on `a` and `b`: a plan must not ask for a present `a` and an absent
`survey`. A value that tells nothing (the result of a call) leaves the variable a subject of its own.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from runcard.plans.analysis.comparisons import AND, OR, Comparisons
from runcard.plans.analysis.questions import (
    Condition,
    Path,
    Truth,
    alternative,
    chosen,
    conjunction,
    negation,
)
from runcard.plans.analysis.subjects import unwrapped
from runcard.plans.ruby.syntax_tree import METHODS, Code, Node, children, field_of

_MAX_ASSIGNMENTS = 4
_MAX_DEPTH = 20
_BRANCHES = {"if", "unless", "conditional", "elsif"}
_ABSENT = {"nil", "false"}
_PRESENT = {
    "true",
    "integer",
    "float",
    "simple_symbol",
    "delimited_symbol",
    "lambda",
    "regex",
    "range",
    "rational",
}
_FILLED = {"string", "array", "hash", "string_array", "symbol_array", "heredoc_beginning", "chained_string"}
_MAKERS = {
    "new",
    "build",
    "l",
    "t",
    "translate",
    "create!",
    "find",
    "find_by!",
    "first!",
    "dup",
    "clone",
    "to_s",
    "to_a",
}
# What fills a list, hash or text in place: `x << 1`, `x[:a] = 1`, `x.push(1)`, `x.merge!(y)`, `fill(x)`.
_FILLING = (
    r"(?<![\w.@]){name}\s*(?:<<|\+=|\[[^\]]*\]\s*(?:\|\||\+)?=(?![=~])"
    r"|\.(?:\w+!|push|append|add|concat|store|unshift|prepend|insert|update|replace)\b)|[(,]\s*{name}\s*[,)]"
)
_SEQUENCES = {"begin", "then", "else", "parenthesized_statements", "body_statement", "block_body"}


class VariableAssignment(NamedTuple):
    """One assignment of a variable."""

    value: Node | None  # None: not known
    path: Path
    blocks: tuple[int, ...]  # the blocks and loops that it is in
    is_default: bool = False  # `||=`


class Assignments:
    """All assignments so far, in the order of the text."""

    def __init__(self) -> None:
        self._known: dict[str, list[VariableAssignment]] = {}
        self.path: Path = ()  # of the place that is being read
        self.blocks: tuple[int, ...] = ()

    def add(self, name: str, value: Node | None, *, is_default: bool = False) -> None:
        self._known.setdefault(name, []).append(VariableAssignment(value, self.path, self.blocks, is_default))

    def of(self, name: str) -> list[VariableAssignment]:
        return self._known.get(name, [])

    def single_value(self, name: str) -> Node | None:
        """What a variable was assigned, if it was assigned once."""
        known = self.of(name)
        return known[0].value if len(known) == 1 else None

    def path_to(self, assignment: VariableAssignment) -> Path | None:
        """What must hold for an assignment to have been made; None if it cannot be told or was surely not made."""
        if assignment.blocks != self.blocks[: len(assignment.blocks)]:
            return None
        made, here = assignment.path, self.path
        shared = 0
        while shared < min(len(made), len(here)) and made[shared] == here[shared]:
            shared += 1
        return made[shared:]


class PresenceReader:
    """Tells when a variable is present, from what it was assigned.

    `ask` makes the condition that a value is present; it gets the value and the predicate of the code.
    """

    def __init__(
        self,
        code: Code,
        comparisons: Comparisons,
        assignments: Assignments,
        ask: Callable[[Node, str | None], Condition | None],
    ) -> None:
        self._code, self._comparisons = code, comparisons
        self._assignments, self._ask = assignments, ask
        self._reading: set[str] = set()

    def of_variable(self, variable: Node, predicate: str | None) -> Truth:
        """When a variable is present; None: its assignments tell nothing."""
        name = self._code.text_of(variable)
        known = self._assignments.of(name)
        if not known or len(known) > _MAX_ASSIGNMENTS or name in self._reading:
            return None
        self._reading.add(name)
        try:
            return self._folded(variable, known, predicate)
        finally:
            self._reading.discard(name)

    def _folded(self, variable: Node, known: list[VariableAssignment], predicate: str | None) -> Truth:
        truth, unclear = self._before(variable, known[0], predicate), 0
        if truth is None:
            return None
        for assignment in known:
            path = self._assignments.path_to(assignment)
            if path is None:
                return None
            if _contradicts(path, self._assignments.path):
                continue
            value = self._assigned(variable, assignment.value, predicate)
            if value is None:
                unclear += 1
                value = self._ask(variable, predicate)
            if value is None or unclear > 1:
                return None
            if assignment.is_default:
                value = alternative(truth, value)
            made: Condition | bool = True
            for condition, holds in path:
                made = conjunction(made, condition if holds else negation(condition))
            truth = chosen(made, value, truth)
        is_plain = unclear == 1 and len(known) == 1 and not self._assignments.path_to(known[0])
        return None if is_plain else truth

    def _before(self, variable: Node, first: VariableAssignment, predicate: str | None) -> Truth:
        """Whether a variable is present before its first assignment; None: it cannot be told."""
        if variable.type != "identifier":
            return None if self._assignments.path_to(first) else False
        if is_parameter(self._code, variable):
            return self._ask(variable, predicate)
        return False  # a local variable that was not assigned is nil

    def _assigned(self, variable: Node, value: Node | None, predicate: str | None) -> Truth:
        truth = self.of_value(value, predicate)
        is_open = truth is False and predicate is not None and self._is_filled_later(variable, value)
        return None if is_open else truth

    def _is_filled_later(self, variable: Node, value: Node | None) -> bool:
        """Whether a variable begins as an empty list, hash or text that other code fills: `errors << message`."""
        plain = unwrapped(self._code, value) if value is not None else None
        if plain is None or plain.type not in _FILLED or plain.named_child_count:
            return False
        name = re.escape(self._code.text_of(variable))
        method = _enclosing_method(variable)
        return re.search(_FILLING.format(name=name), self._code.text_of(method)) is not None

    def of_value(self, node: Node | None, predicate: str | None, depth: int = 0) -> Truth:
        """When the value of an expression is present; None: only the expression itself can tell."""
        node = unwrapped(self._code, node) if node is not None else None
        if node is None or depth > _MAX_DEPTH:
            return None
        if node.type in _SEQUENCES:
            return self._of_sequence(node, predicate, depth)
        operator = field_of(node, "operator")
        if node.type == "binary" and operator is not None and operator.type in AND | OR:
            left, right = (self._part(field_of(node, side), predicate, depth) for side in ("left", "right"))
            if left is None or right is None:
                return None
            return conjunction(left, right) if operator.type in AND else alternative(left, right)
        if node.type in _BRANCHES:
            return self._of_branches(node, predicate, depth)
        if predicate is None and self._comparisons.is_condition(node):
            return self._ask(node, None)
        return self._of_literal(node, predicate)

    def _of_sequence(self, node: Node, predicate: str | None, depth: int) -> Truth:
        inner = children(node)
        if any(part.type in {"rescue", "ensure"} for part in inner):
            return None
        return self._part(inner[-1], predicate, depth) if inner else False

    def _part(self, node: Node | None, predicate: str | None, depth: int) -> Truth:
        """A part of a value; one that tells nothing is asked for itself."""
        if node is None:
            return False
        plain = unwrapped(self._code, node)
        if plain.type in {"identifier", "instance_variable"}:
            linked = self.of_variable(plain, predicate)
            return self._ask(plain, predicate) if linked is None else linked
        value = self.of_value(node, predicate, depth + 1)
        return self._ask(plain, predicate) if value is None else value

    def _of_branches(self, node: Node, predicate: str | None, depth: int) -> Truth:
        test = field_of(node, "condition")
        condition = self._ask(test, None) if test is not None else None
        if condition is None:
            return None
        first, second = (
            self._part(field_of(node, name), predicate, depth) for name in ("consequence", "alternative")
        )
        if first is None or second is None:
            return None
        return chosen(negation(condition) if node.type == "unless" else condition, first, second)

    def _of_literal(self, node: Node, predicate: str | None) -> Truth:
        if node.type in _ABSENT:
            return False
        if node.type in _PRESENT:
            return True
        if node.type in _FILLED:
            return predicate is None or bool(node.named_child_count)
        method = field_of(node, "method") if node.type == "call" else None
        is_made = method is not None and self._code.text_of(method) in _MAKERS and not _passes_block(node)
        return True if is_made and predicate is None else None


def _passes_block(call: Node) -> bool:
    """`list.find { … }` may find nothing, unlike `Model.find(id)`."""
    arguments = children(field_of(call, "arguments"))
    return field_of(call, "block") is not None or any(each.type == "block_argument" for each in arguments)


def is_parameter(code: Code, variable: Node) -> bool:
    """Whether a variable is a parameter of its method, or of a block around it."""
    name, at = code.text_of(variable), variable.parent
    while at is not None:
        for parameter in children(field_of(at, "parameters")):
            named = field_of(parameter, "name") or parameter
            if named.type == "identifier" and code.text_of(named) == name:
                return True
        at = None if at.type in METHODS else at.parent
    return False


def _enclosing_method(node: Node) -> Node:
    at = node
    while at.parent is not None and at.type not in METHODS:
        at = at.parent
    return at


def _contradicts(path: Path, here: Path) -> bool:
    """Whether a path cannot hold here, such as the other branch of an `if`."""
    known = {(id(condition), holds) for condition, holds in here}
    return any((id(condition), not holds) in known for condition, holds in path)
