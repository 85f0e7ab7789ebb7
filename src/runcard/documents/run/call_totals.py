"""What the model calls of a run used and cost in all: the sections `costs`, `token_usage` and `performance`.

The calls are added one at a time, and only their sums are kept: what a million calls take is 8 bytes for each time and each
id. The order in which calls are added does not matter: each has a number, and lists are in the order of these.

Values come from a journal: they may be of any type. If they cannot be added up, `sections` raises.
"""

import sys
from collections.abc import Iterable
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, NamedTuple, Self

from runcard.documents.exact_sums import add_exactly, all_known, as_decimal, money_agrees, plain_number
from runcard.documents.run.call_facts import (
    SERVER_TOOLS,
    CallTimes,
    FailedCalls,
    ModelOfCalls,
    add_tool_uses,
    tool_counts,
)
from runcard.documents.run.repeated_calls import DistinctCalls, Repeats, ReportIds
from runcard.documents.run.session_totals import MeteredSessions
from runcard.documents.token_sources import TOKEN_SOURCES, weakest_source
from runcard.encoding import JsonObject

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from runcard.documents.run.call_facts import ToolUses

FAILED_CALLS = "failed_calls"
KNOWN_COST = "known_cost_usd"  # the part of an unknown cost that is known

FURTHER_CLASSES = (
    "cache_read",
    "cache_write",
    "reasoning",
)  # of tokens; a model of a breakdown has those that are known
_FURTHER_COUNTS = ("cache_read", "cache_write_5m", "cache_write_1h", "reasoning")


class CallSections(NamedTuple):
    """The sections of the document that follow from the calls."""

    costs: JsonObject
    token_usage: JsonObject
    performance: JsonObject | None
    configuration: JsonObject  # with the model of the calls


class RunCalls:
    """All calls of a run, in the order of the journal.

    Where responses were reported more than once, `must_read_again`: then the calls are added once more to `read_again()`.
    """

    def __init__(
        self,
        *,
        with_repeats: bool = False,
        repeated: Repeats | None = None,
        sessions: MeteredSessions | None = None,
    ) -> None:
        self._totals = _Totals()
        self._all = ModelOfCalls()  # of calls without an answer as well
        self._failed = FailedCalls()
        self._ids = None if with_repeats or repeated is not None else ReportIds()
        self._distinct = DistinctCalls(self._totals.add, repeated or Repeats({}, {}))
        self._sessions = sessions or MeteredSessions()
        self._session_totals = 0  # that do not count
        self._error: Exception | None = None  # the first one

    def add(self, call: JsonObject) -> None:
        self._all.add(call)
        self._failed.add(call)
        if has_no_reply(call):
            return
        if self._ids is not None:
            self._ids.add(call)
            self._sessions.add(call)
        elif self._sessions and self._sessions.includes(call):
            self._session_totals += 1
            return
        try:
            self._distinct.add(call)
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
            self._error = (
                self._error or error
            )  # counted once, the call may lose the value that cannot be added up

    def read_again(self) -> "RunCalls | None":
        """Another object for the same calls, if some of them were reported more than once; else None: nothing is left."""
        if self._ids is None:
            return None
        repeated = self._ids.repeated()
        return RunCalls(repeated=repeated, sessions=self._sessions) if repeated or self._sessions else None

    def sections(
        self,
        stated: JsonObject,
        configuration: JsonObject,
        *,
        with_parts: bool = True,
        is_incomplete: bool = False,
    ) -> CallSections:
        """The sections; `stated` are totals that the caller stated. If calls are missing, the totals are "at least"."""
        self._distinct.end()
        if self._error is not None:
            raise self._error
        totals, repeats = self._totals, self._distinct.repeats + self._session_totals
        costs = totals.costs(stated, is_incomplete=is_incomplete)
        usage = totals.token_usage(costs) | ({"repeated_reports": repeats} if repeats else {})
        if failed := self._failed.section():
            usage[FAILED_CALLS] = failed
        model = totals.model if totals.usage.calls else self._all
        return CallSections(
            costs, usage, totals.times.section(with_parts=with_parts), model.fill_in(configuration)
        )


def distinct_calls(calls: Iterable[JsonObject]) -> list[JsonObject]:
    """The calls that the totals are made of: each once, however often it was reported, in the order of first reports.

    `calls` are the payloads of a journal; they are iterated twice.
    """
    ids, sessions = ReportIds(), MeteredSessions()
    for call in calls:
        if not has_no_reply(call):
            ids.add(call)
            sessions.add(call)
    found: dict[int, JsonObject] = {}
    distinct = DistinctCalls(found.__setitem__, ids.repeated())
    for call in calls:
        if not has_no_reply(call) and not (sessions and sessions.includes(call)):
            distinct.add(call)
    distinct.end()
    return [found[number] for number in sorted(found)]


def has_no_reply(call: JsonObject) -> bool:
    """Whether a call failed before its reply began: no usage was reported, and it is not part of the totals."""
    return call.get("error") is not None and call.get("token_source") is None


