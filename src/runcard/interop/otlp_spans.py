"""OpenTelemetry spans with the names of its GenAI conventions, as a line of OTLP/JSON.

The whole record is a span, each agent one below it or below its parent, each recorded model call one below its agent. A tool
has no span: records have the number of its uses, and no times of them.

* Prompts and replies are never part of it.
* `gen_ai.usage.*` is on calls. Where the calls are not recorded one by one, it is on the agent or the record, so that a sum
  over all spans counts each token once. `gen_ai.usage.input_tokens` is all input, with its cached part.
* A call of unknown duration is a span without length at the time of its report, marked by `runcard.duration_unknown`.
* The ids follow from the record: exporting it again gives the same.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final, NamedTuple

from runcard.encoding import JsonObject
from runcard.interop.record_content import (
    RecordContent,
    UsageFigures,
    agent_models,
    agent_usage,
    amount,
    call_usage,
    count,
    moment,
    nanoseconds,
    section,
    text,
)
from runcard.version import __version__

SCHEMA: Final = "https://opentelemetry.io/schemas/1.44.0"  # the version that the names are of
TRACE_ID, SPAN_ID = 16, 8  # bytes

_INTERNAL, _CLIENT = 1, 3
_ERROR = 2
_INT64, _UINT64 = 2**63, 2**64

_PROVIDERS = {
    "aws": "aws.bedrock",
    "bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "google": "gcp.gemini",
    "gemini": "gcp.gemini",
    "google-vertex": "gcp.vertex_ai",
    "vertex": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
    "x-ai": "x_ai",
}  # other names than in OpenTelemetry; the others are the same
_OPERATIONS = {
    "embeddings": "embeddings",
    "generateContent": "generate_content",
    "complete": "text_completion",
    "completions": "text_completion",
}  # by API; the others are chats
_PARAMETERS = {
    **{
        name: f"gen_ai.request.{name}"
        for name in (
            "temperature",
            "top_p",
            "top_k",
            "seed",
            "frequency_penalty",
            "presence_penalty",
            "max_tokens",
            "stop_sequences",
            "encoding_formats",
        )
    },
    "choice_count": "gen_ai.request.choice.count",
    "dimensions": "gen_ai.embeddings.dimension.count",
}
_USAGE = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
}
_FAILED = frozenset({"failed", "interrupted", "error", "timeout", "terminated"})


class _Span(NamedTuple):
    id: str
    parent: str | None  # the id of the span above it
    name: str
    kind: int
    start: datetime | None
    end: datetime | None
    attributes: JsonObject
    error: str | None = None  # the kind of an error
    message: str | None = None


def otlp_traces(content: RecordContent) -> JsonObject:
    """The spans of a record: the content of one line of OTLP/JSON."""
    trace, caller = _caller_trace(content)
    spans = [_span(trace, span) for span in _spans(content, trace, caller)]
    scope = {"name": "runcard", "version": __version__}
    resource = {"attributes": _attributes(_resource(content))}
    scope_spans = [{"scope": scope, "spans": spans, "schemaUrl": SCHEMA}]
    return {
        "resourceSpans": [{"resource": resource, "scopeSpans": scope_spans, "schemaUrl": SCHEMA}],
    }


def _resource(content: RecordContent) -> JsonObject:
    generation = section(content.document, "generation")
    host = section(generation, "process").get("host") or section(content.document, "system_info").get(
        "hostname"
    )
    return {
        "service.name": content.experiment or "runcard",
        "host.name": text(host),
        "runcard.record.kind": content.kind,
        "runcard.record.id": content.id,
        "runcard.record.name": content.name,
        "runcard.record.metadata_sha256": content.metadata.sha256,
    }


def _caller_trace(content: RecordContent) -> tuple[str, str | None]:
    """The trace that the record is part of, and the span that called it; else a trace of its own."""
    trace = section(content.document, "trace")
    parts = (text(trace.get("traceparent")) or "").split("-")
    if len(parts) == 4 and _is_id(parts[1], TRACE_ID) and _is_id(parts[2], SPAN_ID):
        return parts[1], parts[2]
    return _id(TRACE_ID, "trace", content.kind, content.id, content.metadata.sha256), None


def _is_id(value: str, size: int) -> bool:
    is_hex = len(value) == 2 * size and set(value) <= set("0123456789abcdef")
    return is_hex and set(value) != {"0"}


def _id(size: int, *parts: str) -> str:
    digest = sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()[:size]
    return digest.hex()


def _spans(content: RecordContent, trace: str, caller: str | None) -> Iterator[_Span]:
    agents = {agent["instance_id"]: agent for agent in content.agents}
    with_calls = {text(call.get("instance_id")) for call in content.calls}
    root = _own_id(content, trace)
    ids: dict[str | None, str] = {own: _id(SPAN_ID, trace, "agent", own) for own in agents}
    yield _record_span(content, root, caller, is_counted=not agents and not content.calls)
    for own, agent in agents.items():
        above = ids.get(text(agent.get("parent_instance_id")), root)
        yield _agent_span(content, agent, (ids[own], above), is_counted=own not in with_calls)
    for number, call in enumerate(content.calls):
        above = ids.get(text(call.get("instance_id")), root)
        yield _call_span(call, _id(SPAN_ID, trace, "call", str(number)), above)


def _own_id(content: RecordContent, trace: str) -> str:
    """The id of the span of the record: the one that the command was given as its parent, if there is one."""
    parts = (text(section(content.document, "trace").get("passed_on")) or "").split("-")
    if len(parts) == 4 and parts[1] == trace and _is_id(parts[2], SPAN_ID):
        return parts[2]
    return _id(SPAN_ID, trace, "record")


def _record_span(content: RecordContent, own: str, caller: str | None, *, is_counted: bool) -> _Span:
    name = content.experiment if content.is_run else content.id
    generation = section(content.document, "generation")
    attributes: JsonObject = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": name,
        "runcard.status": content.status,
        "runcard.estimated": generation.get("estimated") or None,
        **_totals(content.usage),
    }
    if not content.is_run:
        attributes["gen_ai.conversation.id"] = content.id
    if is_counted:
        attributes |= _usage(content.usage)
    return _Span(
        own,
        caller,
        f"invoke_workflow {name}" if name else "invoke_workflow",
        _INTERNAL,
        content.started,
        content.ended,
        attributes,
        content.status if content.status in _FAILED else None,
        content.error,
    )


def _agent_span(
    content: RecordContent, agent: JsonObject, ids: tuple[str, str], *, is_counted: bool
) -> _Span:
    """The span of an agent; `ids` are its own and that of the span above it."""
    name, usage, models = text(agent.get("name")), agent_usage(agent), agent_models(agent)
    status = text(agent.get("status"))
    attributes: JsonObject = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": name,
        "gen_ai.agent.id": agent["instance_id"],
        "gen_ai.conversation.id": content.id,
        "gen_ai.request.model": models[0].name if len(models) == 1 else text(agent.get("model")),
        "gen_ai.provider.name": _provider(models[0].provider) if len(models) == 1 else None,
        "runcard.role": text(agent.get("role_title")) or text(agent.get("role")),
        "runcard.status": status,
        "runcard.end_source": text(agent.get("terminated_at_source")),
        "runcard.calls": count(agent.get("calls")),
        **{f"runcard.tool_uses.{tool}": count(uses) for tool, uses in section(agent, "tool_uses").items()},
        **_totals(usage),
    }
    if is_counted:
        attributes |= _usage(usage)
    message = text(agent.get("error_message")) or text(agent.get("error"))
    category = text(section(agent, "error_details").get("category"))
    return _Span(
        *ids,
        f"invoke_agent {name}" if name else "invoke_agent",
        _INTERNAL,
        moment(agent.get("created_at")),
        moment(agent.get("terminated_at")),
        attributes,
        (category or status) if status in _FAILED else None,
        message,
    )


def _call_span(call: JsonObject, own: str, above: str) -> _Span:
    requested, model = text(call.get("requested_model")), text(call.get("model"))
    operation = _OPERATIONS.get(str(call.get("api")), "chat")
    end, error = moment(call.get("timestamp")), section(call, "error")
    seconds, first = amount(call.get("latency_seconds")), amount(call.get("time_to_first_token_seconds"))
    start, request, stop = _start(end, seconds), section(call, "request"), text(call.get("stop_reason"))
    usage = call_usage(call)
    attributes: JsonObject = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": _provider(text(call.get("provider"))),
        "gen_ai.request.model": requested or model,
        "gen_ai.response.model": model,
        "gen_ai.response.id": text(call.get("response_id")),
        "gen_ai.response.finish_reasons": [stop] if stop else None,
        "gen_ai.response.time_to_first_chunk": first,
        "gen_ai.request.stream": call["streamed"] if isinstance(call.get("streamed"), bool) else None,
        **{name: request.get(own) for own, name in _PARAMETERS.items()},
        **_usage(usage),
        "runcard.step": text(call.get("step")),
        "runcard.token_source": text(call.get("token_source")),
        "runcard.cost_usd": usage.cost_usd,
        "runcard.known_cost_usd": usage.known_cost_usd,
        "runcard.duration_unknown": True if start is None else None,
    }
    name = requested or model
    return _Span(
        own,
        above,
        f"{operation} {name}" if name else operation,
        _CLIENT,
        start or end,
        end,
        attributes,
        (text(error.get("type")) or "_OTHER") if error else None,
        text(error.get("message")),
    )


def _start(end: datetime | None, seconds: float | None) -> datetime | None:
    if end is None or seconds is None or seconds < 0:
        return None
    try:
        return end - timedelta(seconds=seconds)
    except OverflowError:
        return None


def _provider(name: str | None) -> str | None:
    return None if name is None else _PROVIDERS.get(name.lower(), name)


def _usage(usage: UsageFigures) -> JsonObject:
    figures = usage.known_figures()
    return {name: figures.get(own) for own, name in _USAGE.items()}


def _totals(usage: UsageFigures) -> JsonObject:
    """The totals of an agent or a record, which its calls add up to."""
    return {f"runcard.total.{name}": value for name, value in usage.known_figures().items()}


def _span(trace: str, span: _Span) -> JsonObject:
    start, end = _nanoseconds(span.start), _nanoseconds(span.end)
    start, end = (end if start is None else start), (start if end is None else end)
    attributes = span.attributes | ({"error.type": span.error} if span.error else {})
    if start is None or end is None:
        attributes["runcard.time_unknown"] = True
    fields: JsonObject = {
        "traceId": trace,
        "spanId": span.id,
        "name": span.name,
        "kind": span.kind,
        "attributes": _attributes(attributes),
    }
    if span.parent is not None:
        fields["parentSpanId"] = span.parent
    if start is not None and end is not None:
        fields |= {"startTimeUnixNano": str(start), "endTimeUnixNano": str(end)}
    if span.error is not None:
        fields["status"] = {"code": _ERROR} | ({"message": span.message} if span.message else {})
    return fields


def _nanoseconds(time: datetime | None) -> int | None:
    """A time as a span has it; None if it is not known, or before 1970 or after 2554, which OTLP cannot write."""
    value = None if time is None else nanoseconds(time)
    return value if value is not None and 0 <= value < _UINT64 else None


def _attributes(values: JsonObject) -> list[JsonObject]:
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def _value(value: object) -> JsonObject:
    """A value of an attribute; 64-bit integers are texts in OTLP/JSON, and larger ones have no other form."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)} if -_INT64 <= value < _INT64 else {"stringValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(member) for member in _scalars(value)]}}
    return {"stringValue": str(value)}


def _scalars(values: list[object]) -> Iterable[object]:
    return (value for value in values if isinstance(value, str | int | float))
