"""Adds what is missing to an existing spec: the group of a method, or contexts in it. Every other byte stays.

Whole lines are inserted, in the indentation and with the line ends of the file. A context of the plan is there when the
group has a context with its tag or its words at that place; contexts without a tag, which people write, count wherever
they are in the group. So a second merge adds nothing.
"""

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from runcard.errors import DocumentError, StoreError
from runcard.files import printable
from runcard.plans.branch_evidence import StateKey
from runcard.plans.ruby.source_text import encoding_of, source_of
from runcard.plans.ruby.spec_tree import (
    CONTEXT,
    DESCRIBE,
    PERMISSIONS,
    SHARED,
    SpecFile,
    SpecNode,
    spec_of_source,
)
from runcard.plans.spec_contexts import Context
from runcard.plans.spec_groups import class_group, is_group_of_method, method_groups
from runcard.plans.spec_layout import fitted
from runcard.plans.spec_review import states_covered
from runcard.plans.spec_skeleton import Skeleton, Traits, method_name


@dataclass(frozen=True, slots=True)
class LineInsertion:
    """Lines to insert before a line of the file."""

    before: int  # a line, from 1; one more than the last line: at the end
    lines: tuple[str, ...]  # indented by two blanks for each level, from 0
    indent: bytes
    opening: int = 0  # the line that opens the group around it
    after_group: bool = False  # it follows a group, rather than closing the group around it


@dataclass(frozen=True, slots=True)
class SpecMerge:
    """A spec with what was missing."""

    data: bytes
    missing: tuple[str, ...]  # the inserted lines, as they would be in a file of their own
    contexts: int  # how many contexts were added


def merge(
    data: bytes,
    path: str,
    skeleton: Skeleton,
    requires: Sequence[str],
    order: Sequence[str] = (),
    covered: AbstractSet[StateKey] = frozenset(),
) -> SpecMerge:
    """Merge a skeleton into the bytes of a spec; `order` are the methods of the class, as `#call`.

    The states that a review knows to be `covered` are not missing, whatever the contexts are called.

    Raises RuncardError when the spec cannot be parsed: then nobody knows what is missing.
    """
    spec = spec_of_source(source_of(data, path))
    if spec.warnings:
        first = spec.warnings[0]
        raise DocumentError(
            f"{printable(path)}:{first.line}: {first.message}; the spec was not changed",
            hint="correct the spec, or pass --force to replace it",
        )
    merger = _SpecMerger(_SpecLines(data), spec, skeleton, covered)
    insertions = list(merger.insertions(requires, order))
    merged = _inserted(merger, insertions, path) if insertions else data
    if insertions and not _is_complete(merged, path, skeleton, covered):
        raise StoreError(
            f"{printable(path)} has a layout that cannot be extended; it was not changed",
            hint="pass --missing to print what is missing",
        )
    missing = [line for insertion in insertions for line in ("", *insertion.lines)][1:]
    return SpecMerge(merged, tuple(missing), merger.contexts)


def _is_complete(data: bytes, path: str, skeleton: Skeleton, covered: AbstractSet[StateKey]) -> bool:
    """Whether a spec can be parsed and lacks nothing: what was inserted is not part of a text."""
    spec = spec_of_source(source_of(data, path))
    again = _SpecMerger(_SpecLines(data), spec, skeleton, covered).insertions((), ())
    return not spec.warnings and next(again, None) is None


class _SpecLines:
    """The lines of a file, with their ends."""

    def __init__(self, data: bytes) -> None:
        lines = data.split(b"\n")
        self.all = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
        self.encoding = encoding_of(data)

    def __getitem__(self, number: int) -> bytes:
        return self.all[number - 1] if 0 < number <= len(self.all) else b""

    def indent(self, number: int) -> bytes:
        line = self[number]
        return line[: len(line) - len(line.lstrip(b" \t"))]

    def is_blank(self, number: int) -> bool:
        return not self[number].strip()


