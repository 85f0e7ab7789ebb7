"""Who started a sub-agent, and for what: gathered from all files of a session, in any order.

The tool use that starts a sub-agent is in the file of its parent. Newer versions name that tool use in the file beside the
sub-agent's own; others name the sub-agent in the result of the tool, or in the `progress` lines of the parent. The members of a
team are known by their names, the agents of a workflow by the folder that their files are in.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from runcard.transcripts.activity import SessionActivity, Status
from runcard.transcripts.calls import MAIN
from runcard.transcripts.claude_code.file_names import agent_facts, agent_of, workflow_labels, workflow_of
from runcard.transcripts.content import object_of, text_of

STARTERS = frozenset(["Agent", "Task"])  # the tools that start sub-agents
_MOST = 100_000  # sub-agents, and tool uses whose results have not come, that are remembered
_STATUS: dict[object, Status] = {
    "completed": "completed",
    "failed": "error",
    "killed": "terminated",
    "stopped": "terminated",
}
_NOTIFIED = re.compile(
    r"<task-notification>.{0,400}?<task-id>([^<]{1,200})</task-id>.{0,8000}?<status>([^<]{1,40})</status>",
    re.DOTALL,
)


@dataclass
class _SubAgent:
    """What is known about one; None where it is not."""

    role: str | None = None
    description: str | None = None
    name: str | None = None
    parent: str | None = None
    status: Status | None = None
    team: str | None = None
    workflow: str | None = None

    def fill(self, **facts: str | None) -> None:
        """Take over facts that are not known yet."""
        for field, value in facts.items():
            if value is not None and getattr(self, field) is None:
                setattr(self, field, value)


class SubAgents:
    """The sub-agents of a session."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._known: dict[str, _SubAgent] = {}
        self._by_use: dict[str, str] = {}  # the sub-agent that a tool use started
        self._started: dict[str, tuple[str, dict[str, Any]]] = {}  # agent and input of tool uses
        self._members: dict[str, _SubAgent] = {}  # of a team, by name
        self._workflows: dict[str, str] = {}  # who started each
        self._labels: dict[str, str] = {}  # of the agents of workflows, by id
        self.teams: set[str] = set()  # their names
        for path in paths:
            if agent := agent_of(path):
                facts = agent_facts(path)
                if (workflow := workflow_of(path)) is not None and agent not in self._labels:
                    self._labels |= workflow_labels(path)
                role = None if facts.team is not None and facts.role == facts.name else facts.role
                self._known[agent] = _SubAgent(
                    role, facts.description, facts.name, team=facts.team, workflow=workflow
                )
                self.teams |= set() if facts.team is None else {facts.team}
                if facts.use_id is not None:
                    self._by_use[facts.use_id] = agent
        self.with_file = frozenset(self._known)

    def add_use(self, agent: str, use_id: str | None, tool: str | None, used: object) -> None:
        """Note a tool use of an agent: it may start another one."""
        if use_id is None or (tool not in STARTERS and use_id not in self._by_use):
            return
        if len(self._started) >= _MOST:
            del self._started[next(iter(self._started))]
        wanted = ("description", "subagent_type", "name")
        self._started[use_id] = (agent, {name: text_of(object_of(used).get(name)) for name in wanted})
        if (child := self._by_use.get(use_id)) is not None:
            self._link(child, use_id)

    def add_result(self, agent: str, use_id: str | None, result: object) -> None:
        """Note the result of a tool use that may have been a sub-agent."""
        facts = object_of(result)
        child = text_of(facts.get("agentId"))
        if child is None:
            self._add_started(agent, use_id, facts)
            return
        known = self.add_progress(agent, child, facts, use_id)
        known.status = _STATUS.get(facts.get("status")) if isinstance(facts.get("status"), str) else None

    def _add_started(self, agent: str, use_id: str | None, facts: dict[str, Any]) -> None:
        """Note a member of a team, or a workflow, that works on by itself."""
        if (workflow := text_of(facts.get("runId"))) is not None:
            self._workflows.setdefault(workflow, agent)
        name, team = text_of(facts.get("name")), text_of(facts.get("team_name"))
        if name is None or team is None or len(self._members) >= _MOST:
            return
        self.teams.add(team)
        _, used = self._started.pop(use_id, (agent, {})) if use_id is not None else (agent, {})
        role, task = text_of(facts.get("agent_type")), used.get("description")
        self._members.setdefault(name, _SubAgent()).fill(parent=agent, role=role, description=task)

    def add_progress(self, agent: str, child: str, facts: dict[str, Any], use_id: str | None) -> _SubAgent:
        """Note that a tool use of an agent started a sub-agent."""
        known = self._of(child)
        parent = agent if agent != child else None
        known.fill(
            parent=parent,
            role=text_of(facts.get("agentType")),
            description=text_of(facts.get("description")),
        )
        if use_id is not None:
            self._link(child, use_id)
        return known

    def _of(self, agent: str) -> _SubAgent:
        """What is known about a sub-agent; of very many, nothing is kept."""
        if agent in self._known or len(self._known) < _MOST:
            return self._known.setdefault(agent, _SubAgent())
        return _SubAgent()

    def add_role(self, agent: str, role: str) -> None:
        """Note the type of a sub-agent, which its own records name."""
        self._of(agent).fill(role=role)

    def add_notification(self, text: str) -> None:
        """Note how a sub-agent in the background ended, as the tool tells its parent."""
        if match := _NOTIFIED.match(text):
            self._of(match[1]).status = _STATUS.get(match[2])

    def _link(self, child: str, use_id: str) -> None:
        if (started := self._started.pop(use_id, None)) is None:
            if len(self._by_use) < _MOST:
                self._by_use.setdefault(use_id, child)
            return
        agent, used = started
        self._of(child).fill(
            parent=agent if agent != child else None,
            role=used["subagent_type"],
            description=used["description"],
            name=used["name"],
        )

    def describe(self, activity: SessionActivity, main: str | None, roles: Mapping[str, str]) -> None:
        """Set the facts of the agents that the session has.

        `main` started those whose parent is not known; `roles` are those of the members of teams, by name.
        """
        for agent_id in self.with_file:
            activity.agent(agent_id)
        for agent_id, agent in activity.agents.items():
            if agent_id == MAIN:
                continue
            known = self._known.get(agent_id, _SubAgent())
            if known.team is not None and known.name is not None:
                member = self._members.get(known.name, _SubAgent())
                role = member.role or roles.get(known.name)
                known.fill(parent=member.parent, role=role, description=member.description)
            if known.workflow is not None:
                label = self._labels.get(agent_id)
                known.fill(parent=self._workflows.get(known.workflow), name=label)
            agent.role = agent.role or known.role
            agent.description = agent.description or known.description
            agent.name = agent.name or known.name
            if known.status != "completed" or agent.last is None or agent.last.kind != "error":
                agent.status = agent.status or known.status  # a failed call ends a task as well
            agent.parent = known.parent if known.parent in activity.agents else main
