"""Watching a client: every call of a model that it makes is recorded, without a further line of code.

What is seen of a call becomes one event of the run that the calling code belongs to. Of the prompt the event has the
digest; its words, and those of the reply, only when they are asked for, and then masked. What the calling code sees stays
the same: replies, exceptions, and streams that are read when somebody reads them.
"""

import json
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from runcard.accounting import Tokens, Usage, read_usage
from runcard.digests import sha256_bytes
from runcard.encoding import JsonObject, canonical_json, encode_json
from runcard.errors import EncodingError, UsageError
from runcard.masking import mask_data
from runcard.observe.clients.call import CallFacts, ModelCall
from runcard.observe.clients.supported_clients import attach
from runcard.operations.runs.record import current_run
from runcard.operations.runs.recorder_methods import Events

Client = TypeVar("Client")

_told: WeakKeyDictionary[Events, set[str]] = WeakKeyDictionary()  # what was said once in a run


def watch(
    client: Client,
    *,
    run: Events | None = None,
    step: str | None = None,
    template: str | None = None,
    keep_content: bool = False,
) -> Client:
    """Record every call of a client of `anthropic`, `openai` or `google-genai`, and give the same client back.

    Calls go into `run`, else into the `current_run()` of the code that makes the call; where there is none, they are
    not recorded. `step` and the digest of `template` stand in the events of this client. With `keep_content` the
    events hold prompts and replies, masked. A client of another kind is a TypeError.
    """
    if not isinstance(run, Events | None):
        raise UsageError(f"run is a {type(run).__name__}", hint="pass what runcard.record gave, or nothing")
    digest = None if template is None else sha256_bytes(template.encode("utf-8", "surrogatepass")).hex

    def keeper() -> _Keeper | None:
        found = run or current_run()
        return None if found is None else _Keeper(found, step, digest, keep_content)

    attach(client, keeper)
    return client


@dataclass(frozen=True, slots=True)
class _Keeper:
    """Puts what was seen of calls into a run."""

    run: Events
    step: str | None
    template_sha256: str | None
    keep_content: bool

    @property
    def strict(self) -> bool:
        return self.run.strict

    def unrecorded(self, way: str) -> None:
        what = f"calls of {way} are not recorded: what they use and cost is no part of the totals"
        self._tell_once(what, "not-recorded")

    def call_started(self, call: ModelCall) -> None:
        self.run.open_calls.add(call)

    def call_finished(self, call: ModelCall, seen: CallFacts) -> None:
        usage = self._usage(seen)
        if usage.response_id is not None:
            self.run.watched.add(usage.response_id)
        self.run.open_calls.discard(call)
        self.run.keep_call(usage, self._said(seen), provider=seen.provider, model=seen.requested_model)
        if usage.source is None and seen.streamed and seen.error is None:
            ask = 'OpenAI\'s Chat Completions send them with stream_options={"include_usage": True}'
            self._tell_once(f"a stream carried no token counts; {ask}", "no-usage")

    def _said(self, seen: CallFacts) -> JsonObject:
        said: JsonObject = {
            "step": self.step,
            "prompt_sha256": self._digest(seen),
            "template_sha256": self.template_sha256,
            "requested_model": seen.requested_model,
            "latency_seconds": seen.latency,
            "api": seen.api,
            "streamed": seen.streamed,
            "retries": seen.retries,
        }
        if seen.streamed:
            said["time_to_first_token_seconds"] = seen.first_token
        if seen.error is not None:
            said["error"] = _sound(dict(seen.error))
        if self.keep_content:
            said["content"] = _sound({"prompt": seen.prompt, "reply": seen.content})
        return said

    def _usage(self, seen: CallFacts) -> Usage:
        try:
            usage = Usage(Tokens()) if seen.reply is None else read_usage(seen.reply)
        except UsageError as error:
            self.run.add_warning(f"the token counts of a reply cannot be read: {error}", type="usage")
            usage = Usage(Tokens())
        if usage.source is None and seen.reply_began and not seen.complete:
            return replace(usage, source="partial")
        return usage

    def _digest(self, seen: CallFacts) -> str | None:
        """Of what a reader of the record may see: a secret in a prompt cannot be guessed from it."""
        if seen.prompt is None:
            return None
        prompt = seen.prompt if self.run.keeps_secrets else mask_data(seen.prompt).value
        return sha256_bytes(canonical_json(_sound(prompt))).hex

    def _tell_once(self, what: str, kind: str) -> None:
        said = _told.setdefault(self.run, set())
        if what not in said:
            said.add(what)
            self.run.add_warning(what, type=kind)


def _sound(data: Any) -> Any:  # noqa: ANN401
    """Data as JSON can hold it: halves of characters, which JSON texts can smuggle in, become question marks."""
    try:
        encode_json(data)
    except EncodingError:
        return json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))
    return data
