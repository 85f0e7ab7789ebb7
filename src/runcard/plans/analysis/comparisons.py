"""Comparisons: literals, ranges, classes and `case/in` patterns as names of states and as intervals."""

import re

from runcard.plans.analysis.phrases import article
from runcard.plans.analysis.questions import ABSENT, Bounds, Cut, Interval, Threshold
from runcard.plans.analysis.subjects import LONGEST_CODE, LONGEST_NAME, one_line, slug, unwrapped
from runcard.plans.analysis.vocabulary import PRESENCES
from runcard.plans.ruby.literals import Literals
from runcard.plans.ruby.rails import underscore
from runcard.plans.ruby.syntax_tree import Code, Node, children, field_of

_CONSTANTS = {"constant", "scope_resolution"}
_VALUES = {"simple_symbol", "string", "integer", "float", "true", "false", "nil", "delimited_symbol", "range"}
_VALUES |= {"regex", "rational", "hash_key_symbol"} | _CONSTANTS
AND, OR = {"&&", "and"}, {"||", "or"}
ORDERINGS = {">=", ">", "<", "<="}
SIGNS = {"positive?": ">", "negative?": "<", "zero?": "=="}
KINDS = {"is_a?", "kind_of?", "instance_of?"}
_NUMBER = re.compile(r"-?\d[\d_]*(?:\.\d+)?")
_EMPTY = {"array_pattern": "empty_array", "hash_pattern": "empty_hash"}
_ZERO = Threshold("0", 0)
_INTERVALS = {">=": (False, None), ">": (True, None), "<": (None, False), "<=": (None, True)}


