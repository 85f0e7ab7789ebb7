"""The way control takes through a method: which questions are asked where, and in which answers the method is left.

A path is what must hold for a place to be reached. A guard in block form (`if x … return … end`) is on the path of what
follows it; a guard with a modifier (`return if x`) is not, it stands for itself.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from runcard.plans.analysis.conditions import AND, OR, Conditions
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
    RescueOutcome,
    as_exclusive_choice,
    then,
)
from runcard.plans.analysis.subjects import Subject, one_line, slug
from runcard.plans.analysis.vocabulary import FAILED
from runcard.plans.ruby.rails import underscore
from runcard.plans.ruby.syntax_tree import BLOCKS, METHODS, Code, Node, field_of, line_of, parts

_GENERAL = {"Error", "Exception"}  # which say little without their module


class RescueReader:
    """Reads the `rescue`s of one text."""

    def __init__(self, code: Code) -> None:
        self._of = code.of

    def raised(self, handler: Node, via: str | None) -> Question:
        """Whether the errors of a `rescue` were raised."""
        listed = field_of(handler, "exceptions")
        errors = tuple(dict.fromkeys(self._name(one) for one in parts(listed))) or (FAILED,)
        text = one_line(f"rescue {self._of(listed)}" if listed else "rescue")
        return self._asked(errors, text, handler, handler.parent or handler, via)

    def failed(self, node: Node, via: str | None) -> Question:
        """Whether what stands before a `rescue` on the same line raised anything."""
        return self._asked((FAILED,), one_line(self._of(node)), node, node, via)

    @staticmethod
    def _asked(errors: tuple[str, ...], text: str, node: Node, whole: Node, via: str | None) -> Question:
        subject = Subject(f"outcome@{whole.start_byte}", "outcome", text, "")
        return Question(
            subject, ("outcome", subject.key), "outcome", RescueOutcome(errors), text, line_of(node), via
        )

    def _name(self, error: Node) -> str:
        """`Stripe::CardError` is a card error, `Timeout::Error` a timeout error."""
        *around, last = self._of(error).split("::")
        words = [*around[-1:], last] if last in _GENERAL else [last]
        return slug(underscore("_".join(words))) or FAILED


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
        self._outcomes = RescueReader(code)
        self._depth = 0
        self.way = MethodFlow([], [])

    def walk(self, node: Node | None, path: Path, *, tail: bool = False) -> FlowResult:
        """`tail` says that the value of the node is what the method returns."""
        if node is None or node.type in _SKIPPED:
            return FlowResult()
        if self._depth >= DEEPEST:
            self.way.too_deep = self.way.too_deep or line_of(node)
            return FlowResult()
        self._depth += 1
        try:
            return self._walk(node, path, tail=tail)
        finally:
            self._depth -= 1

    def _walk(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        walk = self._WALKS.get(node.type)
        return self._other(node, path) if walk is None else walk(self, node, path, tail=tail)

    def _other(self, node: Node, path: Path) -> FlowResult:
        leaves = node.type == "return" or node.type in _SKIPPING
        for child in parts(node):
            inner = parts(child) if child.type == "argument_list" and leaves else [child]
            for one in inner:
                self.walk(one, path, tail=node.type == "return")
        if node.type == "return":
            return FlowResult(RETURN)
        return FlowResult(SKIP) if leaves else FlowResult()

    def _word(self, node: Node, path: Path, *, tail: bool) -> FlowResult:  # noqa: ARG002 - one shape for all
        if self._of(node) in self._privates:
            return self._inlined(self._of(node), path)
        return FlowResult(RAISE) if self._of(node) in _LEAVING else FlowResult()

    # One after the other

    def _sequence(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
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

    def _statements(self, nodes: Sequence[Node], path: Path, *, tail: bool) -> FlowResult:
        at = path
        last = next((node for node in reversed(nodes) if node.type != "heredoc_body"), None)
        for node in nodes:
            flow = self.walk(node, at, tail=tail and node == last)
            if flow.ends:
                return FlowResult(flow.ends)
            at += flow.after
        return FlowResult(None, at[len(path) :])

    def _rescued(
        self, body: list[Node], handlers: list[Node], endings: list[Node], path: Path, *, tail: bool
    ) -> FlowResult:
        flow = self._statements(body, path, tail=tail)
        raised = [self._outcomes.raised(handler, self._conditions.via) for handler in handlers]
        ends = [flow.ends]
        for handler, question in zip(handlers, raised, strict=True):
            self._ask(question, path)
            found = self.walk(field_of(handler, "body"), (*path, (question, True)), tail=tail)
            self._note_left(path, question, found, truth=True)
            ends.append(found.ends)
        fine: Path = tuple((question, False) for question in raised)
        for ending in endings:
            if ending.type == "else":
                self.walk(ending, path + fine, tail=tail)
        if all(ends):
            return FlowResult(flow.ends)
        return FlowResult(None, (*fine, *flow.after) if all(ends[1:]) and not flow.ends else ())

    def _rescued_inline(self, node: Node, path: Path, *, tail: bool) -> FlowResult:  # noqa: ARG002 - one shape for all
        self.walk(field_of(node, "body"), path)
        question = self._outcomes.failed(node, self._conditions.via)
        self._ask(question, path)
        flow = self.walk(field_of(node, "handler"), (*path, (question, True)))
        self._note_left(path, question, flow, truth=True)
        return FlowResult()

    # Branches

    def _chosen(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        """`if`, `unless`, `elsif` and `? :`; the branches of an `elsif` are followed in a row."""
        steps: list[tuple[Node, Node | None]] = []
        at: Node | None = node
        while at is not None and at.type in {"if", "unless", "elsif", "conditional"}:
            condition = field_of(at, "condition")
            if condition is None:
                return FlowResult()
            steps.append((condition, field_of(at, "consequence")))
            at = field_of(at, "alternative")
            if node.type == "conditional":
                break
        read = as_exclusive_choice([self._conditions.read(condition) for condition, _ in steps])
        if node.type == "unless":
            read = [Not(one) if one else None for one in read]
        rounds: list[tuple[Path, Condition | None, FlowResult]] = []
        for (condition, body), found in zip(steps, read, strict=True):
            self._ask(found, path)
            self._inside(condition, path)
            rounds.append((path, found, self.walk(body, then(path, found, truth=True), tail=tail)))
            path = then(path, found, truth=False)
        return self._folded(rounds, self.walk(at, path, tail=tail))

    def _folded(
        self, rounds: list[tuple[Path, Condition | None, FlowResult]], rest: FlowResult
    ) -> FlowResult:
        """What comes of branches in a row, the last of which is `rest`."""
        for path, found, flow in reversed(rounds):
            rest = self._joined(path, found, flow, rest, both=True)
        return rest

    def _modified(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        condition = field_of(node, "condition")
        if condition is None:
            return FlowResult()
        found = self._conditions.read(condition)
        if found is not None and node.type == "unless_modifier":
            found = Not(found)
        self._ask(found, path)
        self._inside(condition, path)
        flow = self.walk(field_of(node, "body"), then(path, found, truth=True), tail=tail)
        return self._joined(path, found, flow, FlowResult(), both=False)

    def _joined(
        self, path: Path, condition: Condition | None, first: FlowResult, second: FlowResult, *, both: bool
    ) -> FlowResult:
        """What comes of two branches; `both` says that a branch that is left is the guard of what follows."""
        if condition is None:
            return FlowResult(first.ends if first.ends and second.ends else None)
        self._note_left(path, condition, first, truth=True)
        self._note_left(path, condition, second, truth=False)
        if first.ends and second.ends:
            return FlowResult(first.ends if first.ends == second.ends else RETURN)
        if both and first.ends:
            return FlowResult(None, ((condition, False), *second.after))
        if both and second.ends:
            return FlowResult(None, ((condition, True), *first.after))
        return FlowResult()

    def _note_left(self, path: Path, condition: Condition, flow: FlowResult, *, truth: bool) -> None:
        if flow.ends == RAISE or (flow.ends and self._conditions.via is None):
            self.way.left.append(Exit(path, condition, truth))

    def _loop(self, node: Node, path: Path, *, tail: bool) -> FlowResult:  # noqa: ARG002 - one shape for all
        condition = field_of(node, "condition")
        found = self._conditions.read(condition) if condition else None
        if condition is not None:
            self._ask(found, path)
            self._inside(condition, path)
        self.walk(field_of(node, "body"), then(path, found, truth=node.type.startswith("while")))
        return FlowResult()

    # Cases

    def _case(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        value = field_of(node, "value")
        clauses = [part for part in parts(node) if part.type in {"when", "in_clause"}]
        otherwise = next((part for part in parts(node) if part.type == "else"), None)
        self.walk(value, path)
        steps = [(self._clause(value, clause, clauses, otherwise), clause) for clause in clauses]
        rounds: list[tuple[Path, Condition | None, FlowResult]] = []
        at = behind = (
            path  # values exclude each other, so that the path to a clause need not name those before
        )
        for found, clause in steps:
            self._ask(found, at)
            flow = self.walk(field_of(clause, "body"), then(at, found, truth=True), tail=tail)
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
        guard = field_of(clause, "guard")
        condition = field_of(guard, "condition") if guard else None
        inner = self._conditions.read(condition) if condition else None
        if inner is None or guard is None:
            return question
        return Both(question, Not(inner) if guard.type == "unless_guard" else inner)

    # Expressions

    def _binary(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        left, right, operator = (field_of(node, name) for name in ("left", "right", "operator"))
        if left is None or right is None or operator is None or operator.type not in AND | OR:
            if tail and self._conditions.asks(node):
                self._ask(self._conditions.read(node), path)
            return self._other(node, path)
        if self._conditions.is_condition(right):
            self._ask(self._conditions.read(node), path)
            self._inside(node, path)
            return FlowResult()
        if right.type == "return" and operator.type in AND and self._answers(left):
            self.walk(left, path)
            return self.walk(right, path)
        found, truth = self._conditions.read(left), operator.type in AND
        self._ask(found, path)
        self._inside(left, path)
        flow = self.walk(right, then(path, found, truth=truth), tail=tail)
        if found is not None:
            self._note_left(path, found, flow, truth=truth)
        return FlowResult()

    def _unary(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        operand = field_of(node, "operand")
        if tail and operand is not None and self._conditions.asks(operand):
            self._ask(self._conditions.read(node), path)
        return self._other(node, path)

    def _named(self, node: Node, path: Path, *, tail: bool) -> FlowResult:  # noqa: ARG002 - one shape for all
        """`premium = user.premium?`: where the variable is asked later, it is this that is asked."""
        left, right = field_of(node, "left"), field_of(node, "right")
        self.walk(right, path)
        if left is not None and left.type == "identifier":
            name, known = self._of(left), self._conditions.variables
            is_clear = name not in known and right is not None and self._conditions.is_condition(right)
            known[name] = right if is_clear else None
        return FlowResult()

    def _answers(self, node: Node) -> bool:
        """`redirect_to x and return`: what answers a request is done for its effect, not asked for its result."""
        method = field_of(node, "method") if node.type == "call" else None
        return method is not None and self._of(method) in _ANSWERS

    def _assigned(self, node: Node, path: Path, *, tail: bool) -> FlowResult:  # noqa: ARG002 - one shape for all
        left, right, operator = (field_of(node, name) for name in ("left", "right", "operator"))
        if left is None or operator is None or operator.type not in {"||=", "&&="}:
            return self._other(node, path)
        question = self._conditions.assigned(left, node)
        self._ask(question, path)
        self.walk(right, (*path, (question, operator.type == "&&=")))
        return FlowResult()

    def _call(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        receiver, method = field_of(node, "receiver"), field_of(node, "method")
        name = self._of(method) if method else ""
        if tail and self._conditions.asks(node):
            self._ask(self._conditions.read(node), path)
        self.walk(receiver, path)
        inner = path
        operator = field_of(node, "operator")
        if receiver is not None and operator is not None and operator.type == "&.":
            there = self._conditions.there(receiver)
            self._ask(there, path)
            inner = (*path, (there, True))
        for argument in parts(field_of(node, "arguments")):
            self.walk(argument, inner)
        if block := field_of(node, "block"):
            self._block(block, inner)
        if receiver is None or receiver.type == "self":
            if name in _LEAVING and receiver is None:
                return FlowResult(RAISE)
            if name in self._privates:
                return self._inlined(name, path)
        return FlowResult()

    def _block(self, block: Node, path: Path) -> None:
        body = field_of(block, "body")
        self.walk(body if block.type in BLOCKS else block, path)

    def _inside(self, condition: Node, path: Path) -> None:
        """What stands inside the questions of a condition: blocks, arguments, assignments."""
        waiting = [condition]
        while waiting:
            node = waiting.pop()
            operator = field_of(node, "operator")
            joins = node.type == "parenthesized_statements" or (
                operator is not None and operator.type in AND | OR | {"!", "not"}
            )
            if joins:
                waiting += reversed(parts(node))
            elif node.type in {"if", "conditional", "case", "case_match", "unless"}:
                self.walk(node, path)
            elif node.type == "call":
                self.walk(field_of(node, "receiver"), path)
                for argument in parts(field_of(node, "arguments")):
                    self.walk(argument, path)
                if block := field_of(node, "block"):
                    self._block(block, path)
            else:
                for child in parts(node):
                    self.walk(child, path)

    def _inlined(self, name: str, path: Path) -> FlowResult:
        """The body of a private method, at the place where it is called; one level deep."""
        if self._conditions.via is not None:
            return FlowResult()
        outside, self._conditions.variables = self._conditions.variables, {}
        self._conditions.via = name
        flow = self.walk(self._privates[name], path)
        self._conditions.via = None
        self._conditions.variables = outside
        return FlowResult(RAISE if flow.ends == RAISE else None)

    # Functions, not methods of this walker, which would hold itself in a circle.
    _WALKS: ClassVar[dict[str, Callable[..., FlowResult]]] = {
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
            self.way.asked.append(PathQuestion(condition, path))
        elif isinstance(condition, Not):
            self._ask(condition.inner, path)
        elif isinstance(condition, Both):
            self._ask(condition.left, path)
            self._ask(condition.right, (*path, (condition.left, True)))


def _patterns(clause: Node) -> list[Node]:
    if clause.type == "when":
        return [part for part in parts(clause) if part.type == "pattern"]
    pattern = field_of(clause, "pattern")
    return [pattern] if pattern else []
