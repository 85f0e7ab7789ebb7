"""Turn what happens in a run into events: masked, priced, checked.

Where the events go is up to the subclass: a journal, or memory. Secrets are masked first; what was masked is counted by
rule, never kept.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from runcard.digests import sha256_bytes
from runcard.documents.exact_sums import plain_number
from runcard.documents.run.events import (
    ERROR_ADDED,
    INPUTS_ADDED,
    INPUTS_COUNTED,
    MODEL_CALLED,
    SECRETS_MASKED,
    USAGE_INCOMPLETE,
    WARNING_ADDED,
)
from runcard.encoding import JsonObject
from runcard.errors import RuncardError, StoreError
from runcard.masking import mask_data, mask_text
from runcard.observe.input_tokens import TokenCounter
from runcard.recording.argument_checks import display_value, plain_copy
from runcard.recording.caller_warnings import warn_caller
from runcard.settings.apply import configured_prices

if TYPE_CHECKING:
    from runcard.accounting import Charge, Prices, Usage

_UNPRICED: JsonObject = {"cost_usd": None, "cost_source": None, "price_row": None}
# Types of warnings about calls.
UNKNOWN_PRICE = "unknown-price"
UNREAD_USAGE = "usage"  # the counts of a reply have no known form
NO_USAGE = "no-usage"  # a stream carried none
UNREAD_REPLY = "not-understood"
_INPUTS_PER_EVENT = 1 << 19  # bytes of inputs in one event

# Get each event about model calls that this process records, in whatever run: the recorder, the event and its payload.
call_observers: list[Callable[["EventRecorder", str, JsonObject], None]] = []


def lost_events_payload(count: int) -> JsonObject:
    """The warning about events that could not be written."""
    message = f"{count} {'event' if count == 1 else 'events'} could not be written"
    return {"type": "events-lost", "message": message}


def lost_calls_payload(calls: int) -> JsonObject:
    """What is recorded instead of calls that could not be written: without it, the totals would be taken for complete."""
    reason = f"{calls} {'call' if calls == 1 else 'calls'} could not be recorded"
    return {"reason": reason, "hint": None, "calls": calls}


class ClosedRunError(StoreError):
    """Something was recorded after the end of its run."""


class EventRecorder(ABC):
    """Records the events of one run. With `strict` a failure of the recording raises; otherwise it is a warning."""

    def __init__(self, *, strict: bool, prices: "Prices | None", keep_secrets: bool) -> None:
        self.strict = strict
        self.keep_secrets = keep_secrets
        self.configuration: JsonObject = {}  # as it is recorded
        self.given_configuration: JsonObject = {}  # with its secrets
        self.directory = current_directory()  # where the run was started: inputs are named relative to it
        self.watched_replies: set[str] = set()  # ids of the replies that watched clients got
        self.open_calls: set[Any] = set()  # calls of watched clients whose replies are still being read
        self._prices = prices
        self._unpriced: set[str] = set()  # the warnings about prices so far
        self._token_counts = TokenCounter()

    @abstractmethod
    def emit(self, event: str, payload: JsonObject, *, level: str = "info") -> None:
        """Record an event."""

    @contextmanager
    def guard_failures(self) -> Iterator[None]:
        """Turn a failure of the recording into a warning, unless the recording is strict."""
        try:
            yield
        except (RuncardError, OSError) as error:
            if self.strict:
                raise
            is_late = isinstance(error, ClosedRunError)
            message = f"{error}: this call was not recorded" if is_late else f"recording failed: {error}"
            warn_caller(message)

    def add_inputs(self, files: list[JsonObject]) -> None:
        """Record inputs in as many events as needed, so that none is so long that it is cut."""
        for part in _in_parts(files):
            self.emit(INPUTS_ADDED, {"files": part})

    def count_tokens(self, files: list[JsonObject]) -> None:
        """Count the tokens of inputs, as `data_sources.files` lists them, in a thread."""
        self._token_counts.start(
            files, self.directory, self.configuration.get("model"), self._add_token_counts
        )

    def _add_token_counts(self, files: list[JsonObject]) -> None:
        for part in _in_parts(files):
            self.emit(INPUTS_COUNTED, {"files": part})

    def end_token_counts(self, timeout: float) -> None:
        """Wait for token counts that are under way; later ones are dropped."""
        self._token_counts.stop(timeout)

    def is_watched(self, response_id: str, reply: object) -> bool:
        """Whether a watched client records this reply; a call that is still open is finished with it."""
        from runcard.accounting.vendors.reply_fields import as_mapping  # noqa: PLC0415

        for call in list(self.open_calls):
            if call.response_id == response_id:
                call.finish(as_mapping(reply) or {})
                return True
        return response_id in self.watched_replies

    def end_calls(self) -> None:
        """Record the calls whose replies were not read to the end, or are still in progress in another thread."""
        for call in list(self.open_calls):
            if call.is_in_progress:
                model = display_value(call.requested_model) if call.requested_model else "a model"
                message = f"a call of {model} was in progress when the run ended: what it used is not known"
                self.add_warning(message, "call-in-progress")
            call.abandon()

    def add_call(
        self,
        reply_usage: "Usage",
        details: JsonObject,
        *,
        provider: str | None,
        model: str | None,
        cost: float | None = None,
        service_tier: str | None = None,
        event: str = MODEL_CALLED,
    ) -> None:
        """Record what a call of a model used and cost, besides its `details`.

        Calls inside this one have its response id and a number, `part`: whoever reports the response again reports them
        in the same order.
        """
        is_failed = details.get("error") is not None
        vendor = provider or self.configuration.get("provider")
        for part, reported in enumerate(reply_usage.calls):
            usage = reported if service_tier is None else _in_tier(reported, service_tier)
            payload: JsonObject = {
                **details,
                "model": usage.model or model,
                # The shape of a reply does not prove who sent it: other servers use the same.
                "provider": vendor or usage.known_provider,
                "response_id": usage.response_id or reply_usage.response_id,
                "service_tier": usage.service_tier,
                "tokens": usage.tokens.to_dict(),
                "token_source": usage.source,
                "stop_reason": usage.stop_reason,
            }
            payload |= {"part": part} if part else {}
            payload |= {"server_tools": dict(usage.server_tools)} if usage.server_tools else {}
            if usage.is_total:
                payload["is_total"] = True
                payload |= {"client_session": reply_usage.session} if reply_usage.session else {}
            if is_failed and usage.source is None:  # nothing is charged for it
                payload |= _UNPRICED
            elif cost is None:
                payload |= self._price(usage, vendor, model)
            else:
                payload |= {"cost_usd": cost, "cost_source": "given", "price_row": None}
            level = "error" if is_failed else "info"
            self._emit_usage(event, self.mask(plain_copy(payload), "events"), level)
            # Further calls inside this one: cost and time are those of the whole, recorded once.
            cost, is_failed = None if cost is None else 0, False
            details = {name: details[name] for name in ("step", "observer") if name in details}

    def add_incomplete_usage(self, reason: str, hint: str | None, calls: int | None) -> None:
        """Record that the calls of the run may have used more than is recorded: the totals are "at least".

        `calls` is the number of calls that are missing, if it is known.
        """
        texts = {"reason": self.mask_text(as_text(reason), "events")}
        texts |= {"hint": self.mask_text(as_text(hint), "events")} if hint else {}
        self._emit_usage(USAGE_INCOMPLETE, {**texts, "calls": calls}, "warning")

    def _emit_usage(self, event: str, payload: JsonObject, level: str) -> None:
        self.emit(event, payload, level=level)
        self.notify_observers(event, payload)

    def notify_observers(self, event: str, payload: JsonObject) -> None:
        for observe in call_observers:
            observe(self, event, payload)

    def _price_table(self) -> "Prices":
        """The caller's prices, else those that the settings name, read on first use."""
        from runcard.accounting import Prices  # noqa: PLC0415

        if self._prices is None:
            self._prices = Prices.packaged()  # in case the settings are wrong
            with self.guard_failures():
                self._prices = configured_prices(self.directory)
        return self._prices

    def _price(self, usage: "Usage", provider: str | None, requested_model: str | None) -> JsonObject:
        charge = self._price_table().charge(usage, provider, model=requested_model)
        if charge.cost is None:
            self._warn_unpriced(usage, provider, requested_model, charge)
            return _UNPRICED | _known_part(charge)
        return {
            "cost_usd": plain_number(charge.cost),
            "cost_source": charge.source,
            "price_row": charge.row and charge.row.to_dict(),
        }

    def _warn_unpriced(
        self, usage: "Usage", provider: str | None, requested_model: str | None, charge: "Charge"
    ) -> None:
        from runcard.accounting.missing_prices import missing_price  # noqa: PLC0415

        model, provider = usage.model or requested_model, provider or usage.known_provider
        message = missing_price(self._price_table(), charge, model, provider, usage.service_tier)
        if message not in self._unpriced:
            self._unpriced.add(message)
            self.add_warning(message, UNKNOWN_PRICE)

    def add_error(self, error: BaseException | str, kind: str | None = None) -> None:
        name = kind or (error.__class__.__name__ if isinstance(error, BaseException) else None)
        self._add_problem(ERROR_ADDED, "error", as_text(error), name)

    def add_warning(self, message: str, kind: str | None = None) -> None:
        self._add_problem(WARNING_ADDED, "warning", as_text(message), kind)

    def _add_problem(self, event: str, level: str, message: str, kind: str | None) -> None:
        where = f"{level}s"
        payload = {
            "type": kind and self.mask_text(str(kind), where),
            "message": self.mask_text(message, where),
        }
        self.emit(event, payload, level=level)

    def mask(self, value: JsonObject, where: str) -> JsonObject:
        """Data without secrets."""
        if self.keep_secrets:
            return value
        masked = mask_data(value)
        self.add_masked(masked.counts, where)
        data: JsonObject = masked.value
        return data

    def mask_text(self, text: str, where: str) -> str:
        if self.keep_secrets:
            return text
        masked = mask_text(text)
        self.add_masked(masked.counts, where)
        return str(masked.value)

    def text_digest(self, text: str | None) -> str | None:
        """The digest of a text without its secrets."""
        if text is None:
            return None
        masked = text if self.keep_secrets else mask_text(text).value
        return sha256_bytes(masked.encode("utf-8", "surrogatepass")).hex

    def add_masked(self, counts: Mapping[str, int], where: str) -> None:
        """Record how often each rule masked something."""
        for rule, count in counts.items():
            self.emit(SECRETS_MASKED, {"rule": rule, "where": where, "count": count})


