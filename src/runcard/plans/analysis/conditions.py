"""Conditions: an expression as questions, joined by `&&`, `||` and `!`."""

from dataclasses import replace

from runcard.plans.analysis.comparisons import AND, KINDS, OR, ORDERINGS, SIGNS, Comparisons
from runcard.plans.analysis.declared_values import ConditionContext
from runcard.plans.analysis.method_source import PredicateGuard, read_predicate
from runcard.plans.analysis.questions import (
    Answer,
    Both,
    Choice,
    Condition,
    DeclaredValues,
    Not,
    Pair,
    Question,
    either,
)
from runcard.plans.analysis.subjects import Subject, argument_words, one_line, slug, subject_of, unwrapped
from runcard.plans.analysis.vocabulary import (
    ACTIONS,
    FAILED,
    OWN_ACTIONS,
    PRESENCES,
    SUCCEEDED,
    TRUTHY,
    pair_of,
)
from runcard.plans.ruby.literals import Literals
from runcard.plans.ruby.rails import underscore
from runcard.plans.ruby.syntax_tree import Code, Node, children, field_of, line_of

MAX_DEPTH = 100  # nested conditions
_NOT = {"!", "not"}
_FLIPPED = {">=": "<=", ">": "<", "<": ">", "<=": ">="}
_MATCHES = {"match?", "match"}
_REMOVALS = {"delete", "delete!"}  # from a hash or list, when the argument is a literal
_STATEMENTS = {"case", "case_match", "begin", "while", "until", "for", "if_modifier", "unless_modifier"}
_BRANCHES = {"if", "unless", "conditional"}
_LITERALS = {"true", "false", "nil", "integer", "float", "string", "simple_symbol", "array", "hash", "lambda"}


