"""The parameters of a request: temperature, limits, tools and the like; never the prompt.

The names are those of OpenTelemetry's `gen_ai.request.*`, where it has one. Read are the requests of `anthropic`, `openai`
and `google-genai`, as they are sent or as they are passed to these libraries, and the names themselves. Only what is listed
here is taken: numbers, short words, the names of tools and the texts that end a reply. Everything else (messages, system
texts, schemas, descriptions) is left out, and so is a value of the wrong type: placeholders such as `NOT_GIVEN`, or NaN.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

from runcard.accounting.vendors.reply_fields import as_mapping
from runcard.encoding import JsonObject

# Where Google's requests have their parameters.
_SETTINGS = ("generationConfig", "generation_config", "config")
_THINKING = ("thinkingConfig", "thinking_config")
_LARGEST = 2**64  # a seed may be as large
_LONGEST_WORD = 128  # characters; no sentence passes as the name of a format

_NUMBERS = {
    "temperature": ("temperature",),
    "top_p": ("top_p", "topP"),
    "top_k": ("top_k", "topK"),
    "seed": ("seed",),
    "max_tokens": (
        *("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"),
        "max_tokens_to_sample",
    ),
    "frequency_penalty": ("frequency_penalty", "frequencyPenalty"),
    "presence_penalty": ("presence_penalty", "presencePenalty"),
    "choice_count": ("choice_count", "n", "candidate_count", "candidateCount"),
    "thinking_budget": (
        *("thinking_budget", "thinking.budget_tokens"),
        *(f"{part}.{name}" for part in _THINKING for name in ("thinkingBudget", "thinking_budget")),
    ),
    "dimensions": ("dimensions",),
}
_WORDS = {
    "reasoning_effort": (
        *("reasoning_effort", "reasoning.effort", "output_config.effort", "thinking_level"),
        *(f"{part}.{name}" for part in _THINKING for name in ("thinkingLevel", "thinking_level")),
    ),
    "thinking": ("thinking", "thinking.type"),
    "verbosity": ("verbosity", "text.verbosity"),
    "service_tier": ("service_tier", "serviceTier"),
}
_LISTS = {
    "stop_sequences": ("stop_sequences", "stopSequences", "stop"),
    "encoding_formats": ("encoding_formats", "encoding_format"),
}
_CHOICES = (
    *("tool_choice", "function_call"),
    *("toolConfig.functionCallingConfig", "tool_config.function_calling_config"),
)
_FORMATS = (
    *("response_format", "text.format", "output_config.format", "output_format"),
    *("responseMimeType", "response_mime_type"),
)


def request_parameters(request: Mapping[str, Any]) -> JsonObject:
    """The parameters that a request states, by name."""
    inner = (as_mapping(request.get(name)) for name in _SETTINGS)
    scopes = [request, *(settings for settings in inner if settings is not None)]
    found: JsonObject = {}
    for read, table in ((_number, _NUMBERS), (_word, _WORDS), (_texts, _LISTS)):
        found |= {name: _first(scopes, paths, read) for name, paths in table.items()}
    found["tools"] = _first(scopes, ("tools", "functions"), _tool_names)
    found["tool_choice"] = _first(scopes, _CHOICES, _choice)
    found["response_format"] = _first(scopes, _FORMATS, _format)
    return {name: value for name, value in found.items() if value is not None}


def _first(scopes: Iterable[Mapping[str, Any]], paths: Iterable[str], read: Callable[[Any], Any]) -> Any:
    """The first value at one of these paths that can be read."""
    for scope in scopes:
        for path in paths:
            value: Any = scope
            for name in path.split("."):
                value = (as_mapping(value) or {}).get(name)
            if value is not None and (result := read(value)) is not None:
                return result
    return None


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and -_LARGEST <= value <= _LARGEST else None


def _text(value: Any) -> str | None:
    value = value.value if isinstance(value, Enum) else value
    return value if isinstance(value, str) else None


def _word(value: Any) -> str | None:
    text = _text(value)
    return text if text and len(text) <= _LONGEST_WORD else None


def _texts(value: Any) -> list[str] | None:
    if (text := _text(value)) is not None:
        return [text]
    if not isinstance(value, list | tuple):
        return None
    return [text for item in value if (text := _text(item)) is not None]


def _tool_names(tools: Any) -> list[str] | None:
    return [name for tool in tools for name in _names_of(tool)] if isinstance(tools, list | tuple) else None


def _names_of(tool: Any) -> Iterator[str]:
    """The name of a tool; of one that its vendor runs, its type; of Google's, those of all functions in it."""
    fields = as_mapping(tool)
    if callable(tool) or fields is None:  # a function; or the name itself
        own = _text(tool) or getattr(tool, "__name__", None)
        yield from [own] if isinstance(own, str) else []
        return
    inner = as_mapping(fields.get("function") or fields.get("custom")) or {}
    name = _text(fields.get("name")) or _text(inner.get("name")) or _text(fields.get("type"))
    if name is not None:
        yield name
        return
    if not isinstance(tool, Mapping) and not hasattr(tool, "__pydantic_fields_set__"):
        return  # a connection to a server, for example
    for key, value in fields.items():
        if key in {"functionDeclarations", "function_declarations"}:
            yield from _tool_names(value) or []
        elif value is not None:
            yield key


def _choice(value: Any) -> str | None:
    """`auto` and the like, or the name of the only tool that may be used."""
    fields = as_mapping(value) or {}
    inner = as_mapping(fields.get("function")) or {}
    named = (fields.get("name"), inner.get("name"), fields.get("type"), fields.get("mode"))
    return _word(value) or next(filter(None, map(_word, named)), None)


def _format(value: Any) -> str | None:
    """The kind of a format, such as `json_schema`; never the schema."""
    if isinstance(value, type):  # a class of the user's, which the library turns into a schema
        return "json_schema"
    if isinstance(value, list | tuple):
        return ", ".join(filter(None, map(_format, value))) or None
    fields = as_mapping(value) or {}
    return _word(value) or _word(fields.get("mime_type")) or _word(fields.get("type"))
