"""What an agent of the pipeline reads, may write and must do."""

from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.plans.agents import Agent, agent_named, predecessor, successors


@dataclass(frozen=True, slots=True)
class AgentGuide:
    """The guide for an agent."""

    agent: Agent

    @property
    def after(self) -> str | None:
        before = predecessor(self.agent)
        return before.name if before else None

    @property
    def before(self) -> str | None:
        later = successors(self.agent)
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
            "writes": list(self.agent.writable),
            "must": list(self.agent.duty),
        }


def guide(agent: str) -> AgentGuide:
    return AgentGuide(agent_named(agent))
