"""A model call that was observed, as an event of its run: by a watched client, or by the meter.

The event has the digest of the prompt; it has the prompt and the reply, masked, only where content is kept.
"""

import json
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from runcard.accounting import Tokens, Usage, read_usage
from runcard.accounting.vendors.reply_fields import ReplyFields
from runcard.digests import sha256_bytes
from runcard.documents.run.events import MODEL_CALLED
from runcard.encoding import JsonObject, canonical_json, encode_json
from runcard.errors import EncodingError, UsageError
from runcard.files import printable
from runcard.masking import mask_data
from runcard.observe.clients.call import CallFacts
from runcard.recording.events import NO_USAGE, UNREAD_USAGE, EventRecorder

_given_warnings: WeakKeyDictionary[EventRecorder, set[str]] = WeakKeyDictionary()  # once for each run


@dataclass(frozen=True, slots=True)
class CallReport:
    """Who observed a call, and what its event has besides what was observed."""

    observer: str  # "watch" or "meter"
    keep_content: bool = False
    step: str | None = None
    template_sha256: str | None = None
    candidates: tuple[str, ...] = ()  # the ids of the runs that the call may belong to, if that is uncertain
    event: str = MODEL_CALLED


def record_call(events: EventRecorder, facts: CallFacts, usage: Usage, report: CallReport) -> None:
    """Record a call; `usage` is what `read_call_usage` read."""
    events.add_call(
        usage,
        _details(events, facts, report),
        provider=facts.provider,
        model=facts.requested_model,
        event=report.event,
    )
    if usage.source is None and facts.streamed and facts.error is None and facts.reply_began:
        option = 'OpenAI\'s Chat Completions send them with stream_options={"include_usage": True}'
        warn_once(events, f"a stream carried no token counts; {option}", NO_USAGE)


def read_call_usage(events: EventRecorder, facts: CallFacts) -> Usage:
    """What a call used; counts that cannot be read are a warning, and unknown."""
    try:
        usage = Usage(Tokens()) if facts.reply is None else read_usage(facts.reply, allow_unknown=True)
    except UsageError as error:
        warn_once(events, f"the token counts of a reply cannot be read: {error}", UNREAD_USAGE)
        reply = ReplyFields(facts.reply or {})
        model, response_id = reply.text("model", "modelVersion"), reply.text("id", "responseId")
        usage = Usage(Tokens(), model=model, response_id=response_id)
    _warn_unknown_counts(events, [name for call in usage.calls for name in call.unknown])
    if usage.source is None and facts.reply_began and not facts.complete:
        usage = replace(usage, source="partial")
    return usage if facts.regional_host is None else _with_surcharge(usage, facts.regional_host)


def warn_once(events: EventRecorder, message: str, kind: str, key: str | None = None) -> bool:
    """Add a warning to a run, unless it has it already; `key` is what makes two the same. Whether it was added."""
    given = _given_warnings.setdefault(events, set())
    is_new = (key or message) not in given
    if is_new:
        given.add(key or message)
        events.add_warning(message, kind)
    return is_new


def _details(events: EventRecorder, facts: CallFacts, report: CallReport) -> JsonObject:
    details: JsonObject = {
        "step": report.step,
        "prompt_sha256": _prompt_digest(events, facts),
        "template_sha256": report.template_sha256,
        "requested_model": facts.requested_model,
        "latency_seconds": facts.latency,
        "api": facts.api,
        "streamed": facts.streamed,
        "retries": facts.retries,
        "observer": report.observer,
    }
    if facts.request_id is not None:
        details["request_id"] = facts.request_id
    details |= _exchange(facts)
    if report.candidates:
        details["candidates"] = list(report.candidates)
    if facts.request is not None:
        details["request"] = _valid_json(facts.request)
    if facts.streamed:
        details["time_to_first_token_seconds"] = facts.first_token
    if facts.error is not None:
        details["error"] = _valid_json(dict(facts.error))
    if report.keep_content:
        details["content"] = _valid_json({"prompt": facts.prompt, "reply": facts.content})
    return details


def _exchange(facts: CallFacts) -> JsonObject:
    """What only the wire shows; facts that are not known are left out."""
    exchange = facts.exchange
    if exchange is None:
        return {}
    fields: JsonObject = {
        "call_id": exchange.call_id,
        "endpoint": exchange.endpoint,
        "status": exchange.status,
        "retry_of": exchange.retry_of,
        "client_session": exchange.client_session,
        "agent": exchange.agent,
        "parent_agent": exchange.parent_agent,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _warn_unknown_counts(events: EventRecorder, names: list[str]) -> None:
    if names:
        counts = ", ".join(printable(name[:80]) for name in names[:5])
        warn_once(
            events, f"a reply has unknown counts ({counts}): its tokens may be incomplete", "unknown-count"
        )


def _prompt_digest(events: EventRecorder, facts: CallFacts) -> str | None:
    """The digest of the masked prompt: a secret in it cannot be guessed from the digest."""
    if facts.prompt is None:
        return None
    prompt = facts.prompt if events.keep_secrets else mask_data(facts.prompt).value
    return sha256_bytes(canonical_json(_valid_json(prompt))).hex


def _with_surcharge(usage: Usage, host: str) -> Usage:
    """The usage of a call whose price has an unknown part."""
    also = tuple(_with_surcharge(part, host) for part in usage.also)
    return replace(usage, unknown=(*usage.unknown, f"the surcharge of {host}"), also=also)


def _valid_json(data: Any) -> Any:  # noqa: ANN401
    """Data as JSON can hold it: lone surrogates, which JSON texts can contain, become question marks."""
    try:
        encode_json(data)
    except EncodingError:
        return json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))
    return data