class _CountSum:
    """A sum of counts; known only if all parts are, and there are any."""

    __slots__ = ("_is_empty", "_is_known", "_others", "_total")

    def __init__(self) -> None:
        self._total, self._is_known, self._is_empty = 0, True, True
        self._others: list[float] = []  # parts that are not counts

    def add(self, count: float | None) -> None:
        self._is_empty = False
        if count is None:
            self._is_known = False
        elif type(count) is int:
            self._total += count
        else:
            self._others.append(count)

    @property
    def value(self) -> int | None:
        return None if self._is_empty or not self._is_known else sum(self._others, self._total)  # type: ignore[return-value]


class _CallUsage(NamedTuple):
    """What one call used and cost."""

    input: float | None
    output: float | None
    source: int  # of the counts, as a position in TOKEN_SOURCES
    amount: "Decimal | None"  # what is known of the cost
    is_cost_known: bool  # as a whole

    @classmethod
    def of(cls, call: JsonObject) -> Self:
        tokens, source, cost = call.get("tokens") or {}, call.get("token_source"), call.get("cost_usd")
        amount = call.get(KNOWN_COST) if cost is None else cost
        return cls(
            tokens.get("input"),
            tokens.get("output"),
            TOKEN_SOURCES.index(source if source in TOKEN_SOURCES else None),
            None if amount is None else as_decimal(amount),
            cost is not None,
        )


class _UsageSum:
    """What some of the calls used and cost."""

    __slots__ = ("_amount", "_is_cost_known", "_weakest", "calls", "input", "output")

    def __init__(self) -> None:
        self.calls = 0
        self.input, self.output = _CountSum(), _CountSum()
        self._amount: Decimal | None = None  # the sum of all costs that are known, also in part
        self._is_cost_known = True
        self._weakest = 0  # of the sources of counts

    def add(self, call: "_CallUsage") -> None:
        self.calls += 1
        self.input.add(call.input)
        self.output.add(call.output)
        self._weakest = max(self._weakest, call.source)
        self._is_cost_known = self._is_cost_known and call.is_cost_known
        if call.amount is not None:
            self._amount = call.amount if self._amount is None else add_exactly(self._amount, call.amount)

    @property
    def cost(self) -> float | int | None:
        return None if self._amount is None or not self._is_cost_known else plain_number(self._amount)

    @property
    def token_source(self) -> str | None:
        return TOKEN_SOURCES[self._weakest] if self.calls else None

    def add_known_cost(self, totals: JsonObject, name: str) -> JsonObject:
        """The totals; beside an unknown cost stands the part of it that is known, if there is one."""
        if totals[name] is not None or self._amount is None:
            return totals
        fields = list(totals.items())
        after = [key for key, _ in fields].index(name) + 1
        return dict([*fields[:after], (KNOWN_COST, plain_number(self._amount)), *fields[after:]])


class _BreakdownRow:
    """A row of a breakdown: the calls of one step or one model."""

    __slots__ = ("classes", "first", "name", "tools", "usage")

    def __init__(self) -> None:
        self.usage = _UsageSum()
        self.classes = {name: _CountSum() for name in _FURTHER_COUNTS}
        self.name: str | None = None
        self.first = sys.maxsize  # the number of its first call
        self.tools: ToolUses = {}

    def add(self, number: int, name: str | None, usage: _CallUsage, tokens: JsonObject) -> None:
        for count_name, count in self.classes.items():
            count.add(tokens.get(count_name))
        if number < self.first:
            self.first, self.name = number, name
        self.usage.add(usage)

    def to_dict(self, by: str) -> JsonObject:
        usage = self.usage
        row: JsonObject = {
            by: self.name,
            "calls": usage.calls,
            "input": usage.input.value,
            "output": usage.output.value,
            "cost_usd": usage.cost,
            "token_source": usage.token_source,
        }
        if by == "model":
            row |= {name: count for name, count in _further_tokens(self.classes).items() if count is not None}
        if by == "model" and self.tools:
            row[SERVER_TOOLS] = tool_counts(self.tools)
        return usage.add_known_cost(row, "cost_usd")


def _further_tokens(counts: "Mapping[str, _CountSum]") -> dict[str, int | None]:
    """The tokens beside input and output, of which the cached ones are a part."""
    values = {name: count.value for name, count in counts.items()}
    short, long = values["cache_write_5m"], values["cache_write_1h"]
    return {
        "cache_read": values["cache_read"],
        "cache_write": None if short is None or long is None else short + long,
        "reasoning": values["reasoning"],
    }


