"""Literal values in a Ruby text: names, lists of names, and loops over them.

Anything that would need to run Ruby has no value here (None). Symbols and strings are the same: both are names.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from runcard.plans.ruby.source_text import ReadWarning
from runcard.plans.ruby.syntax_tree import Code, Node, children, field_of, line_of

Value = Any  # str, int, bool, list or dict of them; None: unknown
Names = Mapping[str, Value]  # the loop variables in scope

NO_NAMES: Names = {}
_MAX_DEPTH = 50
_MAX_ITERATIONS = 10_000  # of all loops of a file together
_MAX_RANGE = 1_000
_LISTS = {"array", "string_array", "symbol_array", "argument_list"}
_TEXTS = {"string", "delimited_symbol", "bare_string", "bare_symbol"}
_CONVERSIONS = {"freeze", "to_s", "to_sym", "to_a", "dup", "itself"}
_CASE_CHANGES = {"upcase": str.upper, "downcase": str.lower, "capitalize": str.capitalize}
LOOPS = {"each", "each_pair", "map", "collect", "flat_map", "each_with_object", "each_with_index"}
LOOPS |= {"each_key", "each_value", "reverse_each", "times"}


class Literals:
    """The values in one text; `remember` records constants and variables."""

    def __init__(self, code: Code) -> None:
        self._text_of = code.text_of
        self._remembered: dict[str, Value] = {}
        self._iterations_left = _MAX_ITERATIONS
        self.warnings: list[ReadWarning] = []

    def remember(self, name: str, node: Node) -> None:
        """Record the value of a constant or variable."""
        self._remembered[name] = self.value(node)

    def recorded(self) -> Mapping[str, Value]:
        """The values of all constants and variables that were recorded."""
        return self._remembered

    def value(self, node: Node | None, names: Names = NO_NAMES, depth: int = 0) -> Value:
        """The value of a node, or None."""
        if node is None or depth > _MAX_DEPTH:
            return None
        kind = node.type
        if kind == "simple_symbol":
            return self._text_of(node)[1:]
        if kind == "hash_key_symbol":
            return self._text_of(node)
        if kind in _TEXTS:
            return self._text(node, names, depth)
        if kind in _LISTS:
            return self.values(children(node), names, depth)
        if kind == "identifier":
            return names.get(self._text_of(node), self._remembered.get(self._text_of(node)))
        if kind in {"constant", "scope_resolution"}:
            return self._remembered.get(self._text_of(node).rpartition("::")[2])
        return self._compound(node, names, depth + 1)

    def values(self, nodes: Sequence[Node], names: Names = NO_NAMES, depth: int = 0) -> list[Value]:
        """The values of arguments or elements, with splats expanded; None for each unknown one."""
        values: list[Value] = []
        for node in nodes:
            if node.type == "splat_argument":
                value = self.value(node.named_children[0] if node.named_children else None, names, depth + 1)
                values += value if isinstance(value, list) else [None]
            else:
                values.append(self.value(node, names, depth + 1))
        return values

    def options(self, nodes: Sequence[Node]) -> dict[str, Node]:
        """The keyword arguments among arguments."""
        pairs = [node for node in nodes if node.type == "pair"]
        options = ((self.value(field_of(pair, "key")), field_of(pair, "value")) for pair in pairs)
        return {key: value for key, value in options if isinstance(key, str) and value is not None}

    def iterations(self, loop: Node, names: Names) -> list[Names]:
        """The variables in each iteration of a loop over literals; empty when the file had too many iterations.

        A loop over anything else, or a block that is not a loop, is one iteration without new variables.
        """
        if loop.type == "for":
            source, pattern = children(field_of(loop, "value")), field_of(loop, "pattern")
            items = self._items("each", self.value(source[0] if source else None, names))
            targets = [pattern] if pattern else []
        else:
            method = self._text_of(name) if (name := field_of(loop, "method")) else ""
            items = self._items(method, self.value(field_of(loop, "receiver"), names))
            block = field_of(loop, "block")
            targets = children(field_of(block, "parameters")) if block else []
        if items is None:
            return [names]
        self._iterations_left -= len(items)
        if self._iterations_left < 0:
            message = f"more than {_MAX_ITERATIONS:,} iterations in all loops: this loop and those after it are left out"
            self.warnings = self.warnings or [ReadWarning(line_of(loop), message)]
            return []
        return [{**names, **self._bindings(targets, item)} for item in items]

    def _items(self, method: str, value: Value) -> list[Value] | None:
        if method not in LOOPS:
            return None
        if method == "times":
            return list(range(value)) if isinstance(value, int) and 0 <= value <= _MAX_RANGE else None
        if isinstance(value, dict):
            pick = {"each_key": list(value), "each_value": list(value.values())}
            value = pick.get(method) or [list(pair) for pair in value.items()]
        if not isinstance(value, list):
            return None
        return [[item, at] for at, item in enumerate(value)] if method == "each_with_index" else value

    def _bindings(self, targets: Sequence[Node], item: Value, depth: int = 0) -> dict[str, Value]:
        """The values of loop variables: a single one takes the item, several take an element each."""
        if not targets:
            return {"it": item, "_1": item}
        elements = item if len(targets) > 1 and isinstance(item, list) else [item]
        bound: dict[str, Value] = {}
        for target, element in zip(targets, elements, strict=False):
            if target.type == "identifier":
                bound[self._text_of(target)] = element
            elif depth < _MAX_DEPTH and (inner := children(target)):
                bound |= self._bindings(inner, element, depth + 1)
        return bound

    def _text(self, node: Node, names: Names, depth: int) -> str | None:
        pieces: list[str] = []
        for part in node.named_children:
            if part.type == "string_content":
                pieces.append(self._text_of(part))
                continue
            inner = children(part) if part.type == "interpolation" else []
            value = self.value(inner[0], names, depth + 1) if len(inner) == 1 else None
            if not isinstance(value, str | int):
                return None
            pieces.append(str(value))
        return "".join(pieces)

    def _compound(self, node: Node, names: Names, depth: int) -> Value:
        inner = children(node)
        match node.type:
            case "true" | "false":
                return node.type == "true"
            case "integer":
                text = self._text_of(node).replace("_", "")
                is_plain = text.isdecimal() and len(text) < 10 and (text == "0" or text[0] != "0")
                return int(text) if is_plain else None  # 0777 is octal
            case "hash":
                pairs = {self._key(pair, names, depth): field_of(pair, "value") for pair in inner}
                return (
                    None if None in pairs else {key: self.value(v, names, depth) for key, v in pairs.items()}
                )
            case "parenthesized_statements" | "chained_string":
                values = [self.value(part, names, depth) for part in inner]
                return values[0] if len(values) == 1 else _joined(values)
            case "range":
                return _range(
                    [self.value(end, names, depth) for end in inner], exclusive=b"..." in (node.text or b"")
                )
            case "binary" if (operator := field_of(node, "operator")) and operator.type == "+":
                return _joined([self.value(field_of(node, side), names, depth) for side in ("left", "right")])
            case "call" if field_of(node, "block") is None:
                name = field_of(node, "method")
                return _converted(
                    self._text_of(name) if name else "", self.value(field_of(node, "receiver"), names, depth)
                )
        return None

    def _key(self, pair: Node, names: Names, depth: int) -> Value:
        key = self.value(field_of(pair, "key"), names, depth) if pair.type == "pair" else None
        return key if isinstance(key, str | int) else None


def _joined(values: list[Value]) -> Value:
    if values and all(isinstance(value, str) for value in values):
        return "".join(values)
    if values and all(isinstance(value, list) for value in values):
        return [item for value in values for item in value]
    return None


def _range(ends: list[Value], *, exclusive: bool) -> list[int] | None:
    if len(ends) != 2 or not all(type(end) is int for end in ends) or ends[1] - ends[0] > _MAX_RANGE:
        return None
    return list(range(ends[0], ends[1] + (not exclusive)))


def _converted(method: str, value: Value) -> Value:
    if method in _CONVERSIONS:
        return str(value) if method == "to_s" and isinstance(value, int) else value
    if method in _CASE_CHANGES and isinstance(value, str):
        return _CASE_CHANGES[method](value)
    if method in {"keys", "values"} and isinstance(value, dict):
        return list(value) if method == "keys" else list(value.values())
    return None
