"""The structure of a spec file: its groups, examples, lets and hooks, with their lines and tags, without running it.

Of the bodies of examples and hooks only `skip` and `pending` are read; `spec_calls` reads the rest. A group in a loop or behind an `if` appears once. A description that
is not a literal is given as written. Lines are those of the file: whole lines can be inserted by number.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from runcard.encoding import JsonObject
from runcard.plans.ruby.literals import Literals
from runcard.plans.ruby.source_text import ReadWarning, RubySource, read_source
from runcard.plans.ruby.syntax_tree import (
    METHODS,
    Code,
    Node,
    children,
    descendants,
    field_of,
    line_of,
    read_code,
)

DESCRIBE, CONTEXT, SHARED = "describe", "context", "shared"
IT, LET, SUBJECT, HOOK, INCLUDE = "it", "let", "subject", "hook", "include"
PERMISSIONS = "permissions"  # of Pundit: `permissions :show?, :edit? do`
_GROUPS = frozenset({DESCRIBE, CONTEXT, SHARED})
_KINDS = {
    DESCRIBE: rf"[xf]?(?:describe|feature)|example_group|{PERMISSIONS}",
    CONTEXT: r"[xf]?context",
    SHARED: r"shared_(?:examples|examples_for|context)",
    IT: r"[xf]?(?:it|specify|example|scenario)|its|pending|skip",
    LET: r"let(?:_it_be)?!?",
    SUBJECT: r"subject!?",
    HOOK: r"(?:(?:prepend|append)_)?(?:before|after)|around|background",
    INCLUDE: r"it_(?:behaves|should_behave)_like|include_(?:examples|context)",
}
_WORDS = re.compile("|".join(f"(?P<{kind}>{words})" for kind, words in _KINDS.items()))
_PLURALS = {DESCRIBE: "describes", CONTEXT: "contexts", IT: "its", LET: "lets", HOOK: "hooks"}
_PLAIN = re.compile(r"\\(['\\])")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "s": " ", "e": "\x1b", "0": "\0", "a": "\a", "b": "\b"}
EXPECTATION = "TODO: describe the expected result"  # in an example of a skeleton
_PLACEHOLDER = re.compile(  # those of earlier skeletons are in braces
    r"\{[A-Z][A-Z_]+\}"
    rf"|{EXPECTATION}|TODO: (?:set up|pass|request the route to|call a public method that leads to)\b"
)
_SKIPS = frozenset({"skip", "pending"})
_TRUE = frozenset({"true", "string", "simple_symbol"})
_MAX_DEPTH = 100
TAG = "plan"  # the key of the metadata that names states: `context 'when …', plan: 'customer_active:active'`


@dataclass(slots=True)
class SpecNode:
    """A group, an example, a let or a hook, with its lines."""

    kind: str
    word: str  # as written: `let!`, `fdescribe`
    name: str  # its description or name; empty if it has none
    line: int
    end_line: int
    depth: int  # of a group: 1 for the outermost; of anything else: the depth of its group
    has_block: bool
    tags: tuple[str, ...] = ()  # the states of the plan that its metadata name: `customer_active:active`
    closing_line: int | None = None  # of the `end` of its block, if this begins its line
    is_pending: bool = (
        False  # switched off: `xit`, `skip: true`, `skip` in its body; of a hook: the group around it
    )
    is_empty: bool = False  # its block has no code
    is_text: bool = False  # its description is a string: `describe "Orders"`
    children: list["SpecNode"] = field(default_factory=list)
    syntax: Node | None = field(default=None, repr=False, compare=False)  # its block

    @property
    def is_group(self) -> bool:
        return self.kind in _GROUPS

    def walk(self) -> Iterator["SpecNode"]:
        """This node and all of its descendants, in the order of the text."""
        waiting = [self]
        while waiting:
            part = waiting.pop()
            yield part
            waiting += reversed(part.children)

    def to_dict(self) -> JsonObject:
        data: JsonObject = {
            "kind": self.kind,
            "word": self.word,
            "name": self.name,
            "line": self.line,
            "end_line": self.end_line,
            "depth": self.depth,
        }
        if self.tags:
            data["tags"] = list(self.tags)
        if self.is_group:
            data["children"] = [child.to_dict() for child in self.children]
        elif self.kind == IT:
            data["pending"] = self.is_pending or not self.has_block
        return data


@dataclass(frozen=True, slots=True)
class SpecFile:
    """A spec file."""

    parts: tuple[SpecNode, ...]
    placeholders: tuple[tuple[int, str], ...]  # with their lines
    warnings: tuple[ReadWarning, ...]
    data_line: int | None = None  # of `__END__`, after which there is no code
    code: Code | None = None

    def walk(self) -> Iterator[SpecNode]:
        for part in self.parts:
            yield from part.walk()

    def counts(self) -> dict[str, int]:
        """The number of nodes of each kind, and the depth of the groups."""
        counts = dict.fromkeys(_PLURALS.values(), 0) | {"depth": 0}
        for part in self.walk():
            if part.kind in _PLURALS:
                counts[_PLURALS[part.kind]] += 1
            counts["depth"] = max(counts["depth"], part.depth)
        return counts


def read_spec(path: str) -> SpecFile:
    """Read a spec; raises RuncardError when the file cannot be read."""
    return spec_of_source(read_source(path))


def spec_of_source(source: RubySource) -> SpecFile:
    """The structure of a text."""
    code, warnings = read_code(source)
    literals = Literals(code)
    top: list[SpecNode] = []
    waiting: list[tuple[Node, list[SpecNode], int]] = [(code.root, top, 0)]
    while waiting:
        node, into, depth = waiting.pop()
        part = _spec_node(code, node, depth, literals)
        if part is None:
            if node.type not in METHODS:
                waiting += ((child, into, depth) for child in reversed(node.named_children))
            continue
        into.append(part)
        block = field_of(node, "block")
        if part.depth > _MAX_DEPTH:
            warnings = (
                *warnings,
                ReadWarning(part.line, f"groups nested more than {_MAX_DEPTH} levels deep are left out"),
            )
        elif part.is_group and block is not None:
            waiting.append((block, part.children, part.depth))
    data = next((line_of(node) for node in code.root.children if node.type == "uninterpreted"), None)
    return SpecFile(tuple(top), tuple(_placeholders(code)), warnings, data, code)


def _placeholders(code: Code) -> Iterator[tuple[int, str]]:
    """The placeholders in comments, in the order of the text."""
    for node in descendants(code.root):
        if node.type == "comment" and (match := _PLACEHOLDER.search(code.text_of(node))):
            yield line_of(node), match[0]


def _spec_node(code: Code, node: Node, depth: int, literals: Literals) -> SpecNode | None:
    """The group, example, let or hook that a call defines; None for any other node."""
    method = field_of(node, "method") if node.type == "call" else None
    word = code.text_of(method) if method is not None else ""
    kind = match.lastgroup if (match := _WORDS.fullmatch(word)) else None
    receiver = field_of(node, "receiver")
    if kind is None or (receiver is not None and (code.text_of(receiver) != "RSpec" or kind not in _GROUPS)):
        return None
    name = ", ".join(_descriptions(code, node, kind))
    end = int(node.end_point[0]) + 1
    own_depth = depth + 1 if kind in _GROUPS else depth
    block = field_of(node, "block")
    return SpecNode(
        kind,
        word,
        name,
        line_of(node),
        end,
        own_depth,
        has_block=block is not None,
        tags=tuple(_tags(node, literals)) if kind in _GROUPS or kind == IT else (),
        closing_line=_closing_line(code, block) if block is not None else None,
        is_pending=_is_pending(code, node, kind, literals),
        is_empty=block is not None and not _statements(block),
        syntax=block,
        is_text=[part.type for part in children(field_of(node, "arguments"))][:1] == ["string"],
    )


def _is_pending(code: Code, node: Node, kind: str, literals: Literals) -> bool:
    """Whether a group or an example is switched off for sure, or a hook switches off the group around it."""
    if kind == HOOK:
        return _calls_skip(code, node)
    if kind not in _GROUPS and kind != IT:
        return False
    word = code.text_of(method) if (method := field_of(node, "method")) is not None else ""
    arguments = children(field_of(node, "arguments"))
    options = literals.options(arguments)
    return (
        word[:1] == "x"
        or word in _SKIPS
        or any(part.type == "simple_symbol" and code.text_of(part)[1:] in _SKIPS for part in arguments[1:])
        or any(options[name].type in _TRUE for name in options.keys() & _SKIPS)
        or (kind == IT and _calls_skip(code, node))
    )


def _calls_skip(code: Code, node: Node) -> bool:
    """Whether `skip` or `pending` is a statement of a block, without a condition."""
    for part in _statements(field_of(node, "block")):
        method = field_of(part, "method") if part.type == "call" else part
        if method is not None and field_of(part, "receiver") is None and code.text_of(method) in _SKIPS:
            return True
    return False


def _statements(block: Node | None) -> list[Node]:
    """The statements in a block."""
    body = None if block is None else field_of(block, "body")
    return children(body)


def _tags(node: Node, literals: Literals) -> Iterator[str]:
    """The states in the metadata: a string, or a list of them."""
    value = literals.value(literals.options(children(field_of(node, "arguments"))).get(TAG))
    for tag in value if isinstance(value, list) else [value]:
        if isinstance(tag, str):
            yield tag


def _closing_line(code: Code, block: Node) -> int | None:
    """The line of the last token of a block, if only white space precedes it there."""
    end = block.children[-1]
    line_start = code.text.rfind(b"\n", 0, end.start_byte) + 1
    is_first = not end.is_missing and not code.text[line_start : end.start_byte].strip()
    return line_of(end) if is_first else None


def _descriptions(code: Code, node: Node, kind: str) -> Iterator[str]:
    """The first argument; of a group also further strings: `describe Order, "#total"`; of `permissions` all."""
    arguments = [
        part for part in children(field_of(node, "arguments")) if part.type not in {"pair", "block_argument"}
    ]
    method = field_of(node, "method")
    has_many = method is not None and code.text_of(method) == PERMISSIONS
    for index, part in enumerate(arguments):
        if index == 0 or has_many or (kind in _GROUPS and part.type == "string"):
            yield _text(code, part)


def _text(code: Code, node: Node) -> str:
    if node.type == "simple_symbol":
        return code.text_of(node)[1:]
    if node.type != "string":
        return code.text_of(node)
    if code.text_of(node).startswith("'"):
        return _PLAIN.sub(r"\1", code.text_of(node)[1:-1])
    pieces = (
        _unescaped(code.text_of(part)) if part.type == "escape_sequence" else code.text_of(part)
        for part in node.named_children
    )
    return "".join(pieces)


def _unescaped(escape: str) -> str:
    """The character of an escape in double quotes; an unknown escape as written."""
    rest = escape[1:]
    number = re.fullmatch(r"u\{?([0-9a-fA-F]{1,6})\}?|x([0-9a-fA-F]{1,2})", rest)
    if number is not None:
        code = int(number[1] or number[2], 16)
        return chr(code) if code < 0x110000 and not 0xD800 <= code <= 0xDFFF else escape
    return _LETTERS.get(rest, rest if len(rest) == 1 else escape)