class Conditions:
    """Reads the conditions of one text."""

    def __init__(self, code: Code, literals: Literals, context: ConditionContext) -> None:
        self._code, self._text_of = code, code.text_of
        self._literals, self._context = literals, context
        self.comparisons = Comparisons(code, literals)
        self.via: str | None = None  # the private method that is being read
        self._depth = 0
        self.too_deep: int | None = None  # the first line that was left out
        self.variables: dict[
            str, Node | None
        ] = {}  # conditions assigned to local variables; None for several
        self.privates: dict[str, Node] = {}  # the bodies of the private methods of the class

    def read(self, node: Node) -> Condition | None:
        """The condition of an expression; None for a constant."""
        if self._depth >= MAX_DEPTH:
            self.too_deep = self.too_deep or line_of(node)
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
            return (
                self.read(right) if self.comparisons.is_condition(right) else self._presence(node, left, None)
            )
        if node.type == "operator_assignment" and (left := field_of(node, "left")):
            return self._presence(node, left, None)
        if node.type == "rescue_modifier" and (body := field_of(node, "body")):
            return self.read(body)
        if node.type in _BRANCHES:
            return self._conditional(node)
        if node.type in _LITERALS | _STATEMENTS:
            return None
        if node.type == "identifier" and (expanded := self._expanded(self._text_of(node))):
            return expanded
        return self._call(node) if node.type == "call" else self._truth(node)

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

    def _expanded(self, name: str) -> Condition | None:
        """The condition behind a name: one assigned to a variable, or the body of a private predicate."""
        assigned = self.variables.pop(name, None)
        if assigned is not None:
            condition = self.read(assigned)  # inside it, the same name is another value
            self.variables[name] = assigned
            return condition
        known = self.privates.get(name) if self.via is None else None
        predicate = read_predicate(self._code, known) if known else None
        if predicate is None or predicate[1].type in _STATEMENTS | _BRANCHES:
            return None
        if not (predicate[0] or self.comparisons.is_condition(predicate[1])):
            return None
        self.via = name
        try:
            return self._predicate_body(*predicate)
        finally:
            self.via = None

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
            return self._pair(node, subject, "defined", Pair("defined", "not_defined"))
        return None

    # Questions

    def _compared(self, node: Node, left: Node, operator: str, right: Node) -> Condition | None:
        if (
            unwrapped(self._code, left).type in _LITERALS
            and unwrapped(self._code, right).type not in _LITERALS
        ):
            left, right, operator = right, left, _FLIPPED[operator]
        return self.safely(left, self._bounds(node, left, operator, right))

    def _bounds(self, node: Node, left: Node, operator: str, right: Node) -> Question:
        subject = subject_of(self._code, left)
        return self._ask(node, subject, "range", subject.name, self.comparisons.bounds(operator, right))

    def safely(self, node: Node, condition: Condition | None) -> Condition | None:
        """A condition on `a&.b`, after the question whether `a` is present."""
        at: Node | None = node
        while at is not None and at.type == "call" and condition is not None:
            receiver = field_of(at, "receiver")
            if receiver is not None and _is_safe(at):
                condition = self._behind_presence(receiver, condition)
            at = receiver
        return condition

    def _equal(self, node: Node, left: Node, right: Node, operator: str) -> Condition | None:
        if operator == "===" or (self.comparisons.is_value(left) and not self.comparisons.is_value(right)):
            left, right = right, left
        subject = subject_of(self._code, left)
        if operator in {"=~", "!~"}:
            return self._matched(node, subject, right)
        if unwrapped(self._code, right).type == "nil":
            return self._presence(node, left, "nil?")
        if not self.comparisons.is_value(right) and operator != "===":
            other = subject_of(self._code, right)
            pair = Pair("equal", "different", equals=self.comparisons.threshold(right))
            return self._pair(node, subject, f"equals_{other.name}", pair)
        return self.choice(left, [right], node)

    def _matched(self, node: Node, subject: Subject, pattern: Node) -> Question:
        """Whether a text matches a regular expression; each expression is its own question."""
        key = f"{subject.key}.match({self._text_of(pattern)})"
        return self._ask(node, subject, "pair", f"{subject.name}_match", Pair("match", "no_match"), key)

    def choice(
        self, value: Node, patterns: list[Node], node: Node, *, is_closed: bool = False, numbers: bool = False
    ) -> Question:
        """Whether a value is one of some literals, or matches one of some patterns."""
        subject = subject_of(self._code, value)
        if numbers:
            bounds = self.comparisons.intervals(patterns, is_closed=is_closed)
            return self._ask(node, subject, "range", subject.name, bounds)
        values = tuple(dict.fromkeys(name for at in patterns for name in self.comparisons.names(at)))
        return self._value_choice(node, subject, values, is_closed=is_closed)

    def _value_choice(
        self, node: Node, subject: Subject, values: tuple[str, ...], *, is_closed: bool = False
    ) -> Question:
        declared = self._declared(subject)
        if declared is not None and not set(values) <= set(declared.values):
            declared = None
        return self._ask(node, subject, "value", subject.name, Choice(values, is_closed, declared))

    def _declared(self, subject: Subject) -> DeclaredValues | None:
        owner, _, attribute = subject.key.rpartition(".")
        declarations = self._context.of_model.declarations(owner) if owner else self._context.own
        return declarations.of(attribute)

    def _call(self, node: Node) -> Condition | None:
        method, receiver = field_of(node, "method"), field_of(node, "receiver")
        if method is None:
            return self._truth(node)
        if receiver is None or receiver.type == "self":
            expanded = self._expanded(self._text_of(method))
            if expanded is not None:
                return expanded
        return self.safely(node, self._method_call(node, self._text_of(method), receiver))

    def _behind_presence(self, receiver: Node, condition: Condition) -> Condition:
        """`user&.active?` asks whether `user` is present before it asks whether it is active."""
        presence = self.presence(receiver)
        if isinstance(condition, Question) and condition.key == presence.key:
            return condition
        return Both(presence, condition)

    def presence(self, node: Node) -> Question:
        """Whether a value is present."""
        return self._presence(node, node, None)

    def default_assignment(self, left: Node, node: Node) -> Question:
        """Whether the left side of `||=` is present already."""
        question, operator = self._presence(node, left, None), field_of(node, "operator")
        return replace(
            question, text=f"{one_line(self._text_of(left))} {self._text_of(operator) if operator else '||='}"
        )

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
        if name.endswith("?"):
            return self._predicate(node, name, receiver)
        return self._truth(node)

    def _ask_number(self, node: Node, receiver: Node, operator: str) -> Question:
        subject = subject_of(self._code, receiver)
        return self._ask(node, subject, "range", subject.name, self.comparisons.bounds(operator, None))

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
        if listed.type not in {"constant", "scope_resolution"}:
            return None
        subject, name = subject_of(self._code, value), underscore(self._text_of(listed).rpartition("::")[2])
        return self._pair(node, subject, f"in_{name}", Pair("included", "excluded"))

    def _kind(self, node: Node, receiver: Node, kind: Node) -> Question:
        subject = subject_of(self._code, receiver)
        name = f"{subject.name}_class"
        key = replace(subject, key=f"{subject.key}.class", name=name)
        return self._value_choice(node, key, tuple(self.comparisons.names(kind)))

    def _predicate(self, node: Node, name: str, receiver: Node | None) -> Question:
        owner = None if receiver is None or receiver.type == "self" else subject_of(self._code, receiver)
        declarations = self._context.of_model.declarations(owner.key) if owner else self._context.own
        if name in declarations.predicates and not children(field_of(node, "arguments")):
            attribute, value = declarations.predicates[name]
            prefix, dot = (f"{owner.name}_", f"{owner.key}.") if owner else ("", "")
            of = Subject(
                f"{dot}{attribute}",
                f"{prefix}{attribute}",
                one_line(self._text_of(node)),
                owner.root if owner else attribute,
            )
            return self._value_choice(node, of, (value,))
        pair = pair_of(slug(name.rstrip("?")))
        subject = subject_of(self._code, node)
        if extra := argument_words(self._code, node):
            pair = Pair(f"{pair.positive}_{extra}", f"{pair.negative}_{extra}", pair.holds)
        whole = f"{owner.name}_{pair.positive}" if owner else pair.positive
        key = f"{owner.key if owner else ''}.{pair.positive}({_arguments(self._code, node)})"
        question = self._ask(node, subject, "pair", whole, pair, key)
        is_own = owner is None and self.via is None and name in self.privates
        return replace(question, via=name) if is_own else question

    def _presence(self, node: Node, of: Node, predicate: str | None) -> Question:
        subject = subject_of(self._code, of)
        answer = PRESENCES[predicate] if predicate else TRUTHY
        return self._ask(node, subject, "presence", f"{subject.name}_present", answer)

    def _truth(self, node: Node) -> Question:
        """An expression tested for truth: a flag, the success of an action, or presence."""
        subject = subject_of(self._code, node)
        if node.type == "identifier" and self._text_of(node).endswith("?"):
            return self._predicate(node, self._text_of(node), None)
        if subject.key in self._context.flags:
            answer = Pair("enabled", "disabled")
            return self._ask(node, subject, "pair", subject.name, answer, subject.key)
        if self._is_action(node):
            return self._ask(node, subject, "pair", subject.name, Pair(SUCCEEDED, FAILED), subject.key)
        return self._presence(node, node, None)

    def _is_action(self, node: Node) -> bool:
        """Whether a call is made for its effect and returns whether it succeeded."""
        if node.type == "identifier":
            return self._text_of(node) in OWN_ACTIONS
        method = field_of(node, "method") if node.type == "call" else None
        if method is None or self._text_of(method).rstrip("!") not in ACTIONS:
            return False
        first = next(iter(children(field_of(node, "arguments"))), None)
        takes_out = (
            self._text_of(method) in _REMOVALS and first is not None and self.comparisons.is_value(first)
        )
        return not takes_out  # which returns the removed value

    def _pair(self, node: Node, subject: Subject, word: str, pair: Pair) -> Question:
        return self._ask(node, subject, "pair", f"{subject.name}_{word}", pair, f"{subject.key}.{word}")

    def _ask(
        self, node: Node, subject: Subject, kind: str, name: str, answer: Answer, key: str | None = None
    ) -> Question:
        return Question(
            subject,
            (kind, subject.key if key is None else key),
            slug(name),
            answer,
            self._text(node),
            line_of(node),
            self.via,
        )

    def _text(self, node: Node) -> str:
        """A condition as written; of a clause, the text before its body."""
        if node.type not in {"when", "in_clause"}:
            return one_line(self._text_of(node))
        body, value = field_of(node, "body"), field_of(node.parent, "value") if node.parent else None
        end = body.start_byte if body else node.end_byte
        clause = self._code.text[node.start_byte : end].decode("utf-8", "replace")
        return one_line(f"case {self._text_of(value) if value else ''} {clause}")


def _is_safe(node: Node) -> bool:
    operator = field_of(node, "operator")
    return operator is not None and operator.type == "&."


def _arguments(code: Code, node: Node) -> str:
    arguments = field_of(node, "arguments")
    block = field_of(node, "block")
    return "".join(code.text_of(part) for part in (arguments, block) if part is not None)
