"""The validator: every rule asked about a plan in its project, and the answer written into its section `validation`.

What the section said before is not looked at. Nothing else in the file changes.
"""

from dataclasses import dataclass, replace

from runcard.documents import reader
from runcard.documents.findings import Finding
from runcard.documents.findings import Report as Findings
from runcard.documents.kinds import TESTPLAN
from runcard.encoding import JsonObject, Limits
from runcard.files import json_name
from runcard.plans.plan import Plan, plan_at
from runcard.plans.plan_files import Asked, place_of
from runcard.plans.target_check import check_target

_MOST = 200  # findings that are written down


@dataclass(frozen=True, slots=True)
class Validated:
    """What was found about a plan, and whether its section was rewritten."""

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
            "errors": [found.to_dict() for found in report.errors],
            "warnings": [found.to_dict() for found in report.warnings],
            "remarks": list(self.warnings),
        }


def validate_plan(
    path: str,
    *,
    root: str | None = None,
    asked: Asked | None = None,
    write: bool = True,
    limits: Limits | None = None,
) -> Validated:
    """Validate the plan of a source, or the plan at a path that ends in `.yml`."""
    plan = plan_at(place_of(path, root=root, asked=asked, limits=limits))
    plan.check_exists()
    if not write:
        return Validated(plan, judged(plan), written=False, warnings=plan.warnings)
    with plan.locked() as now:
        report = judged(now)
        after = now.with_validation(section_of(report))
        return Validated(after, report, after is not now, plan.warnings)


def judged(plan: Plan) -> Findings:
    """All that is wrong with a plan, but for what its old validation says."""
    project = plan.place.project

    def look(data: JsonObject) -> list[Finding]:
        return list(check_target(data, project.root, is_known=not plan.place.is_loose))

    source = plan.place.stored.source or b""
    report = reader.parse_document(
        source, kind=TESTPLAN.name, limits=plan.place.stored.limits, check_files=look
    ).report
    own = tuple(found for found in report.findings if not found.path.startswith("/validation"))
    return replace(report, findings=own)


def section_of(report: Findings) -> JsonObject:
    """The section that says what was found."""
    return {
        "completed": report.valid,
        "errors": _lines(report.errors),
        "warnings": _lines(report.warnings),
    }


def _lines(findings: list[Finding]) -> list[str]:
    """A line for each finding, but for no more than somebody may want to read in a plan."""
    lines = [_line(found) for found in findings[:_MOST]]
    return [*lines, f"and {len(findings) - _MOST:,} more"] if len(findings) > _MOST else lines


def _line(found: Finding) -> str:
    place = found.path.removeprefix("/").replace("/", ".")
    return f"{place}: {found.message} [{found.rule}]" if place else f"{found.message} [{found.rule}]"
