"""Write an agent's report into a plan."""

from dataclasses import dataclass

from runcard.encoding import JsonObject, Limits
from runcard.files import json_name
from runcard.operations.masking import use_masking_settings
from runcard.plans.agent_reports import AgentReport, mask_report
from runcard.plans.agents import agent_named, predecessor
from runcard.plans.plan import Plan, plan_at
from runcard.plans.plan_files import MethodRef, locate_plan


@dataclass(frozen=True, slots=True)
class MarkResult:
    """What an agent reported."""

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
    said: AgentReport,
    *,
    root: str | None = None,
    method_ref: MethodRef | None = None,
    limits: Limits | None = None,
) -> MarkResult:
    """Write what an agent reports; a predecessor that has not left its marker is a warning."""
    plan = plan_at(locate_plan(path, root=root, method_ref=method_ref, limits=limits))
    use_masking_settings()
    said, masked = mask_report(said)
    written = plan.mark(
        agent,
        completed=said.completed,
        version=said.version,
        skipped=said.skipped,
        warnings=said.warnings,
        errors=said.errors,
        values=said.values,
    )
    data = written.to_dict()
    before = predecessor(agent_named(agent))
    warnings = (*written.warnings, *(f"a secret was masked: {rule}" for rule in masked))
    if before is not None and not before.is_done(data):
        warnings = (*warnings, f"the {before.name}, who comes before the {agent}, has not left its marker")
    return MarkResult(written, agent, data.get("automation") or {}, warnings)
