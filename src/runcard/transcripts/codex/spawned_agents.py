"""The sub-agents that a thread started: who they are and how they ended, also where their own files are missing."""

import json
import re
from typing import Any

from runcard.transcripts.activity import SessionActivity, Status
from runcard.transcripts.content import object_of, text_of

_MOST_TASKS = 1000  # of sub-agents whose id is not known yet
_SPAWN = frozenset({"spawn_agent", "spawnAgent"})
_NOTIFICATION = re.compile(r"<subagent_notification>\s*(\{.*\})\s*</subagent_notification>", re.DOTALL)
_STATUS: dict[str, Status] = {
    "completed": "completed",
    "errored": "error",
    "interrupted": "terminated",
    "shutdown": "terminated",
}


class SpawnedAgents:
    """Names the sub-agents of one thread in the activity of its session."""

    def __init__(self, activity: SessionActivity, parent: str, known: frozenset[str]) -> None:
        self._activity, self._parent = activity, parent
        self._known = known  # threads with a file of their own, which says how they ended
        self._tasks: dict[str, str] = {}  # by the id of the tool use

    def read_use(self, item: dict[str, Any], use_id: str | None) -> None:
        """Remember the task of a sub-agent."""
        if text_of(item.get("name")) in _SPAWN and use_id and len(self._tasks) < _MOST_TASKS:
            task = text_of(_decoded(item.get("arguments")).get("message"))
            if task:
                self._tasks[use_id] = task

    def read_result(self, use_id: str | None, text: str) -> None:
        """The result of a tool that started a sub-agent has its id."""
        task = self._tasks.pop(use_id or "", None)
        fields = _decoded(text) if task else {}
        if name := text_of(fields.get("agent_id")):
            self._name(name, fields.get("nickname"), None, task)

    def read_item(self, item: dict[str, Any]) -> None:
        """Read an item, or an event of an older version, about sub-agents."""
        task = self._tasks.get(text_of(item.get("id")) or text_of(item.get("call_id")) or "")
        if text_of(item.get("tool")) in _SPAWN:
            agents = item.get("receiver_agents")
            for agent in map(object_of, agents if isinstance(agents, list) else ()):
                names = (agent.get("agent_nickname"), agent.get("agent_role"))
                self._name(agent.get("thread_id"), *names, item.get("prompt"))
        elif "new_thread_id" in item:
            names = (item.get("new_agent_nickname"), item.get("new_agent_role"))
            self._name(item["new_thread_id"], *names, item.get("prompt"))
        elif "agent_thread_id" in item:
            path = text_of(item.get("agent_path"))
            self._name(item["agent_thread_id"], path, None, task)
            self._end(item["agent_thread_id"], item.get("kind"))

    def read_notification(self, text: str) -> None:
        """Read what Codex tells an agent about its sub-agent."""
        match = _NOTIFICATION.match(text)
        fields = _decoded(match[1]) if match else {}
        status = fields.get("status")
        self._end(fields.get("agent_path"), next(iter(status), None) if isinstance(status, dict) else status)

    def _name(self, thread: object, name: object, role: object, task: object) -> None:
        thread_id = text_of(thread)
        if thread_id is None or thread_id == self._parent:
            return
        agent = self._activity.agent(thread_id)
        agent.name, agent.role = agent.name or text_of(name), agent.role or text_of(role)
        agent.parent = agent.parent or self._parent
        agent.description = text_of(task) or agent.description

    def _end(self, thread: object, word: object) -> None:
        thread_id = text_of(thread)
        if thread_id in self._activity.agents and thread_id not in self._known:
            agent = self._activity.agents[thread_id]
            agent.status = _STATUS.get(text_of(word) or "", agent.status)


def _decoded(text: object) -> dict[str, Any]:
    """The object in a text; an empty one for anything else."""
    try:
        return object_of(json.loads(text)) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}
