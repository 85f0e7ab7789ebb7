"""The fields of a team document that the catalog reads, each of its type.

A document may be of any quality: what has a wrong type becomes None or empty, as in `document_values`. Most documents have nothing
wrong. msgspec finds that out fast, and then the document itself will do. Where msgspec is not installed, all are cleaned.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Annotated, Any

from runcard.catalog.document_values import LONGEST_TEXT, MOST_COUNT, as_count, as_text
from runcard.encoding import JsonObject

# A type is a key of _CLEAN; or that of an object, by field; or of a list, with the type of its items. OTHER values are not looked at.
TEXT, COUNT, OTHER = "text", "count", "other"
_CLEAN: dict[str, Callable[[Any], Any]] = {TEXT: as_text, COUNT: as_count, OTHER: lambda value: value}

CLASSES = ("input", "output", "cache_read", "cache_write", "reasoning")
_TOKENS: dict[str, Any] = dict.fromkeys(CLASSES, COUNT)
_USAGE = {
    **dict.fromkeys(("model", "token_source"), TEXT),
    **dict.fromkeys(("cost", "known_cost"), OTHER),
    "calls": COUNT,
    "tokens": _TOKENS,
}
_PART = {**_USAGE, "provider": TEXT}
_INSTANCE = {
    **_USAGE,
    **dict.fromkeys(("instance_id", "name", "role", "role_title", "status", "parent_instance_id"), TEXT),
    **dict.fromkeys(("created_at", "terminated_at", "execution_time_seconds"), OTHER),
    "tokens_used": COUNT,
    "error_message": TEXT,
    "error_details": {"category": TEXT},
    "models": [_PART],
}
_SUMMARY = {
    **dict.fromkeys(("failed_instances", "total_tokens", "known_tokens"), COUNT),
    **dict.fromkeys(("execution_start", "execution_end", "total_execution_time_seconds"), OTHER),
    **dict.fromkeys(("total_cost", "known_cost"), OTHER),
}
_SESSION: dict[str, Any] = {
    "execution_summary": _SUMMARY,
    "instances": [_INSTANCE],
    "origin_session": dict.fromkeys(("branch", "commit", "folder", "id", "tool", "title"), TEXT),
    "resources": {"tokens": _TOKENS},
    "system_info": {"hostname": TEXT},
    "token_source": TEXT,
    **dict.fromkeys(("usage_incomplete", "errors", "labels", "relations", "metered_runs"), OTHER),
}


def session_fields(document: JsonObject, *, is_plain: bool) -> JsonObject:
    """A document with these fields: itself, or what is good of it. One with `is_plain` has no escaped characters such as NUL."""
    if is_plain and _checker()(document):
        return document
    return _clean(document, _SESSION)  # type: ignore[no-any-return]


def _clean(value: object, kind: Any) -> Any:  # noqa: ANN401 - of any type
    if isinstance(kind, str):
        return _CLEAN[kind](value)
    if isinstance(kind, list):
        return [_clean(item, kind[0]) for item in value] if isinstance(value, list) else []
    if not isinstance(value, dict):
        return {}
    return {name: _clean(value[name], inner) for name, inner in kind.items() if name in value}


@cache
def _checker() -> Callable[[JsonObject], bool]:
    """Whether a document needs no cleaning."""
    try:
        msgspec: Any = import_module("msgspec")
    except ImportError:
        return lambda _: False
    convert, session, invalid = msgspec.convert, _struct(msgspec, _SESSION), msgspec.ValidationError

    def is_clean(document: JsonObject) -> bool:
        try:
            convert(document, session)
        except invalid:
            return False
        return True

    return is_clean


def _struct(msgspec: Any, fields: dict[str, Any]) -> Any:  # noqa: ANN401 - untyped
    """The type of an object with these fields, for msgspec."""
    text = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_TEXT)] | None
    count = Annotated[int, msgspec.Meta(ge=0, lt=MOST_COUNT)] | None
    types: dict[str, Any] = {TEXT: text, COUNT: count, OTHER: Any}

    def type_of(kind: Any) -> Any:  # noqa: ANN401
        if isinstance(kind, str):
            return types[kind]
        return (list[_struct(msgspec, kind[0])] if isinstance(kind, list) else _struct(msgspec, kind)) | None  # type: ignore[misc]

    # Fields that nobody looks at need not be read.
    looked_at = {name: kind for name, kind in fields.items() if kind != OTHER}
    return msgspec.defstruct(
        "Fields", [(name, type_of(kind), None) for name, kind in looked_at.items()], gc=False
    )
