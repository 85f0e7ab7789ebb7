"""The steps of the agents of one session, from its messages and their parts.

A sub-agent is a session with a parent. Messages that are older than their session were copied by a fork, and are no steps of it.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from runcard.transcripts.activity import AgentError, Entry, EntryKind, SessionActivity
from runcard.transcripts.calls import MAIN, NO_TIME
from runcard.transcripts.content import decode_record, milliseconds, object_of, text_of
from runcard.transcripts.opencode.message_calls import is_copy, message_time
from runcard.transcripts.opencode.records import SessionFacts, SessionSource, StoredRecord, family

_ENDS = frozenset({"stop", "end_turn", "stop_sequence"})  # a reply that leaves nothing to do
_SUFFIX = " (@"  # after the task in the title of a sub-agent's session: `count files (@general subagent)`
_STATUS_CATEGORIES = {
    401: "authentication",
    403: "authentication",
    408: "timeout",
    429: "rate_limit",
    502: "network",
    503: "network",
    504: "timeout",
    529: "rate_limit",
}
_NAME_CATEGORIES = {
    "ProviderAuthError": "authentication",
    "ContextOverflowError": "context_length",
    "MessageAbortedError": "cancelled",
    "ContentFilterError": "refusal",
}
_SILENT_PARTS = frozenset({"step-start", "step-finish", "snapshot"})


def read_steps(source: SessionSource, root: str, activity: SessionActivity) -> list[str]:
    """Add the agents and steps of a session; returns what could not be read."""
    unread: list[str] = []
    for session, parent in family(source, root):
        facts = source.facts(session)
        records = _own_generation(source.records(session))
        if session == root:
            _add_facts(activity, facts)
            agent = MAIN
        else:
            agent = session
            _add_sub_agent(activity, session, parent, root, facts or SessionFacts())
        unread += _SessionSteps(source, session, agent, facts, activity).read(records)
    return unread


def _own_generation(records: Iterator[StoredRecord]) -> Iterator[StoredRecord]:
    """The rows of the newer table only where the older one has none."""
    has_older = False
    for record in records:
        if record.table != "session_message":
            has_older = True
        elif has_older:
            return
        yield record


def _add_facts(activity: SessionActivity, facts: SessionFacts | None) -> None:
    if facts is not None:
        activity.title, activity.folder, activity.tool_version = facts.title, facts.folder, facts.version


def _add_sub_agent(
    activity: SessionActivity, session: str, parent: str | None, root: str, facts: SessionFacts
) -> None:
    agent = activity.agent(session)
    agent.role = agent.role or facts.agent
    if parent != root:
        agent.parent = parent
    elif MAIN in activity.agents:  # else its session is not there
        agent.parent = MAIN
    if agent.description is None and facts.title:
        agent.description = facts.title.partition(_SUFFIX)[0]
    activity.folder = activity.folder or facts.folder
    activity.tool_version = activity.tool_version or facts.version


class _SessionSteps:
    """Reads the messages of one session, which are those of one agent."""

    def __init__(
        self,
        source: SessionSource,
        session: str,
        agent: str,
        facts: SessionFacts | None,
        activity: SessionActivity,
    ) -> None:
        self._source, self._session, self._agent = source, session, agent
        self._facts, self._activity = facts, activity
        self._message: dict[str, Any] | None = None  # the one whose parts follow; None: they are not read
        self._call: str | None = None
        self._time = NO_TIME
        self._has_end = False
        self._copied: list[int] = []  # the times of messages of another session
        self._unknown: Counter[str] = Counter()
        self._unread: list[str] = []

    def read(self, records: Iterator[StoredRecord]) -> list[str]:
        for record in records:
            if record.table != "part":
                self._finish_message()
            try:
                if record.data is None:
                    raise ValueError(record.reason or "unreadable")  # noqa: TRY301
                data = decode_record(record.data)
            except ValueError as error:
                self._unread.append(f"{record.table} {record.id[:80]}: {error}")
                continue
            if record.table == "part":
                self._add_part(data)
            else:
                self._begin_message(record, data)
        self._finish_message()
        self._add_copied()
        self._unread += [f"{count:,} parts of unknown type {name}" for name, count in self._unknown.items()]
        return self._unread

    def _begin_message(self, record: StoredRecord, data: dict[str, Any]) -> None:
        time = message_time(data, record.created)
        if is_copy(self._facts, time):
            self._copied.append(time)
            return
        self._add_copied()
        self._message, self._time, self._has_end = data, time, False
        kind = record.type or data.get("role")
        self._call = record.id if kind == "assistant" else None
        if self._agent != MAIN and self._call is not None:
            agent = self._activity.agent(self._agent)
            agent.role = agent.role or text_of(data.get("agent") or data.get("mode"))
        if record.table == "session_message":
            self._add_newer(kind, data)

    def _finish_message(self) -> None:
        """Add what a message says about its end: after its parts."""
        message, self._message = self._message, None
        if message is None or self._call is None:
            return
        time = milliseconds(object_of(message.get("time")).get("completed"))
        time = time if time >= 0 else self._time
        error = object_of(message.get("error"))
        if error:
            aborted = error.get("name") == "MessageAbortedError"
            kind: EntryKind = "interruption" if aborted else "error"
            entry = Entry(time, self._agent, kind, _error_text(error), category=_category(error))
            self._activity.add(entry)
        elif message.get("finish") in _ENDS and not self._has_end:
            self._add(time, "assistant", "", call=self._call, is_end=True)

    def _add_part(self, part: dict[str, Any]) -> None:
        if self._message is None:
            return
        kind, text = part.get("type"), str(part.get("text") or "")
        if kind == "text":
            self._add_text(part, text)
        elif kind == "reasoning":
            self._add(_end(part, self._time), "thinking", text, call=self._call)
        elif kind == "tool":
            self._add_tool(part)
        elif kind == "retry":
            failed = object_of(part.get("error"))
            error = AgentError(
                _end(part, self._time), _error_text(failed), _category(failed), is_retried=True
            )
            self._activity.add_error(self._agent, error)
        elif note := _note(part):
            self._add(self._time, "note", note)
        elif kind not in _SILENT_PARTS:
            self._unknown[(text_of(kind) or "no type")[:80]] += 1

    def _add_text(self, part: dict[str, Any], text: str) -> None:
        if self._call is None:
            kind: EntryKind = "note" if part.get("synthetic") is True else "user"
            self._add(self._time, kind, text)
            return
        is_end = object_of(self._message).get("finish") in _ENDS
        self._has_end |= is_end
        self._add(_end(part, self._time), "assistant", text, call=self._call, is_end=is_end)

    def _add_tool(self, part: dict[str, Any]) -> None:
        state = object_of(part.get("state"))
        name, use = text_of(part.get("tool")), text_of(part.get("callID"))
        times, given = object_of(state.get("time")), state.get("input")
        begun = milliseconds(times.get("start"))
        text = _text(given)
        self._add(
            begun if begun >= 0 else self._time, "tool use", text, name=name, use_id=use, call=self._call
        )
        child = object_of(state.get("metadata")).get("sessionId")
        if isinstance(child, str) and (facts := self._source.facts(child)) and facts.parent == self._session:
            self._activity.agent(child).description = text_of(object_of(given).get("description"))
        if state.get("status") in {"completed", "error"}:
            is_error = state["status"] == "error"
            result = state.get("error") if is_error else state.get("output")
            self._add(
                _end(state, self._time),
                "tool result",
                _text(result),
                name=name,
                use_id=use,
                is_error=is_error or _has_failed(state),
            )

    def _add_newer(self, kind: object, data: dict[str, Any]) -> None:
        """Add a message of the newer generation, which has its parts in it."""
        text = str(data.get("text") or "")
        if kind == "user":
            self._add(self._time, "user", text)
        elif kind == "assistant":
            content = data.get("content")
            for part in content if isinstance(content, list) else ():
                self._add_part(_older_part(object_of(part), data))
        elif kind == "shell":
            self._add(self._time, "note", f"$ {data.get('command')}\n{data.get('output')}")
        elif kind in {"synthetic", "system"}:
            self._add(self._time, "note", text)
        elif kind == "compaction":
            self._add(self._time, "note", f"compaction: {data.get('summary')}")
        elif kind in {"agent-switched", "model-switched"}:
            value = data.get("agent") or object_of(data.get("model")).get("id")
            self._add(self._time, "note", f"{kind}: {value}")
        else:
            self._unknown[(text_of(kind) or "no type")[:80]] += 1

    def _add_copied(self) -> None:
        """Say how much is not of this session, and whose it is where only one has it too."""
        if not self._copied:
            return
        names = set.intersection(
            *(self._source.sessions_with(self._session, time) for time in {self._copied[0], self._copied[-1]})
        )
        origin = names.pop() if len(names) == 1 else None
        if self._agent == MAIN:
            self._activity.resumed_from = origin
        count = len(self._copied)
        self._copied = []
        messages = "1 message" if count == 1 else f"{count:,} messages"
        self._add(NO_TIME, "note", f"{messages} of {origin or 'an earlier session'} before")

    def _add(
        self,
        time: int,
        kind: EntryKind,
        text: str,
        *,
        name: str | None = None,
        use_id: str | None = None,
        call: str | None = None,
        is_error: bool = False,
        is_end: bool = False,
    ) -> None:
        self._activity.add(Entry(time, self._agent, kind, text, name, use_id, call, is_error, is_end))


def _text(value: object) -> str:
    """What a tool was given or gave back, as text."""
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "nested too deeply"


def _has_failed(state: dict[str, Any]) -> bool:
    """Whether a command ended with an exit code other than 0: the tool itself did its work then."""
    code = object_of(state.get("metadata")).get("exit")
    return isinstance(code, int) and code != 0


def _end(part: dict[str, Any], otherwise: int) -> int:
    """When a part was complete; else when it was begun."""
    time = object_of(part.get("time"))
    for name in ("end", "completed", "start", "created"):
        if (moment := milliseconds(time.get(name))) >= 0:
            return moment
    return otherwise


def _error_text(error: dict[str, Any]) -> str:
    data = object_of(error.get("data"))
    status = data.get("statusCode")
    name = text_of(error.get("name")) or "error"
    message = text_of(data.get("message") or error.get("message"))
    return f"{name}{f' {status}' if isinstance(status, int) else ''}{f': {message}' if message else ''}"


def _category(error: dict[str, Any]) -> str | None:
    """The category of an error where its name or its status decides it."""
    status, name = object_of(error.get("data")).get("statusCode"), error.get("name")
    by_status = _STATUS_CATEGORIES.get(status) if isinstance(status, int) else None
    return by_status or (_NAME_CATEGORIES.get(name) if isinstance(name, str) else None)


def _note(part: dict[str, Any]) -> str | None:
    """A part that is neither said nor done by the model."""
    kind = part.get("type")
    if kind == "file":
        return (
            f"file: {part.get('filename') or object_of(part.get('source')).get('path') or part.get('mime')}"
        )
    if kind == "patch":
        files = part.get("files")
        return f"changed: {', '.join(map(str, files))}" if isinstance(files, list) and files else "changed"
    if kind == "agent":
        return f"agent: {part.get('name')}"
    if kind == "subtask":
        return f"task for {part.get('agent')}: {part.get('description') or part.get('prompt')}"
    return "compaction" if kind == "compaction" else None


def _older_part(part: dict[str, Any], message: dict[str, Any]) -> dict[str, Any]:
    """A part of the newer generation in the form of the older one. A text has no time of its own: it is that of the message."""
    if part.get("type") != "tool":
        return {"time": message.get("time")} | part
    state, time = object_of(part.get("state")), object_of(part.get("time"))
    content = state.get("content")
    texts = (
        [text_of(object_of(item).get("text")) or "" for item in content] if isinstance(content, list) else []
    )
    start = time.get("ran") if time.get("ran") is not None else time.get("created")
    return {
        "type": "tool",
        "tool": part.get("name"),
        "callID": part.get("id"),
        "state": {
            "status": state.get("status"),
            "input": state.get("input"),
            "output": "\n".join(texts) or state.get("result"),
            "error": object_of(state.get("error")).get("message"),
            "time": {"start": start, "end": time.get("completed")},
            "metadata": state.get("structured"),
        },
    }
