"""The way control takes through a method: which questions are asked where, and in which answers the method is left.

A path is what must hold for a place to be reached. A guard in block form (`if x … return … end`) is on the path of what
follows it; a guard with a modifier (`return if x`) is not, it stands for itself.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from runcard.plans.analysis.conditions import AND, OR, Conditions
from runcard.plans.analysis.exclusive_predicates import in_a_row
from runcard.plans.analysis.outcomes import Outcomes
from runcard.plans.analysis.path_conditions import Asked, Flow, Left, Path, Way, then
from runcard.plans.analysis.questions import Both, Condition, Not, Question
from runcard.plans.ruby.syntax_tree import BLOCKS, METHODS, Code, Node, field, line_of, parts

DEEPEST = 120  # expressions within expressions; what lies deeper is left out
RETURN, RAISE, SKIP = "return", "raise", "next"

_LEAVING = {"raise", "fail", "throw", "exit", "abort"}
_ANSWERS = {"render", "redirect_to", "redirect_back", "redirect_back_or_to", "head"}
_SKIPPING = {"next", "break", "redo", "retry"}
_SKIPPED = METHODS | {"class", "module", "singleton_class", "comment"}
_SEQUENCES = {"body_statement", "begin", "then", "else", "do", "block_body", "parenthesized_statements"}
_SEQUENCES |= {"ensure", "program", "begin_block"}


class Walker:
    """Walks through the body of one method, and of the private methods that it calls."""

    def __init__(self, code: Code, conditions: Conditions, privates: Mapping[str, Node]) -> None:
        self._of = code.of
        self._conditions, self._privates = conditions, privates
        self._outcomes = Outcomes(code)
        self._depth = 0
        self.way = Way([], [])

    def walk(self, node: Node | None, path: Path, *, tail: bool = False) -> Flow:
        """`tail` says that the value of the node is what the method returns."""
        if node is None or node.type in _SKIPPED:
            return Flow()
        if self._depth >= DEEPEST:
            self.way.too_deep = self.way.too_deep or line_of(node)
            return Flow()
        self._depth += 1
        try:
            return self._walk(node, path, tail=tail)
        finally:
            self._depth -= 1

    def _walk(self, node: Node, path: Path, *, tail: bool) -> Flow:
        walk = self._WALKS.get(node.type)
        return self._other(node, path) if walk is None else walk(self, node, path, tail=tail)

    def _other(self, node: Node, path: Path) -> Flow:
        leaves = node.type == "return" or node.type in _SKIPPING
        for child in parts(node):
            inner = parts(child) if child.type == "argument_list" and leaves else [child]
            for one in inner:
                self.walk(one, path, tail=node.type == "return")
        if node.type == "return":
            return Flow(RETURN)
        return Flow(SKIP) if leaves else Flow()

    def _word(self, node: Node, path: Path, *, tail: bool) -> Flow:  # noqa: ARG002 - one shape for all
        if self._of(node) in self._privates:
            return self._inlined(self._of(node), path)
        return Flow(RAISE) if self._of(node) in _LEAVING else Flow()

    # One after the other

    def _sequence(self, node: Node, path: Path, *, tail: bool) -> Flow:
        inner = parts(node)
        handlers = [part for part in inner if part.type == "rescue"]
        endings = [part for part in inner if part.type in {"else", "ensure"}] if node.type != "else" else []
        body = [part for part in inner if part not in handlers and part not in endings]
        if not handlers:
            flow = self._statements(body, path, tail=tail)
        else:
            flow = self._rescued(body, handlers, endings, path, tail=tail)
        for ending in endings:
            if ending.type == "ensure":
                self.walk(ending, path)
        return flow

    def _statements(self, nodes: Sequence[Node], path: Path, *, tail: bool) -> Flow:
        at = path
        last = next((node for node in reversed(nodes) if node.type != "heredoc_body"), None)
        for node in nodes:
            flow = self.walk(node, at, tail=tail and node == last)
            if flow.ends:
                return Flow(flow.ends)
            at += flow.after
        return Flow(None, at[len(path) :])

    def _rescued(
        self, body: list[Node], handlers: list[Node], endings: list[Node], path: Path, *, tail: bool
    ) -> Flow:
        flow = self._statements(body, path, tail=tail)
        raised = [self._outcomes.raised(handler, self._conditions.via) for handler in handlers]
        ends = [flow.ends]
        for handler, question in zip(handlers, raised, strict=True):
            self._ask(question, path)
            found = self.walk(field(handler, "body"), (*path, (question, True)), tail=tail)
            self._note_left(path, question, found, truth=True)
            ends.append(found.ends)
        fine: Path = tuple((question, False) for question in raised)
        for ending in endings:
            if ending.type == "else":
                self.walk(ending, path + fine, tail=tail)
        if all(ends):
            return Flow(flow.ends)
        return Flow(None, (*fine, *flow.after) if all(ends[1:]) and not flow.ends else ())

    def _rescued_inline(self, node: Node, path: Path, *, tail: bool) -> Flow:  # noqa: ARG002 - one shape for all
        self.walk(field(node, "body"), path)
        question = self._outcomes.failed(node, self._conditions.via)
        self._ask(question, path)
        flow = self.walk(field(node, "handler"), (*path, (question, True)))
        self._note_left(path, question, flow, truth=True)
        return Flow()

    # Branches

    def _chosen(self, node: Node, path: Path, *, tail: bool) -> Flow:
        """`if`, `unless`, `elsif` and `? :`; the branches of an `elsif` are followed in a row."""
        steps: list[tuple[Node, Node | None]] = []
        at: Node | None = node
        while at is not None and at.type in {"if", "unless", "elsif", "conditional"}:
            condition = field(at, "condition")
            if condition is None:
                return Flow()
            steps.append((condition, field(at, "consequence")))
            at = field(at, "alternative")
            if node.type == "conditional":
                break
        read = in_a_row([self._conditions.read(condition) for condition, _ in steps])
        if node.type == "unless":
            read = [Not(one) if one else None for one in read]
        rounds: list[tuple[Path, Condition | None, Flow]] = []
        for (condition, body), found in zip(steps, read, strict=True):
            self._ask(found, path)
            self._inside(condition, path)
            rounds.append((path, found, self.walk(body, then(path, found, truth=True), tail=tail)))
            path = then(path, found, truth=False)
        return self._folded(rounds, self.walk(at, path, tail=tail))

    def _folded(self, rounds: list[tuple[Path, Condition | None, Flow]], rest: Flow) -> Flow:
        """What comes of branches in a row, the last of which is `rest`."""
        for path, found, flow in reversed(rounds):
            rest = self._joined(path, found, flow, rest, both=True)
        return rest

    def _modified(self, node: Node, path: Path, *, tail: bool) -> Flow:
        condition = field(node, "condition")
        if condition is None:
            return Flow()
        found = self._conditions.read(condition)
        if found is not None and node.type == "unless_modifier":
            found = Not(found)
        self._ask(found, path)
        self._inside(condition, path)
        flow = self.walk(field(node, "body"), then(path, found, truth=True), tail=tail)
        return self._joined(path, found, flow, Flow(), both=False)

    def _joined(
        self, path: Path, condition: Condition | None, first: Flow, second: Flow, *, both: bool
    ) -> Flow:
        """What comes of two branches; `both` says that a branch that is left is the guard of what follows."""
        if condition is None:
            return Flow(first.ends if first.ends and second.ends else None)
        self._note_left(path, condition, first, truth=True)
        self._note_left(path, condition, second, truth=False)
        if first.ends and second.ends:
            return Flow(first.ends if first.ends == second.ends else RETURN)
        if both and first.ends:
            return Flow(None, ((condition, False), *second.after))
        if both and second.ends:
            return Flow(None, ((condition, True), *first.after))
        return Flow()

    def _note_left(self, path: Path, condition: Condition, flow: Flow, *, truth: bool) -> None:
        if flow.ends == RAISE or (flow.ends and self._conditions.via is None):
            self.way.left.append(Left(path, condition, truth))

    def _loop(self, node: Node, path: Path, *, tail: bool) -> Flow:  # noqa: ARG002 - one shape for all
        condition = field(node, "condition")
        found = self._conditions.read(condition) if condition else None
        if condition is not None:
            self._ask(found, path)
            self._inside(condition, path)
        self.walk(field(node, "body"), then(path, found, truth=node.type.startswith("while")))
        return Flow()

    # Cases

    def _case(self, node: Node, path: Path, *, tail: bool) -> Flow:
        value = field(node, "value")
        clauses = [part for part in parts(node) if part.type in {"when", "in_clause"}]
        otherwise = next((part for part in parts(node) if part.type == "else"), None)
        self.walk(value, path)
        steps = [(self._clause(value, clause, clauses, otherwise), clause) for clause in clauses]
        rounds: list[tuple[Path, Condition | None, Flow]] = []
        at = behind = (
            path  # values exclude each other, so that the path to a clause need not name those before
        )
        for found, clause in steps:
            self._ask(found, at)
            flow = self.walk(field(clause, "body"), then(at, found, truth=True), tail=tail)
            rounds.append((behind, found, flow))
            behind = then(behind, found, truth=False)
            at = at if isinstance(found, Question) else then(at, found, truth=False)
        return self._folded(rounds, self.walk(otherwise, behind, tail=tail))

    def _clause(
        self, value: Node | None, clause: Node, clauses: list[Node], otherwise: Node | None
    ) -> Condition | None:
        patterns = _patterns(clause)
        if value is None:
            found: Condition | None = None
            for pattern in patterns:
                for one in parts(pattern):
                    found = self._conditions.joined(found, self._conditions.read(one), both=False)
            return found
        every = [pattern for one in clauses for pattern in _patterns(one)]
        question: Condition = self._conditions.chosen(
            value,
            patterns,
            clause,
            is_closed=otherwise is None,
            numbers=self._conditions.patterns.are_numbers(every),
        )
        guard = field(clause, "guard")
        condition = field(guard, "condition") if guard else None
        inner = self._conditions.read(condition) if condition else None
        if inner is None or guard is None:
            return question
        return Both(question, Not(inner) if guard.type == "unless_guard" else inner)

    # Expressions

    def _binary(self, node: Node, path: Path, *, tail: bool) -> Flow:
        left, right, operator = (field(node, name) for name in ("left", "right", "operator"))
        if left is None or right is None or operator is None or operator.type not in AND | OR:
            if tail and self._conditions.asks(node):
                self._ask(self._conditions.read(node), path)
            return self._other(node, path)
        if self._conditions.is_condition(right):
            self._ask(self._conditions.read(node), path)
            self._inside(node, path)
            return Flow()
        if right.type == "return" and operator.type in AND and self._answers(left):
            self.walk(left, path)
            return self.walk(right, path)
        found, truth = self._conditions.read(left), operator.type in AND
        self._ask(found, path)
        self._inside(left, path)
        flow = self.walk(right, then(path, found, truth=truth), tail=tail)
        if found is not None:
            self._note_left(path, found, flow, truth=truth)
        return Flow()

    def _unary(self, node: Node, path: Path, *, tail: bool) -> Flow:
        operand = field(node, "operand")
        if tail and operand is not None and self._conditions.asks(operand):
            self._ask(self._conditions.read(node), path)
        return self._other(node, path)

    def _named(self, node: Node, path: Path, *, tail: bool) -> Flow:  # noqa: ARG002 - one shape for all
        """`premium = user.premium?`: where the variable is asked later, it is this that is asked."""
        left, right = field(node, "left"), field(node, "right")
        self.walk(right, path)
        if left is not None and left.type == "identifier":
            name, known = self._of(left), self._conditions.variables
            is_clear = name not in known and right is not None and self._conditions.is_condition(right)
            known[name] = right if is_clear else None
        return Flow()

    def _answers(self, node: Node) -> bool:
        """`redirect_to x and return`: what answers a request is done for its effect, not asked for its result."""
        method = field(node, "method") if node.type == "call" else None
        return method is not None and self._of(method) in _ANSWERS

    def _assigned(self, node: Node, path: Path, *, tail: bool) -> Flow:  # noqa: ARG002 - one shape for all
        left, right, operator = (field(node, name) for name in ("left", "right", "operator"))
        if left is None or operator is None or operator.type not in {"||=", "&&="}:
            return self._other(node, path)
        question = self._conditions.assigned(left, node)
        self._ask(question, path)
        self.walk(right, (*path, (question, operator.type == "&&=")))
        return Flow()

    def _call(self, node: Node, path: Path, *, tail: bool) -> Flow:
        receiver, method = field(node, "receiver"), field(node, "method")
        name = self._of(method) if method else ""
        if tail and self._conditions.asks(node):
            self._ask(self._conditions.read(node), path)
        self.walk(receiver, path)
        inner = path
        operator = field(node, "operator")
        if receiver is not None and operator is not None and operator.type == "&.":
            there = self._conditions.there(receiver)
            self._ask(there, path)
            inner = (*path, (there, True))
        for argument in parts(field(node, "arguments")):
            self.walk(argument, inner)
        if block := field(node, "block"):
            self._block(block, inner)
        if receiver is None or receiver.type == "self":
            if name in _LEAVING and receiver is None:
                return Flow(RAISE)
            if name in self._privates:
                return self._inlined(name, path)
        return Flow()

    def _block(self, block: Node, path: Path) -> None:
        body = field(block, "body")
        self.walk(body if block.type in BLOCKS else block, path)

    def _inside(self, condition: Node, path: Path) -> None:
        """What stands inside the questions of a condition: blocks, arguments, assignments."""
        waiting = [condition]
        while waiting:
            node = waiting.pop()
            operator = field(node, "operator")
            joins = node.type == "parenthesized_statements" or (
                operator is not None and operator.type in AND | OR | {"!", "not"}
            )
            if joins:
                waiting += reversed(parts(node))
            elif node.type in {"if", "conditional", "case", "case_match", "unless"}:
                self.walk(node, path)
            elif node.type == "call":
                self.walk(field(node, "receiver"), path)
                for argument in parts(field(node, "arguments")):
                    self.walk(argument, path)
                if block := field(node, "block"):
                    self._block(block, path)
            else:
                for child in parts(node):
                    self.walk(child, path)

    def _inlined(self, name: str, path: Path) -> Flow:
        """The body of a private method, at the place where it is called; one level deep."""
        if self._conditions.via is not None:
            return Flow()
        outside, self._conditions.variables = self._conditions.variables, {}
        self._conditions.via = name
        flow = self.walk(self._privates[name], path)
        self._conditions.via = None
        self._conditions.variables = outside
        return Flow(RAISE if flow.ends == RAISE else None)

    # Functions, not methods of this walker, which would hold itself in a circle.
    _WALKS: ClassVar[dict[str, Callable[..., Flow]]] = {
        **dict.fromkeys(_SEQUENCES, _sequence),
        **dict.fromkeys(("if", "unless", "elsif", "conditional"), _chosen),
        **dict.fromkeys(("if_modifier", "unless_modifier"), _modified),
        **dict.fromkeys(("case", "case_match"), _case),
        **dict.fromkeys(("while", "until", "while_modifier", "until_modifier"), _loop),
        "assignment": _named,
        "binary": _binary,
        "unary": _unary,
        "operator_assignment": _assigned,
        "rescue_modifier": _rescued_inline,
        "call": _call,
        "identifier": _word,
    }

    def _ask(self, condition: Condition | None, path: Path) -> None:
        """Take note of all questions of a condition, each with what must hold for it to be asked."""
        if isinstance(condition, Question):
            self.way.asked.append(Asked(condition, path))
        elif isinstance(condition, Not):
            self._ask(condition.inner, path)
        elif isinstance(condition, Both):
            self._ask(condition.left, path)
            self._ask(condition.right, (*path, (condition.left, True)))


def _patterns(clause: Node) -> list[Node]:
    if clause.type == "when":
        return [part for part in parts(clause) if part.type == "pattern"]
    pattern = field(clause, "pattern")
    return [pattern] if pattern else []
