"""What the agents of a session did, by the files of Gemini CLI.

A message is written again, with the same id, when something is added to it; `$set` repeats all messages, with new times. So of each
message, thought and tool use only what is new is shown, at the time when it was first.
"""

import re
from typing import Any

from runcard.transcripts.activity import Entry, SessionActivity, SessionFiles, Status
from runcard.transcripts.calls import MAIN, NO_TIME
from runcard.transcripts.content import (
    FileContent,
    UnreadPart,
    decode_record,
    milliseconds,
    object_of,
    text_of,
)
from runcard.transcripts.gemini.chat_meta import ChatMeta
from runcard.transcripts.gemini.message_texts import (
    content_text,
    has_model,
    response_texts,
    short_note,
    thought_text,
    tool_calls_in,
)
from runcard.transcripts.gemini.sessions import read_chat
from runcard.transcripts.session_file import file_lines, read_document
from runcard.transcripts.step_text import LEFT_OUT, plain_text

_CANCELLED = "Request cancelled."
_STATUS: dict[str, Status] = {
    "GOAL": "completed",
    "TIMEOUT": "timeout",
    "MAX_TURNS": "terminated",
    "ABORTED": "terminated",
    "ERROR": "error",
    "ERROR_NO_COMPLETE_TASK_CALL": "error",
}
_SHELL = "run_shell_command"
_FAILED = re.compile(
    r"^Exit Code: (?!0$)-?[0-9]+(?:\n[A-Z][^\n]{0,200}|\n</untrusted_context>){0,6}\s*\Z", re.MULTILINE
)
_STATUS_LENGTH = 1000  # characters at the end of a result that have the exit code
_REASON = re.compile(r"^Termination Reason: ([A-Z_]+)$", re.MULTILINE)
_UNFINISHED = frozenset({"validating", "scheduled", "executing", "awaiting_approval"})


def read_activity(files: SessionFiles, activity: SessionActivity) -> list[UnreadPart]:
    """Add what the files of a session say to its activity; what cannot be read is returned."""
    unread: list[UnreadPart] = []
    chats = {path: read_chat(path, unread) for path in files.paths}
    unread.clear()  # it is found again below
    activity.folder = chats[files.paths[0]].folder
    readers: dict[
        str, ChatActivityReader
    ] = {}  # by agent: an older file and a newer one may have the same messages
    for path, chat in chats.items():
        reader = readers.setdefault(chat.agent, ChatActivityReader(chat, activity))
        reader.read(path, unread)
    for agent in activity.agents.values():
        if agent.id != MAIN and agent.parent is None and MAIN in activity.agents:
            agent.parent = MAIN
    return unread