class _SpecMerger:
    def __init__(
        self, lines: _SpecLines, spec: SpecFile, skeleton: Skeleton, covered: AbstractSet[StateKey]
    ) -> None:
        self.lines = lines
        self.contexts = 0
        self._spec, self._skeleton = spec, skeleton
        self._target = skeleton.target
        self._hand_written: list[SpecNode] = []  # contexts without a tag, wherever they are
        self._covered = covered
        self._named: dict[str, set[StateKey]] = {}  # states, by the description of a context
        self._done: set[tuple[int, str]] = set()  # what was inserted: the line of a group, and a tag
        everything = [context for root in skeleton.contexts for context in root.walk()]
        self._characteristics = list(
            {each.characteristic["name"]: each.characteristic for each in everything}.values()
        )

    def insertions(self, requires: Sequence[str], order: Sequence[str]) -> Iterator[LineInsertion]:
        groups = [
            group
            for group in method_groups(self._spec, self._target)
            if group.closing_line is not None and group.word != PERMISSIONS
        ]
        if groups:
            self._hand_written = [part for group in groups for part in _contexts_in(group) if not part.tags]
            yield from self._missing(self._skeleton.contexts, groups, ())
            return
        left = uncovered(self._skeleton.contexts, self._covered)
        if self._skeleton.contexts and not left:
            return
        self._skeleton = replace(self._skeleton, contexts=left)
        self.contexts = sum(1 for root in left for _ in root.walk())
        owner = class_group(self._spec, self._target)
        if owner is None or owner.closing_line is None:
            yield self._at_end(requires)
            return
        lines = tuple(self._skeleton.method_group())
        before, after = self._neighbours(owner, order)
        yield self._placed(lines, owner, before, after)

    def _at_end(self, requires: Sequence[str]) -> LineInsertion:
        """A group for the class at the end of the file; with `require` if the file is empty."""
        data = b"".join(self.lines.all)
        lines = self._skeleton.class_group()
        if not self._spec.parts and b"require" not in data:
            lines = [*requires, "", *lines]
        end = self._spec.data_line
        return LineInsertion(end or len(self.lines.all) + 1, tuple(lines), b"", after_group=end is not None)

    def _neighbours(self, owner: SpecNode, order: Sequence[str]) -> tuple[list[SpecNode], list[SpecNode]]:
        """The groups of the methods that come before this one in the source, and of those that come after it."""
        own = method_name(self._target)
        place = order.index(own) if own in order else len(order)
        groups = [[part for part in owner.children if self._is_group_of(part, name)] for name in order]
        return (
            [part for found in groups[:place] for part in found],
            [part for found in groups[place + 1 :] for part in found],
        )

    def _is_group_of(self, part: SpecNode, name: str) -> bool:
        method = {"method": name[1:], "method_type": "class" if name[0] == "." else "instance"}
        return is_group_of_method(part.name, self._target | method)

    # Contexts

    def _missing(
        self, planned: Sequence[Context], groups: Sequence[SpecNode], traits: Traits
    ) -> Iterator[LineInsertion]:
        """The insertions for the contexts that groups lack; they are inserted into the first group."""
        matches = [self._match(context, groups) for context in planned]
        for place, (context, match) in enumerate(zip(planned, matches, strict=True)):
            if match is not None:
                if context.children:
                    yield from self._missing(
                        context.children, [match], self._skeleton.traits_in(context, traits)
                    )
                continue
            yield from self._inside_others(context, self._skeleton.traits_in(context, traits))
            found = self._left(context)
            left = next(iter(uncovered([found] if found else [], self._covered)), None)
            key = (groups[0].line, context.tag)
            if left is not None and key not in self._done:
                self._done.add(key)
                self.contexts += sum(1 for _ in left.walk())
                lines = tuple(self._skeleton.context(left, traits))
                yield self._placed(lines, groups[0], matches[:place], matches[place + 1 :])

    def _left(self, context: Context) -> Context | None:
        """A missing context without the states that people tested elsewhere; None if nothing is left of it."""
        if context.is_leaf:
            return context
        missing = [child for child in context.children if self._match(child, ()) is None]
        children = tuple(left for child in missing if (left := self._left(child)) is not None)
        return replace(context, children=children) if children else None

    def _inside_others(self, context: Context, traits: Traits) -> Iterator[LineInsertion]:
        """The insertions into contexts elsewhere that stand for states in a missing context."""
        for child in context.children:
            inner = self._skeleton.traits_in(child, traits)
            match = self._match(child, ())
            if match is None:
                yield from self._inside_others(child, inner)
            elif child.children:
                yield from self._missing(child.children, [match], inner)

    def _placed(
        self,
        lines: tuple[str, ...],
        group: SpecNode,
        before: Sequence[SpecNode | None],
        after: Sequence[SpecNode | None],
    ) -> LineInsertion:
        """After the contexts that come before it, or before the one that comes after it, or at the end of the group."""
        indent = self._inner_indent(group)
        inside = [part for part in group.children if part.closing_line is not None]
        for part in reversed(before):
            if part is not None and part in inside:
                return LineInsertion(part.end_line + 1, lines, indent, group.line, after_group=True)
        for part in after:
            if part is not None and part in inside:
                return LineInsertion(self._above(part), lines, indent, group.line, after_group=True)
        return LineInsertion(group.closing_line or group.end_line, lines, indent, group.line)

    def _above(self, part: SpecNode) -> int:
        """The line above a group and its comments: the blank line there, if there is one."""
        line = part.line
        while self.lines[line - 1].lstrip().startswith(b"#"):
            line -= 1
        return line - 1 if line > 1 and self.lines.is_blank(line - 1) else line

    def _match(self, context: Context, groups: Sequence[SpecNode]) -> SpecNode | None:
        """The context of the spec that stands for one of the plan."""
        direct = [part for group in groups for part in group.children if part.kind in {CONTEXT, DESCRIBE}]
        untagged = [part for part in direct if not part.tags]
        candidates = [
            *(part for part in direct if context.tag in part.tags),
            *(part for part in untagged if part.name == context.description),
            *(part for part in (*untagged, *self._hand_written) if self._covers(part, context)),
        ]
        return next((part for part in candidates if context.is_leaf or part.closing_line is not None), None)

    def _covers(self, part: SpecNode, context: Context) -> bool:
        if part.name not in self._named:
            self._named[part.name] = states_covered(part.name, self._characteristics)
        return (context.characteristic["name"], context.state) in self._named[part.name]

    def _inner_indent(self, group: SpecNode) -> bytes:
        """The indentation in a group: that of what is in it, or one level more than its own."""
        outer = self.lines.indent(group.line)
        for part in group.children:
            inner = self.lines.indent(part.line)
            if part.line > group.line and inner.startswith(outer) and inner != outer:
                return inner
        return outer + self.unit

    def width_of(self, line: str, indent: bytes) -> int:
        """How long a line may be, before it is indented as the file is."""
        levels = (len(line) - len(line.lstrip(" "))) // 2
        return self._skeleton.width - len(indent) - levels * (len(self.unit) - 2)

    @property
    def unit(self) -> bytes:
        """One level of indentation in this file."""
        for part in self._spec.walk():
            for child in part.children:
                outer, inner = self.lines.indent(part.line), self.lines.indent(child.line)
                if child.line > part.line and inner.startswith(outer) and inner != outer:
                    return inner[len(outer) :]
        return b"  "


