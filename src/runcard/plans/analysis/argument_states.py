"""The states of a method's characteristics that follow from the arguments of a call.

Only conditions on parameters are read, of parameters that keep their value: `file.nil?`, `options.key?(:private)`,
`amount > 10`, `type == :card`, `block_given?`. A value that is not known decides nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from runcard.plans.analysis.questions import Choice, Presence, Question
from runcard.plans.analysis.states import Characteristic, default_presence
from runcard.plans.ruby.ruby_values import NIL, PROC, RubyValue, value_of
from runcard.plans.ruby.stubs import StubKey
from runcard.plans.ruby.syntax_tree import Code, Node, children, field_of, line_of

_CLASSES = {
    "nil": {"NilClass"},
    "true": {"TrueClass"},
    "false": {"FalseClass"},
    "string": {"String", "Comparable"},
    "symbol": {"Symbol", "Comparable"},
    "number": {"Numeric", "Comparable"},
    "array": {"Array", "Enumerable"},
    "hash": {"Hash", "Enumerable"},
    "proc": {"Proc"},
}
_CORE = frozenset().union(*_CLASSES.values()) | {
    "Integer",
    "Float",
    "Range",
    "Regexp",
    "Time",
    "Date",
    "Class",
    "Module",
}
_CLASS_TEST = re.compile(r"\.(?:is_a\?|kind_of\?|instance_of\?)[( ]\s*(?:::)?([A-Z]\w*(?:::\w+)*)\)?")
_KEY_TEST = re.compile(r"\.(?:key\?|has_key\?|include\?|member\?)[( ]\s*([:'\"])(\w+)['\"]?\)?")
_COMPARISON = re.compile(
    r"\s*(==|!=|>=|<=|>|<)\s*(-?\d[\d_]*(?:\.\d+)?|nil|true|false|:\w+|'[^'\\]*'|\"[^\"\\#]*\")"
)
_MATCH = re.compile(
    r"\s*(=~|!~|\.match\?\()\s*/((?:[\w \-^$.*+?()|]|\\[dws.])+)/\)?"
)  # what Python reads alike
_SLOW = re.compile(r"\)[*+?]|[*+?][*+?]")  # repeated groups can take very long
_LONGEST = 80
_CHANGES = (
    r"(?:\w+!|pop|shift|unshift|delete|push|insert|clear|replace|update|store|concat|append|delete_if)\b"
)


NO_STUBS: Mapping[StubKey, RubyValue] = {}
_SUBJECT = re.compile(r"((?:((?:[\w@:]+&?\.)*[\w@:]+)&?\.)?@?(\w+[?!]?)(?:\((?:[^()]*)\))?)(?![\w(.])")


class CallParameter(NamedTuple):
    """A parameter of a method."""

    name: str
    kind: str  # positional, optional, keyword, block
    default: RubyValue | None = None
    default_text: str = ""


class CallArguments(NamedTuple):
    """The arguments of one call, as far as they are known."""

    positional: tuple[RubyValue | None, ...]
    keywords: Mapping[str, RubyValue | None]
    has_block: bool
    is_complete: bool = True  # no splat among them
    stubs: Mapping[StubKey, RubyValue] = NO_STUBS  # what methods are made to return: `double(active?: true)`


class ArgumentStates:
    """The states of the characteristics of one method, by the arguments of a call."""

    def __init__(self, code: Code, method: Node, characteristics: Sequence[Characteristic]) -> None:
        self._characteristics = characteristics
        body = field_of(method, "body")
        text = code.text_of(body) if body is not None else ""
        first_line = line_of(body) if body is not None else 0
        nodes = children(field_of(method, "parameters"))
        self._parameters = [parameter for node in nodes if (parameter := _parameter(code, node)) is not None]
        self._is_plain = len(self._parameters) == len(nodes)  # no splat
        self._changed = {
            each.name: first_line + text.count("\n", 0, at)
            for each in self._parameters
            if (at := _first_change(each.name, text)) is not None
        }

    def of(self, call: CallArguments) -> dict[str, frozenset[str]]:
        """The states that are possible in a call, of the characteristics that its arguments decide."""
        values = dict(self._values(call)) if self._is_plain and call.is_complete else {}
        possible: dict[str, frozenset[str]] = {}
        for characteristic in self._characteristics:
            states = frozenset(characteristic.states)
            for question in characteristic.questions:
                states &= self._states(characteristic, question, values, call)
            if states and len(states) < len(characteristic.states):
                possible[characteristic.name] = states
        return possible

    def _values(self, call: CallArguments) -> Iterator[tuple[str, RubyValue | None]]:
        positional = list(call.positional)
        wants_keywords = any(each.kind == "keyword" for each in self._parameters)
        if call.keywords and not wants_keywords:
            pairs = {RubyValue("symbol", name): value for name, value in call.keywords.items()}
            positional.append(RubyValue("hash", pairs))
        required = sum(each.kind == "positional" for each in self._parameters)
        spare = len(positional) - required
        if spare < 0:
            return
        for each in self._parameters:
            if each.kind == "positional" or (each.kind == "optional" and spare > 0):
                spare -= each.kind == "optional"
                yield each.name, positional.pop(0) if positional else None
            elif each.kind == "block":
                yield each.name, PROC if call.has_block else NIL
            elif each.kind == "keyword" and each.name in call.keywords:
                yield each.name, call.keywords[each.name]
            else:
                match = _SUBJECT.fullmatch(each.default_text)
                yield each.name, each.default or (call.stubs.get(_stub_key(match)) if match else None)

    def _is_about(self, question: Question, name: str) -> bool:
        """Whether a question is about a parameter, and that has its first value still."""
        is_first = question.line <= self._changed.get(name, question.line)
        return is_first and name in {question.subject.key, question.subject.root}

    def _states(
        self,
        characteristic: Characteristic,
        question: Question,
        values: Mapping[str, RubyValue | None],
        call: CallArguments,
    ) -> frozenset[str]:
        everything = frozenset(characteristic.states)
        if question.via is not None:
            return everything
        holds: bool | None = None
        if question.text.strip("()") == "block_given?" and call.is_complete:
            holds = call.has_block
        name = next((each for each in values if self._is_about(question, each)), None)
        value = values.get(name or "")
        if (stub := _stubbed(question, call.stubs)) is not None and stub[0] not in values:
            name, value = stub
        if name is not None and value is not None:
            if isinstance(question.answer, Presence):
                state = _presence(characteristic, question, question.answer, name, value)
                return everything if state is None else frozenset({state})
            if isinstance(question.answer, Choice) and question.subject.key.endswith(name.lstrip("@")):
                return _chosen(characteristic, question.answer, value)
            holds = _holds(question.text, name, value)
        if holds is None:
            return everything
        true_in = characteristic.true_in(question)
        return true_in if holds else everything - true_in


def _parameter(code: Code, node: Node) -> CallParameter | None:
    name = field_of(node, "name")
    value = field_of(node, "value")
    default = value_of(code, value)
    if node.type == "identifier":
        return CallParameter(code.text_of(node), "positional")
    if name is None or node.type not in {"optional_parameter", "keyword_parameter", "block_parameter"}:
        return None
    return CallParameter(
        code.text_of(name),
        node.type.removesuffix("_parameter"),
        default,
        code.text_of(value) if value else "",
    )


def _first_change(name: str, text: str) -> int | None:
    """Where a parameter gets another value, or is changed itself."""
    word = re.escape(name)
    assigned = rf"(?<![\w.@]){word}\s*(?:\|\||&&|[-+*/%|&]|<<)?=(?![=~>])"
    match = re.search(rf"{assigned}|(?<![\w.@]){word}\s*(?:<<|\.{_CHANGES})", text)
    return None if match is None else match.start()


def _stubbed(question: Question, stubs: Mapping[StubKey, RubyValue]) -> tuple[str, RubyValue] | None:
    """The text before the test of a condition, if the method that it calls last is a stub."""
    match = _SUBJECT.match(question.text.strip())
    value = stubs.get(_stub_key(match)) if match is not None else None
    return (match[1], value) if match is not None and value is not None else None


def _stub_key(match: re.Match[str]) -> StubKey:
    """The last receiver, and the method: `order.user.active?` is one of `user`."""
    receiver = (match[2] or "self").replace("&", "").rpartition(".")[2].lstrip("@")
    return receiver, match[3]


def _presence(
    characteristic: Characteristic, question: Question, answer: Presence, name: str, value: RubyValue
) -> str | None:
    """Whether a parameter, or an element of it by a literal key, is present."""
    found: RubyValue | None = value
    plain_name = re.sub(r"\(.*\)$", "", name.replace("&.", ".").removeprefix("self.").lstrip("@"))
    key = re.sub(r"\(.*\)$", "", question.subject.key)
    if key != plain_name and not key.startswith(f"{plain_name}["):
        return None  # about something that the value has, such as `user.name`
    if key != plain_name:
        match = re.fullmatch(rf"{re.escape(plain_name)}\[(\w+)\]", question.subject.key)
        if match is None or value.kind != "hash" or value.data is None:
            return None
        signs = {text[:1] for text in re.findall(rf"\[\s*([:'\"]{match[1]}\b)", question.text)}
        if len(signs) != 1:
            return None
        found = value.data.get(RubyValue("symbol" if signs == {":"} else "string", match[1]), NIL)
    if found is None or (found.kind == "false" and "nil?" in question.text):
        return None
    is_empty = found.data == 0 if found.kind == "array" else found.data in ("", {})
    if found.kind in {"string", "array", "hash"} and (found.data is None or str(found.data).isspace()):
        return None
    if found.kind in {"object", "constant", "proc"} and "empty" in answer.tells | frozenset(
        characteristic.states
    ):
        return None
    plain = None if not found.is_truthy else "" if is_empty else object()
    return default_presence(characteristic, answer, plain)


def _chosen(characteristic: Characteristic, answer: Choice, value: RubyValue) -> frozenset[str]:
    everything = frozenset(characteristic.states)
    texts = " ".join(each.text for each in characteristic.questions)
    is_literal = all(re.search(rf"[:'\"]{re.escape(each)}\b", texts) for each in answer.values)
    if not is_literal or value.kind not in {"string", "symbol", "nil"}:
        return everything
    if value.data in answer.values:
        sign = ":" if value.kind == "symbol" else "['\"]"
        return (
            frozenset({value.data}) if re.search(rf"{sign}{re.escape(value.data)}\b", texts) else everything
        )
    return everything - frozenset(answer.values) or everything


def _holds(text: str, name: str, value: RubyValue) -> bool | None:
    """Whether a condition on a parameter holds; None if that is not known."""
    text = text.strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    if text == name:
        return value.is_truthy
    if not text.startswith(name):
        return None
    rest = text[len(name) :]
    if match := _CLASS_TEST.fullmatch(rest):
        return _is_a(value, match[1])
    if (match := _KEY_TEST.fullmatch(rest)) and value.kind == "hash" and value.data is not None:
        return RubyValue("symbol" if match[1] == ":" else "string", match[2]) in value.data
    if rest in {".respond_to?(:call)", ".respond_to? :call"} and value.kind != "object":
        return None if value.kind == "constant" else value.kind == "proc"
    if match := _MATCH.fullmatch(rest):
        return _matches(value, match[2], is_negated=match[1] == "!~")
    match = _COMPARISON.fullmatch(rest)
    return _compared(value, match[1], match[2]) if match else None


def _matches(value: RubyValue, pattern: str, *, is_negated: bool) -> bool | None:
    is_short = len(pattern) <= _LONGEST and len(str(value.data)) <= _LONGEST
    if value.kind not in {"string", "symbol"} or value.data is None or not is_short or _SLOW.search(pattern):
        return None
    try:
        return (re.search(pattern, value.data, re.MULTILINE) is not None) != is_negated
    except re.error:
        return None


def _is_a(value: RubyValue, name: str) -> bool | None:
    known = _CLASSES.get(value.kind)
    if known is None or (value.kind == "number" and name in {"Integer", "Float"}):
        return None
    if name in known:
        return True
    return False if name in _CORE or "::" in name else None


def _compared(value: RubyValue, operator: str, literal: str) -> bool | None:
    other = _literal(literal)
    if not value.is_literal:
        return None
    if operator in {"==", "!="}:
        return (value == other) == (operator == "==")
    if value.kind != "number" or other.kind != "number":
        return None
    left, right = float(value.data), float(other.data)
    return {">": left > right, ">=": left >= right, "<": left < right, "<=": left <= right}[operator]


def _literal(text: str) -> RubyValue:
    """A literal, as `_COMPARISON` finds it."""
    if text in {"nil", "true", "false"}:
        return RubyValue(text)
    if text[0] == ":":
        return RubyValue("symbol", text[1:])
    return (
        RubyValue("string", text[1:-1])
        if text[0] in "\"'"
        else RubyValue("number", float(text.replace("_", "")))
    )