class ChatActivityReader:
    """Reads the messages of one agent, in their order."""

    def __init__(self, chat: ChatMeta, activity: SessionActivity) -> None:
        self._id, self._activity = chat.agent, activity
        self._agent = activity.agent(chat.agent)
        self._thoughts: dict[int, int] = {}  # how many are shown, by the hash of the id of a message
        self._said: set[int] = set()  # the hashes of the ids of messages whose text is shown
        self._used: set[int] = set()  # and of tool uses
        self._answered: set[int] = set()  # and of those whose result is shown

    def read(self, path: str, unread: list[UnreadPart]) -> None:
        """Read a file."""
        self._activity.owners[path] = self._id
        if path.endswith(".json"):
            document = read_document(path, unread)
            self._set_meta(document)
            for message in _objects(document.get("messages")):
                self._read_message(message)
            return
        content = FileContent()
        for number, line, is_complete in file_lines(path, unread, self._activity.ends.get(path)):
            if line.isspace():
                continue
            if not is_complete:
                content.add_unread(number, "the line is too long")
                self._add("note", LEFT_OUT, NO_TIME)
                continue
            try:
                record = decode_record(line)
            except ValueError as error:
                content.add_unread(number, str(error))
            else:
                self._read_record(record)
        unread += content.unread_parts(path)

    def _read_record(self, record: dict[str, Any]) -> None:
        if "$set" in record:
            changes = object_of(record["$set"])
            self._set_meta(changes)
            self._read_conversation(_objects(changes.get("messages")))
        elif "$rewindTo" in record:
            text = f"The conversation was taken back to before message {text_of(record['$rewindTo'])}."
            self._add("note", text, NO_TIME)
        elif "type" in record:
            self._read_message(record)
        else:
            self._set_meta(record)

    def _set_meta(self, meta: dict[str, Any]) -> None:
        time = milliseconds(meta.get("startTime"))
        if time >= 0 and self._agent.started < 0:
            self._agent.started = self._agent.ended = time
        if self._id == MAIN:
            self._activity.title = text_of(meta.get("summary")) or self._activity.title

    def _read_conversation(self, messages: list[dict[str, Any]]) -> None:
        """Read the whole conversation, written anew: what was compacted has new ids, and no model."""
        own, new = [], 0
        for message in messages:
            if has_model(message):
                own.append(message)
            elif text := content_text(message.get("content")):
                note = short_note(text)
                is_new = self._is_first(message)
                new += is_new and note is None
                if is_new and note is not None:
                    self._add("note", note, milliseconds(message.get("timestamp")))
        if new:
            time = max(milliseconds(message.get("timestamp")) for message in messages)
            text = f"The conversation was written anew: {new:,} of its {len(messages):,} messages are new."
            self._add("note", text, time)
        for message in own:
            self._read_message(message)

    def _add(self, kind: Any, text: str, time: int, **fields: Any) -> None:  # noqa: ANN401 - those of Entry
        self._activity.add(Entry(time, self._id, kind, plain_text(text), **fields))

    def _read_message(self, message: dict[str, Any]) -> None:
        kind, time = text_of(message.get("type")), milliseconds(message.get("timestamp"))
        if kind == "gemini":
            self._read_reply(message, time)
        elif kind == "user":
            self._add_results(message.get("content"), time)
            self._read_user(message, time)
        elif kind in {"info", "warning", "error"} and self._is_first(message):
            text = content_text(message.get("content"))
            is_cancelled = kind == "info" and text == _CANCELLED
            self._add("error" if kind == "error" else "interruption" if is_cancelled else "note", text, time)

    def _is_first(self, message: dict[str, Any]) -> bool:
        """Whether the text of a message is not shown yet."""
        name = text_of(message.get("id"))
        if name is None:
            return True
        return _is_added(name, self._said)

    def _read_user(self, message: dict[str, Any], time: int) -> None:
        text = content_text(message.get("displayContent")) or content_text(message.get("content"))
        if not text or not self._is_first(message):
            return
        note = short_note(text)
        if note is not None:
            self._add("note", note, time)
            return
        if self._id != MAIN and self._agent.description is None:
            self._agent.description = text_of(text)
        self._add("user", text, time)

    def _read_reply(self, message: dict[str, Any], time: int) -> None:
        call = text_of(message.get("id")) if has_model(message) else None  # else Gemini CLI wrote it
        self._add_thoughts(message, time, call)
        uses = tool_calls_in(message)
        text = content_text(message.get("content"))
        if text and self._is_first(message):
            self._add("assistant", text, time, call=call, is_end=not uses)
        for use in uses:
            self._read_tool_use(use, time, call)

    def _add_thoughts(self, message: dict[str, Any], time: int, call: str | None) -> None:
        thoughts, name = message.get("thoughts"), text_of(message.get("id"))
        texts = [thought_text(thought) for thought in thoughts] if isinstance(thoughts, list) else []
        shown = self._thoughts.get(hash(name), 0) if name else 0
        for text in filter(None, texts[shown:]):
            self._add("thinking", text, time, call=call)
        if name and len(texts) > shown:
            self._thoughts[hash(name)] = len(texts)

    def _read_tool_use(self, use: dict[str, Any], time: int, call: str | None) -> None:
        name, use_id = text_of(use.get("name")) or "unknown", text_of(use.get("id"))
        if use_id is None or _is_added(use_id, self._used):
            self._add("tool use", use["text"], time, name=name, use_id=use_id, call=call)
        self._read_agent(use)
        status = text_of(use.get("status"))
        if status is None or status in _UNFINISHED or (use_id and not _is_added(use_id, self._answered)):
            return
        ended = milliseconds(use.get("timestamp"))
        texts = [text for _, text, _ in response_texts(use.get("result"))]
        result = "\n".join(texts) or content_text(use.get("resultDisplay"))
        has_failed = name == _SHELL and _FAILED.search(result[-_STATUS_LENGTH:]) is not None
        fields = {"name": name, "use_id": use_id, "is_error": status == "error" or has_failed}
        self._add("tool result", result, ended if ended >= 0 else time, **fields)
        if name == "complete_task" and status == "success" and self._id != MAIN:
            self._agent.status = self._agent.status or "completed"
        if status == "cancelled":
            self._add("interruption", f"Tool use cancelled: {name}", ended if ended >= 0 else time)

    def _add_results(self, content: object, time: int) -> None:
        """The results of tools in a user message, where the tool use does not have them."""
        for use_id, text, is_error in response_texts(content):
            if not use_id or _is_added(use_id, self._answered):
                self._add("tool result", text, time, use_id=use_id or None, is_error=is_error)

    def _read_agent(self, use: dict[str, Any]) -> None:
        """Name the sub-agent that a tool use started, and say how it ended."""
        name = text_of(use.get("agentId"))
        if name is None or name in {self._id, MAIN}:
            return
        agent = self._activity.agent(name)
        progress, inputs = object_of(use.get("resultDisplay")), object_of(use.get("args"))
        role = text_of(progress.get("agentName")) or text_of(inputs.get("agent_name"))
        agent.role = agent.role or role or text_of(use.get("name"))
        agent.name, agent.parent = agent.name or agent.role, self._id
        task = text_of(inputs.get("prompt")) or text_of(inputs.get("objective"))
        agent.description = task or agent.description
        reason = text_of(progress.get("terminateReason"))
        if reason is None:
            texts = [text for _, text, _ in response_texts(use.get("result"))]
            match = next(filter(None, map(_REASON.search, texts)), None)
            reason = match[1] if match else None
        if reason is not None:
            agent.status = _STATUS.get(reason, agent.status)


def _objects(values: object) -> list[dict[str, Any]]:
    return [object_of(value) for value in values] if isinstance(values, list) else []


def _is_added(name: str, shown: set[int]) -> bool:
    """Whether an id is new in a set, to which it is added."""
    size = len(shown)
    shown.add(hash(name))
    return len(shown) > size
