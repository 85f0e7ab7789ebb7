"""What the agents of a session of Claude Code said and did.

The order of the records is not relied on, and neither is `parentUuid`. A record counts once, by its `uuid`: a session may have
several files. The messages of a sub-agent are in its own file; where there is none, in the `progress` lines of its parent.

A fork begins with the history of another session. These records are copies: they are counted in a note, and not repeated.
"""

import os
from collections import deque
from typing import Any, BinaryIO

from runcard.files import open_regular
from runcard.transcripts.activity import (
    UNATTRIBUTED,
    AgentError,
    Entry,
    EntryKind,
    SessionActivity,
    SessionFiles,
)
from runcard.transcripts.calls import MAIN, NO_TIME
from runcard.transcripts.claude_code.file_names import agent_of, session_of, started_in
from runcard.transcripts.claude_code.steps import assistant_steps, is_end, plain, shown, user_steps
from runcard.transcripts.claude_code.sub_agents import SubAgents
from runcard.transcripts.claude_code.teams import read_team
from runcard.transcripts.content import (
    FileContent,
    UnreadPart,
    decode_record,
    milliseconds,
    object_of,
    text_of,
)
from runcard.transcripts.line_reader import open_lines, read_lines

_MOST_RECORDS = 1_000_000  # whose ids are remembered
_MOST_SUMMARIES = 1000
_MOST_TEAMS = 100
_TITLES = {  # the fields of records with a title, the best first
    "custom-title": "customTitle",
    "ai-title": "aiTitle",
    "summary": "summary",
    "agent-name": "agentName",
}
_FAILED_STOPS = {"refusal": "refusal", "model_context_window_exceeded": "context_length"}
_SILENT = frozenset(["turn_duration", "stop_hook_summary"])  # notes of no use to a reader
_SYNTHETIC = "<synthetic>"
_CATEGORIES = {
    401: "authentication",
    403: "authentication",
    413: "context_length",
    429: "rate_limit",
    529: "rate_limit",
    "authentication_failed": "authentication",
    "rate_limit": "rate_limit",
}


def read_activity(files: SessionFiles, activity: SessionActivity) -> list[UnreadPart]:
    """Read the files of one session, and add what they say to `activity`."""
    reader = _ActivityReader(files, activity)
    unread: list[UnreadPart] = []
    for path in files.paths:
        content = FileContent()
        try:
            with open_lines(open_regular(path, follow=True)) as file:
                reader.read_file(path, file, content)
        except OSError as error:
            content.add_unread(None, error.strerror or str(error))
        unread += content.unread_parts(path)
    reader.finish()
    return unread


