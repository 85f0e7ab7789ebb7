"""What the files of a session say beside its model calls: its agents, what they said and did, and what went wrong.

The module of a tool reads the files of one session, record by record, and adds what it finds to a `SessionActivity`. Nothing
here knows the format of a tool. Texts are not kept: each goes to `on_entry`, which writes the log of its agent.
"""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from runcard.documents.session.error_categories import category
from runcard.transcripts.calls import MAIN, NO_TIME

EntryKind = Literal[
    "user", "assistant", "thinking", "tool use", "tool result", "error", "interruption", "note"
]
Status = Literal["completed", "error", "timeout", "terminated", "running"]

UNATTRIBUTED = "unattributed"  # the agent of steps whose agent the files do not name
MOST_ERRORS = 100  # of an agent that are kept; all are counted


class SessionFiles(NamedTuple):
    """The files of one session of a tool, the main one first."""

    tool: str
    session: str  # its id, as the tool writes it
    paths: tuple[str, ...]
    modified: int  # milliseconds since 1970, the latest of its files
    folder: str | None = None  # in which the session was started, where that is known without reading it
    earlier: tuple[
        str, ...
    ] = ()  # files of other sessions, whose history is repeated at the beginning of these


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
    category: str | None = None  # of an error, where the tool's own words decide it


class AgentError(NamedTuple):
    """Something that went wrong: a call that failed, a tool that failed."""

    time: int
    message: str
    category: str | None = None  # where the tool's own words decide it; else it is derived from the message
    is_retried: bool = False  # the agent went on


class ReplyTimes:
    """How long an agent waited for each reply: from the last step before it to its last record.

    Records may be in any order. A reply that follows another one, and no question, is not measured.
    """

    def __init__(self) -> None:
        self._asked = array("q")  # times of the messages of the user and of the results of tools
        self._calls: dict[int, int] = {}  # the position of a call in these lists, by the hash of its id
        self._first = array("q")
        self._last = array("q")

    def add_question(self, time: int) -> None:
        if time >= 0:
            self._asked.append(time)

    def add_reply(self, call: str, time: int) -> None:
        """Add a part of a reply."""
        if time < 0:
            return
        at = self._calls.setdefault(hash(call), len(self._first))
        if at == len(self._first):
            self._first.append(time)
            self._last.append(time)
        else:
            self._first[at] = min(self._first[at], time)
            self._last[at] = max(self._last[at], time)

    def seconds(self) -> list[float]:
        """The response times, one for each call where it was measured."""
        asked = sorted(self._asked)
        times, used = [], NO_TIME
        for first, last in sorted(zip(self._first, self._last, strict=True)):
            position = bisect_right(asked, first)
            question = asked[position - 1] if position else NO_TIME
            if question >= 0 and question > used:
                whole, rest = divmod(last - question, 1000)
                times.append((last - question) / 1000 if rest else whole)
            used = first
        return times


@dataclass
class SessionAgent:
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
    error_categories: "Counter[str]" = field(
        default_factory=Counter
    )  # of all errors, those of tools included
    has_called: bool = False  # a reply of a model is among its steps
    replies: ReplyTimes = field(default_factory=ReplyTimes)
    response_times: list[float] = field(default_factory=list)  # seconds, where the tool itself measures them
    model: str | None = None  # where it is known without a call
    labels: dict[str, str] = field(default_factory=dict)  # what else its tool says
    last: Entry | None = None  # without its text
    _open_uses: dict[str, str] = field(default_factory=dict)  # the names of tools without a result, by id

    def add_times(self, entry: Entry) -> None:
        """Note when the agent was at work, and how long it waited."""
        if entry.time >= 0:
            self.started = entry.time if self.started < 0 else min(self.started, entry.time)
            self.ended = max(self.ended, entry.time)
        if entry.kind in {"user", "tool result"}:
            self.replies.add_question(entry.time)
        elif entry.call is not None and entry.kind in {"assistant", "thinking", "tool use"}:
            self.has_called = True
            self.replies.add_reply(entry.call, entry.time)

    def add_tool_use(self, entry: Entry) -> None:
        """Count the use of a tool, or a result that says that it failed."""
        if entry.kind == "tool use":
            name = entry.name or "unknown"
            self.tool_uses[name] += 1
            if entry.use_id is not None:
                self._open_uses[entry.use_id] = name
            return
        used = self._open_uses.pop(entry.use_id, None) if entry.use_id is not None else None
        if entry.is_error:
            self.failed_tool_uses[entry.name or used or "unknown"] += 1
            self.error_categories["tool_error"] += 1

    def tool_name(self, use_id: str | None) -> str | None:
        """The tool whose result is expected under this id."""
        return None if use_id is None else self._open_uses.get(use_id)

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
    ends: Mapping[str, int] = field(default_factory=dict)  # where reading a file ends, if not at its end
    agents: dict[str, SessionAgent] = field(default_factory=dict)
    owners: dict[str, str] = field(
        default_factory=dict
    )  # the agent of a file, by its path; MAIN where none is named

    def agent(self, name: str) -> SessionAgent:
        """The agent with this id, which is new when it is named first."""
        if name not in self.agents:
            self.agents[name] = SessionAgent(name, name=MAIN if name == MAIN else None)
        return self.agents[name]

    def add(self, entry: Entry) -> None:
        """Add a step: times, tool uses and errors of its agent follow from it."""
        agent = self.agent(entry.agent)
        agent.add_times(entry)
        if entry.kind == "tool result" and entry.name is None:
            entry = entry._replace(name=agent.tool_name(entry.use_id))
        if entry.kind in {"tool use", "tool result"}:
            agent.add_tool_use(entry)
        elif entry.kind == "error":
            self.add_error(entry.agent, AgentError(entry.time, entry.text, entry.category))
        if entry.kind not in {"note", "thinking"} and (agent.last is None or entry.time >= agent.last.time):
            agent.last = entry._replace(text="")
        self.on_entry(entry)

    def add_error(self, agent_id: str, error: AgentError) -> None:
        """Add an error that is no step of its own."""
        agent = self.agent(agent_id)
        agent.error_categories[error.category or category(error.message, "error") or "other"] += 1
        if len(agent.errors) < MOST_ERRORS:
            agent.errors.append(error._replace(message=error.message[:1000]))
