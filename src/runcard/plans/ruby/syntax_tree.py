"""The syntax tree of a Ruby text. The only module that knows tree-sitter.

There is always a tree, however broken the text; warnings name the parts that could not be parsed. Walks over the tree do
not recurse: a text can be nested ten thousand levels deep.
"""

import re
from collections.abc import Container, Iterator
from functools import cache
from typing import TYPE_CHECKING

from runcard.errors import MachineError
from runcard.extras import missing_package
from runcard.plans.ruby.source_text import ReadWarning, RubySource

if TYPE_CHECKING:
    from tree_sitter import Node as Node  # noqa: PLC0414 - exported
    from tree_sitter import Parser
else:
    Node = object  # for annotations in other modules

METHODS = frozenset({"method", "singleton_method"})
BLOCKS = frozenset({"block", "do_block"})
_DEFINITIONS = METHODS | {"class", "module", "singleton_class"}
_MAX_WARNINGS = 10  # for one file
_NOT_PARSED = "cannot be parsed: a syntax error, or Ruby syntax that is not supported yet; the rest is read"
_FOREIGN_SYMBOL = re.compile(r"(?<=[\s(,\[{]:)[^\W\d_a-zA-Z]\w*")  # `:é`; the grammar knows no such symbol
_FOREIGN_WORD = re.compile(r"(?<!\w)[^\W\d_a-zA-Z]")


class Code:
    """A parsed text."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._ascii = (
            text.decode("ascii") if text.isascii() else None
        )  # then bytes and characters are the same
        self.root: Node = _parser().parse(_with_plain_constants(text)).root_node

    def text_of(self, node: Node) -> str:
        """The text of a node."""
        if self._ascii is not None:
            return self._ascii[node.start_byte : node.end_byte]
        return self.text[node.start_byte : node.end_byte].decode("utf-8", "replace")

    @property
    def is_valid(self) -> bool:
        """Whether there are no syntax errors."""
        return not self.root.has_error and not self._stray_ends()

    def errors(self) -> Iterator[tuple[int, bool]]:
        """The lines of syntax errors, and whether each is inside a method, where it affects nothing else."""
        yield from ((line_of(node), False) for node in self._stray_ends())
        waiting = [(self.root, False)]
        while waiting:
            node, inside = waiting.pop()
            if node.is_error or node.is_missing:
                yield line_of(node), inside
            elif node.has_error:
                inside = inside or node.type in METHODS
                waiting += ((child, inside) for child in reversed(node.children))

    def _stray_ends(self) -> list[Node]:
        """Surplus `end`s, which the grammar reads as names."""
        names = (node for node in self.root.named_children if node.type == "identifier")
        return [node for node in names if self.text_of(node) == "end"]

    def count(self) -> tuple[int, int]:
        """How many definitions (classes, methods) and how many blocks were parsed."""
        kinds = [node.type for node in descendants(self.root)]
        return sum(kind in _DEFINITIONS for kind in kinds), sum(kind in BLOCKS for kind in kinds)


def line_of(node: Node) -> int:
    return int(node.start_point[0]) + 1


def children(node: Node | None) -> list[Node]:
    """The named children of a node, without comments."""
    return [] if node is None else [child for child in node.named_children if child.type != "comment"]


def descendants(node: Node | None, skip: Container[str] = ()) -> Iterator[Node]:
    """A node and its descendants, in the order of the text; not those of nodes whose type is in `skip`."""
    waiting = [] if node is None else [node]
    while waiting:
        at = waiting.pop()
        yield at
        if at.named_child_count and at.type not in skip:
            waiting += reversed(at.named_children)


def field_of(node: Node, name: str) -> Node | None:
    return node.child_by_field_name(name)


def read_code(source: RubySource) -> tuple[Code, tuple[ReadWarning, ...]]:
    """The best possible tree of a text, and a warning for each part that could not be parsed."""
    code = Code(source.text)
    if code.is_valid:
        return code, source.warnings
    from runcard.plans.ruby.error_recovery import recover  # noqa: PLC0415 - most files are valid

    is_needed = not all(inside for _, inside in code.errors())
    code, dropped = recover(code, is_needed=is_needed)
    lines = sorted({*dropped} or {line for line, _ in code.errors()})
    warnings = [ReadWarning(line, _NOT_PARSED) for line in lines[:_MAX_WARNINGS]]
    if len(lines) > _MAX_WARNINGS:
        more = len(lines) - _MAX_WARNINGS
        warnings.append(
            ReadWarning(lines[_MAX_WARNINGS], f"cannot be parsed, nor can {more - 1:,} more places after it")
        )
    return code, (*source.warnings, *warnings)


def _with_plain_constants(text: bytes) -> bytes:
    """The text with capitals beyond ASCII (`É`), and symbols that begin beyond it, in ASCII of the same length."""
    if text.isascii():
        return text
    plain = _FOREIGN_WORD.sub(_plain_capital, text.decode("utf-8", "replace"))
    return _FOREIGN_SYMBOL.sub(_plain_symbol, plain).encode()


def _plain_symbol(match: re.Match[str]) -> str:
    return "".join(letter if letter.isascii() else "z" * len(letter.encode()) for letter in match[0])


def _plain_capital(match: re.Match[str]) -> str:
    letter = match[0]
    is_capital = letter.isupper() or letter.istitle()
    return f"{'Z':z<{len(letter.encode())}}" if is_capital else letter


class NoRubyError(MachineError):
    """tree-sitter is not installed."""


@cache
def _parser() -> "Parser":
    try:
        import tree_sitter_ruby  # noqa: PLC0415 - an extra
        from tree_sitter import Language, Parser  # noqa: PLC0415
    except ImportError as error:
        raise missing_package("reading Ruby needs", "tree-sitter", "ruby", NoRubyError) from error
    return Parser(Language(tree_sitter_ruby.language()))