class _ActivityReader:
    """Reads the records of a session, one by one."""

    def __init__(self, files: SessionFiles, activity: SessionActivity) -> None:
        self._session, self._activity = files.session, activity
        self._paths = files.paths
        self._earlier = session_of(files.earlier[0]) if files.earlier else None  # that a fork was made from
        self._sub_agents = SubAgents(files.paths)
        self._has_main = any(agent_of(path) is None for path in files.paths)
        self._seen: set[int] = set()  # hashes of the ids of records
        self._titles: dict[str, str] = {}  # by kind of record
        # Summaries, each with the id of the last record that it is about.
        self._summaries: deque[tuple[str | None, str]] = deque(maxlen=_MOST_SUMMARIES)
        self._path = ""
        self._team: str | None = None  # of which this session is a member
        self._member: str | None = None  # its name in the team
        self._file_agent: str | None = None
        self._fork_began = NO_TIME
        self._failed_call: str | None = None
        self._has_own = False  # whether messages of this session were in the file
        self._copies = 0  # records of another session, not noted yet
        self._readers = {
            "user": self._read_user,
            "assistant": self._read_assistant,
            "system": self._read_system,
            "progress": self._read_progress,
            "attachment": self._read_attachment,
        }

    def read_file(self, path: str, file: BinaryIO, content: FileContent) -> None:
        size = self._activity.ends.get(path, os.fstat(file.fileno()).st_size)
        self._path, self._file_agent = path, agent_of(path)
        self._activity.owners[path] = self._file_agent or MAIN
        self._has_own = False
        self._fork_began = _fork_began(file, size) if self._file_agent is None else NO_TIME
        file.seek(0)
        for number, line, is_complete in read_lines(file, 0, size):
            if not is_complete:
                content.add_unread(number, "the line is too long")
                self._add(self._file_agent or MAIN, NO_TIME, "note", "[a line that is too long was left out]")
            elif not line.isspace():
                try:
                    record = decode_record(line)
                except ValueError as error:
                    content.add_unread(number, str(error))
                    continue
                self._read_record(record)
        self._note_copies(NO_TIME)

    def _read_record(self, record: dict[str, Any]) -> None:
        record_type = record.get("type")
        if not isinstance(record_type, str):
            return
        if (read := self._readers.get(record_type)) is None:
            self._read_title(record_type, record)
            return
        time = milliseconds(record.get("timestamp"))
        if self._is_copy(record, record_type, time) or self._is_repeated(record):
            return
        self._note_copies(time)
        self._add_facts(record)
        read(record, self._agent(record), time)

    def _is_copy(self, record: dict[str, Any], record_type: str, time: int) -> bool:
        """Whether a record is of another session, whose history a fork or an older way to resume copied."""
        session = record.get("sessionId")
        is_foreign = self._file_agent is None and isinstance(session, str) and session != self._session
        origin = object_of(record.get("forkedFrom"))
        if not (is_foreign or origin or 0 <= time < self._fork_began):
            if record_type in {"user", "assistant"}:
                self._fork_began, self._has_own = NO_TIME, True  # what follows is its own
            return False
        if is_foreign and self._has_own:
            return True  # of a session that goes on where this one ended
        self._copies += 1
        source = text_of(origin.get("sessionId")) or (text_of(session) if is_foreign else self._earlier)
        if source is not None and source != self._session:
            self._activity.resumed_from = source  # the last one before its own records
        return True

    def _note_copies(self, time: int) -> None:
        if self._copies:
            session = self._activity.resumed_from or "another session"
            self._add(MAIN, time, "note", f"[{self._copies:,} records of {session} before]")
            self._copies = 0

    def _is_repeated(self, record: dict[str, Any]) -> bool:
        uuid = record.get("uuid")
        if not isinstance(uuid, str):
            return False
        key = hash(uuid)
        if key in self._seen:
            return True
        if len(self._seen) < _MOST_RECORDS:
            self._seen.add(key)
        return False

    def _agent(self, record: dict[str, Any], outer: dict[str, Any] | None = None) -> str:
        """The agent whose step a record is, as its calls name it."""
        agent = text_of(record.get("agentId")) or (text_of(outer.get("agentId")) if outer else None)
        agent = agent or self._file_agent
        return agent or (UNATTRIBUTED if record.get("isSidechain") is True else MAIN)

    def _add_facts(self, record: dict[str, Any]) -> None:
        """Note the facts about the session: where it was started, and with which version."""
        activity = self._activity
        if activity.folder is None and (cwd := text_of(record.get("cwd"))) is not None:
            activity.folder = started_in(cwd, self._path)
        if activity.branch is None and (branch := text_of(record.get("gitBranch"))) != "HEAD":
            activity.branch = branch
        if (version := record.get("version")) != activity.tool_version:
            activity.tool_version = text_of(version) or activity.tool_version
        if "teamName" in record and self._file_agent is None:
            self._team = text_of(record["teamName"]) or self._team
            self._member = text_of(record.get("agentName")) or self._member

    def _add(self, agent: str, time: int, kind: EntryKind, text: str) -> None:
        self._activity.add(Entry(time, agent, kind, text))

    def _read_user(self, record: dict[str, Any], agent: str, time: int) -> None:
        message = object_of(record.get("message"))
        is_note = record.get("isMeta") is True or record.get("isCompactSummary") is True
        for step in user_steps(message.get("content"), is_note=is_note):
            if step.kind == "tool result":
                self._sub_agents.add_result(agent, step.use_id, record.get("toolUseResult"))
            elif step.kind == "note":
                self._sub_agents.add_notification(step.text)
            self._activity.add(
                Entry(time, agent, step.kind, step.text, use_id=step.use_id, is_error=step.is_error)
            )

    def _read_assistant(self, record: dict[str, Any], agent: str, time: int) -> None:
        message = object_of(record.get("message"))
        if record.get("isApiErrorMessage") is True:
            text = shown(message.get("content")) or "API error"
            self._activity.add(Entry(time, agent, "error", text, category=_category(record)))
            return
        if message.get("model") == _SYNTHETIC:
            if text := shown(message.get("content")):
                self._add(agent, time, "note", text)
            return
        if (role := text_of(record.get("attributionAgent"))) is not None and agent != MAIN:
            self._sub_agents.add_role(agent, role)
        call = text_of(message.get("id")) or text_of(record.get("requestId")) or text_of(record.get("uuid"))
        is_last = is_end(message)
        for step in assistant_steps(message.get("content")):
            if step.kind == "tool use":
                self._sub_agents.add_use(agent, step.use_id, step.name, step.tool_input)
            is_done = is_last and step.kind == "assistant"
            self._activity.add(
                Entry(time, agent, step.kind, step.text, step.name, step.use_id, call, step.is_error, is_done)
            )
        reason = message.get("stop_reason")
        if isinstance(reason, str) and reason in _FAILED_STOPS and call != self._failed_call:
            self._failed_call = call
            category = _FAILED_STOPS[reason]
            self._activity.add(Entry(time, agent, "error", f"[stopped: {reason}]", category=category))

    def _read_system(self, record: dict[str, Any], agent: str, time: int) -> None:
        subtype = text_of(record.get("subtype"))
        if subtype == "api_error":
            self._read_retry(record, agent, time)
        elif subtype == "compact_boundary":
            facts = object_of(record.get("compactMetadata"))
            trigger, tokens = text_of(facts.get("trigger")), facts.get("preTokens")
            size = f", {tokens:,} tokens before" if type(tokens) is int else ""
            self._add(agent, time, "note", f"[conversation compacted: {trigger or 'unknown trigger'}{size}]")
        elif subtype not in _SILENT and (text := plain(record.get("content"))):
            self._add(agent, time, "note", text)

    def _read_retry(self, record: dict[str, Any], agent: str, time: int) -> None:
        """A call that failed and was tried again."""
        status = object_of(record.get("error")).get("status")
        parts = ("API error", status if type(status) is int else None, _reason(record.get("error")))
        text = " ".join(str(part) for part in parts if part is not None)
        attempt, most = record.get("retryAttempt"), record.get("maxRetries")
        tries = f" (attempt {attempt} of {most})" if type(attempt) is type(most) is int else ""
        category = _category({"apiErrorStatus": status})
        self._activity.add_error(agent, AgentError(time, text, category, is_retried=True))
        self._add(agent, time, "note", f"[{text}{tries}]")

    def _read_progress(self, record: dict[str, Any], agent: str, time: int) -> None:
        """The messages of a sub-agent that has no file of its own."""
        data = object_of(record.get("data"))
        child = text_of(data.get("agentId"))
        if child is not None:
            self._sub_agents.add_progress(agent, child, data, text_of(record.get("parentToolUseID")))
            if child in self._sub_agents.with_file:
                return
        messages = data.get("normalizedMessages")
        for inner in (data.get("message"), *(messages if isinstance(messages, list) else ())):
            kind = object_of(inner).get("type") or object_of(object_of(inner).get("message")).get("role")
            if kind not in ("user", "assistant") or self._is_repeated(inner):
                continue
            own = milliseconds(inner.get("timestamp"))
            read = self._read_user if kind == "user" else self._read_assistant
            read(inner, child or self._agent(inner, record), own if own >= 0 else time)

    def _read_attachment(self, record: dict[str, Any], agent: str, time: int) -> None:
        """A prompt that the user typed while the agent was at work."""
        attachment = object_of(record.get("attachment"))
        if attachment.get("type") != "queued_command":
            return
        is_note = attachment.get("commandMode") == "task-notification"
        for step in user_steps(attachment.get("prompt"), is_note=is_note):
            self._sub_agents.add_notification(step.text)
            self._add(agent, time, step.kind, step.text)

    def _read_title(self, record_type: str, record: dict[str, Any]) -> None:
        field = _TITLES.get(record_type)
        title = text_of(record.get(field)) if field else None
        if title is None or self._file_agent is not None:
            return
        if record_type == "summary":
            self._summaries.append((text_of(record.get("leafUuid")), title))
        elif record.get("sessionId", self._session) == self._session:
            self._titles[record_type] = title

    def finish(self) -> None:
        """Set what is known only now: titles, and the facts about sub-agents."""
        for leaf, title in self._summaries:
            if hash(leaf) in self._seen:
                self._titles["summary"] = title
        self._activity.title = next((self._titles[kind] for kind in _TITLES if kind in self._titles), None)
        self._sub_agents.describe(self._activity, MAIN if self._has_main else None, self._read_teams())

    def _read_teams(self) -> dict[str, str]:
        """The roles of the members of the teams of this session, by name; its own agent may be one."""
        main = self._activity.agents.get(MAIN)
        roles: dict[str, str] = {}
        names = self._sub_agents.teams | (set() if self._team is None else {self._team})
        for name in sorted(names)[:_MOST_TEAMS]:
            team = read_team(self._paths[0], name)
            if team is None:
                continue
            roles |= team.roles
            if main is not None and team.lead_session == self._session:
                main.role = main.role or team.lead_role
        if main is not None and self._member is not None:
            main.name = self._member
            main.role = main.role or roles.get(self._member)
        return roles


