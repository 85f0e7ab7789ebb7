"""Watch a client: record every call of a model that it makes, without a further line of code.

A call becomes one event of the run that the calling code belongs to. The event has the digest of the prompt; it has the
prompt and the reply, masked, only with `keep_content`. The calling code sees no difference: replies, exceptions and streams
stay as they are.
"""

import json
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, ref

from runcard.accounting import Tokens, Usage, read_usage
from runcard.accounting.vendors.reply_fields import ReplyFields
from runcard.digests import sha256_bytes
from runcard.documents.run.events import CALL_UNATTRIBUTED, MODEL_CALLED
from runcard.encoding import JsonObject, canonical_json, encode_json
from runcard.errors import EncodingError, UsageError
from runcard.files import printable
from runcard.masking import mask_data
from runcard.observe.clients.call import CallFacts, ModelCall
from runcard.observe.clients.supported_clients import attach
from runcard.recording.argument_checks import check_optional_text
from runcard.recording.caller_warnings import warn_caller
from runcard.recording.current_run import RunMatch, find_run
from runcard.recording.events import EventRecorder
from runcard.recording.recorder import Recorder, events_of
from runcard.recording.run import enclosing_run

Client = TypeVar("Client")

_UNCERTAIN = "uncertain-run"  # the type of the warning about a call that may belong to another run

_given_warnings: WeakKeyDictionary[EventRecorder, set[str]] = WeakKeyDictionary()  # once for each run


def watch(
    client: Client,
    *,
    run: Recorder | None = None,
    step: str | None = None,
    template: str | None = None,
    keep_content: bool = False,
) -> Client:
    """Record every call of a client of `anthropic`, `openai` or `google-genai`; returns the same client.

    Calls are recorded in `run`, or in the run of the code that makes the call: that of its `with` block. A thread is in no
    block: there it is the only open run of the process. If several are open, it is the one in which the client was
    watched, else the one that encloses all others, with a warning; if there is none such, the call is kept with a
    warning, and is not part of any total. Without an open run, calls are not recorded. `step` and the digest of `template`
    are added to the events of this client. With `keep_content` the events hold prompts and replies, masked. A client of
    another kind is a TypeError.
    """
    if not isinstance(run, Recorder | None):
        raise UsageError(f"run is a {type(run).__name__}", hint="pass the run of runcard.record, or nothing")
    check_optional_text(step, "step")
    digest = None if template is None else sha256_bytes(template.encode("utf-8", "surrogatepass")).hex

    here = enclosing_run()
    watched_in = here and ref(here)

    def call_recorder() -> _CallRecorder | None:
        match = None if run else find_run(watched_in() if watched_in else None)
        # The newest one will be open longest.
        recorder = run or (match and (match.run or next(reversed(match.candidates), None)))
        if recorder is None:
            return None
        return _CallRecorder(events_of(recorder), step, digest, keep_content, match)

    attach(client, call_recorder)
    return client


