"""Matchers of RSpec: what they say of the result of a call."""

import re
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from runcard.plans.ruby.ruby_values import NIL, RubyValue, hash_of, text_pieces
from runcard.plans.ruby.syntax_tree import Code, Node, children, field_of

_EQUAL = {"eq", "eql", "equal", "be"}
_TRUTHY = {"be_truthy", "be_true"}
_FALSY = {"be_falsey", "be_falsy", "be_false"}
_CLASS = {"be_a", "be_an", "be_kind_of", "be_a_kind_of", "be_instance_of", "be_an_instance_of"}
_NOT_NIL = {
    "include",
    "match_array",
    "contain_exactly",
    "match",
    "start_with",
    "end_with",
    "be_empty",
    "have_key",
}
_RAISE = {"raise_error", "raise_exception"}
_NEW = re.compile(r"[\w:]+\.new\b")
_PLAIN_REGEX = re.compile(r"/\^?([\w ',:\-]+)\$?/i?")
_ANY_CLASS = {"NilClass", "FalseClass", "Object", "BasicObject"}


class Expected(StrEnum):
    """What is expected of a call."""

    VALUE = "value"
    TRUTHY = "truthy"
    FALSY = "falsy"
    NOT_NIL = "not nil"
    RETURNS = "returns"  # anything, but no error
    ERROR = "error"


class Expectation(NamedTuple):
    """What an example expects of a call."""

    kind: Expected
    value: RubyValue | None = None
    error: str = ""  # the class, as written
    message: tuple[str, ...] = ()  # what the message must contain

    @property
    def is_error(self) -> bool:
        return self.kind is Expected.ERROR

    @property
    def opposite(self) -> "Expectation":
        """What a negated matcher expects, if that says anything."""
        return Expectation(_OPPOSITES.get(self.kind, Expected.RETURNS))


RETURNS = Expectation(Expected.RETURNS)
NOT_NIL = Expectation(Expected.NOT_NIL)
TRUTHY = Expectation(Expected.TRUTHY)
FALSY = Expectation(Expected.FALSY)
_OPPOSITES = {Expected.TRUTHY: Expected.FALSY, Expected.FALSY: Expected.TRUTHY}


def expectation_of(
    code: Code,
    matcher: Node | None,
    value_of: Callable[[Node], RubyValue | None],
    *,
    is_negated: bool,
    is_equal: bool = False,
) -> Expectation:
    """What a matcher expects; `is_equal` if it is the value itself, as in `x.should == y`."""
    if matcher is None:
        return RETURNS
    found = _value(value_of(matcher)) if is_equal else _matched(code, matcher, value_of)
    if not is_negated:
        return found
    if field_of(matcher, "arguments") is not None and found.kind is not Expected.VALUE:
        return RETURNS  # `not_to include(x)` says nothing of the result itself
    if found == Expectation(Expected.VALUE, NIL):
        return NOT_NIL
    return found.opposite


def _matched(code: Code, matcher: Node, value_of: Callable[[Node], RubyValue | None]) -> Expectation:
    method = field_of(matcher, "method") if matcher.type == "call" else matcher
    if method is None or (matcher.type == "call" and field_of(matcher, "receiver") is not None):
        return RETURNS
    name, arguments = code.text_of(method), children(field_of(matcher, "arguments"))
    if name in _TRUTHY | _FALSY:
        return TRUTHY if name in _TRUTHY else FALSY
    if name == "be_nil":
        return Expectation(Expected.VALUE, NIL)
    if name in _EQUAL and arguments and all(part.type == "pair" for part in arguments):
        return _value(hash_of(code, arguments))
    if name in _EQUAL and len(arguments) == 1:
        return _value(value_of(arguments[0]))
    if name in _CLASS and arguments and code.text_of(arguments[0]) not in _ANY_CLASS:
        return TRUTHY
    if name in _RAISE:
        return _error(code, arguments)
    return TRUTHY if name in _NOT_NIL else RETURNS


def _value(value: RubyValue | None) -> Expectation:
    if value is None or (value.kind == "constant" and str(value.data).rpartition("::")[2].isupper()):
        return RETURNS  # a constant may be nil; a class is not
    return Expectation(Expected.VALUE, value) if value.is_comparable else TRUTHY


def _error(code: Code, arguments: list[Node]) -> Expectation:
    error, message = "", tuple[str, ...]()
    for part in arguments:
        text = code.text_of(part)
        made = field_of(part, "receiver") if part.type == "call" and _NEW.match(text) else part
        if made is not None and made.type in {"constant", "scope_resolution"}:
            error = code.text_of(made)
        elif part.type in {"string", "chained_string"}:
            message = tuple(text_pieces(code, part))
        elif part.type == "regex" and (match := _PLAIN_REGEX.fullmatch(text)):
            message = (match[1],)
    return Expectation(Expected.ERROR, error=error, message=message)
