"""The structure of a spec file: its groups, examples, lets and hooks, read and not run.

What stands in an example, a let or a hook is its own business and is not looked at. A group in a loop or behind an `if`
stands once, as it is written. A description that only running the code would tell is given as it is written.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from runcard.encoding import JsonObject
from runcard.plans.ruby.source_text import ReadWarning, read_source
from runcard.plans.ruby.syntax_tree import METHODS, Code, Node, field_of, line_of, parts, read_code

DESCRIBE, CONTEXT, SHARED = "describe", "context", "shared"
IT, LET, SUBJECT, HOOK, INCLUDE = "it", "let", "subject", "hook", "include"
_GROUPS = frozenset({DESCRIBE, CONTEXT, SHARED})
_KINDS = {
    DESCRIBE: r"[xf]?(?:describe|feature)|example_group",
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
_PLACEHOLDER = re.compile(r"\{[A-Z][A-Z_]+\}")
_DEEPEST = 100


@dataclass(slots=True)
class SpecNode:
    """A group, an example, a let or a hook, with the lines it stands on."""

    kind: str
    word: str  # as it is written: `let!`, `fdescribe`
    name: str  # its description, or what it is called; empty where it has none
    line: int
    end_line: int
    depth: int  # of a group, 1 for the outermost; of anything else, that of its group
    is_written: bool  # whether it has a block
    children: list["SpecNode"] = field(default_factory=list)

    @property
    def is_group(self) -> bool:
        return self.kind in _GROUPS

    def walk(self) -> Iterator["SpecNode"]:
        """This part and all in it, in the order of the text."""
        waiting = [self]
        while waiting:
            part = waiting.pop()
            yield part
            waiting += reversed(part.children)

    def to_dict(self) -> JsonObject:
        said: JsonObject = {
            "kind": self.kind,
            "word": self.word,
            "name": self.name,
            "line": self.line,
            "end_line": self.end_line,
            "depth": self.depth,
        }
        if self.is_group:
            said["children"] = [child.to_dict() for child in self.children]
        elif self.kind == IT:
            said["pending"] = not self.is_written
        return said


@dataclass(frozen=True, slots=True)
class SpecFile:
    """A spec file."""

    parts: tuple[SpecNode, ...]
    placeholders: tuple[tuple[int, str], ...]  # what a skeleton left to be filled in, and its line
    warnings: tuple[ReadWarning, ...]

    def walk(self) -> Iterator[SpecNode]:
        for part in self.parts:
            yield from part.walk()

    def counts(self) -> dict[str, int]:
        """How many there are of each, and how deep the groups go."""
        found = dict.fromkeys(_PLURALS.values(), 0) | {"depth": 0}
        for part in self.walk():
            if part.kind in _PLURALS:
                found[_PLURALS[part.kind]] += 1
            found["depth"] = max(found["depth"], part.depth)
        return found


def read_spec(path: str) -> SpecFile:
    """Read a spec; raises RuncardError when the file cannot be read at all."""
    code, trouble = read_code(read_source(path))
    top: list[SpecNode] = []
    waiting: list[tuple[Node, list[SpecNode], int]] = [(code.root, top, 0)]
    while waiting:
        node, into, depth = waiting.pop()
        part = _part(code, node, depth)
        if part is None:
            if node.type not in METHODS:
                waiting += ((child, into, depth) for child in reversed(node.named_children))
            continue
        into.append(part)
        block = field_of(node, "block")
        if part.depth > _DEEPEST:
            trouble = (*trouble, ReadWarning(part.line, f"groups nested deeper than {_DEEPEST}: left out"))
        elif part.is_group and block is not None:
            waiting.append((block, part.children, part.depth))
    return SpecFile(tuple(top), tuple(_placeholders(code)), trouble)


def _placeholders(code: Code) -> Iterator[tuple[int, str]]:
    """The comments that hold a place, in the order of the text."""
    waiting = [code.root]
    while waiting:
        node = waiting.pop()
        if node.type == "comment" and (match := _PLACEHOLDER.search(code.of(node))):
            yield line_of(node), match[0]
        waiting += reversed(node.children)


def _part(code: Code, node: Node, depth: int) -> SpecNode | None:
    """What a call defines; None for every other call, and for what is no call."""
    method = field_of(node, "method") if node.type == "call" else None
    word = code.of(method) if method is not None else ""
    kind = match.lastgroup if (match := _WORDS.fullmatch(word)) else None
    receiver = field_of(node, "receiver")
    if kind is None or (receiver is not None and (code.of(receiver) != "RSpec" or kind not in _GROUPS)):
        return None
    name = ", ".join(_described(code, node, kind))
    end = int(node.end_point[0]) + 1
    own = depth + 1 if kind in _GROUPS else depth
    return SpecNode(kind, word, name, line_of(node), end, own, is_written=field_of(node, "block") is not None)


def _described(code: Code, node: Node, kind: str) -> Iterator[str]:
    """The first argument, and with a group what follows it as text: `describe Order, "#total"`."""
    given = [
        part for part in parts(field_of(node, "arguments")) if part.type not in {"pair", "block_argument"}
    ]
    for place, part in enumerate(given):
        if place == 0 or (kind in _GROUPS and part.type == "string"):
            yield _text(code, part)


def _text(code: Code, node: Node) -> str:
    if node.type == "simple_symbol":
        return code.of(node)[1:]
    if node.type != "string":
        return code.of(node)
    if code.of(node).startswith("'"):
        return _PLAIN.sub(r"\1", code.of(node)[1:-1])
    pieces = (
        _unescaped(code.of(part)) if part.type == "escape_sequence" else code.of(part)
        for part in node.named_children
    )
    return "".join(pieces)


def _unescaped(written: str) -> str:
    """What an escape in double quotes stands for; one that is not known, as it is written."""
    rest = written[1:]
    number = re.fullmatch(r"u\{?([0-9a-fA-F]{1,6})\}?|x([0-9a-fA-F]{1,2})", rest)
    if number is not None:
        code = int(number[1] or number[2], 16)
        return chr(code) if code < 0x110000 and not 0xD800 <= code <= 0xDFFF else written
    return _LETTERS.get(rest, rest if len(rest) == 1 else written)