def _reason(error: object) -> str | None:
    """The message of an error, which is a text, or an object with one at some depth."""
    facts = object_of(error)
    inner = object_of(facts.get("error"))
    for part in (facts, inner, object_of(inner.get("error"))):
        if (message := text_of(part.get("message"))) is not None:
            return message
    return text_of(object_of(facts.get("cause")).get("code")) or text_of(error)


def _category(record: dict[str, Any]) -> str | None:
    """The category of a failed call, by the tool's name for it or by the status of the reply."""
    names = (record.get("error"), record.get("apiErrorStatus"))
    return next(
        (_CATEGORIES[name] for name in names if type(name) in {str, int} and name in _CATEGORIES), None
    )


def _fork_began(file: BinaryIO, size: int) -> int:
    """When a fork was made; NO_TIME for a file that is not known to be one.

    A fork notes its prompt first, and then has the copies. A reply that is older than the first record is a copy; a prompt alone
    may just be out of order.
    """
    began = NO_TIME
    for _, line, is_complete in read_lines(file, 0, size):
        try:
            record = decode_record(line) if is_complete else {}
        except ValueError:
            continue
        time, record_type = milliseconds(record.get("timestamp")), record.get("type")
        if time < 0:
            continue
        is_message = record_type in ("user", "assistant")
        if began < 0:
            began = time
            if is_message:
                return NO_TIME
        elif is_message and time >= began:
            return NO_TIME
        elif record_type == "assistant":
            return began
    return NO_TIME
