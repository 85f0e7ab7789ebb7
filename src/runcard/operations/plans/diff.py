"""Compare two plans."""

from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.files import json_name
from runcard.plans.diff import PlanDiff, diff_plans
from runcard.plans.plan import Plan, find_plan


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
    return DiffResult(old, diff_plans(before.to_dict(), after.to_dict()), warnings)


def _valid(path: str, root: str | None) -> Plan:
    plan = find_plan(path, root=root)
    plan.check_exists()
    plan.check_valid()
    return plan
