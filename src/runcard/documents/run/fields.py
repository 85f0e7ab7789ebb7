"""Typed access to the fields of a run's document that other layers read.

`Generation` has these properties. `RunFields` gives them to plain data: the document of an open run, or one that is only
read and not checked.
"""

from datetime import datetime

from runcard.documents.exact_sums import exact_sum, plain_number
from runcard.documents.times import parse_time
from runcard.encoding import JsonObject


class RunProperties:
    """The properties of a run's document; a field that is absent is None."""

    __slots__ = ()
    _data: JsonObject

    @property
    def run_id(self) -> str | None:
        run_id: str | None = self._data["generation"].get("run_id")
        return run_id

    @property
    def experiment_id(self) -> str | None:
        experiment_id: str | None = self._data["generation"].get("experiment_id")
        return experiment_id

    @property
    def status(self) -> str | None:
        """`running`, `completed`, `failed` or `interrupted`."""
        status: str | None = self._data["generation"].get("status")
        return status

    @property
    def timestamp_start(self) -> str | None:
        timestamp: str | None = self._data["generation"].get("timestamp_start")
        return timestamp

    @property
    def timestamp_end(self) -> str | None:
        timestamp: str | None = self._data["generation"].get("timestamp_end")
        return timestamp

    @property
    def started(self) -> datetime | None:
        return parse_time(self.timestamp_start)

    @property
    def ended(self) -> datetime | None:
        return parse_time(self.timestamp_end)

    @property
    def command(self) -> list[str] | None:
        command: list[str] | None = self._data["generation"].get("command")
        return command

    @property
    def exit_code(self) -> int | None:
        exit_code: int | None = self._data["generation"].get("exit_code")
        return exit_code

    @property
    def process(self) -> JsonObject:
        """The process that recorded the run: pid, host, boot id, start; empty if unknown."""
        process = self._data["generation"].get("process")
        return process if isinstance(process, dict) else {}


def known_cost(document: JsonObject) -> float | None:
    """The cost of a run; if it is unknown, the part that is known; None if there is none.

    Earlier documents have the known part by model only.
    """
    costs = _object(document.get("costs"))
    for name in ("total_cost_usd", "known_cost_usd"):
        if (known := _number(costs.get(name))) is not None:
            return known
    amounts = [_number(part.get("cost_usd")) for part in model_breakdown(document)]
    by_model = [amount for amount in amounts if amount is not None]
    return plain_number(exact_sum(by_model)) if by_model else None


def has_calls(document: JsonObject) -> bool:
    """Whether model calls were recorded, or what they cost, or that some are missing.

    Without any, a run has no cost, not an unknown one.
    """
    costs, usage = _object(document.get("costs")), _object(document.get("token_usage"))
    figures = (costs.get(name) for name in ("input_tokens", "output_tokens", "total_cost_usd"))
    breakdowns = (usage.get(name) for name in ("breakdown_by_step", "breakdown_by_model"))
    return any(breakdowns) or any(figure is not None for figure in figures) or bool(usage.get("incomplete"))


def may_have_more(document: JsonObject) -> bool:
    """Whether the totals of a run are lower bounds: calls were not seen, or it is open, or it was killed in the middle of a call."""
    if not has_calls(document):
        return False
    generation = _object(document.get("generation"))
    is_over = generation.get("status") != "running" and not generation.get("estimated")
    return not is_over or bool(_object(document.get("token_usage")).get("incomplete"))


def model_breakdown(document: JsonObject) -> list[JsonObject]:
    """The calls of a run by model; empty if none were recorded."""
    parts = _object(document.get("token_usage")).get("breakdown_by_model")
    return [_object(part) for part in parts] if isinstance(parts, list) else []


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


class RunFields(RunProperties):
    """The properties of a run's document, for plain data."""

    __slots__ = ("_data",)

    def __init__(self, data: JsonObject) -> None:
        self._data = data
