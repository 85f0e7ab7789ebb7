"""Values in a Ruby text as far as they are known without running it: literals, and objects that are not nil."""

import re
from dataclasses import dataclass
from typing import Any

from runcard.plans.ruby.syntax_tree import Code, Node, children, field_of

_LITERALS = {"nil", "true", "false", "string", "symbol", "number"}
_MAX_DEPTH = 6
_OBJECTS = {
    "double",
    "instance_double",
    "class_double",
    "spy",
    "instance_spy",
    "build",
    "create",
    "build_stubbed",
}
_PROCS = {"lambda", "proc"}
_NUMBER = re.compile(r"-?\d[\d_]*(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class RubyValue:
    """A value: its kind, and what is known of it."""

    kind: str  # nil, true, false, string, symbol, number, array, hash, proc, constant, object
    data: Any = (
        None  # the text or number; of an array its size, of a hash its values by their keys; else None
    )

    @property
    def is_literal(self) -> bool:
        """Whether it is known exactly."""
        return self.kind in _LITERALS and (self.data is not None or self.kind in {"nil", "true", "false"})

    @property
    def is_truthy(self) -> bool:
        return self.kind not in {"nil", "false"}

    @property
    def is_comparable(self) -> bool:
        """Whether it can be told apart from others: a literal, or a hash whose keys are known."""
        return self.is_literal or (self.kind == "hash" and self.data is not None)

    def may_equal(self, other: "RubyValue") -> bool:
        """Whether two comparable values may be equal: what is not known in a hash may be anything."""
        if self.kind != "hash" or other.kind != "hash":
            return self == other
        return self.data.keys() == other.data.keys() and all(
            one is None or two is None or not (one.is_comparable and two.is_comparable) or one.may_equal(two)
            for one, two in ((self.data[key], other.data[key]) for key in self.data)
        )


NIL = RubyValue("nil")
OBJECT = RubyValue("object")
PROC = RubyValue("proc")


def value_of(code: Code, node: Node | None, depth: int = 0) -> RubyValue | None:
    """The value of an expression; None if it is not known, not even whether it is nil."""
    if node is None or depth > _MAX_DEPTH:
        return None
    kind = node.type
    if kind in {"nil", "true", "false"}:
        return RubyValue(kind)
    if kind in {"string", "simple_symbol", "integer", "float", "unary"}:
        return _scalar(code, node)
    if kind in {"array", "string_array", "symbol_array"}:
        inner = children(node)
        return RubyValue("array", None if any("splat" in part.type for part in inner) else len(inner))
    if kind == "hash":
        return hash_of(code, children(node), depth)
    if kind in {"constant", "scope_resolution"}:
        return RubyValue("constant", code.text_of(node))
    if kind == "lambda":
        return PROC
    if kind in {"regex", "heredoc_beginning", "chained_string", "delimited_symbol", "range", "self"}:
        return OBJECT
    if kind == "parenthesized_statements" and len(inner := children(node)) == 1:
        return value_of(code, inner[0], depth + 1)
    return _call(code, node) if kind in {"call", "identifier"} else None


def _scalar(code: Code, node: Node) -> RubyValue | None:
    text = code.text_of(node)
    if node.type == "simple_symbol":
        return RubyValue("symbol", text[1:])
    if node.type == "string":
        parts = node.named_children
        is_plain = "\\" not in text and all(part.type == "string_content" for part in parts)
        return RubyValue("string", "".join(map(code.text_of, parts)) if is_plain else None)
    if _NUMBER.fullmatch(text) is None or re.fullmatch(r"-?0\d+", text):
        return None if node.type == "unary" else OBJECT
    return RubyValue("number", float(text.replace("_", "")))


def text_pieces(code: Code, node: Node) -> list[str]:
    """The pieces of a string between what is computed: `"no #{name} found"` has two."""
    parts = [
        part
        for each in (children(node) if node.type == "chained_string" else [node])
        for part in each.named_children
    ]
    if any(part.type == "escape_sequence" for part in parts):
        return []
    return [code.text_of(part) for part in parts if part.type == "string_content"]


def key_of(code: Code, key: Node) -> RubyValue | None:
    """The key of a pair: `a:` and `:a =>` are the same symbol, `'a' =>` is a string."""
    if key.type == "hash_key_symbol":
        return RubyValue("symbol", code.text_of(key))
    return value_of(code, key)


def hash_of(code: Code, pairs: list[Node], depth: int = 0) -> RubyValue:
    """The value of a hash, from its pairs."""
    values: dict[RubyValue, RubyValue | None] = {}
    for pair in pairs:
        key = field_of(pair, "key") if pair.type == "pair" else None
        name = None if key is None else key_of(code, key)
        if name is None or not name.is_literal:
            return RubyValue("hash")
        values[name] = value_of(code, field_of(pair, "value"), depth + 1)
    return RubyValue("hash", values)


def _call(code: Code, node: Node) -> RubyValue | None:
    """Calls that make an object: `Order.new(…)`, `double('order')`, `build(:order)`, `described_class`."""
    method = field_of(node, "method") if node.type == "call" else node
    receiver = field_of(node, "receiver") if node.type == "call" else None
    name = code.text_of(method) if method is not None else ""
    if receiver is None:
        if name == "described_class":
            return RubyValue("constant", name)
        return PROC if name in _PROCS else OBJECT if name in _OBJECTS else None
    if name == "new" and receiver.type in {"constant", "scope_resolution", "identifier"}:
        return PROC if code.text_of(receiver) == "Proc" else OBJECT
    return None
