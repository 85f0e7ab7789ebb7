"""What methods are made to return in an example: `allow(x).to receive(:active?).and_return(false)`, `double(active?: true)`.

A stub is known by the name of its receiver, as the spec writes it (`self` for the tested object or class), and of the
method. One with two different values is not known. The one in the example counts over those in hooks, as in RSpec.
"""

from collections.abc import Iterator, Sequence

from runcard.plans.ruby.ruby_values import RubyValue
from runcard.plans.ruby.spec_scope import SpecScope
from runcard.plans.ruby.syntax_tree import Node, children, field_of

_DOUBLES = {
    "double",
    "instance_double",
    "class_double",
    "object_double",
    "spy",
    "instance_spy",
    "receive_messages",
}
_ALLOWING = {"allow", "expect", "allow_any_instance_of", "expect_any_instance_of"}


_NAMES = {"identifier", "instance_variable", "constant", "scope_resolution"}
StubKey = tuple[str, str]  # the receiver, and the method
_Stubs = Iterator[tuple[StubKey, RubyValue | None]]


class StubReader:
    """Reads the stubs that hold in an example."""

    def __init__(self, scope: SpecScope) -> None:
        self._scope, self._text_of = scope, scope.code.text_of

    def read(self, blocks: Sequence[Node]) -> dict[StubKey, RubyValue]:
        """The stubs of hooks and of the example, in this order, and those of the doubles in lets."""
        known: dict[StubKey, RubyValue | None] = {}
        for let, body in self._scope.lets.items():
            for name, value in self._stubs(body, let):
                known[name] = value if known.get(name, value) == value else None
        for block in blocks:
            own: dict[StubKey, RubyValue | None] = {}
            for name, value in self._stubs(block, ""):
                own[name] = value if own.get(name, value) == value else None
            known |= own
        return {name: value for name, value in known.items() if value is not None}

    def _stubs(self, node: Node, owner: str) -> _Stubs:
        """The stubs in a block; `owner` is the name of what it returns."""
        waiting = [(node, owner)]
        while waiting:
            part, owner = waiting.pop()
            left = field_of(part, "left") if part.type == "assignment" else None
            inner = self._text_of(left).lstrip("@") if left is not None else owner
            waiting += [(child, inner) for child in part.named_children]
            method = field_of(part, "method") if part.type == "call" else None
            word = self._text_of(method) if method is not None else ""
            if word in _DOUBLES:
                yield from self._pairs(part, self._messaged(part) if word == "receive_messages" else owner)
            elif word == "to":
                yield from self._received(part)

    def _messaged(self, call: Node) -> str:
        """The receiver of `allow(x).to receive_messages(…)`."""
        above = call.parent.parent if call.parent is not None else None
        receiver = field_of(above, "receiver") if above is not None else None
        return self._name(receiver) if receiver is not None else ""

    def _name(self, allowed: Node) -> str:
        """The name of the object in `allow(x)`."""
        at = next(iter(children(field_of(allowed, "arguments"))), None)
        if at is None:
            return ""
        if self._scope.is_class(at) or self._scope.is_instance(at):
            return "self"
        return self._text_of(at).lstrip("@") if at.type in _NAMES else ""

    def _pairs(self, call: Node, owner: str) -> _Stubs:
        for pair in children(field_of(call, "arguments")):
            key = field_of(pair, "key") if pair.type == "pair" else None
            if key is not None:
                value = self._scope.value(field_of(pair, "value") or key, {})
                yield (owner, self._text_of(key).strip(":\"'")), value

    def _received(self, call: Node) -> _Stubs:
        """`allow(x).to receive(:name).and_return(value)`: the chain is read from its end."""
        receiver = field_of(call, "receiver")
        target = field_of(receiver, "method") if receiver is not None else None
        if receiver is None or target is None or self._text_of(target) not in _ALLOWING:
            return
        at: Node | None = next(iter(children(field_of(call, "arguments"))), None)
        returned: RubyValue | None = None
        while at is not None and at.type == "call":
            method = field_of(at, "method")
            word = self._text_of(method) if method is not None else ""
            arguments = children(field_of(at, "arguments"))
            if word == "and_return" and len(arguments) == 1:
                returned = self._scope.value(arguments[0], {})
            if word == "receive" and arguments:
                yield (self._name(receiver), self._text_of(arguments[0]).strip(":\"'")), returned
            at = field_of(at, "receiver")
