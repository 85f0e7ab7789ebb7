"""Gemini CLI: `tmp/<project>/chats/session-<time>-<id>.jsonl`, or `.json` with one object of older versions.

A call is a message of type `gemini` with its `tokens`. The same id comes again, with its tokens, when tool calls are added: the last
record counts. `$rewindTo` takes messages out of the conversation; their calls were made and billed, so they count.
"""

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from runcard.accounting.vendors import gemini_cli
from runcard.accounting.vendors.reply_fields import ReplyFields
from runcard.errors import UsageError
from runcard.files import read_regular, read_stream
from runcard.transcripts.calls import MAIN, Call, CallOrigin, call_key, kind_and_counts
from runcard.transcripts.content import FileContent, decode_record, milliseconds, object_of, text_of
from runcard.transcripts.line_reader import read_lines

if TYPE_CHECKING:
    from runcard.transcripts.calls import UsageKind

NAME = "gemini"
TITLE = "Gemini CLI"
NOT_WRITTEN = ("calls of the model router", "calls that ended before their usage was reported")
IS_DIVISIBLE = False  # the last record of a message counts

_KNOWN_TYPES = frozenset({"user", "gemini", "info", "warning", "error"})
_LARGEST = 64 << 20  # bytes of a file with one object
_LONGEST_PATH = 4096
_SUBAGENT = "subagent"


def folders(environ: Mapping[str, str]) -> list[str]:
    """Where Gemini CLI keeps its sessions."""
    home = environ.get("GEMINI_CLI_HOME") or os.path.expanduser("~")
    return [os.path.join(home, ".gemini", "tmp")]


def subfolders(folder: str) -> list[str]:
    """Where sessions are in a folder that the user names: all of it, or the `tmp` of a home of Gemini CLI."""
    own = os.path.join(folder, "tmp")
    return [own] if os.path.isdir(own) else [folder]


def is_session_file(path: str) -> bool:
    """Whether a file in one of these folders is a session, by its name."""
    is_chat = "chats" in path.split("/")[:-1] or os.path.basename(path).startswith("session-")
    return is_chat and path.endswith((".json", ".jsonl"))


def is_session_record(record: Mapping[str, Any]) -> bool:
    """Whether the first record of a file is of this tool."""
    return "projectHash" in record or ("sessionId" in record and "startTime" in record)


def read(path: str, file: BinaryIO, start: int = 0, end: int | None = None) -> FileContent:
    """Read a file."""
    reader = _ChatReader(path)
    if path.endswith(".json"):
        reader.read_document(read_stream(file, _LARGEST))
    else:
        for number, line, is_complete in read_lines(file, start, end):
            reader.content.lines = number
            if is_complete:
                reader.read_line(number, line)
            else:
                reader.content.add_unread(number, "the line is too long")
    reader.finish()
    return reader.content


class _ChatReader:
    """Reads the messages of one file."""

    def __init__(self, path: str) -> None:
        self.content = FileContent()
        self._path = path
        self._name = os.path.basename(path).rpartition(".")[0]
        self._meta: dict[str, Any] = {}
        self._messages: dict[str, tuple[int, UsageKind, tuple[int, ...]]] = {}  # the last record of each

    def read_document(self, data: bytes) -> None:
        if len(data) > _LARGEST:
            self.content.add_unread(None, "the file is too large")
            return
        try:
            document = decode_record(data.removeprefix(b"\xef\xbb\xbf"))
        except ValueError as error:
            self.content.add_unread(None, str(error))
            return
        self._meta = document
        self._read_messages(None, document.get("messages"))

    def read_line(self, number: int, line: bytes) -> None:
        if line.isspace():
            return
        try:
            record = decode_record(line)
        except ValueError as error:
            self.content.add_unread(number, str(error))
            return
        if "$set" in record:
            changes = object_of(record["$set"])
            self._meta |= {name: value for name, value in changes.items() if name != "messages"}
            self._read_messages(number, changes.get("messages"))
        elif "$rewindTo" not in record:
            self._read_record(number, record)

    def _read_messages(self, number: int | None, messages: object) -> None:
        for message in messages if isinstance(messages, list) else ():
            self._read_record(number, object_of(message))

    def _read_record(self, number: int | None, record: dict[str, Any]) -> None:
        record_type = record.get("type")
        if record_type is None and ("sessionId" in record or "projectHash" in record):
            self._meta = record | {name: value for name, value in self._meta.items() if name not in record}
        elif record_type not in _KNOWN_TYPES:
            self.content.add_unknown_type(record_type)
        elif isinstance(tokens := record.get("tokens"), dict):
            try:
                usage = gemini_cli.read(ReplyFields(record), ReplyFields(tokens, "tokens"))
                kind, counts = kind_and_counts(usage, source="reported", model=text_of(record.get("model")))
            except UsageError as error:
                self.content.add_unread(number, f"usage: {error.message}"[:200])
                return
            name = text_of(record.get("id")) or f"{self._path}:{number}:{len(self._messages)}"
            self._messages[name] = (milliseconds(record.get("timestamp")), kind, counts)

    def finish(self) -> None:
        origin = self._origin()
        for name, (time, kind, counts) in self._messages.items():
            call = Call(time, origin, kind, counts)  # type: ignore[arg-type]
            self.content.calls.add(call_key(f"{NAME}:{origin.session}:{name}", "message"), call)

    def _origin(self) -> CallOrigin:
        session, is_subagent = text_of(self._meta.get("sessionId")), self._meta.get("kind") == _SUBAGENT
        folder = os.path.dirname(self._path)
        if is_subagent and os.path.basename(folder) != "chats":
            session = os.path.basename(folder)  # that of its parent
        directories = self._meta.get("directories")
        first = text_of(directories[0]) if isinstance(directories, list) and directories else None
        project = _project_root(folder) or first or text_of(self._meta.get("projectHash"))
        agent = self._name if is_subagent else MAIN
        return CallOrigin(NAME, session or self._name, agent, project, None, agent_id=agent)


def _project_root(folder: str) -> str | None:
    """The folder of the project, from the file `.project_root` beside `chats`."""
    for above in _folders_above(folder):
        if os.path.basename(above) == "chats":
            try:
                data = read_regular(os.path.join(os.path.dirname(above), ".project_root"))
            except OSError:
                return None
            return text_of((data or b"")[:_LONGEST_PATH].decode("utf-8", "replace").strip())
    return None


def _folders_above(folder: str) -> Iterator[str]:
    for _ in range(3):
        yield folder
        folder = os.path.dirname(folder)
