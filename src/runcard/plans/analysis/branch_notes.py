"""The branches of a method that coverage counts, each with what must hold for its arms to run.

What a branch proves must be certain. So a condition that is not read in full proves nothing; nor does a branch of a
private method, whose caller is not known.
"""

from runcard.plans.analysis.conditions import Conditions
from runcard.plans.analysis.questions import (
    Arm,
    Branch,
    Condition,
    MethodFlow,
    Path,
    Question,
    Span,
    either,
    questions_in,
    then,
)
from runcard.plans.ruby.syntax_tree import BLOCKS, Node, children, field_of, line_of

_HARMLESS = {
    "true",
    "false",
    "nil",
    "self",
    "integer",
    "simple_symbol",
    "instance_variable",
}  # they raise no error
_ALL_ERRORS = {b"StandardError", b"Exception", b"::StandardError", b"::Exception"}
_BODIES = {"then", "body_statement", "else", "do", "block_body", "begin_block", "ensure"}


class BranchNotes:
    """Notes the branches of one method while it is walked."""

    def __init__(self, flow: MethodFlow, conditions: Conditions) -> None:
        self._flow, self._conditions = flow, conditions

    def whole(self, condition: Condition | None) -> Condition | None:
        """The condition that was just read; remembered, if a part of it is not known."""
        if condition is not None and self._conditions.is_partial:
            self._flow.partial.add(id(condition))
        return condition

    def replaced(self, read: list[Condition | None], new: list[Condition | None]) -> list[Condition | None]:
        """The conditions that replace those of an `if` with its `elsif`s: not known in full, if one of those is not."""
        if self._flow.partial.intersection(map(id, read)):
            self._flow.partial.update(map(id, filter(None, new)))
        return new

    def note(self, node: Node, kind: str, condition: Condition | None, *arms: Arm) -> None:
        if condition is None or id(condition) in self._flow.partial or self._conditions.via is not None:
            return
        self._flow.branches.append(Branch(kind, _span(node), arms, tuple(questions_in(condition))))

    def note_choice(self, node: Node, kind: str, condition: Condition | None, path: Path) -> None:
        """A branch with two arms."""
        yes, no = (Arm(label, then(path, condition, truth=label == "then")) for label in ("then", "else"))
        self.note(node, kind, condition, yes, no)

    def note_case(self, node: Node, conditions: list[Condition | None], arms: list[Arm]) -> None:
        known = [condition for condition in conditions if condition is not None]
        if not known or len(known) < len(conditions) or self._flow.partial.intersection(map(id, known)):
            return
        whole = known[0]
        for condition in known[1:]:
            whole = either(whole, condition)
        self.note(node, "case", whole, *arms)

    def note_line(self, node: Node, path: Path) -> None:
        """A statement that begins its line: it is reached if all of its path holds."""
        if path and self._conditions.via is None and _is_first(node):
            self._flow.branches.append(Branch("line", _span(node), (Arm("run", path),), ()))

    def note_body(self, body: list[Node], handlers: list[Node], fine: Path, path: Path) -> None:
        """The body of a `rescue`: if it ran more often than its handlers, or to its end, no error was raised."""
        if self._conditions.via is not None or not body:
            return
        first, last = body[0], body[-1]
        if last.type in _HARMLESS:
            self.note_line(last, path + fine)
        starts = [next(iter(children(field_of(handler, "body"))), None) for handler in handlers]
        lines = [line_of(start) for start in starts if start is not None and _is_first(start)]
        if len(lines) < len(handlers) or not _is_first(first) or _has_several(first):
            return
        classes = [children(field_of(handler, "exceptions")) for handler in handlers]
        is_caught = any(not each or any(part.text in _ALL_ERRORS for part in each) for each in classes)
        arm = Arm("run", path + fine)
        self._flow.branches.append(Branch("rescue", _span(first), (arm,), (), tuple(lines), is_caught))

    def note_handler(self, handler: Node, question: Question, path: Path) -> None:
        """The first line of a `rescue` body: coverage counts it if nothing else is on it."""
        body = field_of(handler, "body")
        first = next(iter(children(body)), None) if body is not None else None
        if first is not None and line_of(first) > line_of(handler):
            self.note(first, "line", question, Arm("run", (*path, (question, True))))


def _span(node: Node) -> Span:
    return line_of(node), int(node.start_point[1]), int(node.end_point[0]) + 1, int(node.end_point[1])


def _is_first(node: Node) -> bool:
    """Whether a statement begins its line: nothing else that counts can be before it."""
    before = node.prev_sibling
    above = node.parent
    is_after = before is not None and int(before.end_point[0]) + 1 == line_of(node)
    return (
        not is_after
        and above is not None
        and (
            line_of(above) < line_of(node)
            or (above.type in _BODIES and above.start_point == node.start_point and _is_first(above))
        )
    )


def _has_several(node: Node) -> bool:
    """Whether a line counts more than once for one run: a block on it does."""
    line = line_of(node)
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if part.type in BLOCKS and line_of(part) == line:
            return True
        waiting += [child for child in part.named_children if line_of(child) == line]
    return node.type in {"begin", "while", "until", "while_modifier", "until_modifier"}
