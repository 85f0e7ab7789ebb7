"""The syntax tree of a Ruby text, and how to ask it. The only module that knows tree-sitter.

A tree is always there, however broken the text: `trouble` names the parts that were not understood. Walks over it need
no recursion; a text can be nested ten thousand deep.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from runcard.errors import MachineError
from runcard.plans.ruby.source_text import ReadWarning, RubySource

if TYPE_CHECKING:
    from tree_sitter import Node as Node  # noqa: PLC0414 - others take it from here
    from tree_sitter import Parser
else:
    Node = object  # a name for annotations, so that no other module need know where it comes from

METHODS = frozenset({"method", "singleton_method"})
BLOCKS = frozenset({"block", "do_block"})
_DEFINITIONS = METHODS | {"class", "module", "singleton_class"}
_MOST_TROUBLE = 10  # parts of one file that are named
_NOT_UNDERSTOOD = "not understood: a syntax error, or newer Ruby than is known here; the rest is read"
_FOREIGN_WORD = re.compile(r"(?<!\w)[^\W\d_a-zA-Z]")


class Code:
    """A parsed text."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.root: Node = _parser().parse(_with_plain_constants(text)).root_node

    def of(self, node: Node) -> str:
        """The text of a node."""
        return self.text[node.start_byte : node.end_byte].decode("utf-8", "replace")

    @property
    def is_sound(self) -> bool:
        """Whether all of it was understood."""
        return not self.root.has_error and not self._stray_ends()

    def errors(self) -> Iterator[tuple[int, bool]]:
        """The lines of what was not understood, and whether it lies within a method, where it harms nothing else."""
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
        """An `end` too many: the grammar takes it for a name."""
        names = (node for node in self.root.named_children if node.type == "identifier")
        return [node for node in names if self.of(node) == "end"]

    def count(self) -> tuple[int, int]:
        """How much structure was understood: classes and methods; blocks."""
        definitions = blocks = 0
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            kind = node.type
            definitions += kind in _DEFINITIONS
            blocks += kind in BLOCKS
            waiting += node.named_children
        return definitions, blocks


def line_of(node: Node) -> int:
    return int(node.start_point[0]) + 1


def parts(node: Node | None) -> list[Node]:
    """What stands in a node, without comments."""
    return [] if node is None else [child for child in node.named_children if child.type != "comment"]


def field_of(node: Node, name: str) -> Node | None:
    return node.child_by_field_name(name)


def read_code(source: RubySource) -> tuple[Code, tuple[ReadWarning, ...]]:
    """The best tree that can be had of a text, and everything that is wrong with the text."""
    code = Code(source.text)
    if code.is_sound:
        return code, source.trouble
    from runcard.plans.ruby.error_recovery import recover  # noqa: PLC0415 - most files are sound

    is_needed = not all(inside for _, inside in code.errors())
    code, dropped = recover(code, is_needed=is_needed)
    lines = sorted({*dropped} or {line for line, _ in code.errors()})
    trouble = [ReadWarning(line, _NOT_UNDERSTOOD) for line in lines[:_MOST_TROUBLE]]
    if len(lines) > _MOST_TROUBLE:
        more = len(lines) - _MOST_TROUBLE
        trouble.append(
            ReadWarning(lines[_MOST_TROUBLE], f"not understood, as are {more - 1:,} more places behind it")
        )
    return code, (*source.trouble, *trouble)


def _with_plain_constants(text: bytes) -> bytes:
    """The text with names that begin with a capital beyond ASCII (`É`) under one that the grammar knows, as long."""
    if text.isascii():
        return text
    return _FOREIGN_WORD.sub(_plain_capital, text.decode("utf-8", "replace")).encode()


def _plain_capital(match: re.Match[str]) -> str:
    letter = match[0]
    is_capital = letter.isupper() or letter.istitle()
    return f"{'Z':z<{len(letter.encode())}}" if is_capital else letter


class NoRubyError(MachineError):
    """What reads Ruby is not installed."""


@cache
def _parser() -> "Parser":
    try:
        import tree_sitter_ruby  # noqa: PLC0415 - an extra
        from tree_sitter import Language, Parser  # noqa: PLC0415
    except ImportError as error:
        raise NoRubyError(
            "reading Ruby needs tree-sitter, which is not installed", hint="pip install 'runcard[ruby]'"
        ) from error
    return Parser(Language(tree_sitter_ruby.language()))
