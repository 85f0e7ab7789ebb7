"""Watch a client: record every call of a model that it makes, without a further line of code.

A call becomes one event of the run that the calling code belongs to. The event has the digest of the prompt; it has the
prompt and the reply, masked, only with `keep_content`. The calling code sees no difference: replies, exceptions and streams
stay as they are.
"""

import json
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from runcard.accounting import Tokens, Usage, read_usage
from runcard.digests import sha256_bytes
from runcard.encoding import JsonObject, canonical_json, encode_json
from runcard.errors import EncodingError, UsageError
from runcard.files import printable
from runcard.masking import mask_data
from runcard.observe.clients.call import CallFacts, ModelCall
from runcard.observe.clients.supported_clients import attach
from runcard.recording.events import EventRecorder
from runcard.recording.recorder import Recorder, events_of
from runcard.recording.run import current_run

Client = TypeVar("Client")

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

    Calls are recorded in `run`, or in the `current_run()` of the code that makes the call; without a run they are not
    recorded. `step` and the digest of `template` are added to the events of this client. With `keep_content` the events
    hold prompts and replies, masked. A client of another kind is a TypeError.
    """
    if not isinstance(run, Recorder | None):
        raise UsageError(f"run is a {type(run).__name__}", hint="pass the run of runcard.record, or nothing")
    digest = None if template is None else sha256_bytes(template.encode("utf-8", "surrogatepass")).hex

    def call_recorder() -> _CallRecorder | None:
        recorder = run or current_run()
        return None if recorder is None else _CallRecorder(events_of(recorder), step, digest, keep_content)

    attach(client, call_recorder)
    return client


@dataclass(frozen=True, slots=True)
class _CallRecorder:
    """Records the calls of one client in a run."""

    events: EventRecorder
    step: str | None
    template_sha256: str | None
    keep_content: bool

    @property
    def strict(self) -> bool:
        return self.events.strict

    def unrecorded(self, way: str) -> None:
        message = f"calls of {way} are not recorded: what they use and cost is no part of the totals"
        self._warn_once(message, "not-recorded")

    def call_started(self, call: ModelCall) -> None:
        self.events.open_calls.add(call)

    def call_finished(self, call: ModelCall, facts: CallFacts) -> None:
        usage = self._usage(facts)
        if usage.response_id is not None:
            self.events.watched_replies.add(usage.response_id)
        self.events.open_calls.discard(call)
        self.events.add_call(
            usage, self._details(facts), provider=facts.provider, model=facts.requested_model
        )
        if usage.source is None and facts.streamed and facts.error is None:
            option = 'OpenAI\'s Chat Completions send them with stream_options={"include_usage": True}'
            self._warn_once(f"a stream carried no token counts; {option}", "no-usage")

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
            usage = Usage(Tokens())
        self._warn_unknown_counts([name for call in usage.calls for name in call.unknown])
        if usage.source is None and facts.reply_began and not facts.complete:
            return replace(usage, source="partial")
        return usage

    def _warn_unknown_counts(self, names: list[str]) -> None:
        if names:
            counts = ", ".join(printable(name[:80]) for name in names[:5])
            message = f"a reply has unknown counts ({counts}): its tokens may be incomplete"
            self._warn_once(message, "unknown-count")

    def _prompt_digest(self, facts: CallFacts) -> str | None:
        """The digest of the masked prompt: a secret in it cannot be guessed from the digest."""
        if facts.prompt is None:
            return None
        prompt = facts.prompt if self.events.keep_secrets else mask_data(facts.prompt).value
        return sha256_bytes(canonical_json(_valid_json(prompt))).hex

    def _warn_once(self, message: str, kind: str) -> None:
        given = _given_warnings.setdefault(self.events, set())
        if message not in given:
            given.add(message)
            self.events.add_warning(message, kind)


def _valid_json(data: Any) -> Any:  # noqa: ANN401
    """Data as JSON can hold it: lone surrogates, which JSON texts can contain, become question marks."""
    try:
        encode_json(data)
    except EncodingError:
        return json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))
    return data
