"""What a recorder can be told, and the events it becomes.

The verbs here are the library's; where the events go is up to the recorder: a journal, or memory. Secrets are masked on
the way; what was masked is counted by rule, never kept.
"""

import os
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from sys import maxsize
from typing import TYPE_CHECKING, Any

from runcard.digests import sha256_bytes
from runcard.documents.exact_sums import plain_number
from runcard.documents.run import events
from runcard.encoding import COMPACT, JsonObject, Limits, decode_json, encode_json
from runcard.errors import RuncardError, RuncardWarning, UsageError
from runcard.masking import mask_data, mask_text
from runcard.observe.input_tokens import TokenCounter
from runcard.observe.inputs import inputs

if TYPE_CHECKING:
    from decimal import Decimal

    from runcard.accounting import Prices, Usage


class Events(ABC):
    """The verbs of a recorder. A wrong argument raises at once, whether the recording is strict or not."""

    def __init__(self, *, strict: bool, prices: "Prices | None", keep_secrets: bool) -> None:
        self._strict = strict
        self._prices = prices
        self._keep_secrets = keep_secrets
        self._unpriced: set[str | None] = set()
        self._configuration: JsonObject = {}
        self._counting = TokenCounter()
        self._directory = _here()  # where the run was started: inputs are named relative to it
        self.watched: set[str] = set()  # ids of the replies that a watched client had
        self.open_calls: set[Any] = set()  # calls of watched clients whose replies are still being read

    @property
    def strict(self) -> bool:
        """Whether a failure of the recording raises."""
        return self._strict

    @property
    def keeps_secrets(self) -> bool:
        return self._keep_secrets

    @abstractmethod
    def emit(self, event: str, payload: JsonObject, *, level: str = "info") -> None:
        """Keep an event."""

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """A failure of the recording is the user's trouble only when they asked for it."""
        try:
            yield
        except (RuncardError, OSError) as error:
            if self._strict:
                raise
            warnings.warn(f"recording failed: {error}", RuncardWarning, stacklevel=5)

    def set_config(self, config: Mapping[str, Any] | None = None, /, **more: Any) -> None:  # noqa: ANN401
        """Add to the configuration, or change it."""
        configuration = self.masked(checked_config({**(config or {}), **more}), "configuration")
        self._configuration |= configuration
        self.emit(events.CONFIG_SET, {"configuration": configuration})

    def add_input(self, *patterns: str | os.PathLike[str]) -> None:
        """Record files as inputs: by path, by pattern, or all files of a directory."""
        found, troubles = inputs(
            [_seen_from(self._directory, pattern) for pattern in patterns], self._directory
        )
        if found:
            self.keep_inputs(found)
            self.count_tokens(found)
        for trouble in troubles:
            self.add_warning(trouble, type="input")

    def keep_inputs(self, files: list[JsonObject]) -> None:
        """Keep inputs in as many events as it takes: none of them may be so long that it is cut."""
        for some in _in_parts(files):
            self.emit(events.INPUTS_ADDED, {"files": some})

    def count_tokens(self, files: list[JsonObject]) -> None:
        """Count the tokens of inputs, as `data_sources.files` lists them, in a thread."""
        self._counting.start(files, self._directory, self._configuration.get("model"), self._add_counts)

    def _add_counts(self, files: list[JsonObject]) -> None:
        for some in _in_parts(files):
            self.emit(events.INPUTS_COUNTED, {"files": some})

    def add_usage(
        self,
        reply: Any,  # noqa: ANN401 - whatever a vendor's package returns
        *,
        step: str | None = None,
        model: str | None = None,
        provider: str | None = None,
        cost: "float | Decimal | None" = None,
        latency: float | None = None,
        prompt: str | None = None,
        template: str | None = None,
    ) -> None:
        """Record a call of a model by the usage its vendor reports: a reply, or a plain dict.

        Of `prompt` and `template` only the digests are kept. A `cost` in dollars that the caller knows is taken as it
        is; otherwise it is computed from the price table, and stays unknown where that has no price. The reply of a
        watched client is recorded already, and not once more.
        """
        amount = None if cost is None else checked_cost(cost)
        asked = model or self._configuration.get("model")
        from runcard.accounting import read_usage  # noqa: PLC0415 - long to load: only for those who need it

        found = read_usage(reply)
        if found.response_id is not None and self._is_watched(found.response_id, reply):
            return
        said: JsonObject = {
            "step": step,
            "prompt_sha256": self._digest(prompt),
            "template_sha256": self._digest(template),
            "requested_model": asked,
            "latency_seconds": latency,
        }
        self.keep_call(found, said, provider=provider, model=asked, cost=amount)

    def _is_watched(self, response_id: str, reply: object) -> bool:
        """Whether a watched client tells of this reply; one that was not finished is told what became of it."""
        from runcard.accounting.vendors.reply_fields import as_mapping  # noqa: PLC0415

        for call in list(self.open_calls):
            if call.response_id == response_id:
                call.finish(as_mapping(reply) or {})
                return True
        return response_id in self.watched

    def end_calls(self) -> None:
        """Nothing more can be said of calls whose replies nobody read to the end."""
        for call in list(self.open_calls):
            call.close()

    def keep_call(
        self,
        found: "Usage",
        said: JsonObject,
        *,
        provider: str | None,
        model: str | None,
        cost: float | None = None,
    ) -> None:
        """Keep what a call used, beside what else is `said` about it, with what it costs."""
        asked, amount = model, cost
        failed = said.get("error") is not None
        vendor = provider or self._configuration.get("provider")
        for usage in found.calls:
            payload: JsonObject = {
                **said,
                "model": usage.model or asked,
                # The shape of a reply is no proof of who sent it: servers of others speak the same.
                "provider": vendor or (usage.provider if usage.source == "given" else None),
                "response_id": usage.response_id,
                "tokens": usage.tokens.to_dict(),
                "token_source": usage.source,
                "stop_reason": usage.stop_reason,
            }
            if failed and usage.source is None:  # nobody charges for it
                payload |= _UNPRICED
            else:
                payload |= self._price(usage, vendor, asked) if amount is None else _given(amount)
            level = "error" if failed else "info"
            self.emit(events.MODEL_CALLED, self.masked(checked(payload), "events"), level=level)
            # What is inside the call is another call: its cost and its time are those of the whole.
            amount, failed = None if amount is None else 0, False
            said = {"step": said.get("step")}

    def _table(self) -> "Prices":
        """The prices that were handed over, else those that the settings name, read when they are first needed."""
        from runcard.accounting import Prices  # noqa: PLC0415
        from runcard.operations.prices import configured_prices  # noqa: PLC0415

        if self._prices is None:
            self._prices = Prices.packaged()  # where the settings are wrong
            with self.guarded():
                self._prices = configured_prices(self._directory)
        return self._prices

    def _price(self, usage: "Usage", provider: str | None, asked: str | None) -> JsonObject:
        charge = self._table().charge(usage, provider, model=asked)
        if charge.cost is None or charge.row is None:
            self._warn_unpriced(usage.model or asked, has_price=charge.row is not None)
            return dict(_UNPRICED)
        return {
            "cost_usd": plain_number(charge.cost),
            "cost_source": "priced",
            "price_row": charge.row.to_dict(),
        }

    def _warn_unpriced(self, model: str | None, *, has_price: bool) -> None:
        if model in self._unpriced:
            return
        self._unpriced.add(model)
        named = _shown(model) if model else "a call that names no model"
        unpriced, uncounted = "no price is known for", "not all tokens are known, or have a price, of"
        what = f"{uncounted if has_price else unpriced} {named}"
        self.add_warning(f"{what}: the cost stays unknown", type="unknown-price")

    def set_costs(self, **totals: Any) -> None:  # noqa: ANN401
        """State totals that the caller knows: `input_tokens`, `output_tokens`, `total_cost_usd`, …"""
        unknown = totals.keys() - {*_COUNTS, _COST}
        if unknown:
            raise UsageError(
                f"no such total: {', '.join(sorted(unknown))}", hint=f"one of {', '.join((*_COUNTS, _COST))}"
            )
        from runcard.accounting import Tokens  # noqa: PLC0415

        said: JsonObject = dict(totals)
        Tokens(
            **{_COUNTS[name]: count for name, count in said.items() if name in _COUNTS}
        )  # refuses what cannot be
        if _COST in said:
            said[_COST] = None if said[_COST] is None else checked_cost(said[_COST])
            said["cost_source"] = None if said[_COST] is None else "given"
        if said.keys() & {"input_tokens", "output_tokens"}:
            said["token_source"] = "given"  # noqa: S105 - where the counts come from
        self.emit(events.COSTS_SET, said)

    def add_error(self, error: BaseException | str, *, type: str | None = None) -> None:  # noqa: A002
        """Record an error: an exception, or what was wrong in words."""
        kind = type or (error.__class__.__name__ if isinstance(error, BaseException) else None)
        self._add_problem(events.ERROR_ADDED, "error", _words(error), kind)

    def add_warning(self, message: str, *, type: str | None = None) -> None:  # noqa: A002
        """Record a warning."""
        self._add_problem(events.WARNING_ADDED, "warning", _words(message), type)

    def _add_problem(self, event: str, level: str, message: str, kind: str | None) -> None:
        where = f"{level}s"
        said = {
            "type": kind and self.masked_text(str(kind), where),
            "message": self.masked_text(message, where),
        }
        self.emit(event, said, level=level)

    def set_labels(self, **labels: str) -> None:
        """Label the run."""
        self.emit(events.LABELS_SET, {"labels": self.masked(checked_labels(labels), "labels")})

    def relate(self, type: str, id: str, *, sha256: str | None = None) -> None:  # noqa: A002
        """Name another record that this one has to do with; `sha256` is the bare hex digest of its document."""
        if type not in _RELATIONS:
            raise UsageError(f"no such relation: {type}", hint=f"one of {', '.join(_RELATIONS)}")
        name = _text(id, "the id of the other record")
        if sha256 is not None and not _HEX.fullmatch(sha256):
            raise UsageError(f"{sha256!r} is no digest", hint="64 lower-case hex digits, without sha256:")
        said = {"type": type, "id": self.masked_text(name, "relations")}
        self.emit(events.RELATION_ADDED, said | ({"sha256": sha256} if sha256 else {}))

    def log(self, event: str, /, **payload: Any) -> None:  # noqa: ANN401
        """Write an event of the user's own."""
        name = _text(event, "the name of an event")
        if name in events.EVENTS:
            raise UsageError(f"{name} is an event of runcard's own", hint="choose another name")
        self.emit(self.masked_text(name, "events"), self.masked(checked(payload), "events"))

    def masked(self, value: JsonObject, where: str) -> JsonObject:
        """Data without secrets."""
        if self._keep_secrets:
            return value
        masked = mask_data(value)
        self.count_masked(masked.counts, where)
        data: JsonObject = masked.value
        return data

    def masked_text(self, text: str, where: str) -> str:
        if self._keep_secrets:
            return text
        masked = mask_text(text)
        self.count_masked(masked.counts, where)
        return str(masked.value)

    def _digest(self, text: str | None) -> str | None:
        """The digest of a text as it might be kept: without its secrets."""
        if text is None:
            return None
        kept = text if self._keep_secrets else mask_text(text).value
        return sha256_bytes(kept.encode("utf-8", "surrogatepass")).hex

    def count_masked(self, counts: Mapping[str, int], where: str) -> None:
        for rule, count in counts.items():
            self.emit(events.SECRETS_MASKED, {"rule": rule, "where": where, "count": count})


