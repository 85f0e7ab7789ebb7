"""What an agent of the pipeline reads, may write and must do."""

from collections.abc import Iterator
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

    def lines(self) -> Iterator[str]:
        """The guide as Markdown, for a prompt."""
        agent = self.agent
        yield f"# {agent.name}"
        for title, lines in (
            ("Begin", self._begin()),
            ("Read", list(agent.reads)),
            ("Do", list(agent.duty)),
            ("Write only these parts of the plan", list(agent.writable) or ["nothing"]),
            ("Report", self._report()),
        ):
            yield from ("", f"## {title}", "", *(f"- {line}" for line in lines))

    def _begin(self) -> list[str]:
        command = f"`runcard plan begin {self.agent.name} SRC` prints the path of the plan"
        if self.after is None:
            return [
                f"{command}; you are the first",
                "`runcard plan status SRC` tells whether a new analysis is needed",
            ]
        return [f"{command}, or what is missing (exit code 1): the {self.after} comes before you"]

    def _report(self) -> list[str]:
        if not self.agent.writes:
            return ["report to the user; do not change the plan"]
        name = self.agent.name
        return [
            f"done: `runcard plan mark {name} SRC --completed --version V`",
            f"nothing to do: `runcard plan mark {name} SRC --skipped REASON`",
            f"warning: `runcard plan mark {name} SRC --warning TEXT`",
            f"failed: `runcard plan mark {name} SRC --error TEXT`",
            f"next is the {self.before}",
        ]

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
