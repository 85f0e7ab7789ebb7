"""Parse YAML strictly, into a tree of nodes with their offsets.

libyaml splits the text into events; this module makes nodes of them, without recursion. An alias shares the node of its
anchor: it takes no memory here, and the size that it would have as data is counted.
"""

import re
import sys
from dataclasses import replace
from typing import NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
)

from runcard.encoding.json.positions import position
from runcard.encoding.limits import Limits
from runcard.encoding.yaml.nodes import YamlNode, count
from runcard.encoding.yaml.scalars import NotFiniteError, TooManyDigitsError, read_plain
from runcard.errors import EncodingError

_Parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # without libyaml: the same in Python, slower

# Every character that YAML does not allow unescaped.
_CONTROL = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CORE = "tag:yaml.org,2002:"
_TYPES: dict[str, type | tuple[type, ...]] = {
    f"{_CORE}int": int,
    f"{_CORE}float": (int, float),
    f"{_CORE}bool": bool,
    f"{_CORE}null": type(None),
}
_SHALLOW = 100  # levels
_MAX_EFFORT = 40_000_000  # sum of the depths of all deeper values: takes about a second
_STRINGS = ("!", f"{_CORE}str")


def compose(text: str, limits: Limits) -> YamlNode:
    """The root of a YAML document; raises EncodingError with rule, line and column."""
    if control := _CONTROL.search(text):
        raise _refusal(
            text,
            control.start(),
            f"control character {control[0]!a}",
            hint="write it as an escape, in double quotes",
        )
    return _Composer(text, limits).run()


class _OpenNode:
    """A list or map that is being read, and the key whose value comes next."""

    def __init__(self, node: YamlNode) -> None:
        self.node = node
        self.key: str | None = None
        self.merged: list[YamlNode] = []


