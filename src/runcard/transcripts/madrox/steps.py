"""What the instances of one session said, and what went wrong, from the files that Madrox keeps of each."""

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from runcard.files import open_regular
from runcard.transcripts.activity import AgentError, Entry, EntryKind, SessionActivity
from runcard.transcripts.calls import NO_TIME
from runcard.transcripts.content import UnreadPart, decode_record, text_of
from runcard.transcripts.madrox.instances import AuditEvent, TeamInstance
from runcard.transcripts.madrox.log_folder import LogFolder, local_time
from runcard.transcripts.session_file import failure_reason, file_lines

_LOG_LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) - ([A-Z]+) - (.*)", re.DOTALL)
_LONGEST_MESSAGE = 1 << 16  # characters of a message in a log, with the lines that follow it
_FRAME = re.compile(rb"\n={80}\n\[([^\]\n]{1,40})\]\n={80}\n")
_SCREEN = 1 << 20  # bytes at the end of a file in which the last frame is looked for


def add_agent(instance: TeamInstance, activity: SessionActivity) -> None:
    """Add an instance as an agent."""
    agent = activity.agent(instance.id)
    agent.name, agent.role, agent.parent, agent.model = (
        instance.name,
        instance.role,
        instance.parent,
        instance.model,
    )
    agent.started, agent.ended, agent.status = instance.created, instance.end, instance.status
    agent.labels = {
        "status_source": f"derived from Madrox's state: {instance.state or 'unknown'}",
        **({"harness": instance.harness} if instance.harness else {}),
    }


def add_event(event: AuditEvent, activity: SessionActivity) -> None:
    """Add what an event of the audit trail says: a response time, or a failure."""
    if event.type == "message_exchange":
        seconds = event.details.get("response_time_seconds")
        if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds < 1e9:
            activity.agent(event.instance).response_times.append(float(seconds))
    elif event.type == "manager_daemon_failure":
        reason = text_of(event.details.get("failure_reason")) or "manager daemon failure"
        for name in event.instances:
            if name in activity.agents:
                activity.add_error(name, AgentError(event.time, reason, "crashed", is_retried=True))


def add_steps(instance: TeamInstance, folder: LogFolder, activity: SessionActivity) -> list[UnreadPart]:
    """Add the messages, the errors and the last screen of an instance."""
    unread: list[UnreadPart] = []
    for path in folder.files_of(instance.id, "communication.jsonl"):
        _add_messages(path, instance.id, activity, unread)
    errors = set()
    for path in folder.files_of(instance.id, "instance.log"):
        for message in _log_messages(path, unread):
            if message.level in {"ERROR", "CRITICAL"}:
                errors.add(message.text)
                activity.add(Entry(message.time, instance.id, "error", message.text))
            elif message.level == "WARNING":
                activity.add(Entry(message.time, instance.id, "note", message.text))
    if instance.error is not None and not any(instance.error in text for text in errors):
        activity.add_error(instance.id, AgentError(instance.last_activity, instance.error))
    for path in folder.files_of(instance.id, "tmux_output.log"):
        _add_screen(path, instance.id, activity, unread)
    return unread


def _add_messages(path: str, instance: str, activity: SessionActivity, unread: list[UnreadPart]) -> None:
    for number, line, is_complete in file_lines(path, unread):
        if line.isspace():
            continue
        try:
            if not is_complete:
                raise ValueError("the line is too long")  # noqa: TRY301
            record = decode_record(line)
        except ValueError as error:
            unread.append(UnreadPart(path, number, str(error)))
            continue
        content = record.get("content") or record.get("message")
        text = content if isinstance(content, str) else ""
        kind = _kind(record.get("event_type"), record.get("direction"))
        activity.add(Entry(local_time(record.get("timestamp")), instance, kind, text))


def _kind(event: object, direction: object) -> EntryKind:
    """Who said it: `outbound` is to the agent, but from it in an event of the type `communication`."""
    if event == "message_sent":
        return "user"
    if event == "message_received":
        return "assistant"
    if event == "communication" and direction in {"inbound", "outbound"}:
        return "assistant" if direction == "outbound" else "user"
    return "note"


class _LogMessage(NamedTuple):
    time: int
    level: str
    text: str


def _log_messages(path: str, unread: list[UnreadPart]) -> Iterator[_LogMessage]:
    """The messages of a log, each with the lines that follow its first one."""
    message: _LogMessage | None = None
    for _, line, _ in file_lines(path, unread):
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        match = _LOG_LINE.fullmatch(text)
        if match is not None:
            if message is not None:
                yield message
            message = _LogMessage(local_time(match[1]), match[2], match[3][:_LONGEST_MESSAGE])
        elif message is not None and len(message.text) < _LONGEST_MESSAGE:
            message = message._replace(text=f"{message.text}\n{text}"[:_LONGEST_MESSAGE])
    if message is not None:
        yield message


def _add_screen(path: str, instance: str, activity: SessionActivity, unread: list[UnreadPart]) -> None:
    try:
        time, text = last_screen(path)
    except OSError as error:
        unread.append(UnreadPart(path, None, failure_reason(error)))
        return
    if text:
        activity.add(Entry(time, instance, "note", f"the last screen:\n{text}"))


def last_screen(path: str) -> tuple[int, str]:
    """The time and the text of the last screen in a file, which has one after the other."""
    with open(open_regular(path, follow=True), "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - _SCREEN))
        data = b"\n" + file.read(_SCREEN)
    frames = list(_FRAME.finditer(data))
    if not frames:
        return NO_TIME, data.decode("utf-8", "replace").strip("\n")
    last = frames[-1]
    return local_time(last[1].decode("utf-8", "replace")), data[last.end() :].decode(
        "utf-8", "replace"
    ).strip("\n")