class Comparisons:
    """Reads the patterns of `when` and `in`, and the right sides of `==` and `>=`."""

    def __init__(self, code: Code, literals: Literals) -> None:
        self._code, self._text_of, self._literals = code, code.text_of, literals
        self._used_names: dict[str, str] = {}  # names in use, and the text that each stands for

    def is_value(self, node: Node) -> bool:
        """Whether an expression is a literal or constant, so that it can name a state."""
        plain = unwrapped(self._code, node)
        return plain.type in _VALUES or (plain.type == "unary" and self._number(plain) is not None)

    def is_condition(self, node: Node) -> bool:
        """Whether an expression looks like a condition, also one joined by `&&` or `||`."""
        node = unwrapped(self._code, node)
        operator = field_of(node, "operator")
        return self.is_predicate(node) or (
            node.type == "binary" and operator is not None and operator.type in AND | OR
        )

    def is_comparison(self, node: Node) -> bool:
        """Whether an expression looks like a comparison, so that its result is worth a test."""
        node = unwrapped(self._code, node)
        operator = field_of(node, "operator")
        if node.type == "binary" and operator is not None:
            return operator.type in ORDERINGS | {"==", "!=", "=~", "!~"}
        method = field_of(node, "method")
        name = self._text_of(method) if node.type == "call" and method else ""
        return name in {"between?", "cover?", "in?", *PRESENCES, *SIGNS, *KINDS} or (
            name == "include?" and isinstance(self._literals.value(field_of(node, "receiver")), list)
        )

    def is_predicate(self, node: Node) -> bool:
        """Whether an expression looks like a predicate."""
        node = unwrapped(self._code, node)
        name = (
            field_of(node, "method") if node.type == "call" else node if node.type == "identifier" else None
        )
        return (
            self.is_comparison(node)
            or node.type == "unary"
            or (name is not None and self._text_of(name).endswith("?"))
        )

    # Names of states

    def names(self, node: Node) -> list[str]:
        """The names of the states that a pattern matches."""
        node = unwrapped(self._code, node)
        kind, inner = node.type, children(node)
        if kind == "pattern" and len(inner) == 1:
            return self.names(inner[0])
        if kind == "alternative_pattern":
            return [name for part in inner for name in self.names(part)]
        if kind == "as_pattern" and (value := field_of(node, "value")):
            return self.names(value)
        if kind == "splat_argument" and len(inner) == 1:
            return self.list_names(inner[0]) or self.names(inner[0])
        known = None if kind in {"range", "array"} else self._literals.value(node)
        return [self._name(node, known)]

    def texts(self, node: Node, *, is_kind: bool) -> dict[str, str]:
        """What the states of a pattern read like, where their names do not tell: classes, constants, empty texts."""
        plain = unwrapped(self._code, node)
        inner = children(plain)
        if plain.type in {"pattern", "alternative_pattern"}:
            return {name: text for part in inner for name, text in self.texts(part, is_kind=is_kind).items()}
        text = one_line(self._text_of(plain))
        if plain.type == "string" and not inner:
            return {"empty_string": "an empty string"}
        if plain.type not in _CONSTANTS or len(text) > LONGEST_CODE:
            return {}
        is_class = not text.rpartition("::")[2].isupper() and is_kind
        return dict.fromkeys(self.names(plain), article(text) if is_class else text)

    def list_names(self, node: Node) -> list[str]:
        """The names of the values of a literal list or a constant list; empty for any other expression."""
        values = self._literals.value(node)
        known = isinstance(values, list) and all(isinstance(value, str | int) for value in values)
        return [self._literal_name(str(value)) for value in values] if known else []

    def _name(self, node: Node, known: object) -> str:
        if node.type == "nil":
            return ABSENT
        if isinstance(known, bool):
            return str(known).lower()
        if isinstance(known, str | int):
            return self._literal_name(str(known))
        return self._unique_name(self._pattern_words(node), one_line(self._text_of(node)))

    def _pattern_words(self, node: Node) -> str:
        """A pattern as words."""
        if node.type in _CONSTANTS:
            return underscore(self._text_of(node).rpartition("::")[2])
        if node.type == "range":
            ends = [slug(self._text_of(end)) for end in children(node)]
            return "_to_".join(ends) if len(ends) == 2 else f"from_{ends[0]}"
        if node.type in _EMPTY and not children(node):
            return _EMPTY[node.type]
        return underscore(slug(self._text_of(node)))[:LONGEST_NAME].strip("_") or "pattern"

    def _literal_name(self, text: str) -> str:
        """A literal is its own name, unless it is too long or cannot be a name."""
        if not text:
            return "empty_string"
        if text.isprintable() and len(text) <= LONGEST_NAME and text.strip() == text:
            return self._unique_name(text, text)
        return self._unique_name(slug(text)[:LONGEST_NAME].strip("_") or "text", text)

    def _unique_name(self, name: str, text: str) -> str:
        """A name that no other pattern uses."""
        free, number = name, 2
        while self._used_names.setdefault(free, text) != text:
            free, number = f"{name}_{number}", number + 1
        return free

    # Intervals

    def are_numbers(self, patterns: list[Node]) -> bool:
        """Whether all patterns are numbers or ranges, with at least one range."""
        plain = [
            unwrapped(self._code, node)
            for at in patterns
            for node in (children(at) if at.type == "pattern" else [at])
        ]
        ranges = [node for node in plain if node.type == "range"]
        return bool(ranges) and all(node in ranges or self._number(node) is not None for node in plain)

    def intervals(self, patterns: list[Node], *, is_closed: bool = False) -> Bounds:
        """Ranges and numbers, as in `when 1..5, 7`."""
        plain = [
            unwrapped(self._code, node)
            for at in patterns
            for node in (children(at) if at.type == "pattern" else [at])
        ]
        intervals = tuple(self._interval(node) for node in plain)
        first = intervals[0]
        low_cut = first.low or first.high
        threshold = low_cut.threshold if low_cut else _ZERO
        is_point = first.low is not None and first.high == Cut(threshold, is_above=True)
        operator = "==" if is_point else ">=" if first.low else "<="
        return Bounds(intervals, operator, threshold, is_closed)

    def _interval(self, node: Node) -> Interval:
        if node.type != "range":
            value = self.threshold(node)
            return Interval(Cut(value, False), Cut(value, True))
        low, high = field_of(node, "begin"), field_of(node, "end")
        operator = field_of(node, "operator")
        includes = operator is None or operator.type != "..."
        return Interval(
            Cut(self.threshold(low), False) if low else None,
            Cut(self.threshold(high), includes) if high else None,
        )

    def bounds(self, operator: str, node: Node | None) -> Bounds:
        """The bounds of a comparison; without a node, of one with zero."""
        value = self.threshold(node) if node is not None else _ZERO
        if operator == "==":
            return Bounds((Interval(Cut(value, False), Cut(value, True)),), operator, value)
        low, high = _INTERVALS[operator]
        interval = Interval(
            Cut(value, low) if low is not None else None, Cut(value, high) if high is not None else None
        )
        return Bounds((interval,), operator, value)

    def threshold(self, node: Node) -> Threshold:
        plain = unwrapped(self._code, node)
        number = self._number(plain)
        if number is None or plain.type in _CONSTANTS:
            return Threshold(one_line(self._text_of(plain)), number)
        return Threshold(str(number), number)

    def _number(self, node: Node) -> int | float | None:
        text = self._text_of(node).replace(" ", "")
        if node.type in _CONSTANTS:
            known = self._literals.value(node)
            return known if isinstance(known, int) and not isinstance(known, bool) else None
        if not _NUMBER.fullmatch(text):
            return None
        plain = text.replace("_", "")
        return float(plain) if "." in plain else int(plain)