class _Composer:
    def __init__(self, text: str, limits: Limits) -> None:
        self.text = text
        self.limits = limits
        self.digits = min(limits.digits, sys.get_int_max_str_digits() or limits.digits)
        self.open_nodes: list[_OpenNode] = []
        self.anchors: dict[str, YamlNode] = {}
        self.expanded = 0
        self.effort = 0
        self.root: YamlNode | None = None

    def run(self) -> YamlNode:
        parser = _Parser(self.text)
        try:
            while parser.check_event():
                self._handle(parser.get_event())
        except yaml.MarkedYAMLError as error:
            at = _offset(error.problem_mark or error.context_mark)
            what = " ".join(filter(None, (error.problem, error.context)))
            self._fail(what, at=at, hint=_hint(self.text, at))
        except yaml.YAMLError as error:
            self._fail(str(error).splitlines()[0], at=0, hint="write plain YAML 1.2, in UTF-8")
        finally:
            parser.dispose()
        if self.root is None:  # an empty text, or only comments
            self.root = YamlNode(len(self.text), len(self.text), "scalar", plain="")
        return self.root

    def _handle(self, event: Event) -> None:
        if isinstance(event, CollectionEndEvent):
            self._close(event)
        elif isinstance(event, NodeEvent):
            self._node(event)
        elif isinstance(event, DocumentStartEvent) and self.root is not None:
            self._fail(
                "a second document begins here",
                at=_offset(event.start_mark),
                rule="yaml.documents",
                hint="keep one document in a file",
            )

    def _node(self, event: NodeEvent) -> None:
        start, end = _offset(event.start_mark), _offset(event.end_mark)
        self._limit_effort(start)
        if isinstance(event, AliasEvent):
            self._add(self._alias(event, start, end))
            return
        if isinstance(event, ScalarEvent):
            plain = None if event.style else str(event.value)
            node = YamlNode(start, end, "scalar", self._value(event), plain, closed=True)
            self._anchor(event, node)
            self._add(node)
            return
        if len(self.open_nodes) >= self.limits.depth:
            self._too_deep(start)
        kind = "map" if isinstance(event, MappingStartEvent) else "list"
        self._needs_value(start, f"a {kind}")
        node = YamlNode(start, end, kind, flow=bool(getattr(event, "flow_style", False)))
        self._check_tag(event, start, ("!", f"{_CORE}{'map' if node.kind == 'map' else 'seq'}"))
        self._anchor(event, node)
        self.open_nodes.append(_OpenNode(node))

    def _limit_effort(self, at: int) -> None:
        """libyaml needs time for each bracket around a value: a million deeply nested values would take minutes."""
        if len(self.open_nodes) > _SHALLOW:
            self.effort += len(self.open_nodes)
            if self.effort > _MAX_EFFORT:
                self._fail(
                    f"too many values more than {_SHALLOW} levels deep",
                    at=at,
                    rule="yaml.too-deep",
                    hint="nest the data less deeply",
                )

    def _close(self, event: Event) -> None:
        parent = self.open_nodes.pop()
        node = parent.node
        for base in parent.merged:
            for key, value in base.members.items():
                if key not in node.members:
                    node.members[key] = value
                    count(node, value)
        if node.flow:
            node.end = _offset(event.end_mark)
        node.closed = True
        self._add(node)

    def _add(self, node: YamlNode) -> None:
        """Add a complete node to the open list or map."""
        if not self.open_nodes:
            self.root = node
            return
        parent = self.open_nodes[-1]
        outer = parent.node
        outer.end = max(outer.end, node.end)
        if outer.kind == "list":
            outer.items.append(node)
        elif parent.key is None:
            parent.key = self._key(parent, node)
            return
        elif self._is_merge(parent):
            self._merge(parent, node)
            parent.key = None
            return
        else:
            outer.members[parent.key] = node
            parent.key = None
        count(outer, node)

    def _key(self, parent: _OpenNode, node: YamlNode) -> str:
        if not isinstance(node.value, str):
            self._fail(
                f"a key must be text, found {_short(self.text[node.start : node.end] or 'nothing')}",
                at=node.start,
                rule="yaml.key",
                hint="write the key in quotes",
            )
        if node.value in parent.node.keys:
            self._fail(
                f"the key {_short(node.value)} occurs twice in one map",
                at=node.start,
                rule="yaml.duplicate-key",
                hint="keep one of the two",
            )
        parent.node.keys[node.value] = node
        return str(node.value)

    def _needs_value(self, at: int, found: str) -> None:
        parent = self.open_nodes[-1] if self.open_nodes else None
        if parent and parent.node.kind == "map" and parent.key is None:
            self._fail(
                f"a key must be text, found {found}",
                at=at,
                rule="yaml.key",
                hint="write a text before the colon",
            )

    def _is_merge(self, parent: _OpenNode) -> bool:
        return parent.key == "<<" and parent.node.keys["<<"].plain is not None

    def _merge(self, parent: _OpenNode, node: YamlNode) -> None:
        bases = node.items if node.kind == "list" else [node]
        if any(base.kind != "map" for base in bases):
            self._fail(
                "'<<' takes a map, or a list of maps",
                at=node.start,
                rule="yaml.merge",
                hint="use the anchor of a map, or quote the key",
            )
        parent.merged += bases
        self._expand(sum(base.size for base in bases), node.start)

    def _anchor(self, event: NodeEvent, node: YamlNode) -> None:
        if event.anchor is not None:
            self.anchors[event.anchor] = node

    def _alias(self, event: AliasEvent, at: int, end: int) -> YamlNode:
        node = self.anchors.get(str(event.anchor))
        if node is None:
            self._fail(
                f"there is no anchor &{event.anchor} before this alias",
                at=at,
                rule="yaml.alias",
                hint="quote a text that begins with *, or define the anchor before the alias",
            )
        if not node.closed:
            self._fail(
                f"&{event.anchor} contains itself", at=at, rule="yaml.alias", hint="write the value in full"
            )
        if node.kind != "scalar":
            self._needs_value(at, f"a {node.kind}")
        if len(self.open_nodes) + node.height > self.limits.depth:
            self._too_deep(at)
        self._expand(node.size, at)
        return replace(node, start=at, end=end, alias=True)

    def _expand(self, size: int, at: int) -> None:
        self.expanded += size
        if self.expanded > self.limits.expansion:
            self._fail(
                f"the aliases of this document expand to more than {self.limits.expansion:,} values",
                at=at,
                rule="yaml.alias",
                hint="write the values in full, without aliases",
            )

    def _value(self, event: ScalarEvent) -> str | float | bool | None:
        at = _offset(event.start_mark)
        tag, text = event.tag, str(event.value)
        if tag in _STRINGS or (tag is None and event.style):
            return text
        wanted = _TYPES.get(tag) if tag else None
        if wanted is None:
            self._check_tag(event, at, ())
        try:
            value = read_plain(text, self.digits)
        except NotFiniteError:
            self._fail(
                f"{_short(text)} is not a number that JSON can represent",
                at=at,
                rule="yaml.not-finite",
                hint="leave the field out, write null, or put the text in quotes",
            )
        except TooManyDigitsError:
            self._fail(
                f"an integer of more than {self.digits:,} digits, which is the limit",
                at=at,
                rule="yaml.too-many-digits",
                hint="write it in quotes",
            )
        if wanted is not None and (
            not isinstance(value, wanted) or isinstance(value, bool) != (wanted is bool)
        ):
            self._fail(
                f"{_short(text)} does not match its tag", at=at, rule="yaml.tag", hint="remove the tag"
            )
        return value

    def _check_tag(self, event: NodeEvent, at: int, good: tuple[str, ...]) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None and tag not in good:
            self._fail(
                f"the tag {_short(tag.replace(_CORE, '!!'))} asks for an object; only plain data is supported",
                at=at,
                rule="yaml.tag",
                hint="remove the tag",
            )

    def _too_deep(self, at: int) -> NoReturn:
        self._fail(
            f"nested deeper than {self.limits.depth:,} levels",
            at=at,
            rule="yaml.too-deep",
            hint="nest the data less deeply",
        )

    def _fail(self, message: str, *, at: int, rule: str = "yaml.syntax", hint: str | None = None) -> NoReturn:
        raise _refusal(self.text, at, message, rule=rule, hint=hint)


def _refusal(
    text: str, at: int, message: str, *, rule: str = "yaml.syntax", hint: str | None = None
) -> EncodingError:
    where = position(text, at)
    return EncodingError(rule, message, line=where.line, column=where.column, hint=hint)


def _offset(mark: object) -> int:
    return int(getattr(mark, "index", 0))


def _hint(text: str, at: int) -> str:
    character = text[at : at + 1]
    if character == "\t":
        return "indent with spaces: YAML allows no tabs there"
    if character and character in "@`%":
        return "put the text in quotes"
    return "check the indentation, the colons, and open brackets and quotes before this position"


def _short(text: str) -> str:
    return ascii(text if len(text) <= 40 else text[:37] + "...")
