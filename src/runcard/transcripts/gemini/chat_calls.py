"""The calls in the files of Gemini CLI.

A call is a message of type `gemini` with its `tokens`. The same id comes again, with its tokens, when tool calls are added: the last
record counts. `$rewindTo` takes messages out of the conversation; their calls were made and billed, so they count.
"""

from typing import TYPE_CHECKING, Any, BinaryIO

from runcard.accounting.vendors import gemini_cli
from runcard.accounting.vendors.reply_fields import ReplyFields
from runcard.errors import UsageError
from runcard.transcripts.calls import Call, CallOrigin, call_key, kind_and_counts
from runcard.transcripts.content import (
    FileContent,
    decode_record,
    milliseconds,
    object_of,
    text_of,
)
from runcard.transcripts.gemini.chat_meta import NAME, chat_of
from runcard.transcripts.line_reader import read_lines
from runcard.transcripts.session_file import decode_document

if TYPE_CHECKING:
    from runcard.transcripts.calls import UsageKind

_KNOWN_TYPES = frozenset({"user", "gemini", "info", "warning", "error"})


def read(path: str, file: BinaryIO, start: int = 0, end: int | None = None) -> FileContent:
    """Read a file."""
    reader = _ChatReader(path)
    if path.endswith(".json"):
        reader.read_document(file)
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
        self._meta: dict[str, Any] = {}
        self._messages: dict[str, tuple[int, UsageKind, tuple[int, ...]]] = {}  # the last record of each

    def read_document(self, file: BinaryIO) -> None:
        try:
            document = decode_document(file)
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
        elif text_of(record_type) not in _KNOWN_TYPES:
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
        chat = chat_of(self._path, self._meta)
        return CallOrigin(NAME, chat.session, chat.agent, chat.project, None, agent_id=chat.agent)
