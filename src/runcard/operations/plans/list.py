"""List all plans of a project: fresh, stale or invalid, and the next agent of each."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from runcard.encoding import JsonObject, Limits
from runcard.errors import StoreError
from runcard.files import failure, json_name, printable
from runcard.plans.plan_files import is_plan_name, no_project_warning
from runcard.plans.plan_summary import PlanSummary, summarize_plan
from runcard.plans.project import Project, check_folder, project_at


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
    plans = tuple(summarize_plan(project, name, limits or Limits()) for name in _names(project.folder))
    return PlanList(project.root, plans, () if project.is_marked else (no_project_warning(project),))


def _names(folder: str) -> Iterator[str]:
    try:
        yield from sorted(filter(is_plan_name, os.listdir(folder)), key=os.fsencode)
    except FileNotFoundError:
        return
    except OSError as error:
        raise failure(error, folder, "read the directory") from error
