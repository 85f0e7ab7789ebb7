"""The model calls of one run, each once, as its journal reports them."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from runcard.documents.run.call_totals import distinct_calls
from runcard.documents.run.fold import call_in
from runcard.documents.times import parse_time
from runcard.encoding import JsonObject, decode_json
from runcard.errors import RuncardError
from runcard.store import layout
from runcard.store.record import Record

_CALLED = b'"model.called"'
_LONGEST_LINE = 16 << 20  # bytes of an event
_MOST = 100_000  # calls that are read
_CLASSES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")


class RunCall(NamedTuple):
    """A model call. What is not known is None; times are seconds."""

    ended: float | None  # since 1970: when it was reported
    model: str | None
    step: str | None
    seconds: float | None
    first_token: float | None
    tokens: dict[str, int | None]
    cost: float | None
    known_cost: float | None
    error: str | None

    @property
    def started(self) -> float | None:
        return None if self.ended is None else self.ended - (self.seconds or 0)


class CallList(NamedTuple):
    """The calls of a run, in the order of their reports."""

    calls: list[RunCall]
    is_cut: bool  # there are more
    is_readable: bool = True  # whether there is a journal, and it could be read


def list_calls(run: Record) -> CallList:
    """The calls of a run; of one that is open, those so far."""
    payloads: list[JsonObject] = []
    try:
        for payload in _reported(run):
            if len(payloads) == _MOST:
                return CallList(_calls(payloads), is_cut=True)
            payloads.append(payload)
        return CallList(_calls(payloads), is_cut=False)
    except (RuncardError, OSError):
        return CallList([], is_cut=False, is_readable=False)


def _reported(run: Record) -> Iterator[JsonObject]:
    file = run.open(layout.JOURNAL)
    if file is None:
        return
    with file:
        while line := file.readline(_LONGEST_LINE):
            if _CALLED not in line:
                continue
            try:
                event = decode_json(line)
            except RuncardError:
                continue  # the last line of an open journal, or a damaged one, which `verify` reports
            if isinstance(event, dict) and (call := call_in(event)) is not None:
                yield call | {"timestamp": event.get("timestamp")}


def _calls(payloads: list[JsonObject]) -> list[RunCall]:
    try:
        distinct = distinct_calls(payloads)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError):
        return []  # of a journal that runcard did not write
    return [_call(payload) for payload in distinct]


def _call(payload: JsonObject) -> RunCall:
    stated = payload.get("timestamp")
    moment = parse_time(stated) if isinstance(stated, str) else None
    tokens = payload.get("tokens")
    tokens = tokens if isinstance(tokens, dict) else {}
    error = payload.get("error")
    return RunCall(
        None if moment is None else moment.timestamp(),
        _text(payload.get("model")),
        _text(payload.get("step")),
        _seconds(payload.get("latency_seconds")),
        _seconds(payload.get("time_to_first_token_seconds")),
        {name: count if type(count := tokens.get(name)) is int else None for name in _CLASSES},
        _amount(payload.get("cost_usd")),
        _amount(payload.get("known_cost_usd")),
        None if error is None else _text(error.get("type") if isinstance(error, dict) else error) or "failed",
    )


def _text(value: Any) -> str | None:  # noqa: ANN401 - of a journal, which may have anything
    return value if isinstance(value, str) else None


def _amount(value: Any) -> float | None:  # noqa: ANN401 - see above
    return value if type(value) in {int, float} and 0 <= value < 1e15 else None


def _seconds(value: Any) -> float | None:  # noqa: ANN401 - see above
    return float(value) if type(value) in {int, float} and 0 <= value < 1e9 else None
