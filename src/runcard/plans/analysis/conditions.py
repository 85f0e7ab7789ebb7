"""From an expression to the condition that it is: which questions it asks, joined by `&&`, `||` and `!`."""

from dataclasses import replace

from runcard.plans.analysis.comparisons import Patterns
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
from runcard.plans.ruby.syntax_tree import Code, Node, field_of, line_of, parts

DEEPEST = 100  # conditions within conditions
AND, OR, NOT = {"&&", "and"}, {"||", "or"}, {"!", "not"}
_COMPARED = {">=", ">", "<", "<="}
_FLIPPED = {">=": "<=", ">": "<", "<": ">", "<=": ">="}
_SIGNS = {"positive?": ">", "negative?": "<", "zero?": "=="}
_KINDS = {"is_a?", "kind_of?", "instance_of?"}
_MATCHES = {"match?", "match"}
_REMOVALS = {"delete", "delete!"}  # of a hash or list, where a literal says of what
_STATEMENTS = {"case", "case_match", "begin", "while", "until", "for", "if_modifier", "unless_modifier"}
_BRANCHES = {"if", "unless", "conditional"}
_CONSTANT = {"true", "false", "nil", "integer", "float", "string", "simple_symbol", "array", "hash", "lambda"}


class Conditions:
    """Reads the conditions of one text."""

    def __init__(self, code: Code, literals: Literals, around: ConditionContext) -> None:
        self._code, self._of = code, code.of
        self._literals, self._around = literals, around
        self.patterns = Patterns(code, literals)
        self.via: str | None = None  # the private method whose text is read
        self._depth = 0
        self.too_deep: int | None = None  # the line of what was left out
        self.variables: dict[
            str, Node | None
        ] = {}  # the conditions that local variables were given; None for several
        self.privates: dict[str, Node] = {}  # the bodies of the private methods of the class

    # From the outside in

    def read(self, node: Node) -> Condition | None:
        """The condition that an expression is; None for one that is always the same."""
        if self._depth >= DEEPEST:
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
            return self.chosen(value, [at], node)
        if (
            node.type == "assignment"
            and (left := field_of(node, "left"))
            and (right := field_of(node, "right"))
        ):
            return self.read(right) if self.is_condition(right) else self._presence(node, left, None)
        if node.type == "operator_assignment" and (left := field_of(node, "left")):
            return self._presence(node, left, None)
        if node.type == "rescue_modifier" and (body := field_of(node, "body")):
            return self.read(body)
        if node.type in _BRANCHES:
            return self._branched(node)
        if node.type in _CONSTANT | _STATEMENTS:
            return None
        if node.type == "identifier" and (expanded := self._expanded(self._of(node))):
            return expanded
        return self._call(node) if node.type == "call" else self._truth(node)

    def _branched(self, node: Node) -> Condition | None:
        """`a ? b : c` as a condition: what its branches ask, each behind the one question or its opposite."""
        asked = field_of(node, "condition")
        found = self.read(asked) if asked is not None else None
        if found is None:
            return None
        found = Not(found) if node.type == "unless" else found
        first, second = (self._answer(field_of(node, name)) for name in ("consequence", "alternative"))
        yes = self.joined(found, first, both=True)
        return self.joined(yes, second and Both(Not(found), second), both=False)

    def _answer(self, branch: Node | None) -> Condition | None:
        """What a branch asks at its end."""
        if branch is not None and branch.type in {"then", "else"}:
            branch = next(reversed(parts(branch)), None)
        return None if branch is None else self.read(branch)

    def _expanded(self, name: str) -> Condition | None:
        """What a name stands for: a variable for the condition it was given, a private predicate for what it asks."""
        given = self.variables.pop(name, None)
        if given is not None:
            found = self.read(given)  # in which the same name means something else
            self.variables[name] = given
            return found
        known = self.privates.get(name) if self.via is None else None
        predicate = read_predicate(self._code, known) if known else None
        if predicate is None or predicate[1].type in _STATEMENTS | _BRANCHES:
            return None
        if not (predicate[0] or self.is_condition(predicate[1])):
            return None
        self.via = name
        try:
            return self._answered(*predicate)
        finally:
            self.via = None

    def _answered(self, guards: list[PredicateGuard], last: Node) -> Condition | None:
        """A body that answers yes or no, as one condition."""
        found = self.read(last)
        for guard in reversed(guards):
            asked = self.read(guard.condition)
            yes = Not(asked) if asked is not None and guard.is_unless != (not guard.answer) else asked
            found = self.joined(yes, found, both=not guard.answer)
        return found

    def is_condition(self, node: Node) -> bool:
        """Whether an expression is a condition by its look, also one joined by `&&` or `||`."""
        node = unwrapped(self._code, node)
        operator = field_of(node, "operator")
        return self.is_predicate(node) or (
            node.type == "binary" and operator is not None and operator.type in AND | OR
        )

    def joined(self, left: Condition | None, right: Condition | None, *, both: bool) -> Condition | None:
        if left is None or right is None:
            return left or right
        return Both(left, right) if both else either(left, right)

    def asks(self, node: Node) -> bool:
        """Whether an expression is a comparison, so that its value alone is worth telling apart."""
        node = unwrapped(self._code, node)
        operator = field_of(node, "operator")
        if node.type == "binary" and operator is not None:
            return operator.type in _COMPARED | {"==", "!=", "=~", "!~"}
        method = field_of(node, "method")
        name = self._of(method) if node.type == "call" and method else ""
        return name in {"between?", "cover?", "in?", *PRESENCES, *_SIGNS, *_KINDS} or (
            name == "include?" and isinstance(self._literals.value(field_of(node, "receiver")), list)
        )

    def is_predicate(self, node: Node) -> bool:
        """Whether an expression asks something, by its look."""
        node = unwrapped(self._code, node)
        name = (
            field_of(node, "method") if node.type == "call" else node if node.type == "identifier" else None
        )
        return self.asks(node) or node.type == "unary" or (name is not None and self._of(name).endswith("?"))

    def _binary(self, node: Node) -> Condition | None:
        left, right, operator = (field_of(node, name) for name in ("left", "right", "operator"))
        if left is None or right is None or operator is None:
            return None
        if operator.type in AND | OR:
            return self.joined(self.read(left), self.read(right), both=operator.type in AND)
        if operator.type in _COMPARED:
            return self._compared(node, left, operator.type, right)
        if operator.type in {"==", "!=", "===", "=~", "!~"}:
            found = self.safely(left, self._equal(node, left, right, operator.type))
            return Not(found) if found and operator.type.startswith("!") else found
        return self._truth(node)

    def _unary(self, node: Node) -> Condition | None:
        operand, operator = field_of(node, "operand"), field_of(node, "operator")
        if operand is None or operator is None:
            return None
        if operator.type in NOT:
            inner = self.read(operand)
            return Not(inner) if inner else None
        if operator.type == "defined?":
            subject = subject_of(self._code, operand)
            return self._pair(node, subject, "defined", Pair("defined", "not_defined"))
        return None

    # Questions

    def _compared(self, node: Node, left: Node, operator: str, right: Node) -> Condition | None:
        if (
            unwrapped(self._code, left).type in _CONSTANT
            and unwrapped(self._code, right).type not in _CONSTANT
        ):
            left, right, operator = right, left, _FLIPPED[operator]
        return self.safely(left, self._bounds(node, left, operator, right))

    def _bounds(self, node: Node, left: Node, operator: str, right: Node) -> Question:
        subject = subject_of(self._code, left)
        return self._ask(node, subject, "range", subject.name, self.patterns.compared(operator, right))

    def safely(self, node: Node, found: Condition | None) -> Condition | None:
        """A condition on `a&.b`, behind the question whether there is an `a`."""
        at: Node | None = node
        while at is not None and at.type == "call" and found is not None:
            receiver = field_of(at, "receiver")
            if receiver is not None and _is_safe(at):
                found = self._guarded(receiver, found)
            at = receiver
        return found

    def _equal(self, node: Node, left: Node, right: Node, operator: str) -> Condition | None:
        if operator == "===" or (self.patterns.is_value(left) and not self.patterns.is_value(right)):
            left, right = right, left
        subject = subject_of(self._code, left)
        if operator in {"=~", "!~"}:
            return self._matched(node, subject, right)
        if unwrapped(self._code, right).type == "nil":
            return self._presence(node, left, "nil?")
        if not self.patterns.is_value(right) and operator != "===":
            other = subject_of(self._code, right)
            pair = Pair("equal", "different", equals=self.patterns.threshold(right))
            return self._pair(node, subject, f"equals_{other.name}", pair)
        return self.chosen(left, [right], node)

    def _matched(self, node: Node, subject: Subject, pattern: Node) -> Question:
        """Whether a text fits a pattern; another pattern is another question."""
        key = f"{subject.key}.match({self._of(pattern)})"
        return self._ask(node, subject, "pair", f"{subject.name}_match", Pair("match", "no_match"), key)

    def chosen(
        self, value: Node, patterns: list[Node], node: Node, *, is_closed: bool = False, numbers: bool = False
    ) -> Question:
        """Whether a value is one of some literals or fits one of some patterns."""
        subject = subject_of(self._code, value)
        if numbers:
            bounds = self.patterns.intervals(patterns, is_closed=is_closed)
            return self._ask(node, subject, "range", subject.name, bounds)
        values = tuple(dict.fromkeys(name for at in patterns for name in self.patterns.names(at)))
        return self._choice(node, subject, values, is_closed=is_closed)

    def _choice(
        self, node: Node, subject: Subject, values: tuple[str, ...], *, is_closed: bool = False
    ) -> Question:
        declared = self._declared(subject)
        if declared is not None and not set(values) <= set(declared.values):
            declared = None
        return self._ask(node, subject, "value", subject.name, Choice(values, is_closed, declared))

    def _declared(self, subject: Subject) -> DeclaredValues | None:
        owner, _, attribute = subject.key.rpartition(".")
        declarations = self._around.of_model.declarations(owner) if owner else self._around.own
        return declarations.of(attribute)

    def _call(self, node: Node) -> Condition | None:
        method, receiver = field_of(node, "method"), field_of(node, "receiver")
        if method is None:
            return self._truth(node)
        if receiver is None or receiver.type == "self":
            expanded = self._expanded(self._of(method))
            if expanded is not None:
                return expanded
        return self.safely(node, self._called(node, self._of(method), receiver))

    def _guarded(self, receiver: Node, found: Condition) -> Condition:
        """`user&.active?` asks whether there is a user before it asks whether they are active."""
        there = self.there(receiver)
        if isinstance(found, Question) and found.key == there.key:
            return found
        return Both(there, found)

    def there(self, node: Node) -> Question:
        """Whether there is something at all."""
        return self._presence(node, node, None)

    def assigned(self, left: Node, node: Node) -> Question:
        """Whether what `||=` assigns is there already."""
        asked, operator = self._presence(node, left, None), field_of(node, "operator")
        return replace(asked, text=f"{one_line(self._of(left))} {self._of(operator) if operator else '||='}")

    def _called(self, node: Node, name: str, receiver: Node | None) -> Condition | None:
        arguments = parts(field_of(node, "arguments"))
        plain = not arguments and field_of(node, "block") is None
        if receiver is not None and plain and name in PRESENCES:
            return self._presence(node, receiver, name)
        if receiver is not None and plain and name in _SIGNS:
            return self._ask_number(node, receiver, _SIGNS[name])
        if receiver is not None and (listed := self._listed(node, name, receiver, arguments)):
            return listed
        if receiver is not None and name in _KINDS and len(arguments) == 1:
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
        return self._ask(node, subject, "range", subject.name, self.patterns.compared(operator, None))

    def _listed(self, node: Node, name: str, receiver: Node, arguments: list[Node]) -> Condition | None:
        """`x.in?(list)`, `list.include?(x)`, `x.between?(a, b)`, `(a..b).cover?(x)`."""
        if name == "between?" and len(arguments) == 2:
            return Both(
                self._bounds(node, receiver, ">=", arguments[0]),
                self._bounds(node, receiver, "<=", arguments[1]),
            )
        if name not in {"in?", "include?", "cover?", "member?", "exclude?"} or len(arguments) != 1:
            return None
        value, listed = (receiver, arguments[0]) if name == "in?" else (arguments[0], receiver)
        found = self._among(node, value, unwrapped(self._code, listed))
        return Not(found) if found is not None and name == "exclude?" else found

    def _among(self, node: Node, value: Node, listed: Node) -> Condition | None:
        if listed.type == "range":
            return self.chosen(value, [listed], node, numbers=True)
        if values := self.patterns.listed(listed):
            return self._choice(node, subject_of(self._code, value), tuple(dict.fromkeys(values)))
        if listed.type not in {"constant", "scope_resolution"}:
            return None
        subject, name = subject_of(self._code, value), underscore(self._of(listed).rpartition("::")[2])
        return self._pair(node, subject, f"in_{name}", Pair("included", "excluded"))

    def _kind(self, node: Node, receiver: Node, kind: Node) -> Question:
        subject = subject_of(self._code, receiver)
        name = f"{subject.name}_class"
        key = replace(subject, key=f"{subject.key}.class", name=name)
        return self._choice(node, key, tuple(self.patterns.names(kind)))

    def _predicate(self, node: Node, name: str, receiver: Node | None) -> Question:
        owner = None if receiver is None or receiver.type == "self" else subject_of(self._code, receiver)
        declarations = self._around.of_model.declarations(owner.key) if owner else self._around.own
        if name in declarations.predicates and not parts(field_of(node, "arguments")):
            attribute, value = declarations.predicates[name]
            prefix, dot = (f"{owner.name}_", f"{owner.key}.") if owner else ("", "")
            of = Subject(
                f"{dot}{attribute}",
                f"{prefix}{attribute}",
                one_line(self._of(node)),
                owner.root if owner else attribute,
            )
            return self._choice(node, of, (value,))
        pair = pair_of(slug(name.rstrip("?")))
        subject = subject_of(self._code, node)
        if extra := argument_words(self._code, node):
            pair = Pair(f"{pair.positive}_{extra}", f"{pair.negative}_{extra}", pair.holds)
        whole = f"{owner.name}_{pair.positive}" if owner else pair.positive
        key = f"{owner.key if owner else ''}.{pair.positive}({_arguments(self._code, node)})"
        found = self._ask(node, subject, "pair", whole, pair, key)
        is_own = owner is None and self.via is None and name in self.privates
        return replace(found, via=name) if is_own else found

    def _presence(self, node: Node, of: Node, predicate: str | None) -> Question:
        subject = subject_of(self._code, of)
        answer = PRESENCES[predicate] if predicate else TRUTHY
        return self._ask(node, subject, "presence", f"{subject.name}_present", answer)

    def _truth(self, node: Node) -> Question:
        """Something that counts by whether it is there, or by whether it succeeded."""
        subject = subject_of(self._code, node)
        if node.type == "identifier" and self._of(node).endswith("?"):
            return self._predicate(node, self._of(node), None)
        if subject.key in self._around.flags:
            answer = Pair("enabled", "disabled")
            return self._ask(node, subject, "pair", subject.name, answer, subject.key)
        if self._is_action(node):
            return self._ask(node, subject, "pair", subject.name, Pair(SUCCEEDED, FAILED), subject.key)
        return self._presence(node, node, None)

    def _is_action(self, node: Node) -> bool:
        """Whether something is called for its effect, and says by its result whether it succeeded."""
        if node.type == "identifier":
            return self._of(node) in OWN_ACTIONS
        method = field_of(node, "method") if node.type == "call" else None
        if method is None or self._of(method).rstrip("!") not in ACTIONS:
            return False
        first = next(iter(parts(field_of(node, "arguments"))), None)
        takes_out = self._of(method) in _REMOVALS and first is not None and self.patterns.is_value(first)
        return not takes_out  # which gives back what was there

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
        """A condition as it is written; of a clause what stands before its body."""
        if node.type not in {"when", "in_clause"}:
            return one_line(self._of(node))
        body, value = field_of(node, "body"), field_of(node.parent, "value") if node.parent else None
        end = body.start_byte if body else node.end_byte
        clause = self._code.text[node.start_byte : end].decode("utf-8", "replace")
        return one_line(f"case {self._of(value) if value else ''} {clause}")


def _is_safe(node: Node) -> bool:
    operator = field_of(node, "operator")
    return operator is not None and operator.type == "&."


def _arguments(code: Code, node: Node) -> str:
    arguments = field_of(node, "arguments")
    block = field_of(node, "block")
    return "".join(code.of(part) for part in (arguments, block) if part is not None)
