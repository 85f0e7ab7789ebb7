"""Check whether an agent may begin its work on a plan. Nothing is written."""

from dataclasses import dataclass

from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError
from runcard.files import json_name
from runcard.plans.agents import agent_named, predecessor
from runcard.plans.freshness import stale_warnings, status_of
from runcard.plans.plan import Plan, find_plan
from runcard.plans.plan_files import MethodRef, check_one_plan


@dataclass(frozen=True, slots=True)
class BeginCheck:
    """Whether an agent may begin, and why not."""

    plan: Plan
    agent: str
    missing: tuple[str, ...]
    fresh: bool  # whether the source is unchanged since the analysis

    @property
    def ready(self) -> bool:
        return not self.missing

    @property
    def reasons(self) -> tuple[str, ...]:
        """What is missing, in short: of the errors of an invalid plan the first, and the number of the others."""
        errors = [reason for reason in self.missing if reason in self.plan.error_lines]
        if len(errors) < 2:
            return self.missing
        return (f"{errors[0]} (and {len(errors) - 1} more)",)

    @property
    def warnings(self) -> tuple[str, ...]:
        is_first = predecessor(agent_named(self.agent)) is None
        stale = [] if self.fresh or is_first or not self.plan.exists else stale_warnings(self.plan.location)
        return (*self.plan.warnings, *stale)

    @property
    def waits_for(self) -> str | None:
        """The agent before it, if the plan is valid and only that agent's report is missing."""
        before = predecessor(agent_named(self.agent))
        if before is None or self.ready or not self.plan.exists or self.plan.errors:
            return None
        return before.name

    def to_dict(self) -> JsonObject:
        return {
            "agent": self.agent,
            "ready": self.ready,
            "missing": list(self.missing),
            "metadata_path": json_name(self.plan.path).text,
            "fresh": self.fresh,
            "warnings": list(self.warnings),
        }


def begin(
    path: str,
    agent: str,
    *,
    root: str | None = None,
    method_ref: MethodRef | None = None,
    limits: Limits | None = None,
) -> BeginCheck:
    """Check whether an agent may begin; nothing is written."""
    plan = find_plan(path, root=root, method_ref=method_ref, limits=limits)
    plan.location.check_method()
    check_one_plan(plan.location, path, method_ref)
    return BeginCheck(plan, agent_named(agent).name, tuple(plan.missing(agent)), _is_fresh(plan))


def _is_fresh(plan: Plan) -> bool:
    try:
        return status_of(plan.location).valid
    except RuncardError:  # the source is gone
        return False
