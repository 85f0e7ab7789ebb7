"""What the files of a session say beside its model calls: its agents, what they said and did, and what went wrong.

The module of a tool reads the files of one session, record by record, and adds what it finds to a `SessionActivity`. Nothing
here knows the format of a tool. Texts are not kept: each goes to `on_entry`, which writes the log of its agent.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from runcard.transcripts.calls import MAIN, NO_TIME

EntryKind = Literal[
    "user", "assistant", "thinking", "tool use", "tool result", "error", "interruption", "note"
]
Status = Literal["completed", "error", "timeout", "terminated"]

MOST_ERRORS = 100  # of an agent that are kept; all are counted


class SessionFiles(NamedTuple):
    """The files of one session of a tool, the main one first."""

    tool: str
    session: str  # its id, as the tool writes it
    paths: tuple[str, ...]
    modified: int  # milliseconds since 1970, the latest of its files
    folder: str | None = None  # in which the session was started, where that is known without reading it


class Entry(NamedTuple):
    """One step of an agent, as its log shows it."""

    time: int  # milliseconds since 1970, or NO_TIME
    agent: str  # MAIN, or the id that the tool gives it
    kind: EntryKind
    text: str
    name: str | None = None  # of the tool
    use_id: str | None = None  # what joins a tool use and its result
    call: str | None = None  # the id of the model call, the same for all parts of a reply
    is_error: bool = False  # of a tool result
    is_end: bool = False  # of a reply: the agent is done with its task


class AgentError(NamedTuple):
    """Something that went wrong: a call that failed, a tool that failed."""

    time: int
    message: str
    category: str | None = None  # where the tool's own words decide it; else it is derived from the message
    is_retried: bool = False  # the agent went on


@dataclass
class Agent:
    """One agent of a session."""

    id: str
    name: str | None = None
    role: str | None = None  # the type of a sub-agent
    parent: str | None = None  # the id of the agent that started it
    description: str | None = None  # the task, in the words of its parent
    started: int = NO_TIME
    ended: int = NO_TIME
    status: Status | None = None  # where the tool says it; else `final_status` derives it
    tool_uses: "Counter[str]" = field(default_factory=Counter)  # by name of the tool
    failed_tool_uses: "Counter[str]" = field(default_factory=Counter)
    errors: list[AgentError] = field(default_factory=list)
    error_count: int = 0
    response_times: list[float] = field(
        default_factory=list
    )  # seconds, one for each call where it was measured
    last: Entry | None = None  # without its text

    @property
    def final_status(self) -> Status:
        """How the agent ended: as the tool says, or by its last step."""
        if self.status is not None:
            return self.status
        if self.last is None or self.last.kind == "interruption":
            return "terminated"
        if self.last.kind == "error":
            return "error"
        return "completed" if self.last.kind == "assistant" and self.last.is_end else "terminated"


@dataclass
class SessionActivity:
    """One session, as far as its files tell."""

    tool: str
    id: str
    on_entry: Callable[[Entry], object]
    title: str | None = None
    folder: str | None = None  # in which it was started
    branch: str | None = None
    commit: str | None = None
    repository: str | None = None
    tool_version: str | None = None
    resumed_from: str | None = None  # the session that it continues, or was forked from
    agents: dict[str, Agent] = field(default_factory=dict)

    def agent(self, name: str) -> Agent:
        """The agent with this id, which is new when it is named first."""
        if name not in self.agents:
            self.agents[name] = Agent(name, name=MAIN if name == MAIN else None)
        return self.agents[name]

    def add(self, entry: Entry) -> None:
        """Add a step: times, tool uses and errors of its agent follow from it."""
        agent = self.agent(entry.agent)
        if entry.time >= 0:
            agent.started = entry.time if agent.started < 0 else min(agent.started, entry.time)
            agent.ended = max(agent.ended, entry.time)
        if entry.kind == "tool use":
            agent.tool_uses[entry.name or "unknown"] += 1
        elif entry.kind == "error":
            self.add_error(entry.agent, AgentError(entry.time, entry.text))
        if entry.kind not in {"note", "thinking"} and (agent.last is None or entry.time >= agent.last.time):
            agent.last = entry._replace(text="")
        self.on_entry(entry)

    def add_error(self, agent_id: str, error: AgentError) -> None:
        """Add an error that is no step of its own."""
        agent = self.agent(agent_id)
        agent.error_count += 1
        if len(agent.errors) < MOST_ERRORS:
            agent.errors.append(error._replace(message=error.message[:1000]))