def uncovered(contexts: Sequence[Context], covered: AbstractSet[StateKey]) -> tuple[Context, ...]:
    """Contexts without the states that are covered."""
    left: list[Context] = []
    for context in contexts:
        children = uncovered(context.children, covered)
        if children or (context.characteristic["name"], context.state) not in covered:
            left.append(replace(context, children=children))
    return tuple(left)


def _contexts_in(group: SpecNode) -> Iterator[SpecNode]:
    """The contexts in a group, without those of shared examples."""
    for part in group.children:
        if part.kind in {CONTEXT, DESCRIBE}:
            yield part
        if part.is_group and part.kind != SHARED:
            yield from _contexts_in(part)


def _inserted(merger: _SpecMerger, insertions: Sequence[LineInsertion], path: str) -> bytes:
    """The file with the insertions; those before the same line keep their order."""
    lines = merger.lines
    by_line: dict[int, list[LineInsertion]] = {}
    for insertion in insertions:
        by_line.setdefault(insertion.before, []).append(insertion)
    merged: list[bytes] = []
    for number in range(1, len(lines.all) + 2):
        if number in by_line:
            merged.append(_block(merger, by_line[number], path))
        merged.append(lines[number])
    return b"".join(merged)


def _block(merger: _SpecMerger, insertions: Sequence[LineInsertion], path: str) -> bytes:
    """The inserted lines, with blank lines around them."""
    lines, first, last = merger.lines, insertions[0], insertions[-1]
    above, below = lines[first.before - 1], lines[first.before]
    line_end = b"\r\n" if (above or below).endswith(b"\r\n") else b"\n"
    texts: list[bytes] = []
    for insertion in insertions:
        indented = (
            _indented(line, insertion.indent, merger.unit, lines.encoding, path)
            for whole in insertion.lines
            for line in fitted([whole], merger.width_of(whole, insertion.indent))
        )
        texts += [*([b""] if texts else []), *indented]
    if above.strip() and first.opening != first.before - 1:
        texts.insert(0, b"")
    if last.after_group and below.strip() and not re.match(rb"\s*(?:end\b|\})", below):
        texts.append(b"")
    block = b"".join(text + line_end for text in texts)
    if above and not above.endswith(b"\n"):  # the last line of a file without a line end
        return line_end + block.removesuffix(line_end)
    return block


def _indented(line: str, indent: bytes, unit: bytes, encoding: str, path: str) -> bytes:
    text = line.lstrip(" ")
    if not text:
        return b""
    try:
        return indent + unit * ((len(line) - len(text)) // 2) + text.encode(encoding)
    except UnicodeError as error:
        raise DocumentError(
            f"{printable(path)} is in {encoding}, which cannot hold what is missing; it was not changed",
            hint="convert the spec to UTF-8",
        ) from error
