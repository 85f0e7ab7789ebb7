"""A plan to look at: its characteristics as a tree, findings at their place, who is next, the source and the skeleton.

Nothing is written. Whatever the plan holds, it is shown as far as it can be read.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from runcard.documents.findings import Finding
from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import printable
from runcard.operations.plans.validate import validate_plan
from runcard.plans.agents import AGENTS, next_agent
from runcard.plans.plan import Plan
from runcard.plans.plan_summary import plan_state
from runcard.plans.project import check_inside
from runcard.plans.ruby.source_text import read_source
from runcard.plans.ruby.targets import read_targets
from runcard.plans.skeleton_builder import SkeletonBuilder
from runcard.plans.spec_paths import skeleton_path
from runcard.settings import PLANS_TAGS, read_settings

_MOST_LINES = 400  # of a source or a skeleton
_LONGEST_LINE = 400  # characters
_MOST_NODES = 200  # characteristics
_BEFORE = 2  # lines above the method


class CharacteristicNode(NamedTuple):
    """A characteristic, below the one that it depends on."""

    entry: JsonObject  # its fields, as they are written
    depth: int
    states: tuple[str, ...]
    terminal: frozenset[str]  # states after which nothing follows
    when: tuple[str, ...]  # the states of its parent in which it applies
    findings: tuple[Finding, ...]


class CodeExcerpt(NamedTuple):
    """Lines of a file, or why there are none."""

    path: str  # in the project
    first: int = 1  # the number of its first line
    lines: tuple[str, ...] = ()
    is_cut: bool = False  # there is more of it
    problem: str | None = None


class AgentMark(NamedTuple):
    """An agent of the pipeline, and whether it has reported."""

    name: str
    is_done: bool
    is_next: bool


@dataclass(frozen=True, slots=True)
class ShownPlan:
    """A plan to look at."""

    plan: Plan
    data: JsonObject  # empty: it cannot be read
    state: str  # fresh, stale or invalid
    reason: str | None
    agents: tuple[AgentMark, ...]
    tree: tuple[CharacteristicNode, ...]
    more: int  # characteristics that are left out
    findings: tuple[Finding, ...]  # those about no characteristic
    source: CodeExcerpt
    skeleton: CodeExcerpt

    @property
    def target(self) -> str:
        """The method, as Ruby names it."""
        target = self.plan.location.plan_file.section("target")
        sign = "." if target.get("method_type") == "class" else "#"
        return f"{target.get('class') or '?'}{sign}{target.get('method') or '?'}"


def show_plan(path: str) -> ShownPlan:
    """The plan at a path that ends in `.yml`; raises RuncardError if there is none."""
    validation = validate_plan(path, write=False)
    plan, findings = validation.plan, validation.report.findings
    data = plan.location.plan_file.data or {}
    state, reason = plan_state(plan)
    entries = data.get("characteristics")
    entries = entries if isinstance(entries, list) else []
    tree = characteristic_nodes(entries, findings)
    placed = {id(finding) for node in tree for finding in node.findings}
    following = next_agent(data).name
    return ShownPlan(
        plan,
        data,
        state,
        reason,
        tuple(AgentMark(name, agent.is_done(data), name == following) for name, agent in AGENTS.items()),
        tuple(tree[:_MOST_NODES]),
        max(0, len(tree) - _MOST_NODES),
        tuple(finding for finding in findings if id(finding) not in placed),
        _source(plan),
        _skeleton(plan),
    )


def characteristic_nodes(entries: Sequence[object], findings: Iterable[Finding]) -> list[CharacteristicNode]:
    """Each characteristic below the one that it depends on; what depends on itself or on nothing known comes last."""
    listed = [(index, entry) for index, entry in enumerate(entries) if isinstance(entry, dict)]
    names: dict[str, int] = {}
    for index, entry in listed:
        if isinstance(entry.get("name"), str):
            names.setdefault(entry["name"], index)
    children: dict[int | None, list[tuple[int, JsonObject]]] = {}
    for index, entry in listed:
        parent = entry.get("depends_on")
        known = names.get(parent) if isinstance(parent, str) else None
        children.setdefault(known, []).append((index, entry))
    by_index = _by_index(findings)
    seen: set[int] = set()
    nodes = []
    stack = [(0, *item) for item in reversed(children.get(None, []))]
    rest = iter(listed)
    while True:
        while stack:
            depth, index, entry = stack.pop()
            if index in seen:
                continue
            seen.add(index)
            nodes.append(_node(entry, depth, by_index.get(index, [])))
            stack += [(depth + 1, *child) for child in reversed(children.get(index, []))]
        left = next((item for item in rest if item[0] not in seen), None)
        if left is None:
            return nodes
        stack.append((0, *left))


def _by_index(findings: Iterable[Finding]) -> dict[int, list[Finding]]:
    """Findings by the characteristic that they are about."""
    found: dict[int, list[Finding]] = {}
    for finding in findings:
        parts = finding.path.split("/", 3)
        if len(parts) > 2 and parts[1] == "characteristics" and parts[2].isdecimal():
            found.setdefault(int(parts[2]), []).append(finding)
    return found


def _node(entry: JsonObject, depth: int, findings: Iterable[Finding]) -> CharacteristicNode:
    return CharacteristicNode(
        entry,
        depth,
        _texts(entry.get("states")),
        frozenset(_texts(entry.get("terminal_states"))),
        _texts(entry.get("when_parent")),
        tuple(findings),
    )


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(str(item) for item in value if item is not None)
    return () if value is None or isinstance(value, dict) else (str(value),)


def _source(plan: Plan) -> CodeExcerpt:
    """The method of a plan in its source, to the next method; the beginning of the file where it is not found."""
    file = plan.location.file
    if not file:
        return CodeExcerpt("", problem="the plan names no source file")
    try:
        _check_place(plan, plan.source)
        lines = read_source(plan.source).text.decode("utf-8", "replace").rstrip("\n").split("\n")
        first, last = _method_lines(plan, len(lines))
    except RuncardError as error:
        return CodeExcerpt(printable(file), problem=error.message)
    return _excerpt(file, first, lines[first - 1 : last])


def _method_lines(plan: Plan, count: int) -> tuple[int, int]:
    target = plan.location.plan_file.section("target")
    own = [target.get(key) for key in ("class", "method", "method_type")]
    try:
        every = read_targets(plan.source)
        found = every.matching(*own) if all(isinstance(word, str) for word in own) else []
    except (RuncardError, ImportError):
        return 1, count
    if not found:
        return 1, count
    line = found[0].line
    following = min((other.line - 1 for other in every.all() if other.line > line), default=count)
    return max(1, line - _BEFORE), max(line, following)


def _skeleton(plan: Plan) -> CodeExcerpt:
    """What `runcard plan skeleton` would write into a new spec."""
    try:
        plan.check_valid()
        path = skeleton_path(plan)
        _check_place(plan, os.path.join(plan.location.project.root, path))
        builder = SkeletonBuilder(plan, is_tagged=read_settings()[PLANS_TAGS])
        text = builder.skeleton().file(builder.requires(os.path.join(plan.location.project.root, path)))
    except RuncardError:
        return CodeExcerpt("", problem="a plan that is not valid has no skeleton")
    return _excerpt(path, 1, text.decode("utf-8", "replace").rstrip("\n").split("\n"))


def _check_place(plan: Plan, path: str) -> None:
    """Refuse a path that leads out of the project, also where it is not marked as one."""
    project = plan.location.project
    check_inside(project, path)
    root = os.path.realpath(project.root)
    if os.path.commonpath([root, os.path.realpath(path)]) != root:
        raise RuncardError("it is outside of the project", hint="correct `target.file`")


def _excerpt(path: str, first: int, lines: Sequence[str]) -> CodeExcerpt:
    shown = tuple(
        line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} …" for line in lines[:_MOST_LINES]
    )
    is_cut = len(lines) > _MOST_LINES or any(len(line) > _LONGEST_LINE for line in lines[:_MOST_LINES])
    return CodeExcerpt(printable(path), first, shown, is_cut)
