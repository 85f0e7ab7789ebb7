"""Conditions: an expression as questions, joined by `&&`, `||` and `!`."""

from dataclasses import replace

from runcard.plans.analysis.assignments import Assignments, PresenceReader
from runcard.plans.analysis.comparisons import AND, KINDS, OR, ORDERINGS, SIGNS
from runcard.plans.analysis.declared_values import ConditionContext
from runcard.plans.analysis.expression_questions import ExpressionQuestions, pair_wording
from runcard.plans.analysis.method_source import PredicateGuard, read_predicate
from runcard.plans.analysis.phrases import (
    being,
)
from runcard.plans.analysis.questions import (
    Both,
    Condition,
    Not,
    Pair,
    Question,
    Truth,
    either,
    negation,
)
from runcard.plans.analysis.subjects import (
    one_line,
    subject_of,
    unwrapped,
)
from runcard.plans.analysis.vocabulary import (
    PRESENCES,
)
from runcard.plans.ruby.literals import Literals
from runcard.plans.ruby.syntax_tree import Code, Node, children, field_of, line_of

MAX_DEPTH = 100  # nested conditions
_NOT = {"!", "not"}
_FLIPPED = {">=": "<=", ">": "<", "<": ">", "<=": ">="}
_MATCHES = {"match?", "match"}
_STATEMENTS = {"case", "case_match", "begin", "while", "until", "for", "if_modifier", "unless_modifier"}
_BRANCHES = {"if", "unless", "conditional"}
_LITERALS = {"true", "false", "nil", "integer", "float", "string", "simple_symbol", "array", "hash", "lambda"}
_VARIABLES = {"identifier", "instance_variable"}
_POSITIVE = {"nil?": None, "blank?": "present?", "empty?": "any?", "none?": "any?"}  # the opposite question