class _Totals:
    """The totals of calls; in any order."""

    def __init__(self) -> None:
        self.usage = _UsageSum()
        self.times = CallTimes()
        self.model = ModelOfCalls()
        self._counts = {name: _CountSum() for name in _FURTHER_COUNTS}
        self._cost_sources: set[str | None] = set()
        self._price_rows: list[tuple[int, JsonObject]] = []  # with the number of the first call
        self._breakdowns: dict[str, dict[str | None, _BreakdownRow]] = {"step": {}, "model": {}}

    def add(self, number: int, call: JsonObject) -> None:
        usage = _CallUsage.of(call)
        self.usage.add(usage)
        self.times.add(call)
        self.model.add(call)
        tokens = call.get("tokens") or {}
        for name, count in self._counts.items():
            count.add(tokens.get(name))
        self._cost_sources.add(call.get("cost_source"))
        if (row := call.get("price_row")) is not None:
            self._add_price_row(number, row)
        for by, rows in self._breakdowns.items():
            value = call.get(by)
            if value not in rows:
                rows[value] = _BreakdownRow()
            rows[value].add(number, value, usage, tokens)
        if SERVER_TOOLS in call:
            add_tool_uses(self._breakdowns["model"][call.get("model")].tools, number, call)

    def _add_price_row(self, number: int, row: JsonObject) -> None:
        for place, (first, known) in enumerate(self._price_rows):
            if known == row:
                if number < first:
                    self._price_rows[place] = (number, row)
                return
        self._price_rows.append((number, row))

    def costs(self, stated: JsonObject, *, is_incomplete: bool) -> JsonObject:
        """The section `costs`; `stated` are totals that the caller stated."""
        usage, further = self.usage, _further_tokens(self._counts)
        costs: JsonObject = {
            "input_tokens": usage.input.value,
            "output_tokens": usage.output.value,
            **{f"{name}_tokens": count for name, count in further.items()},
            "total_cost_usd": usage.cost,
            "cost_source": self._cost_source(),
            "token_source": usage.token_source,
            "price_rows": [row for _, row in sorted(self._price_rows, key=itemgetter(0))],
        }
        if is_incomplete:
            source = weakest_source([costs["token_source"], "partial"]) if usage.calls else None
            costs |= {"total_cost_usd": None, "cost_source": None, "token_source": source}
        stated = {name: value for name, value in stated.items() if name in costs}
        return usage.add_known_cost(_without_contradictions(costs | stated, stated), "total_cost_usd")

    def _cost_source(self) -> str | None:
        """`priced` when a part of the total was computed, else `reported` when a part was, else `given`."""
        sources = self._cost_sources
        if not sources or None in sources:
            return None
        return "given" if sources == {"given"} else "priced" if "priced" in sources else "reported"

    def token_usage(self, costs: JsonObject) -> JsonObject:
        """The section `token_usage`, which agrees with the costs."""
        inputs, outputs = costs["input_tokens"], costs["output_tokens"]
        return {
            "total_input_tokens": inputs,
            "total_output_tokens": outputs,
            "total_tokens": None if inputs is None or outputs is None else inputs + outputs,
            "breakdown_by_step": _agreeing_parts(self._breakdown("step"), costs),
            "breakdown_by_model": _agreeing_parts(self._breakdown("model"), costs),
        }

    def _breakdown(self, by: str) -> list[JsonObject]:
        rows = sorted(self._breakdowns[by].values(), key=attrgetter("first"))
        return [row.to_dict(by) for row in rows]


def _without_contradictions(costs: JsonObject, stated: JsonObject) -> JsonObject:
    """Totals stated by the caller have precedence; a computed one that contradicts them becomes null."""
    whole = costs["input_tokens"]
    parts = [name for name in ("cache_read_tokens", "cache_write_tokens") if costs[name] is not None]
    if whole is None or sum(costs[name] for name in parts) <= whole:
        return costs
    doubtful = [name for name in ("input_tokens", *parts) if name not in stated] or parts
    return costs | dict.fromkeys(doubtful)


def _agreeing_parts(parts: list[JsonObject], costs: JsonObject) -> list[JsonObject]:
    """The parts of the totals; their values become null where the caller stated a different total."""
    for name, total in (
        ("input", "input_tokens"),
        ("output", "output_tokens"),
        *((name, f"{name}_tokens") for name in FURTHER_CLASSES),
        ("cost_usd", "total_cost_usd"),
    ):
        known, whole = all_known(part.get(name) for part in parts), costs[total]
        if known is None or whole is None:
            continue
        if not (money_agrees(known, whole) if name == "cost_usd" else sum(known) == whole):
            parts = [part | {name: None} for part in parts]
    return _without_larger_costs(parts, costs["total_cost_usd"])


def _without_larger_costs(parts: list[JsonObject], total: float | None) -> list[JsonObject]:
    """The parts; their costs are left out where what is known of them exceeds the total that the caller stated."""
    known = [amount for part in parts if (amount := part.get(KNOWN_COST, part["cost_usd"])) is not None]
    if total is None or money_agrees(known, total, at_least=True):
        return parts
    return [
        {name: value for name, value in part.items() if name != KNOWN_COST} | {"cost_usd": None}
        for part in parts
    ]
