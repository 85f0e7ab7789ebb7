"""Watch a client: record every call of a model that it makes, without a further line of code.

A call becomes one event of the run that the calling code belongs to. The event has the digest of the prompt; it has the
prompt and the reply, masked, only with `keep_content`. The calling code sees no difference: replies, exceptions and streams
stay as they are.
"""

from dataclasses import dataclass
from typing import TypeVar
from weakref import ref

from runcard.digests import sha256_bytes
from runcard.documents.run.events import CALL_UNATTRIBUTED, MODEL_CALLED, USAGE_INCOMPLETE
from runcard.errors import UsageError
from runcard.observe.clients.call import CallFacts, ModelCall
from runcard.observe.clients.supported_clients import attach
from runcard.recording.argument_checks import check_optional_text
from runcard.recording.caller_warnings import warn_caller
from runcard.recording.current_run import RunMatch, find_run
from runcard.recording.events import EventRecorder
from runcard.recording.model_calls import CallReport, read_call_usage, record_call, warn_once
from runcard.recording.recorder import Recorder, events_of
from runcard.recording.run import enclosing_run

Client = TypeVar("Client")

_UNCERTAIN = "uncertain-run"  # the type of the warning about a call that may belong to another run


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
        warn_once(self.events, message, "not-recorded")
        self.events.notify_observers(USAGE_INCOMPLETE, {"reason": message, "hint": None, "calls": 1})

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
            warn_once(events_of(run), f"{text}: {reason}", _UNCERTAIN, key=_UNCERTAIN)
            for run, text in texts.items()
        ]
        if any(is_new):
            warn_caller(f"it is uncertain to which run a model call belongs; it {kept}: {reason}")

    def call_finished(self, call: ModelCall, facts: CallFacts) -> None:
        match = self.match
        is_attributed = match is None or match.run is not None
        report = CallReport(
            observer="watch",
            step=self.step,
            template_sha256=self.template_sha256,
            keep_content=self.keep_content,
            candidates=() if match is None else tuple(run.id for run in match.candidates),
            event=MODEL_CALLED if is_attributed else CALL_UNATTRIBUTED,
        )
        usage = read_call_usage(self.events, facts)
        if usage.response_id is not None and is_attributed:
            self.events.watched_replies.add(usage.response_id)
        self.events.open_calls.discard(call)
        record_call(self.events, facts, usage, report)