def _in_tier(usage: "Usage", service_tier: str) -> "Usage":
    from dataclasses import replace  # noqa: PLC0415 - as long to load as all of this module

    return replace(usage, service_tier=service_tier)


def _known_part(charge: "Charge") -> JsonObject:
    """What is known of a cost that is not known as a whole."""
    if charge.known_cost is None or charge.row is None:
        return {}
    return {
        "known_cost_usd": plain_number(charge.known_cost),
        "unpriced": list(charge.unpriced),
        "price_row": charge.row.to_dict(),
    }


def current_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return "."


def _in_parts(files: list[JsonObject]) -> Iterator[list[JsonObject]]:
    """Files as `data_sources.files` lists them, in lists that fit into an event, however their paths are escaped."""
    part: list[JsonObject] = []
    room = _INPUTS_PER_EVENT
    for file in files:
        size = 512 + 8 * len(file["path"])
        room -= size
        if room < 0 and part:
            yield part
            part, room = [], _INPUTS_PER_EVENT - size
        part.append(file)
    if part:
        yield part


def as_text(error: BaseException | str) -> str:
    """A message as JSON can hold it: bytes that are not UTF-8 are escaped."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an exception of the user's that cannot be printed
        text = f"an exception that cannot be shown as text: {error.__class__.__name__}"
    return text.encode("utf-8", "backslashreplace").decode()
