"""Write an agent's report into a plan."""

from dataclasses import dataclass

from runcard.encoding import JsonObject, Limits
from runcard.files import json_name
from runcard.plans.agent_reports import AgentReport, mask_report
from runcard.plans.agents import agent_named, predecessor
from runcard.plans.freshness import stale_warnings
from runcard.plans.plan import Plan, find_plan
from runcard.plans.plan_files import MethodRef, check_one_plan
from runcard.settings.apply import use_masking_settings


@dataclass(frozen=True, slots=True)
class MarkResult:
    """A report that was written into a plan."""

    plan: Plan
    agent: str
    automation: JsonObject
    warnings: tuple[str, ...]

    def to_dict(self) -> JsonObject:
        return {
            "agent": self.agent,
            "metadata_path": json_name(self.plan.path).text,
            "automation": self.automation,
            "warnings": list(self.warnings),
        }


def mark(
    path: str,
    agent: str,
    report: AgentReport,
    *,
    root: str | None = None,
    method_ref: MethodRef | None = None,
    limits: Limits | None = None,
) -> MarkResult:
    """Write an agent's report into a plan; warns if its predecessor has not reported yet."""
    plan = find_plan(path, root=root, method_ref=method_ref, limits=limits)
    check_one_plan(plan.location, path, method_ref)
    use_masking_settings()
    report, masked = mask_report(report)
    written = plan.mark(
        agent,
        completed=report.completed,
        version=report.version,
        skipped=report.skipped,
        warnings=report.warnings,
        errors=report.errors,
        values=report.values,
    )
    data = written.to_dict()
    before = predecessor(agent_named(agent))
    warnings = (*written.warnings, *(f"a secret was masked: {rule}" for rule in masked))
    if before is not None and not before.is_done(data):
        warnings = (*warnings, f"the {before.name}, which comes before the {agent}, has not reported yet")
    if before is not None:
        warnings = (*warnings, *stale_warnings(written.location))
    if report.values and not report.allows_successor and not agent_named(agent).is_done(data):
        warnings = (*warnings, f"the {agent} is not marked as completed; pass --completed when it is done")
    return MarkResult(written, agent, data.get("automation") or {}, warnings)
