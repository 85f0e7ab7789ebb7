"""The methods that a run and a `MetadataRecorder` share: what users call to record something."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runcard.documents.run.events import (
    CONFIG_SET,
    COSTS_SET,
    EVENTS,
    LABELS_SET,
    METRIC_LOGGED,
    RELATION_ADDED,
)
from runcard.errors import UsageError
from runcard.observe.inputs import inputs
from runcard.recording.argument_checks import (
    check_config,
    check_cost,
    check_labels,
    check_metric,
    check_optional_text,
    check_relation,
    check_seconds,
    check_text,
    plain_copy,
)
from runcard.recording.events import EventRecorder, current_directory
from runcard.recording.plain_data import plain_data

if TYPE_CHECKING:
    from decimal import Decimal

    from runcard.encoding import JsonObject

_TOKEN_TOTALS = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_tokens": "cache_read",
    "cache_write_tokens": "cache_write_5m",
    "reasoning_tokens": "reasoning",
}
_COST = "total_cost_usd"


class Recorder:
    """Records what happens in a run. A wrong argument raises at once, whether the recording is strict or not."""

    _events: EventRecorder

    def set_config(self, config: object = None, /, **more: object) -> None:
        """Add to the configuration, or change it; `config` has names and values: a dict, a dataclass, a model, …"""
        events = self._events
        given = [check_config(part) for part in ({} if config is None else config, more)]
        for part in given:
            events.add_masked(part.counts, "configuration")
        values = given[0].value | given[1].value
        events.given_configuration |= values
        configuration = events.mask(values, "configuration")
        events.configuration |= configuration
        events.emit(CONFIG_SET, {"configuration": configuration})

    def add_input(self, *patterns: str | os.PathLike[str]) -> None:
        """Record files as inputs: by path, by pattern, or all files of a directory."""
        events = self._events
        files, problems = inputs(
            [_relative_to(events.directory, pattern) for pattern in patterns], events.directory
        )
        if files:
            events.add_inputs(files)
            events.count_tokens(files)
        for problem in problems:
            events.add_warning(problem, "input")

    def add_usage(  # noqa: PLR0913 - one for each fact about the call
        self,
        reply: Any,  # noqa: ANN401 - whatever a vendor's package returns
        *,
        step: str | None = None,
        model: str | None = None,
        provider: str | None = None,
        cost: "float | Decimal | None" = None,
        service_tier: str | None = None,
        latency: float | None = None,
        prompt: str | None = None,
        template: str | None = None,
        request: Mapping[str, Any] | None = None,
    ) -> None:
        """Record a call of a model by the usage that its vendor reports: a reply, or a plain dict.

        `request` is what the call was made with, such as `{"temperature": 0.2, "max_tokens": 1024}`, or all of its
        arguments: only the parameters are kept. Of `prompt` and `template` only the digests are kept. A `cost` in dollars is
        recorded as given; without it the cost is computed from the price table, and stays unknown where that has no price.
        `service_tier` (batch, flex, …) counts over the one in the reply: batches do not state theirs. A response that was
        recorded before, by its id, counts once; that of a watched client is already recorded, and only a given `cost`, `step` or
        `service_tier` is added.
        """
        events = self._events
        for name, text in (("step", step), ("model", model), ("provider", provider)):
            check_optional_text(text, name)
        amount = None if cost is None else check_cost(cost)
        seconds = None if latency is None else check_seconds(latency)
        tier = None if service_tier is None else check_text(service_tier, "the service tier")
        model_in_request, parameters = _request_facts(request)
        requested_model = model or model_in_request or events.configuration.get("model")
        from runcard.accounting import read_usage  # noqa: PLC0415 - long to load: only for those who need it

        usage = read_usage(reply)
        is_watched = usage.response_id is not None and events.is_watched(usage.response_id, reply)
        if is_watched and amount is None and tier is None and step is None:
            return
        details: JsonObject = {
            "step": step,
            "prompt_sha256": events.text_digest(prompt),
            "template_sha256": events.text_digest(template),
            "requested_model": requested_model,
            "latency_seconds": seconds,
        }
        if parameters is not None:
            details["request"] = parameters
        events.add_call(
            usage, details, provider=provider, model=requested_model, cost=amount, service_tier=tier
        )

    def set_costs(self, **totals: Any) -> None:  # noqa: ANN401
        """State totals that you know better: `input_tokens`, `output_tokens`, `total_cost_usd`, …"""
        unknown = totals.keys() - {*_TOKEN_TOTALS, _COST}
        if unknown:
            raise UsageError(
                f"no such total: {', '.join(sorted(unknown))}",
                hint=f"use one of {', '.join((*_TOKEN_TOTALS, _COST))}",
            )
        from runcard.accounting import Tokens  # noqa: PLC0415

        payload: JsonObject = dict(totals)
        # Refuses impossible counts.
        Tokens(**{_TOKEN_TOTALS[name]: count for name, count in payload.items() if name in _TOKEN_TOTALS})
        if _COST in payload:
            payload[_COST] = None if payload[_COST] is None else check_cost(payload[_COST])
            payload["cost_source"] = None if payload[_COST] is None else "given"
        if payload.keys() & {"input_tokens", "output_tokens"}:
            payload["token_source"] = "given"  # noqa: S105 - where the counts come from
        self._events.emit(COSTS_SET, payload)

    def add_error(self, error: BaseException | str, *, type: str | None = None) -> None:  # noqa: A002
        """Record an error: an exception, or a message."""
        self._events.add_error(error, type)

    def add_warning(self, message: str, *, type: str | None = None) -> None:  # noqa: A002
        """Record a warning."""
        self._events.add_warning(message, type)

    def set_labels(self, **labels: object) -> None:
        """Label the run."""
        self._events.emit(LABELS_SET, {"labels": self._events.mask(check_labels(labels), "labels")})

    def relate(self, type: str, id: str, *, sha256: str | None = None) -> None:  # noqa: A002
        """Name a related record; `sha256` is the bare hex digest of its document."""
        check_relation(type, sha256)
        name = check_text(id, "the id of the other record")
        payload = {"type": type, "id": self._events.mask_text(name, "relations")}
        self._events.emit(RELATION_ADDED, payload | ({"sha256": sha256} if sha256 else {}))

    def log_metric(self, name: str, value: float, *, step: int | None = None) -> None:
        """Log one value of a metric, such as an accuracy or a loss, perhaps of a step of the run.

        The document has the last value, the smallest and the largest, the journal has all of them. NaN and infinity are
        recorded as unknown values.
        """
        number = check_metric(check_text(name, "the name of a metric"), value, step)
        payload: JsonObject = {"name": self._events.mask_text(name, "events"), "value": number}
        if number is None:
            payload["not_finite"] = str(value)
        self._events.emit(METRIC_LOGGED, payload | ({} if step is None else {"step": step}))

    def log(self, event: str, /, **payload: object) -> None:
        """Write an event of your own."""
        name = check_text(event, "the name of an event")
        if name in EVENTS:
            raise UsageError(f"{name} is an event of runcard's own", hint="choose another name")
        events, plain = self._events, plain_data(payload)
        data = plain_copy(plain.value)
        events.add_masked(plain.counts, "events")
        events.emit(events.mask_text(name, "events"), events.mask(data, "events"))


def _request_facts(request: object) -> "tuple[str | None, JsonObject | None]":
    """The model that a request names, and its parameters."""
    if request is None:
        return None, None
    if not isinstance(request, Mapping):
        raise UsageError(
            f"request is a {type(request).__name__}", hint="pass a dict with the arguments of the call"
        )
    from runcard.observe.clients.request_parameters import request_parameters  # noqa: PLC0415 - only for those who need it

    model = request.get("model")
    return model if isinstance(model, str) else None, request_parameters(request)


def events_of(recorder: Recorder) -> EventRecorder:
    """The event recorder behind a public recorder."""
    return recorder._events  # noqa: SLF001 - of this module


def _relative_to(directory: str, pattern: str | os.PathLike[str]) -> str:
    """A path or pattern of the caller as seen from `directory`: the working directory may have changed since."""
    text, here = os.fspath(pattern), current_directory()
    if here == directory or os.path.isabs(text) or text.startswith("~"):
        return text
    path = os.path.join(here, text)
    if os.path.lexists(path):
        return path
    from glob import escape  # noqa: PLC0415 - few programs change their directory

    return os.path.join(escape(here), text)
