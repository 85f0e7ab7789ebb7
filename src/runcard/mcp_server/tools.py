"""What a tool is: its name, what it takes and returns, whether it changes anything, and its function."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from runcard.encoding import JsonObject
from runcard.errors import StoreError, UsageError
from runcard.files import printable
from runcard.mcp_server.paging import json_text

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError

    from runcard.mcp_server.project_folder import ProjectFolder
    from runcard.mcp_server.readable_stores import ReadableStores
    from runcard.mcp_server.recorded_runs import RecordedRuns

TEXT: JsonObject = {"type": "string"}
COUNT: JsonObject = {"type": "integer", "minimum": 0}
FLAG: JsonObject = {"type": "boolean"}
OBJECT: JsonObject = {"type": "object"}
TEXTS: JsonObject = {"type": "array", "items": TEXT}
OBJECTS: JsonObject = {"type": "array", "items": OBJECT}


def optional(schema: JsonObject) -> JsonObject:
    """A value that may be null: unknown, or absent."""
    return schema | {"type": [schema["type"], "null"]}


def about(schema: JsonObject, description: str) -> JsonObject:
    return schema | {"description": description}


RECORD = about(
    {"type": "string", "minLength": 1, "maxLength": 4096},
    "The record: its id, the name of its directory, the unique beginning of an id, @latest, @latest~1, or its path.",
)
CURSOR = about(
    {"type": "string", "maxLength": 100},
    "next_cursor of the last answer, to get what it left out. Pass the same other arguments with it.",
)
POINTER = about(
    {"type": "string", "maxLength": 2000},
    "A JSON pointer: return only this part of the answer, such as the pointer of a mark $left_out.",
)
PAGE: JsonObject = {
    "left_out": about(COUNT, "How much follows that this answer has not."),
    "left_out_unit": about(TEXT, "The unit of left_out: items, characters or bytes."),
    "next_cursor": about(optional(TEXT), "The cursor for what follows; null at the end."),
    "shortened_parts": about(
        COUNT,
        "How many values in this answer were too large: each has a mark $left_out with a pointer and a cursor.",
    ),
}


def arguments_schema(properties: JsonObject, required: tuple[str, ...] = ()) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def answer_schema(properties: JsonObject, required: tuple[str, ...] = ()) -> JsonObject:
    """The schema of an answer; without `required`, all properties are."""
    return {"type": "object", "properties": properties, "required": list(required or properties)}


def quoted_value(meaning: str) -> JsonObject:
    """The fields of an answer that is a value of any size, or a part of it: the part, the value, and what is left out."""
    value = answer_schema({"value": about({}, f"{meaning}; or the part of it.")})
    return {"pointer": about(TEXT, "The part that was asked for."), "quoted": value, **PAGE}


class CallCancelledError(Exception):
    """The client does not want the answer any more."""


class StructuredError(StoreError):
    """A failure with an answer of its own shape."""

    def __init__(self, message: str, answer: JsonObject) -> None:
        super().__init__(message)
        self.answer = answer


@dataclass
class ServerScope:
    """What a server reads and writes."""

    stores: "ReadableStores"
    project: "ProjectFolder"
    runs: "RecordedRuns"
    allows_write: bool = False


@dataclass
class ToolCall:
    """One call, as the function of a tool sees it."""

    scope: ServerScope
    cancelled: threading.Event = field(default_factory=threading.Event)
    progress: tuple[float, float | None, str | None] | None = None  # done, total, message

    def report(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Note how far the work is; raises CallCancelledError if the client cancelled it."""
        if self.cancelled.is_set():
            raise CallCancelledError
        self.progress = done, total, message


@dataclass(frozen=True, kw_only=True)
class ToolDefinition:
    """One tool."""

    name: str
    title: str
    description: str
    arguments: JsonObject  # JSON Schema
    answer: JsonObject  # JSON Schema
    function: Callable[..., JsonObject]  # (call, **arguments) -> answer
    writes: bool = False  # it exists only if the user allows writing
    may_write: bool = False  # it exists always, and writes only if the user allows it
    destroys: bool = False  # it may replace what was there
    repeatable: bool = True  # calling it twice is the same as calling it once

    @cached_property
    def _validator(self) -> "Draft202012Validator":
        from jsonschema_rs import Draft202012Validator  # noqa: PLC0415 - long to load

        return Draft202012Validator(self.arguments)

    def check(self, arguments: JsonObject) -> None:
        """Raise UsageError for arguments that the schema refuses."""
        try:
            json_text(arguments).encode("utf-8", "surrogateescape")  # a name of a file need not be UTF-8
            errors = (
                [] if self._validator.is_valid(arguments) else list(self._validator.iter_errors(arguments))
            )
        except UnicodeEncodeError:
            raise UsageError("a text has half of a surrogate pair", hint="pass texts of Unicode") from None
        if not errors:
            return
        texts = [_error_line(error) for error in errors[:5]]
        more = f" (and {len(errors) - 5} more)" if len(errors) > 5 else ""
        names = ", ".join(self.arguments["properties"]) or "none"
        raise UsageError(
            f"wrong arguments of {self.name}: {'; '.join(texts)}{more}", hint=f"its arguments are: {names}"
        )


def _error_line(error: "ValidationError") -> str:
    where = "/".join(map(str, error.instance_path))
    message = printable(str(error.message)[:300])
    return f"{where}: {message}" if where else message
