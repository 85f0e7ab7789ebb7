"""The control flow of a method: `if`, `unless`, `case`, loops and `rescue`, walked from top to bottom.

For each question it notes the path (what must hold for the question to be reached), and for each branch whether it
leaves the method. A guard in block form (`if x … return … end`) is on the path of the code after it; a guard with a
modifier (`return if x`) is not.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar

from runcard.plans.analysis.assignments import Assignments
from runcard.plans.analysis.branch_notes import BranchNotes
from runcard.plans.analysis.case_clauses import CaseClauses
from runcard.plans.analysis.comparisons import AND, OR
from runcard.plans.analysis.conditions import Conditions
from runcard.plans.analysis.memoization import is_memo, is_memoization
from runcard.plans.analysis.method_source import Raises, raises_error
from runcard.plans.analysis.outcome_notes import RAISING_CALLS, OutcomeNotes
from runcard.plans.analysis.questions import (
    Arm,
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

_RESPONSES = {"render", "redirect_to", "redirect_back", "redirect_back_or_to", "head"}
_VARIABLES = {"identifier", "instance_variable"}
_JUMPS = {"next", "break", "redo", "retry"}
_NOT_WALKED = METHODS | {"class", "module", "singleton_class", "comment"}
_SEQUENCES = {"body_statement", "begin", "then", "else", "do", "block_body", "parenthesized_statements"}
_SEQUENCES |= {"ensure", "program", "begin_block"}
_BRANCHES = {"if", "unless", "elsif", "conditional", "if_modifier", "unless_modifier", "case", "case_match"}
_BRANCHES |= {"return", "comment"}


class Walker:
    """Walks the body of one method, and of the private methods that it calls."""

    def __init__(self, code: Code, conditions: Conditions, privates: Mapping[str, Node]) -> None:
        self._code, self._text_of = code, code.text_of
        self._conditions, self._privates = conditions, privates
        self._comparisons = conditions.comparisons
        self._rescues = RescueReader(code)
        self._depth = 0
        self._blocks = 0  # how many blocks and loops were entered
        self._tries = 0  # how many bodies of a `rescue` are open
        self.flow = MethodFlow([], [])
        self._branches = BranchNotes(self.flow, conditions)
        self._clauses = CaseClauses(conditions, self._branches)
        self._outcomes = OutcomeNotes(self.flow, code, conditions)

    def walk(self, node: Node | None, path: Path, *, tail: bool = False) -> FlowResult:
        """Walk a node; `tail` means that its value is the return value of the method."""
        if tail and (node is None or node.type not in _SEQUENCES | _BRANCHES):
            self._outcomes.note(node, path)
        if node is None or node.type in _NOT_WALKED:
            return FlowResult()
        if self._depth >= MAX_DEPTH:
            self.flow.too_deep = self.flow.too_deep or line_of(node)
            return FlowResult()
        self._depth += 1
        self._conditions.assignments.path = path
        try:
            return self._walk(node, path, tail=tail)
        finally:
            self._depth -= 1

    def _walk(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        walk = self._WALKS.get(node.type)
        return self._generic(node, path) if walk is None else walk(self, node, path, tail=tail)

    def _generic(self, node: Node, path: Path) -> FlowResult:
        leaves = node.type == "return" or node.type in _JUMPS
        if node.type == "return" and len(returned := children(field_of(node, "arguments") or node)) != 1:
            (self._outcomes.anything if returned else self._outcomes.nothing)(path)
        for child in children(node):
            inner = children(child) if child.type == "argument_list" and leaves else [child]
            for part in inner:
                self.walk(part, path, tail=node.type == "return")
        if node.type == "return":
            return FlowResult(RETURN)
        return FlowResult(SKIP) if leaves else FlowResult()

    def _read(self, node: Node, path: Path) -> Condition | None:
        self._conditions.assignments.path = path
        self._conditions.is_partial = False
        return self._conditions.read(node)

    def _read_whole(self, node: Node, path: Path, *, negated: bool = False) -> Condition | None:
        """The condition of a branch."""
        condition = self._read(node, path)
        if condition is not None and negated:
            condition = Not(condition)
        return self._branches.whole(condition)

    def _identifier(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        if tail and self._is_returned(node, self._text_of(node), path):
            return FlowResult()
        if self._text_of(node) in self._privates:
            return self._helper(node, self._text_of(node), path)
        if self._text_of(node) not in RAISING_CALLS:
            return FlowResult()
        self._outcomes.raised(None, path)
        return FlowResult(RAISE)

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
        at, certain = path, self._outcomes.certain
        last = next((node for node in reversed(nodes) if node.type != "heredoc_body"), None)
        ends = None
        if tail and last is None:
            self._outcomes.nothing(path)
        for node in nodes:
            self._branches.note_line(node, at + self._outcomes.certain)
            flow = self.walk(node, at, tail=tail and node == last)
            ends = flow.ends
            if ends:
                break
            at += flow.after
            self._outcomes.certain += flow.passed
        self._outcomes.certain = certain
        return FlowResult(ends) if ends else FlowResult(None, at[len(path) :])

    def _with_rescue(
        self, body: list[Node], handlers: list[Node], endings: list[Node], path: Path, *, tail: bool
    ) -> FlowResult:
        noted = self._outcomes.count
        self._tries += 1
        flow = self._statements(body, path, tail=tail)
        self._tries -= 1
        raised = [self._rescues.raised(handler, self._conditions.via) for handler in handlers]
        ends = [flow.ends]
        fine: Path = tuple((question, False) for question in raised)
        self._outcomes.completed(noted, fine)
        self._branches.note_body(body, handlers, fine, path)
        for handler, question in zip(handlers, raised, strict=True):
            self._ask(question, path)
            self._branches.note_handler(handler, question, path)
            with self._own_variables():
                result = self.walk(field_of(handler, "body"), (*path, (question, True)), tail=tail)
            self._note_exit(path, question, result, truth=True)
            ends.append(result.ends)
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
        if is_memoization(self._code, node):
            return self._memoized(node, path)
        steps: list[tuple[Node, Node, Node | None]] = []
        at: Node | None = node
        while at is not None and at.type in {"if", "unless", "elsif", "conditional"}:
            test = field_of(at, "condition")
            if test is None:
                return FlowResult()
            steps.append((at, test, field_of(at, "consequence")))
            at = field_of(at, "alternative")
            if node.type == "conditional":
                break
        is_unless = node.type == "unless"
        read = [self._read_whole(test, path, negated=is_unless) for _, test, _ in steps]
        conditions = self._branches.replaced(read, as_exclusive_choice(read))
        branches: list[tuple[Path, Condition | None, FlowResult]] = []
        for (branch, test, body), condition in zip(steps, conditions, strict=True):
            self._ask(condition, path)
            self._branches.note_choice(branch, "unless" if is_unless else "if", condition, path)
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
        if is_memoization(self._code, node):
            return self._memoized(node, path)
        kind = node.type.removesuffix("_modifier")
        condition = self._read_whole(test, path, negated=kind == "unless")
        self._ask(condition, path)
        self._branches.note_choice(node, kind, condition, path)
        self._walk_operands(test, path)
        flow = self.walk(field_of(node, "body"), then(path, condition, truth=True), tail=tail)
        if tail:
            self._outcomes.nothing(then(path, condition, truth=False))
        result = self._joined(path, condition, flow, FlowResult(), both=False)
        is_guard = flow.ends is not None and condition is not None
        return result._replace(passed=then((), condition, truth=False)) if is_guard else result

    def _memoized(self, node: Node, path: Path) -> FlowResult:
        """`@x = … unless @x` and `return @x if @x`: what is walked is the value."""
        self._outcomes.anything(path)
        self.walk(field_of(node, "body") or field_of(node, "consequence"), path)
        return FlowResult()

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
        condition = self._read_whole(test, path) if test else None
        inside = then(path, condition, truth=node.type.startswith("while"))
        if test is not None:
            self._ask(condition, path)
            self._branches.note(node, node.type.removesuffix("_modifier"), condition, Arm("body", inside))
            self._walk_operands(test, path)
        with self._own_variables():
            self.walk(field_of(node, "body"), inside)
        return FlowResult()

    # Cases

    def _case(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        value = field_of(node, "value")
        clauses = [part for part in children(node) if part.type in {"when", "in_clause"}]
        otherwise = next((part for part in children(node) if part.type == "else"), None)
        self.walk(value, path)
        steps = [(self._clauses.whole(value, clause, clauses, otherwise), clause) for clause in clauses]
        branches: list[tuple[Path, Condition | None, FlowResult]] = []
        at = after = (
            path  # values exclude each other: the path to a clause need not name the clauses before it
        )
        arms: list[Arm] = []
        for condition, clause in steps:
            self._ask(condition, at)
            label = "when" if clause.type == "when" else "in"
            arms.append(Arm(label, then(at, condition, truth=True)))
            flow = self.walk(field_of(clause, "body"), then(at, condition, truth=True), tail=tail)
            branches.append((after, condition, flow))
            after = then(after, condition, truth=False)
            at = at if isinstance(condition, Question) else then(at, condition, truth=False)
        self._branches.note_case(node, [condition for condition, _ in steps], [*arms, Arm("else", after)])
        return self._combined(branches, self.walk(otherwise, after, tail=tail))

    # Expressions

    def _binary(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        left, right, operator = (field_of(node, name) for name in ("left", "right", "operator"))
        if left is None or right is None or operator is None or operator.type not in AND | OR:
            if tail and self._comparisons.is_comparison(node):
                self._ask(self._read(node, path), path)
            return self._generic(node, path)
        if self._comparisons.is_condition(right):
            self._ask(self._read(node, path), path)
            self._walk_operands(node, path)
            return FlowResult()
        if right.type == "return" and operator.type in AND and self._is_response(left):
            self.walk(left, path)
            return self.walk(right, path)
        condition, truth = self._read(left, path), operator.type in AND
        self._ask(condition, path)
        self._walk_operands(left, path)
        flow = self.walk(right, then(path, condition, truth=truth), tail=tail)
        if condition is not None:
            self._note_exit(path, condition, flow, truth=truth)
        return FlowResult()

    def _unary(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        operand = field_of(node, "operand")
        if tail and operand is not None and self._comparisons.is_predicate(operand):
            self._ask(self._read(node, path), path)
        return self._generic(node, path)

    def _assignment(self, node: Node, path: Path, *, tail: bool) -> FlowResult:  # noqa: ARG002 - the same signature for all
        """Remember what a variable is assigned: a later condition on it is one on this value."""
        left, right = field_of(node, "left"), field_of(node, "right")
        self.walk(right, path)
        self._conditions.assignments.path = path
        targets = children(left) if left is not None and left.type == "left_assignment_list" else [left]
        for target in targets:
            if target is not None and target.type in _VARIABLES:
                value = right if len(targets) == 1 else None
                self._conditions.assignments.add(self._text_of(target), value)
        is_kept = left is not None and left.type in {"instance_variable", "call"}
        if is_kept and right is not None and self._comparisons.is_predicate(right):
            self._ask(self._read(right, path), path)  # what it stores is a result, too
        return FlowResult()

    def _is_response(self, node: Node) -> bool:
        """Whether a call sends a response (`redirect_to x and return`): its result is not a condition."""
        method = field_of(node, "method") if node.type == "call" else None
        return method is not None and self._text_of(method) in _RESPONSES

    def _operator_assignment(self, node: Node, path: Path, *, tail: bool) -> FlowResult:  # noqa: ARG002 - the same signature for all
        left, right, operator = (field_of(node, name) for name in ("left", "right", "operator"))
        if left is None or operator is None or operator.type not in {"||=", "&&="}:
            return self._generic(node, path)
        if operator.type == "||=" and is_memo(left):
            return self.walk(right, path)
        self._conditions.assignments.path = path
        condition = self._conditions.default_assignment(left, node)
        self._ask(condition, path)
        self.walk(right, then(path, condition, truth=operator.type == "&&="))
        self._conditions.assignments.path = path
        if left.type in _VARIABLES:
            is_default = operator.type == "||="
            self._conditions.assignments.add(
                self._text_of(left), right if is_default else None, is_default=is_default
            )
        return FlowResult()

    def _call(self, node: Node, path: Path, *, tail: bool) -> FlowResult:
        receiver, method = field_of(node, "receiver"), field_of(node, "method")
        name = self._text_of(method) if method else ""
        is_asked = tail and self._is_returned(node, name, path)
        self.walk(receiver, path)
        inner = path
        operator = field_of(node, "operator")
        if receiver is not None and operator is not None and operator.type == "&.":
            self._conditions.assignments.path = path
            presence = self._conditions.presence(receiver)
            self._ask(presence, path)
            self._branches.note_choice(node, "&.", presence, path)
            inner = then(path, presence, truth=True)
        for argument in children(field_of(node, "arguments")):
            self.walk(argument, inner)
        if block := field_of(node, "block"):
            self._block(block, inner)
        if receiver is None or receiver.type == "self":
            if name in RAISING_CALLS and receiver is None:
                self._outcomes.raised(node, path)
                return FlowResult(RAISE)
            if name in self._privates and not is_asked:
                return self._helper(node, name, path)
        return FlowResult()

    def _is_returned(self, node: Node, name: str, path: Path) -> bool:
        """Whether a predicate is returned: its two answers are asked for, as those of a condition."""
        is_read_deep = self._conditions.is_deep and name in self._privates
        if not self._comparisons.is_predicate(node) or (is_read_deep and not self._conditions.expanded(name)):
            return False
        self._ask(self._read(node, path), path)
        return True

    def _note_safe_call(self, node: Node, path: Path) -> None:
        """`user&.active?` in a condition: whether there is a user was asked with the condition."""
        receiver, operator = field_of(node, "receiver"), field_of(node, "operator")
        if receiver is not None and operator is not None and operator.type == "&.":
            self._conditions.assignments.path = path
            self._branches.note_choice(node, "&.", self._conditions.presence(receiver), path)

    def _helper(self, node: Node, name: str, path: Path) -> FlowResult:
        """A call of a private method: one condition if it can raise an error; with `deep`, its body."""
        if self._conditions.is_deep:
            return self._inlined(name, path)
        raises = raises_error(self._code, self._privates[name])
        if raises is not Raises.SOMETIMES:
            if raises is Raises.ALWAYS:
                self._outcomes.raised(None, path)
            return FlowResult(RAISE if raises is Raises.ALWAYS else None)
        question = self._conditions.helper(node, name)
        self._outcomes.raised(None, then(path, question, truth=False))
        self._ask(question, path)
        self._note_exit(path, question, FlowResult(RAISE), truth=False)
        return FlowResult()

    def _block(self, block: Node, path: Path) -> None:
        body = field_of(block, "body")
        with self._own_variables():
            self.walk(body if block.type in BLOCKS else block, path)

    @contextmanager
    def _own_variables(self) -> Iterator[None]:
        """Walk a block or loop: what is assigned there may be assigned never or often."""
        assignments = self._conditions.assignments
        outside = assignments.blocks
        self._blocks += 1
        assignments.blocks = (*outside, self._blocks)
        yield
        assignments.blocks = outside

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
                self._note_safe_call(node, path)
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
        outside = self._conditions.enter(Assignments())
        self._conditions.via = name
        flow = self.walk(self._privates[name], path)
        self._conditions.via = None
        self._conditions.enter(outside)
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
            is_sure = not self._conditions.assignments.blocks and not self._tries
            self.flow.questions.append(PathQuestion(condition, path, self._outcomes.certain, is_sure))
        elif isinstance(condition, Not):
            self._ask(condition.inner, path)
        elif isinstance(condition, Both):
            self._ask(condition.left, path)
            self._ask(condition.right, (*path, (condition.left, True)))
