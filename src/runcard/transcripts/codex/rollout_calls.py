"""The calls in the files of Codex.

Newer versions write a `token_usage_record` for each response: a call is one pair of session and response id. Older ones repeat
`token_count` events: a call is an event whose `total_token_usage` differs from that of the event before it. A total that is
smaller means that the counter began anew, and counts as well.

The file of a fork or a sub-agent begins with the history of its parent, with new times or the old ones. These events are
compared with those of the parent, and never counted again: `add_events` needs all files.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple

from runcard.accounting.service_tiers import non_standard
from runcard.accounting.vendors import codex
from runcard.accounting.vendors.reply_fields import ReplyFields
from runcard.errors import UsageError
from runcard.transcripts.calls import (
    MAIN,
    Call,
    CallOrigin,
    CallTable,
    Counts,
    UsageKind,
    call_key,
    kind_and_counts,
)
from runcard.transcripts.codex.record_types import (
    KNOWN_TYPES,
    NAME,
    OLD_TYPES,
    is_old_document,
    is_old_header,
)
from runcard.transcripts.codex.thread_meta import ThreadMeta, session_of, thread_of_file, thread_of_meta
from runcard.transcripts.content import (
    FileContent,
    decode_record,
    milliseconds,
    object_of,
    text_of,
)
from runcard.transcripts.line_reader import LINE_END, read_lines
from runcard.transcripts.session_file import decode_document

_NEEDED = re.compile(
    rb'"(?:token_count|turn_context|session_meta|token_usage_record|thread_settings_applied)"'
)
_TYPE = re.compile(
    rb'\s*\{(?:\s*"(?!type")[^"\\]*"\s*:\s*(?:"[^"\\]*"|[-+.0-9eE]+|true|false|null)\s*,)*\s*"type"\s*:\s*"([^"\\]*)"'
)
_WRITING = 1000  # milliseconds in which the history of a parent is written, where the parent is missing
_NO_COUNTS = "an old format without token counts"


class CountedEvent(NamedTuple):
    """A `token_count` event with a new total."""

    identity: int  # a hash of its total and its last usage
    total: int  # tokens of the session so far
    call: Call


@dataclass
class Thread:
    """A file as far as it must be compared with others."""

    meta: ThreadMeta
    events: list[CountedEvent] = field(default_factory=list)
    events_without_record: int | None = (
        None  # those before its first usage record; None: it has no such record
    )

    @property
    def id(self) -> str:
        return self.meta.id

    @property
    def parent(self) -> str | None:
        """The thread whose history may be at the beginning of the file."""
        return self.meta.fork_of or self.meta.spawner


def read(path: str, file: BinaryIO, start: int = 0, end: int | None = None) -> FileContent:
    """Read a file."""
    content = FileContent()
    if path.endswith(".json"):
        _read_old_document(file, content)
        return content
    reader = _RolloutReader(path, content)
    for number, line, is_complete in read_lines(file, start, end):
        content.lines = number
        match = None if _NEEDED.search(line) else _TYPE.match(line, 0, 4096)
        record_type = match[1].decode("utf-8", "replace") if match else None
        if not is_complete:
            if record_type not in KNOWN_TYPES:
                content.add_unread(number, "the line is too long")
        elif record_type is None or not line.endswith(b"\n"):  # the last line may be cut off anywhere
            reader.read_record(number, line)
        elif not line[-LINE_END:].rstrip().endswith(b"}"):
            content.add_unread(number, "the line is cut off")
        elif record_type in OLD_TYPES:
            reader.has_old_records = True
        elif record_type not in KNOWN_TYPES:
            content.add_unknown_type(record_type)
    reader.finish()
    return content


def _read_old_document(file: BinaryIO, content: FileContent) -> None:
    """Read a file of the first versions, which has no counts."""
    try:
        is_known = is_old_document(decode_document(file))
        content.add_unread(None, _NO_COUNTS if is_known else "not a session of Codex")
    except ValueError as error:
        content.add_unread(None, str(error))


class _RolloutReader:
    """Reads the records of one file, in their order."""

    def __init__(self, path: str, content: FileContent) -> None:
        self._content = content
        self._thread = Thread(thread_of_file(path))
        self._has_meta = self.has_old_records = self._has_calls = False
        self._model: str | None = None
        self._service_tier: str | None = None
        self._totals: tuple[object, ...] | None = None
        content.thread = self._thread

    def read_record(self, number: int, line: bytes) -> None:
        if line.isspace():
            return
        try:
            record = decode_record(line)
        except ValueError as error:
            self._content.add_unread(number, str(error))
            return
        payload, record_type = object_of(record.get("payload")), record.get("type")
        try:
            if record_type == "event_msg":
                self._read_event(payload, milliseconds(record.get("timestamp")))
            elif record_type == "token_usage_record":
                self._add_usage_record(payload, milliseconds(record.get("timestamp")))
            elif record_type == "turn_context":
                self._model = text_of(payload.get("model")) or self._model
                self._thread.meta.cwd = self._thread.meta.cwd or text_of(payload.get("cwd"))
            elif record_type == "session_meta":
                self._set_meta(payload, milliseconds(record.get("timestamp")))
            elif record_type is None and ("record_type" in record or is_old_header(record)):
                self.has_old_records = True
            elif text_of(record_type) not in KNOWN_TYPES:
                self._content.add_unknown_type(record_type)
        except UsageError as error:
            self._content.add_unread(number, f"usage: {error.message}"[:200])

    def _read_event(self, payload: dict[str, Any], time: int) -> None:
        if payload.get("type") == "token_count":
            self._count(object_of(payload.get("info")), time)
        elif payload.get("type") == "thread_settings_applied":
            self._set_service_tier(payload)

    def finish(self) -> None:
        if self.has_old_records and not self._has_calls:
            self._content.add_unread(None, _NO_COUNTS)

    def _set_meta(self, payload: dict[str, Any], time: int) -> None:
        """The first record of its kind: those that follow are of the parent."""
        if not self._has_meta:
            self._has_meta = True
            self._thread.meta = thread_of_meta(payload, time, self._thread.id)

    def _set_service_tier(self, payload: dict[str, Any]) -> None:
        """The tier that was set. That of the replies is in no record."""
        if text_of(payload.get("thread_id")) in {None, self._thread.id}:
            tier = text_of(object_of(payload.get("thread_settings")).get("service_tier"))
            self._service_tier = non_standard(tier, "openai")

    def _origin(self) -> CallOrigin:
        meta = self._thread.meta
        return CallOrigin(
            NAME, meta.session or meta.id, meta.agent, meta.cwd, meta.branch, agent_id=meta.agent_id
        )

    def _origin_of_copy(self, thread: str, session: str) -> CallOrigin:
        """The origin of a call in the history of another thread."""
        agent = MAIN if thread == session else thread
        return self._origin()._replace(session=session, agent=agent, is_copy=True, agent_id=agent)

    def _count(self, info: dict[str, Any], time: int) -> None:
        total, last = info.get("total_token_usage"), info.get("last_token_usage")
        if not isinstance(total, dict):
            total = None
        if not isinstance(last, dict):
            if total is None:
                return
            last = _difference(total, self._totals)
        totals = _values(total) if total is not None else None
        if totals is not None and totals == self._totals:
            return
        self._totals = totals or self._totals
        kind, counts = self._usage(last)
        identity = hash((totals, _values(last)))
        self._has_calls = True
        self._thread.events.append(
            CountedEvent(identity, _sum(total or last), Call(time, self._origin(), kind, counts))
        )

    def _add_usage_record(self, payload: dict[str, Any], time: int) -> None:
        usage = payload.get("usage")
        if not isinstance(usage, dict):
            return
        kind, counts = self._usage(usage)
        session = text_of(payload.get("session_id")) or self._thread.id
        thread = text_of(payload.get("thread_id")) or self._thread.id
        response = text_of(payload.get("response_id"))
        self._has_calls = True
        if thread == self._thread.id:
            origin = self._origin()
            if self._thread.meta.is_subagent and session != thread:
                origin = origin._replace(session=session)
            self._note_first_record(object_of(payload.get("thread_token_usage")), counts)
        else:
            origin = self._origin_of_copy(thread, session)
        key = call_key(response or f"{NAME}:{session}:{thread}:{self._content.lines}", f"{NAME}:{session}")
        self._content.calls.add(key, Call(time, origin, kind, counts))

    def _note_first_record(self, total: dict[str, Any], counts: Counts) -> None:
        """Note which events are older than all usage records. That of the same call may be written before its record."""
        if self._thread.events_without_record is not None:
            return
        events = self._thread.events
        is_same = bool(events) and (
            events[-1].total == _sum(total) if total else events[-1].call.counts == counts
        )
        self._thread.events_without_record = len(events) - is_same

    def _usage(self, usage: dict[str, Any]) -> tuple[UsageKind, Counts]:
        read = codex.read(ReplyFields({}), ReplyFields(usage, "last_token_usage"))
        kind, counts = kind_and_counts(
            read, source="reported", model=self._model, provider=self._thread.meta.provider
        )
        return kind._replace(service_tier=self._service_tier), counts


_FIELDS = (
    "input_tokens",
    "cached_input_tokens",
    "cache_write_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
    "total_tokens",
)


def _values(usage: Mapping[str, Any]) -> tuple[object, ...]:
    """The fields of a usage, to be compared; a list or an object is none of them."""
    values = (usage.get(name) for name in _FIELDS)
    return tuple(None if isinstance(value, list | dict) else value for value in values)


def _sum(usage: Mapping[str, Any]) -> int:
    counts = (usage.get("input_tokens"), usage.get("output_tokens"))
    return sum(count for count in counts if isinstance(count, int) and not isinstance(count, bool))


def _difference(total: Mapping[str, Any], before: tuple[object, ...] | None) -> dict[str, Any]:
    """The usage since an earlier total; all of it where the counter began anew."""
    known = dict(zip(_FIELDS, before or (), strict=False))
    pairs = {name: (total[name], known.get(name) or 0) for name in _FIELDS if total.get(name) is not None}
    numbers = {name: pair for name, pair in pairs.items() if all(isinstance(count, int) for count in pair)}
    if any(now < earlier for now, earlier in numbers.values()):
        return {name: now for name, (now, _) in numbers.items()}
    return {name: now - earlier for name, (now, earlier) in numbers.items()}


def add_events(table: CallTable, threads: Iterable[Thread]) -> None:
    """Count the events of all files, without those that are the history of another file."""
    known = list(threads)
    longest: dict[str, Thread] = {}  # by id: a session may have several files
    for thread in known:
        if thread.id not in longest or len(thread.events) > len(longest[thread.id].events):
            longest[thread.id] = thread
    metas = {name: thread.meta for name, thread in longest.items()}
    for thread in known:
        session = session_of(thread.meta, metas)
        first = _inherited(thread, longest.get(thread.parent) if thread.parent else None)
        for number, event in enumerate(thread.events[first : thread.events_without_record], first):
            key = call_key(f"{NAME}:{thread.id}:{number - first}:{event.identity}", "event")
            table.add(key, event.call._replace(origin=event.call.origin._replace(session=session)))


def _inherited(thread: Thread, parent: Thread | None) -> int:
    """How many events at the beginning of a file are the history of its parent.

    A fork begins with that history. A sub-agent may begin with it, or afresh: then its events must also have been written when
    the file was created, or have the times that they have in the file of the parent.
    """
    if thread.parent is None or thread.parent == thread.id:
        return 0
    at_once = _written_at_once(thread)
    if parent is None:
        return at_once
    created = thread.meta.created
    earlier = [
        event for event in parent.events if created < 0 or event.call.time < 0 or event.call.time <= created
    ]
    start, length = _longest_match(
        [event.identity for event in thread.events], [event.identity for event in earlier]
    )
    if thread.meta.fork_of is None:
        pairs = zip(thread.events[:length], earlier[start:], strict=False)
        same_times = [own.call.time == other.call.time for own, other in pairs]
        length = next((n for n, is_same in enumerate(same_times) if not is_same and n >= at_once), length)
    return max(length, sum(0 <= event.call.time < created for event in thread.events[:at_once]))


def _written_at_once(thread: Thread) -> int:
    """How many events have times before the file was created, or were written together with its beginning."""
    last, count = thread.meta.created, 0
    for event in thread.events:
        if not 0 <= event.call.time <= last + _WRITING:
            break
        last, count = max(last, event.call.time), count + 1
    return count


def _longest_match(own: list[int], earlier: list[int]) -> tuple[int, int]:
    """Where in a list another one begins, and how many of its items are there, one after another."""
    best = (0, 0)
    for start, identity in enumerate(earlier):
        if not own or identity != own[0]:
            continue
        length = 0
        while length < min(len(own), len(earlier) - start) and own[length] == earlier[start + length]:
            length += 1
        if length > best[1]:
            best = (start, length)
    return best