class Conditions(ExpressionQuestions):
    """Reads the conditions of one text."""

    def __init__(self, code: Code, literals: Literals, context: ConditionContext) -> None:
        super().__init__(code, literals, context)
        self._depth = 0
        self.too_deep: int | None = None  # the first line that was left out
        self.is_deep = False  # whether private methods are read, too
        self.is_partial = False  # whether a part of the last condition could not be read
        self._presences = PresenceReader(code, self.comparisons, self.assignments, self._value_present)

    def enter(self, assignments: Assignments) -> Assignments:
        """Read another method, whose variables are others; returns those of the method before."""
        before, self.assignments = self.assignments, assignments
        self._presences = PresenceReader(self._code, self.comparisons, assignments, self._value_present)
        return before

    def read(self, node: Node) -> Condition | None:
        """The condition of an expression; None for a constant."""
        if self._depth >= MAX_DEPTH:
            self.too_deep = self.too_deep or line_of(node)
            self.is_partial = True
            return None
        self._depth += 1
        try:
            return self._read(unwrapped(self._code, node))
        finally:
            self._depth -= 1

    def _read(self, node: Node) -> Condition | None:
        if node.type == "binary":
            return self._binary(node)
        if node.type == "unary":
            return self._unary(node)
        if (
            node.type == "test_pattern"
            and (value := field_of(node, "value"))
            and (at := field_of(node, "pattern"))
        ):
            return self.choice(value, [at], node)
        if (
            node.type == "assignment"
            and (left := field_of(node, "left"))
            and (right := field_of(node, "right"))
        ):
            return self._assigned(node, left, right)
        if node.type == "operator_assignment" and (left := field_of(node, "left")):
            return self._presence_question(node, left, None)
        if node.type == "rescue_modifier" and (body := field_of(node, "body")):
            self.is_partial = True
            return self.read(body)
        if node.type in _BRANCHES:
            return self._conditional(node)
        if node.type in _LITERALS | _STATEMENTS:
            return None
        if node.type in _VARIABLES:
            return self._variable(node)
        return self._call(node) if node.type == "call" else self._truth(node)

    def _assigned(self, node: Node, left: Node, right: Node) -> Condition | None:
        """`if user = find(id)`."""
        linked = self._presences.of_value(right, None)
        if linked is not None:
            return _condition(linked)
        return self._named_after(right, self._presence_question(node, left, None))

    def _variable(self, node: Node) -> Condition | None:
        linked = self._presences.of_variable(node, None)
        if linked is not None:
            return _condition(linked)
        return self.expanded(self._text_of(node)) or self._truth(node)

    def _value_present(self, node: Node, predicate: str | None) -> Condition | None:
        """The condition that a value is present; not by what it was assigned."""
        if predicate is None and node.type not in _VARIABLES:
            return self.read(node)
        if predicate is None and node.type == "identifier":
            return self._truth(node)
        return self._presence_question(node, node, predicate)

    def _conditional(self, node: Node) -> Condition | None:
        """`a ? b : c` as a condition: `(a && b) || (!a && c)`."""
        test = field_of(node, "condition")
        condition = self.read(test) if test is not None else None
        if condition is None:
            return None
        condition = Not(condition) if node.type == "unless" else condition
        first, second = (self._branch(field_of(node, name)) for name in ("consequence", "alternative"))
        yes = self.joined(condition, first, both=True)
        return self.joined(yes, second and Both(Not(condition), second), both=False)

    def _branch(self, branch: Node | None) -> Condition | None:
        """The condition at the end of a branch."""
        if branch is not None and branch.type in {"then", "else"}:
            branch = next(reversed(children(branch)), None)
        return None if branch is None else self.read(branch)

    def expanded(self, name: str) -> Condition | None:
        """The condition in the body of a private predicate, if private methods are read."""
        known = self.privates.get(name) if self.via is None and self.is_deep else None
        predicate = read_predicate(self._code, known) if known else None
        if predicate is None or predicate[1].type in _STATEMENTS | _BRANCHES:
            return None
        if not (predicate[0] or self.comparisons.is_condition(predicate[1])):
            return None
        self.via, outside = name, self.enter(Assignments())
        try:
            return self._predicate_body(*predicate)
        finally:
            self.via = None
            self.enter(outside)

    def _predicate_body(self, guards: list[PredicateGuard], last: Node) -> Condition | None:
        """The body of a predicate as one condition."""
        condition = self.read(last)
        for guard in reversed(guards):
            guard_condition = self.read(guard.condition)
            is_negated = guard.is_unless != (not guard.answer)
            yes = Not(guard_condition) if guard_condition is not None and is_negated else guard_condition
            condition = self.joined(yes, condition, both=not guard.answer)
        return condition

    def joined(self, left: Condition | None, right: Condition | None, *, both: bool) -> Condition | None:
        if left is None or right is None:
            self.is_partial = True
            return left or right
        return Both(left, right) if both else either(left, right)

    def _binary(self, node: Node) -> Condition | None:
        left, right, operator = (field_of(node, name) for name in ("left", "right", "operator"))
        if left is None or right is None or operator is None:
            return None
        if operator.type in AND | OR:
            return self.joined(self.read(left), self.read(right), both=operator.type in AND)
        if operator.type in ORDERINGS:
            return self._compared(node, left, operator.type, right)
        if operator.type in {"==", "!=", "===", "=~", "!~"}:
            condition = self.safely(left, self._equal(node, left, right, operator.type))
            return Not(condition) if condition and operator.type.startswith("!") else condition
        return self._truth(node)

    def _unary(self, node: Node) -> Condition | None:
        operand, operator = field_of(node, "operand"), field_of(node, "operator")
        if operand is None or operator is None:
            return None
        if operator.type in _NOT:
            inner = self.read(operand)
            return Not(inner) if inner else None
        if operator.type == "defined?":
            subject = subject_of(self._code, operand)
            pair = Pair("defined", "not_defined")
            wording = pair_wording(self._text_of(operand).strip("()"), pair, "is defined", "is not defined")
            return replace(self._pair(node, subject, "defined", pair), wording=wording)
        return None

    # Questions

    def _compared(self, node: Node, left: Node, operator: str, right: Node) -> Condition | None:
        if (
            unwrapped(self._code, left).type in _LITERALS
            and unwrapped(self._code, right).type not in _LITERALS
        ):
            left, right, operator = right, left, _FLIPPED[operator]
        return self.safely(left, self._bounds(node, left, operator, right))

    def safely(self, node: Node, condition: Condition | None) -> Condition | None:
        """A condition on `a&.b`, after the question whether `a` is present."""
        at: Node | None = node
        while at is not None and at.type == "call" and condition is not None:
            receiver = field_of(at, "receiver")
            if receiver is not None and _is_safe(self._code, at):
                condition = self._behind_presence(receiver, condition)
            at = receiver
        return condition

    def _equal(self, node: Node, left: Node, right: Node, operator: str) -> Condition | None:
        if operator == "===" or (self.comparisons.is_value(left) and not self.comparisons.is_value(right)):
            left, right = right, left
        subject = self._subject(left)
        if operator in {"=~", "!~"}:
            return self._matched(node, subject, right)
        if unwrapped(self._code, right).type == "nil":
            return self._presence(node, left, "nil?")
        if not self.comparisons.is_value(right) and operator != "===":
            return self._same(node, left, right)
        return self.choice(left, [right], node)

    def _call(self, node: Node) -> Condition | None:
        method, receiver = field_of(node, "method"), field_of(node, "receiver")
        if method is None:
            return self._truth(node)
        if receiver is None or receiver.type == "self":
            expanded = self.expanded(self._text_of(method))
            if expanded is not None:
                return expanded
        return self.safely(node, self._method_call(node, self._text_of(method), receiver))

    def _behind_presence(self, receiver: Node, condition: Condition) -> Condition:
        """`user&.active?` asks whether `user` is present before it asks whether it is active."""
        presence = self.presence(receiver)
        if presence is None or presence == condition:
            return condition
        if (
            isinstance(condition, Question)
            and isinstance(presence, Question)
            and condition.key == presence.key
        ):
            return condition
        return Both(presence, condition)

    def presence(self, node: Node) -> Condition | None:
        """Whether a value is present; None if it always or never is."""
        return self._presence(node, node, None)

    def default_assignment(self, left: Node, node: Node) -> Condition | None:
        """Whether the left side of `||=` is present already."""
        condition, operator = self._presence(node, left, None), field_of(node, "operator")
        if not isinstance(condition, Question):
            return condition
        text = f"{one_line(self._text_of(left))} {self._text_of(operator) if operator else '||='}"
        return replace(condition, text=text, wording=None)

    def _method_call(self, node: Node, name: str, receiver: Node | None) -> Condition | None:
        arguments = children(field_of(node, "arguments"))
        plain = not arguments and field_of(node, "block") is None
        if receiver is not None and plain and name in PRESENCES:
            return self._presence(node, receiver, name)
        if receiver is not None and plain and name in SIGNS:
            return self._ask_number(node, receiver, SIGNS[name])
        if receiver is not None and (membership := self._membership(node, name, receiver, arguments)):
            return membership
        if receiver is not None and name in KINDS and len(arguments) == 1:
            return self._kind(node, receiver, arguments[0])
        if receiver is not None and name in {"eql?", "equal?"} and len(arguments) == 1:
            return self._equal(node, receiver, arguments[0], "==")
        if receiver is not None and name in _MATCHES and len(arguments) == 1:
            value, pattern = (
                (arguments[0], receiver) if receiver.type == "regex" else (receiver, arguments[0])
            )
            if pattern.type == "regex":
                return self._matched(node, subject_of(self._code, value), pattern)
        tried = self._text_of(arguments[0])[1:] if name == "try" and len(arguments) == 1 else name
        if tried.endswith("?"):
            return self._predicate(node, tried, receiver)
        return self._truth(node)

    def _membership(self, node: Node, name: str, receiver: Node, arguments: list[Node]) -> Condition | None:
        """`x.in?(list)`, `list.include?(x)`, `x.between?(a, b)`, `(a..b).cover?(x)`."""
        if name == "between?" and len(arguments) == 2:
            return Both(
                self._bounds(node, receiver, ">=", arguments[0]),
                self._bounds(node, receiver, "<=", arguments[1]),
            )
        if name not in {"in?", "include?", "cover?", "member?", "exclude?"} or len(arguments) != 1:
            return None
        value, listed = (receiver, arguments[0]) if name == "in?" else (arguments[0], receiver)
        condition = self._member_of(node, value, unwrapped(self._code, listed))
        return Not(condition) if condition is not None and name == "exclude?" else condition

    def _member_of(self, node: Node, value: Node, listed: Node) -> Condition | None:
        if listed.type == "range":
            return self.choice(value, [listed], node, numbers=True)
        if values := self.comparisons.list_names(listed):
            return self._value_choice(node, subject_of(self._code, value), tuple(dict.fromkeys(values)))
        if self.comparisons.is_value(value):
            return None  # a list that has a certain value: a predicate of the list
        subject, other = subject_of(self._code, value), subject_of(self._code, listed)
        pair, noun = Pair("included", "excluded"), subject.noun
        wording = pair_wording(
            noun, pair, *(f"{being(noun)} {word} {other.noun}" for word in ("in", "not in"))
        )
        question = self._pair(node, subject, f"in_{other.name}", pair)
        return replace(question, key=("pair", f"{subject.key}.in({other.key})"), wording=wording)

    def _presence(self, node: Node, of: Node, predicate: str | None) -> Condition | None:
        """Whether a value is present; of a variable, by what it was assigned."""
        plain = unwrapped(self._code, of)
        if plain.type in _VARIABLES:
            is_negative = predicate in _POSITIVE
            asked = _POSITIVE.get(predicate or "", predicate)
            linked = self._presences.of_variable(plain, asked)
            if linked is not None:
                return _condition(negation(linked) if is_negative else linked)
        return self._presence_question(node, of, predicate)


def _condition(truth: Truth) -> Condition | None:
    """A truth as a condition; None if it always or never holds."""
    return None if truth is None or isinstance(truth, bool) else truth


def _is_safe(code: Code, node: Node) -> bool:
    operator, method = field_of(node, "operator"), field_of(node, "method")
    return (operator is not None and operator.type == "&.") or (
        method is not None and code.text_of(method) == "try"
    )
