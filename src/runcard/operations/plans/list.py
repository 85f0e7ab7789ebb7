"""List all plans of a project: fresh, stale or invalid, and the next agent of each."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError, StoreError
from runcard.files import failure, json_name, printable
from runcard.plans.agents import next_agent
from runcard.plans.freshness import CORRUPTED, ELSEWHERE, FAILED, INCOMPLETE, status_of
from runcard.plans.plan import Plan
from runcard.plans.plan_files import PlanLocation, is_plan_name, no_project_warning, read_plan_file
from runcard.plans.project import Project, check_folder, project_at

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


@dataclass(frozen=True, slots=True)
class PlanList:
    """The plans of one project."""

    root: str
    plans: tuple[PlanSummary, ...]
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        return {
            "root": json_name(self.root).text,
            "plans": [plan.to_dict() for plan in self.plans],
            "warnings": list(self.warnings),
        }


def list_plans(directory: str, *, root: str | None = None, limits: Limits | None = None) -> PlanList:
    """The plans of the project that contains a directory, sorted by name."""
    start = root or directory
    if not os.path.isdir(start):
        raise StoreError(f"{printable(start)} is not a directory", hint="pass a directory of the project")
    project = Project(os.path.realpath(start)) if root else project_at(start)
    if project is None:
        project = Project(os.path.realpath(start), is_marked=False)
    check_folder(project)
    plans = tuple(_summary(project, name, limits or Limits()) for name in _names(project.folder))
    return PlanList(project.root, plans, () if project.is_marked else (no_project_warning(project),))


def _names(folder: str) -> Iterator[str]:
    try:
        yield from sorted(filter(is_plan_name, os.listdir(folder)), key=os.fsencode)
    except FileNotFoundError:
        return
    except OSError as error:
        raise failure(error, folder, "read the directory") from error


def _summary(project: Project, name: str, limits: Limits) -> PlanSummary:
    path = os.path.join(project.folder, name)
    try:
        plan_file = read_plan_file(path, limits)
    except RuncardError as error:  # an unreadable plan must not hide the others
        return PlanSummary(path, "", "?#?", INVALID, error.message, next_agent({}).name)
    location = PlanLocation(project, plan_file.target_file or "", plan_file)
    state, reason = _state(location)
    target = plan_file.section("target")
    separator = "." if target.get("method_type") == "class" else "#"
    method = f"{target.get('class', '?')}{separator}{target.get('method', '?')}"
    return PlanSummary(
        plan_file.path, location.file, method, state, reason, next_agent(plan_file.data or {}).name
    )


def _state(location: PlanLocation) -> tuple[str, str | None]:
    errors = Plan(location).errors
    if errors:
        return INVALID, f"{errors[0].message} [{errors[0].rule}]"
    try:
        reason = status_of(location).reason
    except RuncardError as error:
        return STALE, error.message
    if reason in {CORRUPTED, INCOMPLETE, FAILED}:
        return INVALID, reason
    return (FRESH, reason) if reason in {None, ELSEWHERE} else (STALE, reason)