_COUNTS = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_tokens": "cache_read",
    "cache_write_tokens": "cache_write_5m",
    "reasoning_tokens": "reasoning",
}
_COST = "total_cost_usd"
_UNPRICED: JsonObject = {"cost_usd": None, "cost_source": None, "price_row": None}
_RELATIONS = ("parent", "resumes", "derived-from", "plan", "session", "commit")
_HEX = re.compile("[0-9a-f]{64}")
_MOST = 10**12  # dollars
_ANY_SIZE = Limits(size=maxsize)
_PART = 1 << 19  # bytes of inputs in one event


def checked(value: JsonObject) -> JsonObject:
    """The caller's data as it is now, whatever becomes of it later; raises EncodingError when it is not plain."""
    plain: JsonObject = decode_json(encode_json(value, COMPACT), _ANY_SIZE)  # what is too large is cut later
    return plain


def _in_parts(files: list[JsonObject]) -> Iterator[list[JsonObject]]:
    """Files as `data_sources.files` lists them, in lists that fit into an event, however their paths are escaped."""
    part: list[JsonObject] = []
    room = _PART
    for file in files:
        room -= 512 + 8 * len(file["path"])
        if room < 0 and part:
            yield part
            part, room = [], _PART - 512 - 8 * len(file["path"])
        part.append(file)
    if part:
        yield part


