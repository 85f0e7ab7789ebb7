"""What a recorder can be told, and the events it becomes.

The verbs here are the library's; where the events go is up to the recorder: a journal, or memory. Secrets are masked on
the way; what was masked is counted by rule, never kept.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from runcard.accounting import Prices, Usage, read_usage
from runcard.accounting import cost as price
from runcard.digests import sha256_bytes
from runcard.documents import fold
from runcard.documents.findings import shown
from runcard.documents.sums import plain_number
from runcard.errors import RuncardError, RuncardWarning, UsageError
from runcard.observe.inputs import inputs
from runcard.redaction import mask_data, mask_text

Fields = dict[str, Any]


class Events(ABC):
    """The verbs of a recorder."""

    def __init__(self, *, strict: bool, prices: Prices | None, keep_secrets: bool) -> None:
        self._strict = strict
        self._prices = prices
        self._keep_secrets = keep_secrets
        self._unpriced: set[str | None] = set()
        self._configuration: Fields = {}

    @abstractmethod
    def emit(self, event: str, payload: Fields, *, level: str = "info") -> None:
        """Keep an event."""

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """A failure of the recording is the user's trouble only when they asked for it."""
        try:
            yield
        except (RuncardError, OSError) as error:
            if self._strict:
                raise
            warnings.warn(f"recording failed: {error}", RuncardWarning, stacklevel=4)

    def set_config(self, config: Mapping[str, Any] | None = None, /, **more: Any) -> None:  # noqa: ANN401
        """Add to the configuration, or change it."""
        configuration = self.masked({**(config or {}), **more}, "configuration")
        self._configuration |= configuration
        self.emit(fold.CONFIGURED, {"configuration": configuration})

    def add_input(self, *patterns: str) -> None:
        """Record files as inputs: by path, by pattern, or all files of a directory."""
        found, troubles = inputs(patterns, self.directory)
        if found:
            self.emit(fold.INPUTS, {"files": found})
        for trouble in troubles:
            self.add_warning(trouble, type="input")

    @property
    def directory(self) -> str:
        """Where the run was started: inputs are named relative to it."""
        return "."

    def add_usage(
        self,
        reply: Any,  # noqa: ANN401 - whatever a vendor's package returns
        *,
        step: str | None = None,
        model: str | None = None,
        provider: str | None = None,
        cost: float | None = None,
        latency: float | None = None,
        prompt: str | None = None,
        template: str | None = None,
    ) -> None:
        """Record a call of a model by the usage its vendor reports: a reply, or a plain dict.

        Of `prompt` and `template` only the digests are kept. A `cost` in dollars that the caller knows is taken as it
        is; otherwise it is computed from the price table, and stays unknown where that has no price.
        """
        if cost is not None and cost < 0:
            raise UsageError(f"a cost cannot be negative: {cost}")
        asked = model or self._configuration.get("model")
        said = {"step": step, "prompt_sha256": _digest(prompt), "template_sha256": _digest(template)}
        for usage in read_usage(reply).calls:
            vendor = provider or self._configuration.get("provider") or usage.provider
            payload: Fields = {
                **said,
                "requested_model": asked,
                "model": usage.model or asked,
                "provider": vendor,
                "response_id": usage.response_id,
                "tokens": usage.tokens.to_dict(),
                "token_source": usage.source,
                "latency_seconds": latency,
                "stop_reason": usage.stop_reason,
            }
            payload |= self._price(usage, payload["model"], vendor) if cost is None else _given(cost)
            self.emit(fold.CALLED, self.masked(payload, "events"))
            cost = None if cost is None else 0  # a cost that the caller knows is that of all calls in a reply

    def _price(self, usage: Usage, model: str | None, provider: str | None) -> Fields:
        prices = self._prices or Prices.packaged()
        row = prices.find(model, provider, service_tier=usage.service_tier) if model else None
        amount = price(usage.tokens, row) if row else None
        if row is None or amount is None:
            self._warn_unpriced(model)
            return {"cost_usd": None, "cost_source": None, "price_row": None}
        used = row.applied(usage.tokens)
        return {"cost_usd": plain_number(amount), "cost_source": "priced", "price_row": used.to_dict()}

    def _warn_unpriced(self, model: str | None) -> None:
        if model not in self._unpriced:
            self._unpriced.add(model)
            named = shown(model) if model else "a call that names no model"
            self.add_warning(f"no price is known for {named}: the cost stays unknown", type="unknown-price")

    def set_costs(self, **totals: Any) -> None:  # noqa: ANN401
        """State totals that the caller knows: `input_tokens`, `output_tokens`, `total_cost_usd`, …"""
        unknown = totals.keys() - _TOTALS
        if unknown:
            raise UsageError(
                f"no such total: {', '.join(sorted(unknown))}", hint=f"one of {', '.join(_TOTALS)}"
            )
        said: Fields = dict(totals)
        if "total_cost_usd" in said:
            said["cost_source"] = None if said["total_cost_usd"] is None else "given"
        if said.keys() & {"input_tokens", "output_tokens"}:
            said["token_source"] = "given"  # noqa: S105 - where the counts come from
        self.emit(fold.COSTS, said)

    def add_error(self, error: BaseException | str, *, type: str | None = None) -> None:  # noqa: A002
        """Record an error: an exception, or what was wrong in words."""
        kind = type or (error.__class__.__name__ if isinstance(error, BaseException) else None)
        self.emit(
            fold.ERROR, {"type": kind, "message": self.masked_text(str(error), "errors")}, level="error"
        )

    def add_warning(self, message: str, *, type: str | None = None) -> None:  # noqa: A002
        """Record a warning."""
        said = {"type": type, "message": self.masked_text(message, "warnings")}
        self.emit(fold.WARNING, said, level="warning")

    def set_labels(self, **labels: str) -> None:
        """Label the run."""
        self.emit(fold.LABELS, {"labels": {key: str(value) for key, value in labels.items()}})

    def relate(self, type: str, id: str, *, sha256: str | None = None) -> None:  # noqa: A002
        """Name another record that this one has to do with."""
        if type not in _RELATIONS:
            raise UsageError(f"no such relation: {type}", hint=f"one of {', '.join(_RELATIONS)}")
        self.emit(fold.RELATED, {"type": type, "id": id} | ({"sha256": sha256} if sha256 else {}))

    def log(self, event: str, /, **payload: Any) -> None:  # noqa: ANN401
        """Write an event of the user's own."""
        if event in fold.EVENTS:
            raise UsageError(f"{event} is an event of runcard's own", hint="choose another name")
        self.emit(event, self.masked(payload, "events"))

    def masked(self, value: Fields, where: str) -> Fields:
        """Data without secrets."""
        if self._keep_secrets:
            return value
        masked = mask_data(value)
        self.count_masked(masked.counts, where)
        data: Fields = masked.value
        return data

    def masked_text(self, text: str, where: str) -> str:
        if self._keep_secrets:
            return text
        masked = mask_text(text)
        self.count_masked(masked.counts, where)
        return str(masked.value)

    def count_masked(self, counts: Mapping[str, int], where: str) -> None:
        for rule, count in counts.items():
            self.emit(fold.MASKED, {"rule": rule, "where": where, "count": count})


_TOTALS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "total_cost_usd",
)
_RELATIONS = ("parent", "resumes", "derived-from", "plan", "session", "commit")


def _given(cost: float) -> Fields:
    return {"cost_usd": cost, "cost_source": "given", "price_row": None}


def _digest(text: str | None) -> str | None:
    return None if text is None else sha256_bytes(text.encode()).hex
