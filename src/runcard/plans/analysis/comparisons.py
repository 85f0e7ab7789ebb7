"""What a value is compared with: literals, ranges, classes and the patterns of `case/in`, as names and intervals."""

import re

from runcard.plans.analysis.questions import ABSENT, Bounds, Cut, Interval, Threshold
from runcard.plans.analysis.subjects import LONGEST_NAME, one_line, slug, unwrapped
from runcard.plans.ruby.literals import Literals
from runcard.plans.ruby.rails import underscore
from runcard.plans.ruby.syntax_tree import Code, Node, field_of, parts

_CONSTANTS = {"constant", "scope_resolution"}
_VALUES = {"simple_symbol", "string", "integer", "float", "true", "false", "nil", "delimited_symbol", "range"}
_VALUES |= {"regex", "rational", "hash_key_symbol"} | _CONSTANTS
_NUMBER = re.compile(r"-?\d[\d_]*(?:\.\d+)?")
_EMPTY = {"array_pattern": "empty_array", "hash_pattern": "empty_hash"}
_ZERO = Threshold("0", 0)
_INTERVALS = {">=": (False, None), ">": (True, None), "<": (None, False), "<=": (None, True)}


class Patterns:
    """Reads what stands in a `when`, an `in`, or behind `==` and `>=`."""

    def __init__(self, code: Code, literals: Literals) -> None:
        self._code, self._of, self._literals = code, code.of, literals
        self._taken: dict[str, str] = {}  # the names that were given, and to what

    def is_value(self, node: Node) -> bool:
        """Whether something is written out, so that it can be the name of a state."""
        plain = unwrapped(self._code, node)
        return plain.type in _VALUES or (plain.type == "unary" and self._number(plain) is not None)

    # As names of states

    def names(self, node: Node) -> list[str]:
        """The states that a pattern stands for."""
        node = unwrapped(self._code, node)
        kind, inner = node.type, parts(node)
        if kind == "pattern" and len(inner) == 1:
            return self.names(inner[0])
        if kind == "alternative_pattern":
            return [name for part in inner for name in self.names(part)]
        if kind == "as_pattern" and (value := field_of(node, "value")):
            return self.names(value)
        if kind == "splat_argument" and len(inner) == 1:
            return self.listed(inner[0]) or self.names(inner[0])
        known = None if kind in {"range", "array"} else self._literals.value(node)
        return [self._name(node, known)]

    def listed(self, node: Node) -> list[str]:
        """The values of a list that is written out, here or in a constant; none for any other."""
        values = self._literals.value(node)
        known = isinstance(values, list) and all(isinstance(one, str | int) for one in values)
        return [self._named(str(one)) for one in values] if known else []

    def _name(self, node: Node, known: object) -> str:
        if node.type == "nil":
            return ABSENT
        if isinstance(known, bool):
            return str(known).lower()
        if isinstance(known, str | int):
            return self._named(str(known))
        return self._own_name(self._described(node), one_line(self._of(node)))

    def _described(self, node: Node) -> str:
        """A pattern in words."""
        if node.type in _CONSTANTS:
            return underscore(self._of(node).rpartition("::")[2])
        if node.type == "range":
            ends = [slug(self._of(end)) for end in parts(node)]
            return "_to_".join(ends) if len(ends) == 2 else f"from_{ends[0]}"
        if node.type in _EMPTY and not parts(node):
            return _EMPTY[node.type]
        return underscore(slug(self._of(node)))[:LONGEST_NAME].strip("_") or "pattern"

    def _named(self, text: str) -> str:
        """A literal is its own name, unless that is too long or no name at all."""
        if not text:
            return "empty_string"
        if text.isprintable() and len(text) <= LONGEST_NAME and text.strip() == text:
            return self._own_name(text, text)
        return self._own_name(slug(text)[:LONGEST_NAME].strip("_") or "text", text)

    def _own_name(self, name: str, text: str) -> str:
        """A name that no other pattern has."""
        free, number = name, 2
        while self._taken.setdefault(free, text) != text:
            free, number = f"{name}_{number}", number + 1
        return free

    # As intervals

    def are_numbers(self, patterns: list[Node]) -> bool:
        """Whether all patterns are numbers or ranges, at least one of them a range."""
        plain = [
            unwrapped(self._code, node)
            for at in patterns
            for node in (parts(at) if at.type == "pattern" else [at])
        ]
        ranges = [node for node in plain if node.type == "range"]
        return bool(ranges) and all(node in ranges or self._number(node) is not None for node in plain)

    def intervals(self, patterns: list[Node], *, is_closed: bool = False) -> Bounds:
        """Ranges and numbers, as in `when 1..5, 7`."""
        plain = [
            unwrapped(self._code, node)
            for at in patterns
            for node in (parts(at) if at.type == "pattern" else [at])
        ]
        found = tuple(self._interval(node) for node in plain)
        first = found[0]
        low_cut = first.low or first.high
        threshold = low_cut.threshold if low_cut else _ZERO
        is_point = first.low is not None and first.high == Cut(threshold, is_behind=True)
        operator = "==" if is_point else ">=" if first.low else "<="
        return Bounds(found, operator, threshold, is_closed)

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

    def compared(self, operator: str, node: Node | None) -> Bounds:
        """A comparison; with nothing it is one with zero."""
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
            return Threshold(one_line(self._of(plain)), number)
        return Threshold(str(number), number)

    def _number(self, node: Node) -> int | float | None:
        text = self._of(node).replace(" ", "")
        if node.type in _CONSTANTS:
            known = self._literals.value(node)
            return known if isinstance(known, int) and not isinstance(known, bool) else None
        if not _NUMBER.fullmatch(text):
            return None
        plain = text.replace("_", "")
        return float(plain) if "." in plain else int(plain)