@dataclass(frozen=True, slots=True)
class _CallRecorder:
    """Records the calls of one client in a run."""

    events: EventRecorder
    step: str | None
    template_sha256: str | None
    keep_content: bool
    match: RunMatch | None = None  # how the run was found; None: it was given

    @property
    def strict(self) -> bool:
        return self.events.strict

    def unrecorded(self, way: str) -> None:
        message = f"calls of {way} are not recorded: what they use and cost is no part of the totals"
        _warn_once(self.events, message, "not-recorded")

    def call_started(self, call: ModelCall) -> None:
        self.events.open_calls.add(call)
        if self.match is not None and self.match.candidates:
            self._warn_uncertain(self.match)

    def _warn_uncertain(self, match: RunMatch) -> None:
        """Warn in all runs that the call may belong to, and in the program."""
        kept = "is not part of any total" if match.run is None else f"was recorded in {match.run.id}"
        texts = dict.fromkeys(match.candidates, f"a model call may belong to this run and {kept}")
        if match.run is not None:
            texts[match.run] = "a model call was recorded here that may belong to another run"
        reason = f"{match.describe()}; pass run= to runcard.watch, or the context to the thread"
        is_new = [
            _warn_once(events_of(run), f"{text}: {reason}", _UNCERTAIN, key=_UNCERTAIN)
            for run, text in texts.items()
        ]
        if any(is_new):
            warn_caller(f"it is uncertain to which run a model call belongs; it {kept}: {reason}")

    def call_finished(self, call: ModelCall, facts: CallFacts) -> None:
        usage = self._usage(facts)
        is_attributed = self.match is None or self.match.run is not None
        if usage.response_id is not None and is_attributed:
            self.events.watched_replies.add(usage.response_id)
        self.events.open_calls.discard(call)
        self.events.add_call(
            usage,
            self._details(facts),
            provider=facts.provider,
            model=facts.requested_model,
            event=MODEL_CALLED if is_attributed else CALL_UNATTRIBUTED,
        )
        if usage.source is None and facts.streamed and facts.error is None and facts.reply_began:
            option = 'OpenAI\'s Chat Completions send them with stream_options={"include_usage": True}'
            _warn_once(self.events, f"a stream carried no token counts; {option}", "no-usage")

    def _details(self, facts: CallFacts) -> JsonObject:
        details: JsonObject = {
            "step": self.step,
            "prompt_sha256": self._prompt_digest(facts),
            "template_sha256": self.template_sha256,
            "requested_model": facts.requested_model,
            "latency_seconds": facts.latency,
            "api": facts.api,
            "streamed": facts.streamed,
            "retries": facts.retries,
        }
        if self.match is not None and self.match.candidates:
            details["candidates"] = [run.id for run in self.match.candidates]
        if facts.request is not None:
            details["request"] = _valid_json(facts.request)
        if facts.streamed:
            details["time_to_first_token_seconds"] = facts.first_token
        if facts.error is not None:
            details["error"] = _valid_json(dict(facts.error))
        if self.keep_content:
            details["content"] = _valid_json({"prompt": facts.prompt, "reply": facts.content})
        return details

    def _usage(self, facts: CallFacts) -> Usage:
        try:
            usage = Usage(Tokens()) if facts.reply is None else read_usage(facts.reply, allow_unknown=True)
        except UsageError as error:
            self.events.add_warning(f"the token counts of a reply cannot be read: {error}", "usage")
            reply = ReplyFields(facts.reply or {})
            model, response_id = reply.text("model", "modelVersion"), reply.text("id", "responseId")
            usage = Usage(Tokens(), model=model, response_id=response_id)
        self._warn_unknown_counts([name for call in usage.calls for name in call.unknown])
        if usage.source is None and facts.reply_began and not facts.complete:
            usage = replace(usage, source="partial")
        return usage if facts.regional_host is None else _with_surcharge(usage, facts.regional_host)

    def _warn_unknown_counts(self, names: list[str]) -> None:
        if names:
            counts = ", ".join(printable(name[:80]) for name in names[:5])
            message = f"a reply has unknown counts ({counts}): its tokens may be incomplete"
            _warn_once(self.events, message, "unknown-count")

    def _prompt_digest(self, facts: CallFacts) -> str | None:
        """The digest of the masked prompt: a secret in it cannot be guessed from the digest."""
        if facts.prompt is None:
            return None
        prompt = facts.prompt if self.events.keep_secrets else mask_data(facts.prompt).value
        return sha256_bytes(canonical_json(_valid_json(prompt))).hex


def _with_surcharge(usage: Usage, host: str) -> Usage:
    """The usage of a call whose price has an unknown part."""
    also = tuple(_with_surcharge(part, host) for part in usage.also)
    return replace(usage, unknown=(*usage.unknown, f"the surcharge of {host}"), also=also)


def _warn_once(events: EventRecorder, message: str, kind: str, key: str | None = None) -> bool:
    """Add a warning to a run, unless it has it already; `key` is what makes two the same. Whether it was added."""
    given = _given_warnings.setdefault(events, set())
    is_new = (key or message) not in given
    if is_new:
        given.add(key or message)
        events.add_warning(message, kind)
    return is_new


def _valid_json(data: Any) -> Any:  # noqa: ANN401
    """Data as JSON can hold it: lone surrogates, which JSON texts can contain, become question marks."""
    try:
        encode_json(data)
    except EncodingError:
        return json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))
    return data