def checked_config(config: Mapping[str, Any]) -> JsonObject:
    """A configuration that a document can hold."""
    configuration = checked(dict(config))
    for name in ("model", "provider"):
        if not isinstance(configuration.get(name), str | None):
            raise UsageError(f"{name} is {_shown(configuration[name])}", hint="it is a text, or None")
    return configuration


def checked_labels(labels: Mapping[str, str]) -> JsonObject:
    return checked({str(key): str(value) for key, value in labels.items()})


def checked_cost(cost: object) -> float | int:
    """Dollars as JSON can hold them."""
    from decimal import Decimal  # noqa: PLC0415 - few calls are given their cost

    amount = plain_number(cost) if isinstance(cost, Decimal) and cost.is_finite() else cost
    if isinstance(amount, int | float) and not isinstance(amount, bool) and 0 <= amount <= _MOST:
        return amount
    raise UsageError(f"{_shown(str(cost))} is no cost", hint="a cost is a number of dollars, 0 or more")


def checked_prices(prices: object) -> "Prices | None":
    if prices is None:
        return None
    from runcard.accounting import Prices  # noqa: PLC0415 - most programs bring none

    if not isinstance(prices, Prices):
        raise UsageError(
            f"prices is a {type(prices).__name__}",
            hint="runcard.accounting.Prices.with_file(path) reads a table",
        )
    return prices


def _shown(value: object) -> str:
    from runcard.documents.findings import shown  # noqa: PLC0415 - only when something is wrong

    return shown(value)


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise UsageError(f"{what} is {_shown(str(value))}", hint="it is a text that is not empty")
    return value


def _given(cost: float) -> JsonObject:
    return {"cost_usd": cost, "cost_source": "given", "price_row": None}


def _words(said: BaseException | str) -> str:
    """A message as JSON can hold it: of names that are not UTF-8, the bytes are escaped."""
    try:
        text = str(said)
    except Exception:  # noqa: BLE001 - an exception of the user's that cannot even be printed
        text = f"an exception that cannot be shown as text: {said.__class__.__name__}"
    return text.encode("utf-8", "backslashreplace").decode()


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return "."


def _seen_from(directory: str, pattern: str | os.PathLike[str]) -> str:
    """A path or pattern of the caller, who may have changed the working directory since."""
    text, here = os.fspath(pattern), _here()
    if here == directory or os.path.isabs(text) or text.startswith("~"):
        return text
    path = os.path.join(here, text)
    if os.path.lexists(path):
        return path
    from glob import escape  # noqa: PLC0415 - few programs change their directory

    return os.path.join(escape(here), text)
