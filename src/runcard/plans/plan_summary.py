"""A plan in a list: fresh, stale or invalid, and the next agent. An unreadable plan hides no other."""

import os
from dataclasses import dataclass

from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError
from runcard.files import json_name
from runcard.plans.agents import next_agent
from runcard.plans.freshness import CORRUPTED, FAILED, INCOMPLETE, status_of
from runcard.plans.plan import Plan
from runcard.plans.plan_files import PlanLocation, read_plan_file
from runcard.plans.project import Project

FRESH, STALE, INVALID = "fresh", "stale", "invalid"


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """A plan in a list."""

    path: str
    file: str  # the source
    target: str  # Class#method or Class.method
    state: str
    reason: str | None
    next: str

    def to_dict(self) -> JsonObject:
        return {
            "metadata_path": json_name(self.path).text,
            "file": json_name(self.file).text,
            "target": self.target,
            "state": self.state,
            "reason": self.reason,
            "next": self.next,
        }


def summarize_plan(project: Project, name: str, limits: Limits) -> PlanSummary:
    """The line of a plan file of a project."""
    path = os.path.join(project.folder, name)
    try:
        plan_file = read_plan_file(path, limits)
    except RuncardError as error:  # an unreadable plan must not hide the others
        return PlanSummary(path, "", "?#?", INVALID, error.message, next_agent({}).name)
    location = PlanLocation(project, plan_file.target_file or "", plan_file)
    state, reason = plan_state(Plan(location))
    target = plan_file.section("target")
    separator = "." if target.get("method_type") == "class" else "#"
    method = f"{target.get('class', '?')}{separator}{target.get('method', '?')}"
    return PlanSummary(
        plan_file.path, location.file, method, state, reason, next_agent(plan_file.data or {}).name
    )


def plan_state(plan: Plan) -> tuple[str, str | None]:
    """Whether a plan is fresh, stale or invalid; and why it is not fresh."""
    if plan.errors:
        return INVALID, f"{plan.errors[0].message} [{plan.errors[0].rule}]"
    try:
        status = status_of(plan.location)
    except RuncardError as error:
        return STALE, error.message
    if status.reason in {CORRUPTED, INCOMPLETE, FAILED}:
        return INVALID, status.reason
    if status.valid:
        return FRESH, status.reason
    return STALE, "; ".join(filter(None, (status.reason, status.unchecked)))
