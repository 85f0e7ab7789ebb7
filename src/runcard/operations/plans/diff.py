"""Compare two plans, or a plan with its source as it is now."""

from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.files import json_name
from runcard.plans.analysis import AnalysisOptions, analyze
from runcard.plans.diff import PlanDiff, diff_plans
from runcard.plans.plan import Plan, find_plan
from runcard.plans.plan_files import MethodRef, check_one_plan


@dataclass(frozen=True, slots=True)
class DiffResult:
    """The differences between two plans."""

    old: str
    diff: PlanDiff
    warnings: tuple[str, ...]

    def to_dict(self) -> JsonObject:
        diff = self.diff
        return {
            "old": json_name(self.old).text,
            "same": diff.is_same,
            "added": list(diff.added),
            "removed": list(diff.removed),
            "changed": [
                {"name": name, "changes": [change.to_dict() for change in changes]}
                for name, changes in diff.changed.items()
            ],
            "about": [change.to_dict() for change in diff.target_changes],
            "warnings": list(self.warnings),
        }


def compare_plans(old: str, new: str, *, root: str | None = None) -> DiffResult:
    """Compare the plans of two sources, or at two paths."""
    before, after = _valid(old, root), _valid(new, root)
    warnings = tuple(dict.fromkeys((*before.warnings, *after.warnings)))
    return DiffResult(old, diff_plans(before.to_latest(), after.to_latest()), warnings)


def compare_with_source(
    path: str, *, root: str | None = None, method_ref: MethodRef | None = None
) -> DiffResult:
    """Compare the plan of a source with a new analysis of the source; nothing is written."""
    before = _valid(path, root, method_ref)
    data = before.to_latest()
    options = AnalysisOptions(is_deep=data["analyzer"].get("deep") is True)
    analysis = analyze(
        before.source, MethodRef.of(data["target"]), root=before.location.project.root, options=options
    )
    return DiffResult(before.path, diff_plans(data, analysis.plan), before.warnings)


def _valid(path: str, root: str | None, method_ref: MethodRef | None = None) -> Plan:
    plan = find_plan(path, root=root, method_ref=method_ref)
    check_one_plan(plan.location, path, method_ref)
    plan.check_exists()
    plan.check_valid()
    return plan
