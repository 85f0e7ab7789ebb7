"""The calls of a method in the examples of a spec: their arguments, and what is expected of them.

Lets and the subject are looked up as RSpec does: the innermost definition counts. A call that may not run (in an `if`, a
`rescue`, a block other than that of `expect`) is not read. What is not known stays unknown.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from runcard.plans.ruby.expectations import FALSY, NOT_NIL, RETURNS, TRUTHY, Expectation, expectation_of
from runcard.plans.ruby.ruby_values import PROC, RubyValue
from runcard.plans.ruby.spec_scope import SpecScope, only_statement
from runcard.plans.ruby.stubs import StubKey, StubReader
from runcard.plans.ruby.syntax_tree import METHODS, Node, children, field_of


def _words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NOT_ENTERED = METHODS | _words_of(
    """
    if unless case case_match while until for lambda class module if_modifier unless_modifier conditional rescue
    rescue_modifier begin comment
    """
)
_EXPECTING = {"to": False, "not_to": True, "to_not": True, "should": False, "should_not": True}
_COMMON = _words_of(
    """
    new call name to_s to_h to_a to_i == [] []= each map find first last size count length include? key?
    empty? valid? present? blank? nil? run start stop open close read write get set put post delete
    update create save build perform add remove value values keys id type class send dup freeze hash
    inspect join split format parse load dump find_by where all update! create! save! destroy destroy!
    fetch dig merge select reject any? all? none? <=> + - * / << === eql? equal? =~ succeed fail match
    match? data body status code message error errors result results success?
    """
)  # methods that many objects have: their receiver must be known
_PERMITS = {
    "permit_action": TRUTHY,
    "permit_actions": TRUTHY,
    "forbid_action": FALSY,
    "forbid_actions": FALSY,
}
_MAX_DEPTH = 12
_SENDING = {"public_send", "send", "__send__"}
_OF_NIL = _words_of(
    """
    to_s to_a to_h to_i to_f nil? inspect class is_a? kind_of? respond_to? == != ! try presence present?
    blank? then tap send public_send dup freeze frozen? should should_not instance_of? hash object_id
    to_json
    """
)  # what can be called on nil, too


class ExampleCall(NamedTuple):
    """A call of a method in an example."""

    positional: tuple[RubyValue | None, ...]
    keywords: dict[str, RubyValue | None]
    has_block: bool
    is_complete: bool  # no splat: all arguments are there
    expectation: Expectation
    stubs: Mapping[StubKey, RubyValue]  # what methods are made to return in this example


class CallReader:
    """Finds the calls of one method in the body of one example."""

    def __init__(self, scope: SpecScope, method: str, *, is_class_method: bool) -> None:
        self._scope, self._code = scope, scope.code
        self._method, self._is_class_method = method, is_class_method
        self._locals: dict[str, Node] = {}
        self._entered: set[str] = set()
        self._found: list[ExampleCall] = []
        self._stubs: Mapping[StubKey, RubyValue] = {}
        self._is_of_attribute = False

    def read(self, example: Node, *, is_of_attribute: bool = False) -> list[ExampleCall]:
        """The calls in a block; `is_of_attribute` if its expectations are about an attribute: `its(:size) { … }`."""
        self._is_of_attribute = is_of_attribute
        self._stubs = StubReader(self._scope).read((*self._scope.hooks, example))
        if any(name == self._method for _, name in self._stubs):
            return []  # what it returns is not what the method does
        for block in (*self._scope.hooks, example):
            self._locals = {}
            for statement in children(field_of(block, "body")):
                self._statement(statement)
        return self._found

    def _statement(self, node: Node) -> None:
        """A statement: an expectation, an assignment, or any other call."""
        if node.type == "assignment" and (left := field_of(node, "left")) is not None:
            right = field_of(node, "right")
            if left.type == "identifier" and right is not None:
                name = self._code.text_of(left)
                if name in self._locals:
                    self._locals.pop(name)  # assigned twice: which of them counts is not known
                else:
                    self._locals[name] = right
        if not self._expectation(node):
            self._search(node, RETURNS)

    def _expectation(self, node: Node) -> bool:
        """`expect(x).to matcher`, `is_expected.to matcher`, `x.should matcher`, `x.should == y`, `expect { x }.to …`."""
        operator = field_of(node, "operator")
        matcher: Node | None = None
        if node.type == "binary" and operator is not None and self._code.text_of(operator) == "==":
            matcher, node = field_of(node, "right"), field_of(node, "left") or node
        method, receiver = field_of(node, "method"), field_of(node, "receiver")
        word = self._code.text_of(method) if method is not None and node.type == "call" else ""
        if word not in _EXPECTING:
            return False
        arguments = children(field_of(node, "arguments"))
        is_equal = matcher is not None
        matcher = matcher or (arguments[0] if arguments else None)
        expected = expectation_of(
            self._code,
            matcher,
            lambda part: self._scope.value(part, self._locals),
            is_negated=_EXPECTING[word],
            is_equal=is_equal,
        )
        if not is_equal and (
            self._permission(matcher, is_negated=_EXPECTING[word])
            or self._predicate(receiver, matcher, is_negated=_EXPECTING[word])
        ):
            return True
        self._expect(receiver, word, expected)
        if matcher is not None:
            self._search(matcher, RETURNS)
        return True

    def _permission(self, matcher: Node | None, *, is_negated: bool) -> bool:
        """`expect(policy).to permit(user, post)` in `permissions :show?`, or `permit_action(:show)`."""
        method = field_of(matcher, "method") if matcher is not None and matcher.type == "call" else None
        word = self._code.text_of(method) if method is not None and matcher is not None else ""
        actions = (
            [self._scope.value(part, {}) for part in children(field_of(matcher, "arguments"))]
            if matcher
            else []
        )
        is_named = RubyValue("symbol", self._method.removesuffix("?")) in actions
        if word == "permit" and self._method in self._scope.permissions:
            holds = TRUTHY
        elif word in _PERMITS and is_named:
            holds = _PERMITS[word]
        else:
            return False
        expected = holds.opposite if is_negated else holds
        self._found.append(ExampleCall((), {}, False, True, expected, self._stubs))
        return True

    def _predicate(self, receiver: Node | None, matcher: Node | None, *, is_negated: bool) -> bool:
        """`expect(order).to be_paid`, which calls `paid?`."""
        name = field_of(matcher, "method") if matcher is not None and matcher.type == "call" else matcher
        text = self._code.text_of(name) if name is not None else ""
        if self._is_class_method or not self._method.endswith("?") or receiver is None or matcher is None:
            return False
        if text not in {f"{article}{self._method[:-1]}" for article in ("be_", "be_a_", "be_an_")}:
            return False
        inner = children(field_of(receiver, "arguments"))
        if inner and not self._is_receiver(inner[0]):
            return False
        self._found.append(self._call(matcher, FALSY if is_negated else TRUTHY))
        return True

    def _expect(self, receiver: Node | None, word: str, expected: Expectation) -> None:
        name = field_of(receiver, "method") if receiver is not None and receiver.type == "call" else receiver
        text = self._code.text_of(name) if name is not None else ""
        if text == "is_expected" or receiver is None:
            wanted = RETURNS if self._is_of_attribute else expected
            self._value(self._scope.lets.get("subject"), wanted, is_block=True)
            return
        if word.startswith("should"):
            self._value(receiver, expected)
            return
        block = field_of(receiver, "block")
        if text == "expect" and block is not None:
            only = only_statement(block)
            if only is not None:
                self._value(only, expected if expected.is_error else RETURNS)
        elif text == "expect" and (inner := children(field_of(receiver, "arguments"))):
            self._value(inner[0], RETURNS if expected.is_error else expected)

    def _value(self, node: Node | None, expected: Expectation, *, is_block: bool = False) -> None:
        """An expression of which something is expected: the call itself, or one that contains it."""
        at = only_statement(node) if is_block else node
        for _ in range(_MAX_DEPTH):
            if at is None or at.type != "identifier":
                break
            name = self._code.text_of(at)
            if name in self._locals:
                at = self._locals[name]
            elif name in self._scope.lets:
                self._entered.add(name)
                at = only_statement(self._scope.lets[name])
            else:
                break
        if at is None:
            return
        if self._is_call(at):
            is_object = self._method == "initialize" and not expected.is_error  # nobody sees what it returns
            self._found.append(self._call(at, RETURNS if is_object else expected))
            for part in at.named_children:
                if part not in (field_of(at, "method"), field_of(at, "block")):
                    self._search(part, RETURNS)
        elif not expected.is_error:
            self._search(at, RETURNS)

    def _search(self, node: Node, expected: Expectation, depth: int = 0) -> None:
        """All calls in an expression that surely run."""
        if depth > _MAX_DEPTH or node.type in _NOT_ENTERED:
            return
        if self._is_call(node):
            self._found.append(self._call(node, expected))
        elif node.type == "call" and (receiver := field_of(node, "receiver")) is not None:
            method, dot = field_of(node, "method"), field_of(node, "operator")
            word = self._code.text_of(method) if method is not None else "!"
            is_used = dot is not None and dot.type == "." and word not in _OF_NIL
            if is_used and self._is_call(receiver):
                self._found.append(self._call(receiver, NOT_NIL))
        if node.type == "identifier":
            name = self._code.text_of(node)
            if name in self._scope.lets and name not in self._locals and name not in self._entered:
                self._entered.add(name)
                for statement in children(field_of(self._scope.lets[name], "body")):
                    self._search(statement, expected, depth + 1)
            return
        block, method = field_of(node, "block"), field_of(node, "method")
        for part in node.named_children:
            if part not in (block, method):
                self._search(part, expected, depth + 1)

    def _is_call(self, node: Node) -> bool:
        operator, method = field_of(node, "operator"), field_of(node, "method")
        if node.type == "binary" and operator is not None:
            return self._code.text_of(operator) == self._method and self._is_receiver(field_of(node, "left"))
        if node.type == "identifier":
            is_own = self._code.text_of(node) == self._method and self._method not in self._scope.lets
            return is_own and self._method not in _COMMON and self._method not in self._locals
        if node.type != "call" or method is None:
            return False
        word = self._code.text_of(method)
        if self._method == "initialize":
            return word == "new" and self._scope.is_class(field_of(node, "receiver"))
        if word in _SENDING:
            first = next(iter(children(field_of(node, "arguments"))), None)
            return self._scope.value(first, self._locals) == RubyValue("symbol", self._method)
        return word == self._method and self._is_receiver(field_of(node, "receiver"))

    def _is_receiver(self, node: Node | None) -> bool:
        if node is None:
            return self._method not in _COMMON
        if self._is_class_method:
            if self._scope.is_class(node):
                return True
        elif self._scope.is_instance(self._locals.get(self._code.text_of(node), node)):
            return True
        return self._method not in _COMMON

    def _call(self, node: Node, expected: Expectation) -> ExampleCall:
        if node.type == "binary":
            right = self._scope.value(field_of(node, "right"), self._locals)
            return ExampleCall((right,), {}, False, True, expected, self._stubs)
        arguments = children(field_of(node, "arguments"))
        method = field_of(node, "method")
        if method is not None and self._code.text_of(method) in _SENDING:
            arguments = arguments[1:]
        positional: list[RubyValue | None] = []
        keywords: dict[str, RubyValue | None] = {}
        has_block, is_complete = field_of(node, "block") is not None, True
        for part in arguments:
            if part.type == "pair":
                keywords |= dict(self._pair(part))
                key = field_of(part, "key")
                is_complete &= key is not None and key.type in {"hash_key_symbol", "simple_symbol"}
            elif part.type == "block_argument":
                value = self._scope.value(next(iter(children(part)), None), self._locals)
                has_block, is_complete = value == PROC, is_complete and value == PROC
            elif "splat" in part.type:
                is_complete = False
            else:
                positional.append(self._scope.value(part, self._locals))
        return ExampleCall(tuple(positional), keywords, has_block, is_complete, expected, self._stubs)

    def _pair(self, pair: Node) -> Iterator[tuple[str, RubyValue | None]]:
        key, value = field_of(pair, "key"), field_of(pair, "value")
        name = self._code.text_of(key).strip(":\"'") if key is not None else ""
        yield name, self._scope.value(value if value is not None else key, self._locals)
