"""The validator: checks a plan by every rule, in its project, and writes the result into its section `validation`.

The previous contents of the section are ignored. Nothing else in the file changes.
"""

from dataclasses import dataclass

from runcard.documents import reader
from runcard.documents.findings import Finding
from runcard.documents.findings import Report as Findings
from runcard.documents.kinds import TESTPLAN
from runcard.encoding import JsonObject, Limits
from runcard.files import json_name
from runcard.plans.plan import Plan, find_plan
from runcard.plans.plan_files import MethodRef, check_one_plan, is_plan_path, plans_of_source
from runcard.plans.plan_writes import PlanWrites
from runcard.plans.target_check import check_target

_MAX_LINES = 200  # findings that are written into a plan


@dataclass(frozen=True, slots=True)
class PlanValidation:
    """The findings about a plan, and whether its section was rewritten."""

    plan: Plan
    report: Findings
    written: bool
    warnings: tuple[str, ...]

    def to_dict(self) -> JsonObject:
        report = self.report
        return {
            "metadata_path": json_name(self.plan.path).text,
            "kind": report.kind,
            "version": report.version,
            "valid": report.valid,
            "written": self.written,
            "errors": [finding.to_dict() for finding in report.errors],
            "warnings": [finding.to_dict() for finding in report.warnings],
            "remarks": list(self.warnings),
        }


def plans_to_validate(
    path: str, *, root: str | None = None, method_ref: MethodRef | None = None, limits: Limits | None = None
) -> list[str]:
    """The plans of a source, if it has several and no method is given; else the path itself."""
    ref = method_ref or MethodRef()
    if is_plan_path(path) or ref.method is not None:
        return [path]
    plans = plans_of_source(find_plan(path, root=root, limits=limits).location)
    if len(plans) < 2:
        return [path]
    return [plan for plan, target in plans if ref.matches(target)] or [path]


def validate_plan(
    path: str,
    *,
    root: str | None = None,
    method_ref: MethodRef | None = None,
    write: bool = True,
    limits: Limits | None = None,
    writes: PlanWrites | None = None,
) -> PlanValidation:
    """Validate the only plan of a source, or the plan at a path that ends in `.yml`.

    For many plans, pass the same `writes`: then their folder is searched once for abandoned temporary files.
    """
    writes = writes or PlanWrites()
    plan = find_plan(path, root=root, method_ref=method_ref, limits=limits)
    check_one_plan(plan.location, path, method_ref)
    plan.check_exists()
    if not write:
        return PlanValidation(plan, _check(plan), written=False, warnings=plan.warnings)
    with plan.locked() as now:
        report = _check(now)
        after = now.with_validation(_section(report), writes=writes)
        writes.sync()
        return PlanValidation(after, report, after is not now, plan.warnings)


def _check(plan: Plan) -> Findings:
    """All findings about a plan, except those about its old validation."""
    project = plan.location.project

    def check_in_project(data: JsonObject) -> list[Finding]:
        return list(check_target(data, project.root, is_known=not plan.location.is_outside_project))

    content = plan.location.plan_file.content or b""
    report = reader.parse_document(
        content, kind=TESTPLAN.name, limits=plan.location.plan_file.limits, check_files=check_in_project
    ).report
    findings = tuple(finding for finding in report.findings if not finding.path.startswith("/validation"))
    return report._replace(findings=findings)


def _section(report: Findings) -> JsonObject:
    """The section `validation` for a report."""
    return {
        "completed": report.valid,
        "errors": _lines(report.errors),
        "warnings": _lines(report.warnings),
    }


def _lines(findings: list[Finding]) -> list[str]:
    """One line for each finding, up to a limit."""
    lines = [_line(finding) for finding in findings[:_MAX_LINES]]
    return [*lines, f"and {len(findings) - _MAX_LINES:,} more"] if len(findings) > _MAX_LINES else lines


def _line(finding: Finding) -> str:
    where = finding.path.removeprefix("/").replace("/", ".")
    return f"{where}: {finding.message} [{finding.rule}]" if where else f"{finding.message} [{finding.rule}]"
