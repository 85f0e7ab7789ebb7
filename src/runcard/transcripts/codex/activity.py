"""What the agents of a session did, by the files of Codex.

Most steps are in the file twice: as a `response_item`, which goes to the model, and as an `event_msg`, which goes to the screen. Some
versions have only one of them. Each is shown once, where it is first.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from runcard.transcripts.activity import AgentError, Entry, EntryKind, SessionActivity, SessionFiles
from runcard.transcripts.calls import MAIN, NO_TIME
from runcard.transcripts.codex.event_texts import (
    error_category,
    error_text,
    is_from_tool,
    short_note,
    thread_title,
)
from runcard.transcripts.codex.history import HistoryFilter, record_hash
from runcard.transcripts.codex.item_texts import (
    TOOL_RESULTS,
    TOOL_USES,
    content_text,
    tool_input,
    tool_name,
    tool_result,
)
from runcard.transcripts.codex.record_types import OLD_TYPES
from runcard.transcripts.codex.sessions import read_thread
from runcard.transcripts.codex.shown_texts import ShownTexts, Source
from runcard.transcripts.codex.spawned_agents import SpawnedAgents
from runcard.transcripts.codex.step_queue import StepQueue
from runcard.transcripts.codex.thread_meta import ThreadMeta
from runcard.transcripts.content import (
    FileContent,
    UnreadPart,
    decode_record,
    milliseconds,
    object_of,
    text_of,
)
from runcard.transcripts.session_file import file_lines, read_document
from runcard.transcripts.step_text import LEFT_OUT, plain_text

_MOST_FAILED = 10_000  # tool uses without a result


def read_activity(files: SessionFiles, activity: SessionActivity) -> list[UnreadPart]:
    """Add what the files of a session say to its activity; what cannot be read is returned."""
    unread: list[UnreadPart] = []
    threads = {path: read_thread(path, unread) for path in files.paths}
    unread.clear()  # it is found again below
    main = next((thread for thread in threads.values() if not thread.is_subagent), None)
    _set_facts(activity, main or threads[files.paths[0]])
    known = frozenset(thread.id for thread in threads.values())
    records_of = cache(lambda name: _records_of(name, threads, files.earlier))
    lines_of: dict[str, set[int]] = {}  # of threads that have several files
    for path, thread in threads.items():
        is_repeated = sum(other.id == thread.id for other in threads.values()) > 1
        reader = ThreadReader(thread, activity, known, records_of)
        reader.read(path, unread, lines_of.setdefault(thread.id, set()) if is_repeated else None)
    _set_parents(activity, files.session, threads)
    activity.title = activity.title or thread_title(files.paths[0], files.session)
    return unread


def _set_facts(activity: SessionActivity, thread: ThreadMeta) -> None:
    activity.folder, activity.branch, activity.commit = thread.cwd, thread.branch, thread.commit
    activity.repository, activity.tool_version = thread.repository, thread.version
    activity.resumed_from = thread.fork_of if not thread.is_subagent else None


def _set_parents(activity: SessionActivity, session: str, threads: dict[str, ThreadMeta]) -> None:
    for thread in threads.values():
        if thread.is_subagent:
            parent = MAIN if thread.spawner in {session, None} else thread.spawner
            agent = activity.agent(thread.id)
            agent.parent = parent if parent in activity.agents and parent != thread.id else None


def _records_of(name: str, threads: dict[str, ThreadMeta], earlier: tuple[str, ...]) -> set[int] | None:
    """The hashes of the records of a thread; None where its file is not among those at hand."""
    unread: list[UnreadPart] = []
    own = [path for path, thread in threads.items() if thread.id == name]
    paths = own or [path for path in earlier if read_thread(path, unread).id == name]
    hashes: set[int] = set()
    for path in paths:
        for _, line, is_complete in file_lines(path, unread):
            try:
                hashes.add(record_hash(decode_record(line)) if is_complete else 0)
            except ValueError:
                continue
    return hashes if paths else None


class ThreadReader:
    """Reads the records of one thread, in their order."""

    def __init__(
        self,
        thread: ThreadMeta,
        activity: SessionActivity,
        threads: frozenset[str],
        parent_records: Callable[[str], set[int] | None],
    ) -> None:
        self._thread, self._activity = thread, activity
        self._agent = activity.agent(thread.agent_id)
        self._history = HistoryFilter(thread, parent_records)
        self._texts = ShownTexts()
        self._spawned = SpawnedAgents(activity, thread.agent_id, threads)
        self._steps = StepQueue(activity, thread.id)
        self._failed: set[str] = set()  # ids of tool uses
        self._is_interrupted = self._has_history_note = self._is_reviewed = False
        self._aborted_turn: str | None = None
        self._model: str | None = None
        self._time = NO_TIME
        self._readers: dict[str, Callable[[dict[str, Any]], None]] = {
            "response_item": self._read_item,
            "event_msg": self._read_event,
            "turn_context": self._read_turn,
            "compacted": self._read_compaction,
            "token_usage_record": self._read_usage,
            "inter_agent_communication": self._read_communication,
        }
        if thread.is_subagent:
            self._agent.name, self._agent.role = thread.name or thread.role or thread.path, thread.role
        if thread.created >= 0 and self._agent.started < 0:
            self._agent.started = self._agent.ended = thread.created

    def read(self, path: str, unread: list[UnreadPart], lines: set[int] | None) -> None:
        """Read a file; `lines` are those of another file of the same thread, which are left out."""
        self._activity.owners[path] = self._thread.agent_id
        content = FileContent()
        if path.endswith(".json"):
            items = read_document(path, unread).get("items")
            for item in items if isinstance(items, list) else ():
                self._read_record(object_of(item))
            self._steps.flush()
            return
        for number, line, is_complete in file_lines(path, unread, self._activity.ends.get(path)):
            if line.isspace() or (lines is not None and hash(line) in lines):
                continue
            if not is_complete:
                content.add_unread(number, "the line is too long")
                self._add("note", LEFT_OUT, time=NO_TIME)
                continue
            if lines is not None:
                lines.add(hash(line))
            try:
                record = decode_record(line)
            except ValueError as error:
                content.add_unread(number, str(error))
            else:
                self._read_record(record)
        self._note_history()
        self._steps.flush()
        unread += content.unread_parts(path)

    def _read_record(self, record: dict[str, Any]) -> None:
        record_type, payload = record.get("type"), object_of(record.get("payload"))
        self._time = milliseconds(record.get("timestamp"))
        if "payload" not in record:
            if text_of(record_type) in OLD_TYPES:
                self._read_item(record)
        elif not self._history.is_history(record, self._time):
            self._note_history()
            read = self._readers.get(record_type) if isinstance(record_type, str) else None
            if read is not None:
                read(payload)

    def _note_history(self) -> None:
        if self._history.records and not self._has_history_note:
            self._has_history_note = True
            parent = self._thread.fork_of or self._thread.spawner
            text = f"The file begins with {self._history.records:,} lines of session {parent}."
            self._add("note", text, time=self._thread.created)

    def _add(
        self,
        kind: EntryKind,
        text: str,
        *,
        time: int | None = None,
        is_input: bool = False,
        **fields: Any,  # noqa: ANN401 - those of Entry
    ) -> None:
        """Add a step; an input is what a model replies to."""
        if kind in {"assistant", "thinking", "tool use"}:
            self._agent.has_called |= not self._is_reviewed
            self._is_reviewed = False
        moment = self._time if time is None else time
        entry = Entry(moment, self._thread.agent_id, kind, plain_text(text), **fields)
        self._steps.add(entry, is_input=is_input or kind in {"user", "tool result"})

    def _read_turn(self, turn: dict[str, Any]) -> None:
        if (model := text_of(turn.get("model"))) and model != self._model:
            self._model = model
            self._add("note", f"Model: {model}")
        self._activity.folder = self._activity.folder or text_of(turn.get("cwd"))

    def _read_compaction(self, _: dict[str, Any]) -> None:
        self._add("note", "The conversation was compacted.", is_input=True)

    def _read_usage(self, usage: dict[str, Any]) -> None:
        self._steps.record_usage(text_of(usage.get("response_id")))

    # What goes to the model

    def _read_item(self, item: dict[str, Any]) -> None:
        kind = text_of(item.get("type")) or ""
        if kind == "message":
            self._read_message(item)
        elif kind == "agent_message":  # of another agent
            text = f"[{text_of(item.get('author')) or 'an agent'}] {content_text(item.get('content'))}"
            self._add("user", text)
        elif kind == "reasoning":
            self._add_thoughts("item", item.get("summary"), item.get("content"))
        elif kind in TOOL_USES:
            self._add_tool_use(item)
        elif kind in TOOL_RESULTS:
            self._add_tool_result(item)

    def _read_message(self, item: dict[str, Any]) -> None:
        role, text = item.get("role"), content_text(item.get("content"))
        if role == "assistant":
            self._add_reply("item", text, is_end=text_of(item.get("phase")) in {None, "final_answer"})
        elif role != "user" or is_from_tool(item, text):
            self._read_note(text, is_user=role == "user")
        else:
            self._add_user("item", text)

    def _read_note(self, text: str, *, is_user: bool) -> None:
        """A message that Codex wrote, not the user."""
        if is_user and text.startswith("<turn_aborted>"):
            self._interrupt("interrupted")
        elif text:
            self._spawned.read_notification(text)
            self._add("note", short_note(text), is_input=is_user)

    def _add_user(self, source: Source, text: str) -> None:
        if text and self._texts.is_new(source, "user", text):
            self._is_interrupted = False
            if self._thread.is_subagent and self._agent.description is None:
                self._agent.description = text_of(text)
            self._add("user", text)

    def _add_reply(self, source: Source, text: str, *, is_end: bool = True) -> None:
        if text and self._texts.is_new(source, "assistant", text):
            self._add("assistant", text, is_end=is_end)

    def _add_thoughts(self, source: Source, *lists: object) -> None:
        for parts in lists:
            for part in parts if isinstance(parts, list) else (parts,):
                if (text := content_text([part])) and self._texts.is_new(source, "thinking", text):
                    self._add("thinking", text)

    def _add_tool_use(self, item: dict[str, Any]) -> None:
        use_id = text_of(item.get("call_id")) or text_of(item.get("id"))
        self._spawned.read_use(item, use_id)
        self._add("tool use", tool_input(item), name=tool_name(item), use_id=use_id)

    def _add_tool_result(self, item: dict[str, Any]) -> None:
        use_id = text_of(item.get("call_id"))
        result = tool_result(item)
        is_error = result.is_error or use_id in self._failed
        self._failed.discard(use_id or "")
        self._spawned.read_result(use_id, result.text)
        self._add("tool result", result.text, use_id=use_id, is_error=is_error)

    # What goes to the screen

    def _read_event(self, event: dict[str, Any]) -> None:
        kind = text_of(event.get("type")) or ""
        if kind in {"task_started", "turn_started"}:
            self._agent.status, self._is_interrupted = None, False
            self._steps.start_reply()
        elif kind in {"task_complete", "turn_complete"}:
            self._complete(event)
        elif kind == "turn_aborted":
            self._interrupt(text_of(event.get("reason")) or "no reason", text_of(event.get("turn_id")))
        elif kind == "user_message":
            if text_of(event.get("kind")) in {None, "plain"}:
                self._add_user("event", content_text(event.get("message")))
        elif kind == "agent_message":
            self._add_reply("event", content_text(event.get("message")))
        elif kind in {"agent_reasoning", "agent_reasoning_raw_content"}:
            self._add_thoughts("event", event.get("text") or event.get("message"))
        elif kind == "token_count":
            self._steps.count_event(event.get("info"))
        elif kind == "item_completed":
            self._read_completed(event)
        else:
            self._read_rare_event(kind, event)

    def _read_rare_event(self, kind: str, event: dict[str, Any]) -> None:
        if kind == "error":
            self._add_error("event", event)
        elif kind in {"stream_error", "warning"}:
            text = error_text(event)
            self._add("note", text)
            if kind == "stream_error":
                error = AgentError(self._time, text, error_category(event), is_retried=True)
                self._activity.add_error(self._thread.agent_id, error)
        elif kind == "thread_name_updated":
            self._activity.title = text_of(event.get("thread_name")) or self._activity.title
        elif kind in {"entered_review_mode", "exited_review_mode"}:
            self._read_review(is_end=kind == "exited_review_mode")
        elif kind == "thread_rolled_back":
            self._add("note", f"Turns taken back: {event.get('num_turns')}")
        elif kind.endswith("_end"):
            self._note_failure(event)
            self._spawned.read_item(event)

    def _complete(self, event: dict[str, Any]) -> None:
        error = object_of(event.get("error"))
        if error:
            self._add_error("turn end", error)
        else:
            self._add_reply("turn end", content_text(event.get("last_agent_message")))
        if self._aborted_turn is None or text_of(event.get("turn_id")) != self._aborted_turn:
            self._agent.status = "error" if error else "completed"

    def _add_error(self, source: Source, error: dict[str, Any]) -> None:
        text = error_text(error)
        if self._texts.is_new(source, "error", text):
            self._add("error", text, category=error_category(error))

    def _interrupt(self, reason: str, turn: str | None = None) -> None:
        if reason == "review_ended":
            return
        self._agent.status, self._aborted_turn = None, turn
        if not self._is_interrupted:
            self._add("interruption", f"Turn aborted: {reason}")
        self._is_interrupted = True

    def _note_failure(self, event: dict[str, Any]) -> None:
        """Remember that a tool failed: its result follows."""
        use_id, code = text_of(event.get("call_id")) or text_of(event.get("id")), event.get("exit_code")
        has_failed = event.get("success") is False or text_of(event.get("status")) in {"failed", "declined"}
        has_failed = has_failed or (isinstance(code, int) and code != 0)
        has_failed = has_failed or "Err" in object_of(event.get("result"))
        if use_id and has_failed and len(self._failed) < _MOST_FAILED:
            self._failed.add(use_id)

    def _read_completed(self, event: dict[str, Any]) -> None:
        item = object_of(event.get("item"))
        kind = text_of(item.get("type")) or ""
        if text_of(event.get("thread_id")) not in {None, self._thread.id}:
            return  # of a sub-agent, which has a file of its own
        if kind == "UserMessage":
            self._add_user("completed item", content_text(item.get("content")))
        elif kind in {"AgentMessage", "Plan"}:
            self._add_reply("completed item", content_text(item.get("content") or item.get("text")))
        elif kind == "Reasoning":
            self._add_thoughts("completed item", item.get("summary_text"), item.get("raw_content"))
        elif kind in {"EnteredReviewMode", "ExitedReviewMode"}:
            self._read_review(is_end=kind == "ExitedReviewMode")
        else:
            self._note_failure(item)
            self._spawned.read_item(item)

    def _read_review(self, *, is_end: bool) -> None:
        """A sub-agent makes a review. Codex copies its reply, which is the next one here."""
        self._add("note", "Review ends." if is_end else "Review begins.")
        self._is_reviewed = is_end

    def _read_communication(self, message: dict[str, Any]) -> None:
        author, recipient = text_of(message.get("author")), text_of(message.get("recipient"))
        text = content_text(message.get("content"))
        if text and self._texts.is_new("event", "message", text):
            self._add("note", f"{author or 'an agent'} to {recipient or 'an agent'}: {text}")
