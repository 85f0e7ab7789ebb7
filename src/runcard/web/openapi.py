"""The OpenAPI document of the API. A test compares it with the routes."""

from typing import Any

from runcard.operations.catalog.list_records import WHATS
from runcard.version import __version__

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}


def _query(name: str, about: str, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": about, "schema": schema or _TEXT}


def _path(name: str, about: str, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "description": about, "schema": schema or _TEXT}


_FILTERS = [
    _query("model", "a part of the model's name"),
    _query("status", "such as failed"),
    _query("since", "7d, 12h, 2026-11-01"),
    _query("until", "7d, 12h, 2026-11-01"),
    _query("experiment", "its name or id"),
    _query("tag", "can be repeated"),
    _query("where", "a condition: cost > 0.5 and status = failed"),
    _query("text", "words in names, errors, labels or values"),
    _query("columns", "names with commas between them"),
    _query("sort", "names with commas between them; -name is descending"),
    _query("limit", "rows of a page", {"type": "integer", "minimum": 1, "maximum": 500, "default": 50}),
    _query("page", "from 1", {"type": "integer", "minimum": 1, "default": 1}),
]
_AT = _query("at", "the key of the path, where several records have one id")
_ID = _path("id", "the id of a run or a session")
_FOLDER = _path("folder", "what it is", {"type": "string", "enum": ["runs", "sessions"]})
_ERRORS = {
    "400": {"$ref": "#/components/responses/Problem"},
    "401": {"description": "the token is missing or wrong"},
    "403": {"description": "another page asks, or what is sent is not application/json"},
    "404": {"$ref": "#/components/responses/Problem"},
    "413": {"description": "the request is too large, or does not state its length"},
    "414": {"description": "the address is too long"},
    "421": {"description": "the Host header does not name this server"},
    "500": {"$ref": "#/components/responses/Problem"},
}


def _operation(
    name: str, about: str, parameters: list[dict[str, Any]], answer: dict[str, Any]
) -> dict[str, Any]:
    content = {"application/json": {"schema": answer}}
    return {
        "operationId": name,
        "summary": about,
        "parameters": parameters,
        "responses": {"200": {"description": "the JSON of the command", "content": content}, **_ERRORS},
    }


_RECORDS = {
    "type": "object",
    "required": ["records", "total"],
    "properties": {"records": {"type": "array", "items": {"type": "object"}}, "total": _COUNT},
}
_SHOWN = {
    "type": "object",
    "required": ["document"],
    "properties": {"path": _TEXT, "document": {"type": "object"}},
}
_VERDICT = {
    "type": "object",
    "required": ["intact", "complete", "signed", "records", "findings"],
    "properties": {
        "intact": {"type": "boolean"},
        "complete": {"type": "boolean"},
        "signed": {"type": ["boolean", "null"]},
        "records": {"type": "array", "items": {"type": "object"}},
        "findings": {"type": "array", "items": {"type": "object"}},
    },
}
_EVENTS = {
    "type": "object",
    "required": ["events", "next_byte", "is_end"],
    "properties": {
        "events": {"type": "array", "items": {"type": "object"}},
        "next_byte": _COUNT,
        "is_end": {"type": "boolean"},
    },
}
_EMPTY = {
    "required": True,
    "description": "nothing; it shows that no form of another page asks",
    "content": {"application/json": {"schema": {"type": "object", "maxProperties": 0}}},
}
_COSTS = {"type": "object", "required": ["totals", "groups"]}


def openapi_document() -> dict[str, Any]:
    """The document."""
    what = _path("what", "the table", {"type": "string", "enum": list(WHATS)})
    start = _query("start", "next_byte of the last answer", {**_COUNT, "default": 0})
    by = _query("by", "dimensions with commas between them, such as day,model", {**_TEXT, "default": "month"})
    since = _query("since", "7d, 12h, 2026-11-01")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "runcard",
            "version": __version__,
            "description": "Records of AI runs and sessions: the JSON that the commands print with --json.",
        },
        "servers": [{"url": "/"}],
        "paths": {
            "/api/openapi.json": {"get": _operation("openapi", "this document", [], {"type": "object"})},
            "/api/{what}": {"get": _operation("ls", "runcard ls WHAT --json", [what, *_FILTERS], _RECORDS)},
            "/api/costs": {"get": _operation("costs", "runcard costs --by … --json", [by, since], _COSTS)},
            "/api/{folder}/{id}": {
                "get": _operation("show", "runcard show RECORD --json", [_FOLDER, _ID, _AT], _SHOWN)
            },
            "/api/{folder}/{id}/verify": {
                "post": _operation("verify", "runcard verify RECORD --json", [_FOLDER, _ID, _AT], _VERDICT)
                | {"requestBody": _EMPTY}
            },
            "/api/runs/{id}/events": {
                "get": _operation(
                    "events", "the events of a run's journal, in short", [_ID, _AT, start], _EVENTS
                )
            },
            "/api/sessions/{id}/agents/{agent}": {
                "get": _operation(
                    "agent",
                    "runcard show SESSION --instance AGENT --json",
                    [_ID, _path("agent", "the name or the id of an agent"), _AT],
                    _SHOWN,
                )
            },
        },
        "components": {
            "responses": {
                "Problem": {
                    "description": "what is wrong, and what to do",
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "required": ["error"],
                                "properties": {
                                    "error": {
                                        "type": "object",
                                        "required": ["message"],
                                        "properties": {
                                            "message": _TEXT,
                                            "hint": {"type": ["string", "null"]},
                                        },
                                    }
                                },
                            }
                        }
                    },
                }
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }
