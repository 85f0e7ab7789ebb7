"""The ways out of a method: what it returns or raises, and what must hold for that.

An expectation of a spec (`eq(:blocked)`, `be true`, `raise_error(Declined)`) that fits one way out only proves the
conditions of this way. So no way may be missing: what is not understood is a way out with any value.
"""

from enum import StrEnum
from typing import NamedTuple

from runcard.plans.analysis.comparisons import AND, OR
from runcard.plans.analysis.conditions import Conditions
from runcard.plans.analysis.questions import Condition, MethodFlow, Path, then
from runcard.plans.ruby.ruby_values import NIL, RubyValue, text_pieces, value_of
from runcard.plans.ruby.syntax_tree import Code, Node, children, field_of

RAISING_CALLS = {"raise", "fail", "throw", "exit", "abort"}


class Result(StrEnum):
    """What is known of a result."""

    VALUE = "value"  # exactly this value
    TRUTHY = "truthy"
    FALSY = "falsy"
    ANY = "any"
    ERROR = "error"


class WayOut(NamedTuple):
    """A way out of the method."""

    path: Path  # what must hold
    result: Result
    value: RubyValue | None = None
    error: str = ""  # the class, as written; empty: any


class OutcomeNotes:
    """Notes the ways out of one method while it is walked."""

    def __init__(self, flow: MethodFlow, code: Code, conditions: Conditions) -> None:
        self._flow, self._code, self._conditions = flow, code, conditions
        self.certain: Path = ()  # guards with a modifier that were passed: they are on no path

    @property
    def count(self) -> int:
        return len(self._flow.ways_out)

    def note(self, node: Node | None, path: Path) -> None:
        """What the method returns at its end: the value of a node that is no branch."""
        if node is None:
            self.nothing(path)
            return
        left, right, operator = (field_of(node, name) for name in ("left", "right", "operator"))
        is_joined = node.type == "binary" and operator is not None and operator.type in AND | OR
        comparisons = self._conditions.comparisons
        if is_joined and left is not None and right is not None and not comparisons.is_condition(right):
            condition = self._read(left, path)
            is_and = operator is not None and operator.type in AND
            if condition is None:
                self.anything(path)
            else:
                self._choice(condition, right, path, is_and=is_and)
        elif is_joined or comparisons.is_predicate(node):
            self._truth(self._read(node, path), path)
        elif not self._is_raise(node):
            self._returned(node, path)

    def _read(self, node: Node, path: Path) -> Condition | None:
        """A condition, if all of it is known."""
        self._conditions.assignments.path = path
        self._conditions.is_partial = False
        condition = self._conditions.read(node)
        return None if self._conditions.is_partial else condition

    def _is_raise(self, node: Node) -> bool:
        method = field_of(node, "method") if node.type == "call" else node
        is_own = method is not None and field_of(node, "receiver") is None
        return is_own and method is not None and self._code.text_of(method) in RAISING_CALLS

    def nothing(self, path: Path) -> None:
        self._note(path, Result.VALUE, NIL)

    def anything(self, path: Path) -> None:
        self._note(path, Result.ANY)

    def _returned(self, node: Node, path: Path) -> None:
        """A value that is no condition."""
        value = value_of(self._code, node)
        is_known = value is not None and value.is_comparable
        self._note(path, Result.VALUE if is_known else Result.ANY, value)

    def _truth(self, condition: Condition | None, path: Path) -> None:
        """The result is whether a condition holds."""
        if condition is None:
            self.anything(path)
            return
        self._note(then(path, condition, truth=True), Result.TRUTHY)
        self._note(then(path, condition, truth=False), Result.FALSY)

    def _choice(self, left: Condition, right: Node, path: Path, *, is_and: bool) -> None:
        """The result of `left && right` or `left || right`, of which only the left side is a condition."""
        if is_and:
            self._note(then(path, left, truth=False), Result.FALSY)
            self._returned(right, then(path, left, truth=True))
        else:
            self._note(then(path, left, truth=True), Result.TRUTHY)
            self._returned(right, then(path, left, truth=False))

    def raised(self, call: Node | None, path: Path) -> None:
        """An error; without a call, or with one whose class is not written, any error."""
        arguments = children(field_of(call, "arguments")) if call is not None and call.type == "call" else []
        first = arguments[0] if arguments else None
        error = ""
        if first is not None and first.type in {"string", "chained_string"}:
            error = "RuntimeError"
        elif first is not None:
            name = field_of(first, "receiver") if first.type == "call" else first
            error = (
                self._code.text_of(name)
                if name is not None and name.type in {"constant", "scope_resolution"}
                else ""
            )
        text = next((part for part in arguments if part.type in {"string", "chained_string"}), None)
        pieces = () if text is None else tuple(text_pieces(self._code, text))
        self._note(path, Result.ERROR, RubyValue("string", pieces) if pieces else None, error=error)

    def completed(self, since: int, fine: Path) -> None:
        """The body of a `rescue`: a value that it returned means that no error was raised."""
        ways = self._flow.ways_out
        ways[since:] = [
            way if way.result is Result.ERROR else way._replace(path=way.path + fine) for way in ways[since:]
        ]

    def _note(self, path: Path, result: Result, value: RubyValue | None = None, *, error: str = "") -> None:
        self._flow.ways_out.append(WayOut(path + self.certain, result, value, error))
