"""The model calls in a file of Claude Code.

One call is one pair of `message.id` and `requestId`. It has a line for each block of its reply, and the early ones hold a
placeholder for the output; it may be in the files of a sub-agent, of its parent, and of a session that was resumed or forked.
So the record with the largest usage counts, over all files. Messages of sub-agents are also in `progress` lines.

Lines without usage are not decoded: their type is read from their beginning or their end.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from runcard.accounting.tokens import MAX_COUNT
from runcard.accounting.vendors import anthropic
from runcard.accounting.vendors.reply_fields import ReplyFields
from runcard.errors import UsageError
from runcard.transcripts.calls import (
    MAIN,
    NO_TIME,
    CallOrigin,
    Counts,
    UsageKind,
    call_key,
    kind_and_counts,
)
from runcard.transcripts.claude_code.common_record import MISSING, common_decoder
from runcard.transcripts.claude_code.file_names import agent_facts, agent_of, session_of, started_in
from runcard.transcripts.content import (
    FileContent,
    decode_record,
    milliseconds,
    object_of,
    text_of,
)
from runcard.transcripts.line_reader import LINE_END, read_lines

if TYPE_CHECKING:
    from runcard.accounting.usage import Source

NAME = "claude-code"
TITLE = "Claude Code"
NOT_WRITTEN = (
    "titles of sessions",
    "summaries of compacted conversations",
    "searches and pages of its web tools",
    "hooks that ask a model",
    "other helper calls",
    "sessions that it does not save",
    "calls that ended before their usage was reported",
)
IS_DIVISIBLE = True  # no line depends on another

_KNOWN_TYPES = frozenset(
    [
        "user",
        "assistant",
        "system",
        "summary",
        "progress",
        "file-history-snapshot",
        "queue-operation",
        "attachment",
        "pr-link",
        "ai-title",
        "custom-title",
        "last-prompt",
        "mode",
        "permission-mode",
        "agent-name",
        "agent-color",
        "agent-setting",
        "tag",
        "worktree-state",
        "content-replacement",
        "file-history-delta",
        "attribution-snapshot",
        "bridge-session",
        "fork-context-ref",
        "frame-link",
        "isolation-latch",
        "marble-origami-commit",
        "marble-origami-reset",
        "marble-origami-snapshot",
        "relocated",
    ]
)
_WITH_CALLS = frozenset({"assistant", "progress"})
_SCALAR = rb'(?:"[^"\\]*(?:\\.[^"\\]*)*"|[-+.0-9eE]+|true|false|null)'
_FIRST_TYPE = re.compile(
    rb'\s*\{(?:\s*"(?!type")[^"\\]*"\s*:\s*' + _SCALAR + rb'\s*,)*\s*"type"\s*:\s*"([^"\\]*)"'
)
_LAST_TYPE = re.compile(rb'"type"\s*:\s*"([^"\\]*)"\s*(?:,\s*"[^"\\]*"\s*:\s*' + _SCALAR + rb"\s*)*\}\s*$")
_BEGINNING = 1 << 16  # bytes of a file in which the time of its first record is
_HEAD = 4096  # bytes at the beginning of a line in which its type may be
_TAIL = 2000  # bytes at the end of a line in which its type may be
_USER = b'"type":"user"'
_FIRST_ID = re.compile(rb'\{"parentUuid":(?:null|"[0-9a-f-]{36}"),')
_MOST_HEADS = 1000  # of a file that are remembered
_TIME = re.compile(rb'"timestamp"\s*:\s*"([^"\\]{1,40})"')
_SYNTHETIC = "<synthetic>"  # the model of messages that no model wrote
_TIER_FACTS = ("service_tier", "speed", "inference_geo")
_PLACEHOLDER = 2  # output tokens of a message that has only begun


def is_session_record(record: Mapping[str, Any]) -> bool:
    """Whether the first record of a file is of this tool."""
    return text_of(record.get("type")) in _KNOWN_TYPES and "payload" not in record


def read(path: str, file: BinaryIO, start: int = 0, end: int | None = None) -> FileContent:
    """Read a file, or a part of it."""
    content = FileContent()
    reader = _SessionReader(path, content)
    if start:
        reader.find_beginning(file.read(_BEGINNING))
    for number, line, is_complete in read_lines(file, start, end):
        content.lines = number
        if reader.began < 0 and not start:
            reader.find_beginning(line)
        has_usage = is_complete and line.rfind(b'"usage"', -_TAIL) >= 0
        if has_usage and reader.read_common(line):
            continue
        is_user = is_complete and reader.is_user(line)
        if is_complete and not is_user and (has_usage or b'"usage"' in line):
            reader.read_record(number, line)
            continue
        record_type = b"user" if is_user else _record_type(line, is_complete=is_complete)
        name = None if record_type is None else record_type.decode("utf-8", "replace")
        if is_complete and (name not in _KNOWN_TYPES or name == "assistant" or not line.endswith(b"\n")):
            reader.read_record(number, line)  # the last line may be cut off anywhere
        elif is_complete and not line[-LINE_END:].rstrip().endswith(b"}"):
            content.add_unread(number, "the line is cut off")
        elif not is_complete and (name not in _KNOWN_TYPES or name in _WITH_CALLS):
            content.add_unread(number, "the line is too long")
    return content


def _record_type(line: bytes, *, is_complete: bool) -> bytes | None:
    """The type of a record, where it can be read without decoding the line."""
    match = _FIRST_TYPE.match(line, 0, _HEAD)
    if match is None and is_complete:
        match = _LAST_TYPE.search(line, max(0, len(line) - _TAIL))
    return match[1] if match else None


class _SessionReader:
    """Reads the records of one file."""

    def __init__(self, path: str, content: FileContent) -> None:
        self._content = content
        self._path = path
        self._file_agent = agent_of(path)
        self._file_session = session_of(path)
        self._agent_type = agent_facts(path).role if self._file_agent is not None else None
        self._origins: dict[tuple[object, ...], int] = {}  # numbers of the table, as below
        self._kinds: dict[tuple[object, ...], int] = {}
        self.began = NO_TIME  # the time of the first record
        self._decode, self._errors = common_decoder()
        self._user_heads: set[bytes] = set()

    def find_beginning(self, line: bytes) -> None:
        """Note the time of the first record that has one."""
        if match := _TIME.search(line):
            self.began = milliseconds(match[1].decode("ascii", "replace"))

    def _is_copy(self, record: dict[str, Any], time: int) -> bool:
        """Whether a call is of another session, whose calls a fork begins with: it says so, or is older than its file."""
        return "forkedFrom" in record or 0 <= time < self.began

    def is_user(self, line: bytes) -> bool:
        """Whether the record is of a user: most bytes of a session are, and need not be searched for usage.

        What is in front of its type is mostly the same as in an earlier line, but for the first id.
        """
        end = line.find(_USER, 0, _HEAD)
        if end < 0:
            return False
        first = _FIRST_ID.match(line)
        head = line[first.end() : end] if first else None
        if head in self._user_heads:
            return True
        match = _FIRST_TYPE.match(line, 0, _HEAD)
        if match is None or match[1] != b"user":
            return False
        if head is not None and match.end() == end + len(_USER) and len(self._user_heads) < _MOST_HEADS:
            self._user_heads.add(head)
        return True

    def read_record(self, number: int, line: bytes) -> None:
        if line.isspace():
            return
        try:
            record = decode_record(line)
        except ValueError as error:
            self._content.add_unread(number, str(error))
            return
        if text_of(record_type := record.get("type")) not in _KNOWN_TYPES:
            self._content.add_unknown_type(record_type)
        try:
            for inner, agent in _messages(record):
                self._add(number, record, inner, agent)
        except UsageError as error:
            self._content.add_unread(number, f"usage: {error.message}"[:200])

    def read_common(self, line: bytes) -> bool:
        """Read an assistant record of the common form; False for any other line, which `read_record` reads."""
        try:
            record = self._decode(line)
        except self._errors:
            return False
        message = record.message
        usage = message.usage
        split, written = usage.cache_creation, usage.cache_creation_input_tokens
        long = 0 if split is None else split.ephemeral_1h_input_tokens
        sent = usage.input_tokens + usage.cache_read_input_tokens + written
        if sent > MAX_COUNT or (split is not None and split.ephemeral_5m_input_tokens + long > written):
            return False
        is_final = usage.output_tokens > _PLACEHOLDER
        if not is_final and message.stop_reason:  # its content decides
            return False
        time = max(NO_TIME, round(record.timestamp.timestamp() * 1000))
        is_copy = record.forkedFrom is not MISSING or 0 <= time < self.began
        tier = (usage.service_tier, usage.speed, usage.inference_geo)
        names = (
            *(record.agentId, record.isSidechain, record.attributionAgent),
            *(record.sessionId, record.cwd, record.gitBranch, is_copy),
        )
        kind, origin = self._kinds.get((message.model, tier, is_final)), self._origins.get(names)
        if kind is None or origin is None:
            if message.model == _SYNTHETIC:
                return False
            kind, origin = self._kind(message.model, tier, is_final=is_final), self._origin(names)
        counts = (sent, usage.output_tokens, usage.cache_read_input_tokens, written - long, long, 0)
        key = call_key(message.id, record.requestId)
        self._content.calls.add_counts(key, time, kind, origin, counts)
        return True

    def _add(self, number: int, record: dict[str, Any], inner: dict[str, Any], agent: str | None) -> None:
        message: dict[str, Any] = inner["message"]
        model = text_of(message.get("model"))
        if model == _SYNTHETIC or inner.get("isApiErrorMessage") is True:
            return
        call_id, request = message.get("id"), inner.get("requestId")
        request = request if isinstance(request, str) else None
        if isinstance(call_id, str) and call_id:
            key = call_key(call_id, request)
        else:
            key = call_key(request or text_of(inner.get("uuid")) or f"{self._path}:{number}")
        time = milliseconds(inner.get("timestamp"))
        if time < 0:
            time = milliseconds(record.get("timestamp"))
        origin = self._origin((*_origin_names(record, inner, agent), self._is_copy(record, time)))
        for position, (kind, counts) in enumerate(self._usages(message, model)):
            own_key = call_key(f"{call_id}#{position}", request) if position else key
            number = self._content.calls.kind_number(kind)
            self._content.calls.add_counts(own_key, time, number, origin, counts)

    def _kind(self, model: str, tier: tuple[str | None, ...], *, is_final: bool) -> int:
        """The number of a kind with plain counts, which is remembered."""
        source: Source = "reported" if is_final else "partial"
        facts = dict(zip(_TIER_FACTS, tier, strict=True))
        kind = UsageKind(text_of(model), None, anthropic.plain_tier(facts), source)
        number = self._kinds[model, tier, is_final] = self._content.calls.kind_number(kind)
        return number

    def _origin(self, names: tuple[object, ...]) -> int:
        """The number of an origin, which is remembered."""
        if any(not isinstance(name, str | bool | None) for name in names):
            names = tuple(name if isinstance(name, str | bool) else None for name in names)
        if (number := self._origins.get(names)) is None:
            number = self._origins[names] = self._content.calls.origin_number(self._new_origin(*names))
        return number

    def _new_origin(self, *names: object) -> CallOrigin:
        agent, is_sidechain, role, session, cwd, branch, is_copy = names
        agent_id = text_of(agent) or self._file_agent
        name: str | None
        if agent_id is not None:
            name = text_of(role) or (self._agent_type if agent_id == self._file_agent else None) or agent_id
        else:
            name = agent_id = None if is_sidechain is True else MAIN
        folder = text_of(cwd)
        project = None if folder is None else started_in(folder, self._path)
        own_session = text_of(session) or self._file_session
        return CallOrigin(NAME, own_session, name, project, text_of(branch), is_copy is True, agent_id)

    def _usages(self, message: dict[str, Any], model: str | None) -> Sequence[tuple[UsageKind, Counts]]:
        """The usage of a message, and of the calls within it."""
        usage = message.get("usage")
        if not isinstance(usage, dict) or not usage:
            return [(UsageKind(model, None, source=None, known=0), (0, 0, 0, 0, 0, 0))]
        plain = None if _has_server_tools(message) else anthropic.plain_counts(usage)
        if plain is not None:
            is_final = _is_final(message, plain[1])
            kind = UsageKind(model, None, anthropic.plain_tier(usage), "reported" if is_final else "partial")
            return [(kind, (*plain, 0))]
        whole = anthropic.read(ReplyFields(message), ReplyFields(usage, "usage"))
        calls = []
        for call in whole.calls:
            is_final = call is not whole or _is_final(message, call.tokens.output or 0)
            source: Source = "reported" if is_final else "partial"
            calls.append(kind_and_counts(call, source=source, model=text_of(call.model)))
        return calls


def _origin_names(record: dict[str, Any], inner: dict[str, Any], agent: str | None) -> tuple[object, ...]:
    """The fields of a record that say who made the call, and where; `inner` is the record of the message in it."""
    get, outer = inner.get, record.get
    return (
        agent or get("agentId") or outer("agentId"),
        get("isSidechain"),
        get("attributionAgent"),
        get("sessionId") or outer("sessionId"),
        get("cwd") or outer("cwd"),
        get("gitBranch") or outer("gitBranch"),
    )


def _messages(record: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str | None]]:
    """The records of model messages in a record, each with the id of the sub-agent that it names."""
    if record.get("type") == "assistant":
        if object_of(record.get("message")):
            yield record, None
    elif record.get("type") == "progress":
        data = object_of(record.get("data"))
        messages = data.get("normalizedMessages")
        for inner in (data.get("message"), *(messages if isinstance(messages, list) else ())):
            if (
                isinstance(inner, dict)
                and isinstance(inner.get("message"), dict)
                and "usage" in inner["message"]
            ):
                yield inner, text_of(data.get("agentId"))


def _is_final(message: dict[str, Any], output: int) -> bool:
    """Whether the count of output tokens is no placeholder: a message that was cut off may have a stop reason, too."""
    return output > _PLACEHOLDER or (bool(message.get("stop_reason")) and not _has_more_than(message, output))


def _has_more_than(message: dict[str, Any], tokens: int) -> bool:
    """Whether the content of a message needs more tokens: no token is longer than a word, and a tool use has many."""
    content = message.get("content")
    blocks = [object_of(block) for block in content] if isinstance(content, list) else []
    texts = [text_of(block.get("text")) or text_of(block.get("thinking")) or "" for block in blocks]
    has_tool = any(str(block.get("type")).endswith("tool_use") for block in blocks)
    return has_tool or sum(len(text.split(None, tokens)) for text in texts) > tokens


def _has_server_tools(message: dict[str, Any]) -> bool:
    content = message.get("content")
    if not content or not isinstance(content, list):
        return False
    return any(object_of(block).get("type") == "server_tool_use" for block in content)
