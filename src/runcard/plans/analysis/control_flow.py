"""The control flow of a method: `if`, `unless`, `case`, loops and `rescue`, walked from top to bottom.

For each question it notes the path (what must hold for the question to be reached), and for each branch whether it
leaves the method. A guard in block form (`if x … return … end`) is on the path of the code after it; a guard with a
modifier (`return if x`) is not.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from runcard.plans.analysis.comparisons import AND, OR
from runcard.plans.analysis.conditions import Conditions
from runcard.plans.analysis.questions import (
    Both,
    Condition,
    Exit,
    FlowResult,
    MethodFlow,
    Not,
    Path,
    PathQuestion,
    Question,
    as_exclusive_choice,
    then,
)
from runcard.plans.analysis.rescues import RescueReader
from runcard.plans.ruby.syntax_tree import BLOCKS, METHODS, Code, Node, children, field_of, line_of

MAX_DEPTH = 120  # nested expressions; deeper ones are left out
RETURN, RAISE, SKIP = "return", "raise", "next"

_RAISING_CALLS = {"raise", "fail", "throw", "exit", "abort"}
_RESPONSES = {"render", "redirect_to", "redirect_back", "redirect_back_or_to", "head"}
_JUMPS = {"next", "break", "redo", "retry"}
_NOT_WALKED = METHODS | {"class", "module", "singleton_class", "comment"}
_SEQUENCES = {"body_statement", "begin", "then", "else", "do", "block_body", "parenthesized_statements"}
_SEQUENCES |= {"ensure", "program", "begin_block"}


class Walker:
    """Walks the body of one method, and of the private methods that it calls."""

    def __init__(self, code: Code, conditions: Conditions, privates: Mapping[str, Node]) -> None:
        self._text_of = code.text_of
        self._conditions, self._privates = conditions, privates
        self._comparisons = conditions.comparisons
        self._rescues = RescueReader(code)
        self._depth = 0
        self.flow = MethodFlow([], [])

    def walk(self, node: Node | None, path: Path, *, tail: bool = False) -> FlowResult:
        """Walk a node; `tail` means that its value is the return value of the method."""
        if node is None or node.type in _NOT_WALKED:
            return FlowResult()
        if self._depth >= MAX_DEPTH:
            self.flow.too_deep = self.flow.too_deep or line_of(node)
            return FlowResult()
        self._depth += 1
        try:
            return self._walk(node, path, tail=tail)
        finally:
            self._depth -= 1

    def _walk(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        walk = self._WALKS.get(node.type)
        return self._generic(node, path) if walk is None else walk(self, node, path, tail=tail)

    def _generic(self, node: Node, path: Path) -> FlowResult:
        leaves = node.type == "return" or node.type in _JUMPS
        for child in children(node):
            inner = children(child) if child.type == "argument_list" and leaves else [child]
            for part in inner:
                self.walk(part, path, tail=node.type == "return")
        if node.type == "return":
            return FlowResult(RETURN)
        return FlowResult(SKIP) if leaves else FlowResult()

    def _identifier(self, node: Node, path: Path, *, tail: bool) -> FlowResult:  # noqa: ARG002 - the same signature for all
        if self._text_of(node) in self._privates:
            return self._inlined(self._text_of(node), path)
        return FlowResult(RAISE) if self._text_of(node) in _RAISING_CALLS else FlowResult()

    # Sequences

    def _sequence(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        inner = children(node)
        handlers = [part for part in inner if part.type == "rescue"]
        endings = [part for part in inner if part.type in {"else", "ensure"}] if node.type != "else" else []
        body = [part for part in inner if part not in handlers and part not in endings]
        if not handlers:
            flow = self._statements(body, path, tail=tail)
        else:
            flow = self._with_rescue(body, handlers, endings, path, tail=tail)
        for ending in endings:
            if ending.type == "ensure":
                self.walk(ending, path)
        return flow

    def _statements(self, nodes: Sequence[Node], path: Path, *, tail: bool) -> FlowResult:
        at = path
        last = next((node for node in reversed(nodes) if node.type != "heredoc_body"), None)
        for node in nodes:
            flow = self.walk(node, at, tail=tail and node == last)
            if flow.ends:
                return FlowResult(flow.ends)
            at += flow.after
        return FlowResult(None, at[len(path) :])

    def _with_rescue(
        self, body: list[Node], handlers: list[Node], endings: list[Node], path: Path, *, tail: bool
    ) -> FlowResult:
        flow = self._statements(body, path, tail=tail)
        raised = [self._rescues.raised(handler, self._conditions.via) for handler in handlers]
        ends = [flow.ends]
        for handler, question in zip(handlers, raised, strict=True):
            self._ask(question, path)
            result = self.walk(field_of(handler, "body"), (*path, (question, True)), tail=tail)
            self._note_exit(path, question, result, truth=True)
            ends.append(result.ends)
        fine: Path = tuple((question, False) for question in raised)
        for ending in endings:
            if ending.type == "else":
                self.walk(ending, path + fine, tail=tail)
        if all(ends):
            return FlowResult(flow.ends)
        return FlowResult(None, (*fine, *flow.after) if all(ends[1:]) and not flow.ends else ())

    def _inline_rescue(self, node: Node, path: Path, *, tail: bool) -> FlowResult:  # noqa: ARG002 - the same signature for all
        self.walk(field_of(node, "body"), path)
        question = self._rescues.raised_inline(node, self._conditions.via)
        self._ask(question, path)
        flow = self.walk(field_of(node, "handler"), (*path, (question, True)))
        self._note_exit(path, question, flow, truth=True)
        return FlowResult()

    # Branches

    def _if(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        """`if`, `unless` and `? :`, with all `elsif` branches and `else`."""
        steps: list[tuple[Node, Node | None]] = []
        at: Node | None = node
        while at is not None and at.type in {"if", "unless", "elsif", "conditional"}:
            test = field_of(at, "condition")
            if test is None:
                return FlowResult()
            steps.append((test, field_of(at, "consequence")))
            at = field_of(at, "alternative")
            if node.type == "conditional":
                break
        conditions = as_exclusive_choice([self._conditions.read(test) for test, _ in steps])
        if node.type == "unless":
            conditions = [Not(condition) if condition else None for condition in conditions]
        branches: list[tuple[Path, Condition | None, FlowResult]] = []
        for (test, body), condition in zip(steps, conditions, strict=True):
            self._ask(condition, path)
            self._walk_operands(test, path)
            branches.append((path, condition, self.walk(body, then(path, condition, truth=True), tail=tail)))
            path = then(path, condition, truth=False)
        return self._combined(branches, self.walk(at, path, tail=tail))

    def _combined(
        self, branches: list[tuple[Path, Condition | None, FlowResult]], rest: FlowResult
    ) -> FlowResult:
        """The result of consecutive branches, the last of which is `rest`."""
        for path, condition, flow in reversed(branches):
            rest = self._joined(path, condition, flow, rest, both=True)
        return rest

    def _modifier(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        test = field_of(node, "condition")
        if test is None:
            return FlowResult()
        condition = self._conditions.read(test)
        if condition is not None and node.type == "unless_modifier":
            condition = Not(condition)
        self._ask(condition, path)
        self._walk_operands(test, path)
        flow = self.walk(field_of(node, "body"), then(path, condition, truth=True), tail=tail)
        return self._joined(path, condition, flow, FlowResult(), both=False)

    def _joined(
        self, path: Path, condition: Condition | None, first: FlowResult, second: FlowResult, *, both: bool
    ) -> FlowResult:
        """The result of two branches; with `both`, a branch that leaves the method guards the code after it."""
        if condition is None:
            return FlowResult(first.ends if first.ends and second.ends else None)
        self._note_exit(path, condition, first, truth=True)
        self._note_exit(path, condition, second, truth=False)
        if first.ends and second.ends:
            return FlowResult(first.ends if first.ends == second.ends else RETURN)
        if both and first.ends:
            return FlowResult(None, ((condition, False), *second.after))
        if both and second.ends:
            return FlowResult(None, ((condition, True), *first.after))
        return FlowResult()

    def _note_exit(self, path: Path, condition: Condition, flow: FlowResult, *, truth: bool) -> None:
        if flow.ends == RAISE or (flow.ends and self._conditions.via is None):
            self.flow.exits.append(Exit(path, condition, truth))

    def _loop(self, node: Node, path: Path, *, tail: bool) -> FlowResult:  # noqa: ARG002 - the same signature for all
        test = field_of(node, "condition")
        condition = self._conditions.read(test) if test else None
        if test is not None:
            self._ask(condition, path)
            self._walk_operands(test, path)
        self.walk(field_of(node, "body"), then(path, condition, truth=node.type.startswith("while")))
        return FlowResult()

    # Cases

    def _case(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        value = field_of(node, "value")
        clauses = [part for part in children(node) if part.type in {"when", "in_clause"}]
        otherwise = next((part for part in children(node) if part.type == "else"), None)
        self.walk(value, path)
        steps = [(self._clause(value, clause, clauses, otherwise), clause) for clause in clauses]
        branches: list[tuple[Path, Condition | None, FlowResult]] = []
        at = after = (
            path  # values exclude each other: the path to a clause need not name the clauses before it
        )
        for condition, clause in steps:
            self._ask(condition, at)
            flow = self.walk(field_of(clause, "body"), then(at, condition, truth=True), tail=tail)
            branches.append((after, condition, flow))
            after = then(after, condition, truth=False)
            at = at if isinstance(condition, Question) else then(at, condition, truth=False)
        return self._combined(branches, self.walk(otherwise, after, tail=tail))

    def _clause(
        self, value: Node | None, clause: Node, clauses: list[Node], otherwise: Node | None
    ) -> Condition | None:
        patterns = _patterns(clause)
        if value is None:
            condition: Condition | None = None
            for pattern in patterns:
                for expression in children(pattern):
                    condition = self._conditions.joined(
                        condition, self._conditions.read(expression), both=False
                    )
            return condition
        all_patterns = [pattern for other in clauses for pattern in _patterns(other)]
        question: Condition = self._conditions.choice(
            value,
            patterns,
            clause,
            is_closed=otherwise is None,
            numbers=self._comparisons.are_numbers(all_patterns),
        )
        guard = field_of(clause, "guard")
        test = field_of(guard, "condition") if guard else None
        inner = self._conditions.read(test) if test else None
        if inner is None or guard is None:
            return question
        return Both(question, Not(inner) if guard.type == "unless_guard" else inner)

    # Expressions

    def _binary(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        left, right, operator = (field_of(node, name) for name in ("left", "right", "operator"))
        if left is None or right is None or operator is None or operator.type not in AND | OR:
            if tail and self._comparisons.is_comparison(node):
                self._ask(self._conditions.read(node), path)
            return self._generic(node, path)
        if self._comparisons.is_condition(right):
            self._ask(self._conditions.read(node), path)
            self._walk_operands(node, path)
            return FlowResult()
        if right.type == "return" and operator.type in AND and self._is_response(left):
            self.walk(left, path)
            return self.walk(right, path)
        condition, truth = self._conditions.read(left), operator.type in AND
        self._ask(condition, path)
        self._walk_operands(left, path)
        flow = self.walk(right, then(path, condition, truth=truth), tail=tail)
        if condition is not None:
            self._note_exit(path, condition, flow, truth=truth)
        return FlowResult()

    def _unary(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        operand = field_of(node, "operand")
        if tail and operand is not None and self._comparisons.is_comparison(operand):
            self._ask(self._conditions.read(node), path)
        return self._generic(node, path)

    def _assignment(self, node: Node, path: Path, *, tail: bool) -> FlowResult:  # noqa: ARG002 - the same signature for all
        """Remember `premium = user.premium?`: a later condition on the variable is a condition on this."""
        left, right = field_of(node, "left"), field_of(node, "right")
        self.walk(right, path)
        if left is not None and left.type == "identifier":
            name, known = self._text_of(left), self._conditions.variables
            is_clear = name not in known and right is not None and self._comparisons.is_condition(right)
            known[name] = right if is_clear else None
        return FlowResult()

    def _is_response(self, node: Node) -> bool:
        """Whether a call sends a response (`redirect_to x and return`): its result is not a condition."""
        method = field_of(node, "method") if node.type == "call" else None
        return method is not None and self._text_of(method) in _RESPONSES

    def _operator_assignment(self, node: Node, path: Path, *, tail: bool) -> FlowResult:  # noqa: ARG002 - the same signature for all
        left, right, operator = (field_of(node, name) for name in ("left", "right", "operator"))
        if left is None or operator is None or operator.type not in {"||=", "&&="}:
            return self._generic(node, path)
        question = self._conditions.default_assignment(left, node)
        self._ask(question, path)
        self.walk(right, (*path, (question, operator.type == "&&=")))
        return FlowResult()

    def _call(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        receiver, method = field_of(node, "receiver"), field_of(node, "method")
        name = self._text_of(method) if method else ""
        if tail and self._comparisons.is_comparison(node):
            self._ask(self._conditions.read(node), path)
        self.walk(receiver, path)
        inner = path
        operator = field_of(node, "operator")
        if receiver is not None and operator is not None and operator.type == "&.":
            presence = self._conditions.presence(receiver)
            self._ask(presence, path)
            inner = (*path, (presence, True))
        for argument in children(field_of(node, "arguments")):
            self.walk(argument, inner)
        if block := field_of(node, "block"):
            self._block(block, inner)
        if receiver is None or receiver.type == "self":
            if name in _RAISING_CALLS and receiver is None:
                return FlowResult(RAISE)
            if name in self._privates:
                return self._inlined(name, path)
        return FlowResult()

    def _block(self, block: Node, path: Path) -> None:
        body = field_of(block, "body")
        self.walk(body if block.type in BLOCKS else block, path)

    def _walk_operands(self, condition: Node, path: Path) -> None:
        """Walk the operands of a condition: blocks, arguments, assignments."""
        waiting = [condition]
        while waiting:
            node = waiting.pop()
            operator = field_of(node, "operator")
            joins = node.type == "parenthesized_statements" or (
                operator is not None and operator.type in AND | OR | {"!", "not"}
            )
            if joins:
                waiting += reversed(children(node))
            elif node.type in {"if", "conditional", "case", "case_match", "unless"}:
                self.walk(node, path)
            elif node.type == "call":
                self.walk(field_of(node, "receiver"), path)
                for argument in children(field_of(node, "arguments")):
                    self.walk(argument, path)
                if block := field_of(node, "block"):
                    self._block(block, path)
            else:
                for child in children(node):
                    self.walk(child, path)

    def _inlined(self, name: str, path: Path) -> FlowResult:
        """Walk the body of a private method where it is called; one level deep."""
        if self._conditions.via is not None:
            return FlowResult()
        outside, self._conditions.variables = self._conditions.variables, {}
        self._conditions.via = name
        flow = self.walk(self._privates[name], path)
        self._conditions.via = None
        self._conditions.variables = outside
        return FlowResult(RAISE if flow.ends == RAISE else None)

    # Plain functions: bound methods would make a reference cycle that keeps the syntax tree alive.
    _WALKS: ClassVar[dict[str, Callable[..., FlowResult]]] = {
        **dict.fromkeys(_SEQUENCES, _sequence),
        **dict.fromkeys(("if", "unless", "elsif", "conditional"), _if),
        **dict.fromkeys(("if_modifier", "unless_modifier"), _modifier),
        **dict.fromkeys(("case", "case_match"), _case),
        **dict.fromkeys(("while", "until", "while_modifier", "until_modifier"), _loop),
        "assignment": _assignment,
        "binary": _binary,
        "unary": _unary,
        "operator_assignment": _operator_assignment,
        "rescue_modifier": _inline_rescue,
        "call": _call,
        "identifier": _identifier,
    }

    def _ask(self, condition: Condition | None, path: Path) -> None:
        """Note all questions of a condition, each with its path."""
        if isinstance(condition, Question):
            self.flow.questions.append(PathQuestion(condition, path))
        elif isinstance(condition, Not):
            self._ask(condition.inner, path)
        elif isinstance(condition, Both):
            self._ask(condition.left, path)
            self._ask(condition.right, (*path, (condition.left, True)))


def _patterns(clause: Node) -> list[Node]:
    if clause.type == "when":
        return [part for part in children(clause) if part.type == "pattern"]
    pattern = field_of(clause, "pattern")
    return [pattern] if pattern else []
