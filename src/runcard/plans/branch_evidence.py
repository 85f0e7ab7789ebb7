"""What a coverage report proves about the states of a plan.

A state ran if a branch or a line ran that is reached in this state alone. It did not run if each branch that asks for it ran in
other states only. Everything else is unknown: branches that several states share, conditions without a branch of their
own (`return a && b`), and all states if the method was never called.
"""

from collections.abc import Iterator
from typing import NamedTuple

from runcard.encoding import JsonObject
from runcard.plans.analysis.branch_states import BranchStates, MethodBranches
from runcard.plans.ruby.coverage import ArmCount, SourceCoverage

StateKey = tuple[str, str]  # a characteristic and its state


class BranchRun(NamedTuple):
    """Whether the branch of a state ran, and how often."""

    line: int
    times: int  # 0: it did not run


def branch_runs(
    plan: JsonObject, method: MethodBranches, coverage: SourceCoverage, *, expects_errors: bool = True
) -> dict[StateKey, BranchRun]:
    """The states of a plan that surely ran, and those that surely did not.

    `expects_errors`: whether an example may end with an error that the method does not catch.
    """
    counted = [
        (branch, arms)
        for branch in method.branches
        if (branch.is_caught or not expects_errors) and (arms := _arms_of(branch, coverage)) is not None
    ]
    known: dict[StateKey, BranchRun] = {}
    for characteristic in plan["characteristics"]:
        name, states = characteristic["name"], characteristic["states"]
        if method.states.get(name) != frozenset(states):
            continue  # written by hand, or by another version of the analyzer
        own = [(branch, arms) for branch, arms in counted if name in branch.deciding]
        is_complete = name not in method.asked_elsewhere and len(own) == sum(
            name in branch.deciding for branch in method.branches
        )
        for state in states:
            ran = list(_ran(name, state, counted))
            if ran:
                known[name, state] = max(ran, key=lambda run: run.times)
            elif is_complete and own and _did_not_run(name, state, own):
                known[name, state] = BranchRun(own[0][0].span[0], 0)
    return known


def _arms_of(branch: BranchStates, coverage: SourceCoverage) -> list[int] | None:
    """How often each arm of a branch ran; None if the report does not have this branch."""
    if branch.kind == "line":
        count = _line(branch.span[0], coverage)
        return None if count is None else [count]
    if branch.kind == "rescue":
        counts = [_line(line, coverage) for line in (branch.span[0], *branch.handlers)]
        known = [count for count in counts if count is not None]
        return [max(0, known[0] - sum(known[1:]))] if len(known) == len(counts) else None
    arms = coverage.branches.get((branch.kind, branch.span))
    if arms is None:
        arms = _by_start(branch, coverage)
    return None if arms is None else _in_order(branch, arms)


def _line(line: int, coverage: SourceCoverage) -> int | None:
    count = coverage.lines[line - 1] if line <= len(coverage.lines) else None
    return count if type(count) is int else None


def _by_start(branch: BranchStates, coverage: SourceCoverage) -> list[ArmCount] | None:
    """The branch that begins where this one does, if it is the only one: versions of Ruby differ in where one ends."""
    same = [
        counts
        for (kind, span), counts in coverage.branches.items()
        if kind == branch.kind and span[:2] == branch.span[:2]
    ]
    return same[0] if len(same) == 1 else None


def _in_order(branch: BranchStates, counts: list[ArmCount]) -> list[int] | None:
    """The counts in the order of the arms; None if the arms are others."""
    waiting: dict[str, list[int]] = {}
    for each in counts:
        waiting.setdefault(each.label, []).append(each.times)
    ordered: list[int] = []
    for arm in branch.arms:
        left = waiting.get(arm.label)
        if not left:
            return None
        ordered.append(left.pop(0))
    return None if any(waiting.values()) else ordered


def _ran(name: str, state: str, counted: list[tuple[BranchStates, list[int]]]) -> Iterator[BranchRun]:
    for branch, counts in counted:
        for arm, count in zip(branch.arms, counts, strict=True):
            if count and arm.states.get(name) == frozenset({state}):
                yield BranchRun(branch.span[0], count)


def _did_not_run(name: str, state: str, own: list[tuple[BranchStates, list[int]]]) -> bool:
    """Whether each branch that asks for a state ran in other states only, and one of them did run."""
    counts = [
        (count, state in arm.states.get(name, {state}))
        for branch, arms in own
        for arm, count in zip(branch.arms, arms, strict=True)
    ]
    return any(count for count, _ in counts) and not any(count for count, allows in counts if allows)
