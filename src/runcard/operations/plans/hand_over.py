"""Agents in any language: may this one begin, and what does it report."""

from dataclasses import dataclass

from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError
from runcard.files import json_name
from runcard.plans.agent_reports import Mark, without_secrets
from runcard.plans.agents import Agent, agent_named, later_than, predecessor
from runcard.plans.freshness import status_of
from runcard.plans.plan import Plan, plan_at
from runcard.plans.plan_files import Asked, place_of
from runcard.settings.apply import use_masking_settings


@dataclass(frozen=True, slots=True)
class Begun:
    """Whether an agent may begin, and what it must wait for."""

    plan: Plan
    agent: str
    missing: tuple[str, ...]
    fresh: bool  # whether the source is still the one that was analyzed

    @property
    def ready(self) -> bool:
        return not self.missing

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.plan.warnings

    def to_dict(self) -> JsonObject:
        return {
            "agent": self.agent,
            "ready": self.ready,
            "missing": list(self.missing),
            "metadata_path": json_name(self.plan.path).text,
            "fresh": self.fresh,
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, slots=True)
class Marked:
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


def begin(
    path: str,
    agent: str,
    *,
    root: str | None = None,
    asked: Asked | None = None,
    limits: Limits | None = None,
) -> Begun:
    """Check what an agent needs before it begins; nothing is written."""
    plan = plan_at(place_of(path, root=root, asked=asked, limits=limits))
    plan.place.check_own()
    return Begun(plan, agent_named(agent).name, tuple(plan.missing(agent)), _is_fresh(plan))


def _is_fresh(plan: Plan) -> bool:
    try:
        return status_of(plan.place).valid
    except RuncardError:  # the source is gone
        return False


def mark(
    path: str,
    agent: str,
    said: Mark,
    *,
    root: str | None = None,
    asked: Asked | None = None,
    limits: Limits | None = None,
) -> Marked:
    """Write what an agent reports; a predecessor that has not left its marker is a warning."""
    plan = plan_at(place_of(path, root=root, asked=asked, limits=limits))
    use_masking_settings()
    said, masked = without_secrets(said)
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
    return Marked(written, agent, data.get("automation") or {}, warnings)


@dataclass(frozen=True, slots=True)
class Guide:
    """What an agent reads, may write and must do."""

    agent: Agent

    @property
    def after(self) -> str | None:
        before = predecessor(self.agent)
        return before.name if before else None

    @property
    def before(self) -> str | None:
        later = later_than(self.agent)
        return later[0].name if later else None

    @property
    def warnings(self) -> tuple[str, ...]:
        return ()

    def to_dict(self) -> JsonObject:
        return {
            "agent": self.agent.name,
            "after": self.after,
            "before": self.before,
            "reads": list(self.agent.reads),
            "writes": list(self.agent.places),
            "must": list(self.agent.duty),
        }


def guide(agent: str) -> Guide:
    return Guide(agent_named(agent))
