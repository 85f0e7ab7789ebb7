"""The fold of a session that was recorded while it worked: its start document and its events become what `collect` stores.

Pure, and the same for whoever closes the session. Lines come from journals: they may be damaged, and of any type. A line
that is not complete is ignored. A model call that several reported, an agent and the run inside it for example, counts once.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from runcard.documents.chain import Line
from runcard.documents.percentiles import Times
from runcard.documents.run.call_totals import CallSections, RunCalls, has_no_reply
from runcard.documents.run.events import (
    ERROR_ADDED,
    MODEL_CALLED,
    RUN_ENDED,
    SECRETS_MASKED,
    USAGE_INCOMPLETE,
)
from runcard.documents.run.repeated_calls import DistinctCalls, ReportIds
from runcard.documents.run.session_totals import MeteredSessions
from runcard.documents.session.build import InstanceUsage
from runcard.documents.session.error_categories import category, retryable
from runcard.documents.session.live_events import (
    INSTANCE_FINISHED,
    INSTANCE_STARTED,
    INSTANCE_STATUSES,
    PAYLOADS,
    RUN_RECORDED,
    SESSION_ENDED,
    STATUS_OF_OPEN,
)
from runcard.documents.session.measured_runs import MeasuredRuns
from runcard.documents.session.session_spec import InstanceSpec, SessionSpec
from runcard.documents.times import format_time_ms, parse_time
from runcard.documents.token_sources import weakest_source
from runcard.encoding import JsonObject
from runcard.files import is_safe_id

CRASHED = "the process that recorded it ended before it was finished"
NOT_FINISHED = (
    "its session was stored before it was finished"  # of a session without a process: nothing crashed
)

_DIRECT = " reported by the session itself"  # a mark of calls, with a space: no event has such a field
_TEXTS = ("role", "model", "provider", "workspace", "output")
_MOST_SECONDS = 10**9
_ABOUT_AGENTS = (INSTANCE_FINISHED, ERROR_ADDED, USAGE_INCOMPLETE)


@dataclass(frozen=True, slots=True)
class FoldedSession:
    """A session as its events tell it."""

    session: SessionSpec
    usages: dict[str, InstanceUsage]  # by instance
    redactions: tuple[JsonObject, ...]
    status: str | None  # how it ended; None if that was not recorded
    last_time: datetime | None  # of an event


@dataclass(slots=True)
class _FoldedAgent:
    """One agent, as far as its events were read."""

    instance_id: str
    created: datetime
    started: JsonObject  # the payload of its start
    finished: JsonObject | None = None
    terminated: datetime | None = None
    errors: list[JsonObject] = field(default_factory=list)  # the last one only
    categories: "Counter[str]" = field(default_factory=Counter)
    is_incomplete: bool = False
    calls: dict[tuple[Any, ...], RunCalls] = field(
        default_factory=dict
    )  # by model, provider and service tier
    all_calls: RunCalls = field(default_factory=lambda: RunCalls(with_repeats=True))
    count: int = 0
    times: Times = field(default_factory=Times)
    server_tools: "Counter[str]" = field(default_factory=Counter)


def fold_live(
    start: JsonObject, lines: Iterable[Line], *, end: datetime, is_over: bool, alive: datetime | None = None
) -> FoldedSession:
    """The session of these events; `lines` are those of all writers by time, and are iterated twice.

    `end` is now. If the session `is_over` and its end was not recorded, its agents ended at its last sign of life, as far as
    that is known: the last event, or `alive`. If it is not over, they are running.
    """
    folding = _Folding(start)
    folding.read(lines)
    folding.count_calls(lines)
    return folding.result(end, is_over=is_over, alive=alive)


def payload_of(line: Line) -> JsonObject | None:
    """The complete payload of an event of a session; None if it was withheld, or is not one."""
    name, payload = line.get("event"), line.get("payload")
    if not isinstance(name, str) or name not in PAYLOADS or not isinstance(payload, dict):
        return None
    return (
        payload if all(isinstance(payload.get(key), kind) for key, kind in PAYLOADS[name].items()) else None
    )


class _Folding:
    """The state of a fold."""

    def __init__(self, start: JsonObject) -> None:
        self._start = start
        self._agents: dict[str, _FoldedAgent] = {}
        self._runs: dict[str, list[int]] = {}  # calls that the session has as well, and others, by run
        self._measured = MeasuredRuns()
        self._redactions: Counter[tuple[str, str]] = Counter()
        self._ids, self._totals = ReportIds(), MeteredSessions()
        self._status: str | None = None
        self._error: str = ""  # that the session failed with
        self._ended: datetime | None = None
        self._last: datetime | None = None

    def read(self, lines: Iterable[Line]) -> None:
        early: list[tuple[str, str, JsonObject, datetime]] = []
        for line in lines:
            moment = _moment(line)
            if moment is None:
                continue
            self._last = max(moment, self._last or moment)
            if (payload := payload_of(line)) is not None:
                event, own = str(line["event"]), _text(line.get("instance_id"))
                self._add(own, event, payload, moment)
                if own and own not in self._agents and event in _ABOUT_AGENTS:
                    early.append((own, event, payload, moment))
        for own, event, payload, moment in early:  # of another process, in the millisecond of its start
            self._add(own, event, payload, moment)

    def _add(self, own: str, event: str, payload: JsonObject, moment: datetime) -> None:
        agent = self._agents.get(own)
        if event == INSTANCE_STARTED:
            if agent is None and is_safe_id(own) and payload["name"]:
                self._agents[own] = _FoldedAgent(own, moment, payload)
        elif event == INSTANCE_FINISHED and agent is not None and payload["status"] in INSTANCE_STATUSES:
            agent.finished, agent.terminated = payload, max(moment, agent.created)
        elif event == ERROR_ADDED and agent is not None:
            agent.errors = [payload | {"time": moment}]
            agent.categories[_category(payload)] += 1
        elif event == USAGE_INCOMPLETE and agent is not None:
            agent.is_incomplete = True
        elif event == SESSION_ENDED and payload["status"] in STATUS_OF_OPEN:
            self._status, self._ended, self._error = payload["status"], moment, _text(payload.get("error"))
        elif event in (RUN_RECORDED, RUN_ENDED):
            self._add_run(own, event, payload)
        elif event == SECRETS_MASKED:
            self._redactions[payload["rule"], payload["where"]] += payload["count"]
        elif event == MODEL_CALLED and not has_no_reply(payload):
            self._ids.add(payload)
            self._totals.add(payload)

    def _add_run(self, own: str, event: str, payload: JsonObject) -> None:
        if event == RUN_RECORDED:
            self._runs.setdefault(payload["run_id"], [0, 0])
            self._measured.add_run(own, payload["run_id"])
        else:
            self._measured.add_end(payload)

    def count_calls(self, lines: Iterable[Line]) -> None:
        """Add each call to the agent that reported it first."""
        found = DistinctCalls(self._count, self._ids.repeated())
        for call in _calls(lines):
            if not has_no_reply(call) and not (self._totals and self._totals.includes(call)):
                found.add(call)
        found.end()

    def _count(self, _: int, call: JsonObject) -> None:
        agent = self._agents.get(call["instance_id"])
        key = tuple(call.get(name) for name in ("model", "provider", "service_tier"))
        if agent is None or not all(isinstance(part, str | None) for part in key):
            return
        run = call.get("run_id")
        if isinstance(run, str):
            self._runs.setdefault(run, [0, 0])[0 if _DIRECT in call else 1] += 1
        agent.all_calls.add(call)
        agent.calls.setdefault(key, RunCalls(with_repeats=True)).add(call)
        agent.count += 1
        seconds = call.get("latency_seconds")
        if (
            isinstance(seconds, int | float)
            and not isinstance(seconds, bool)
            and 0 <= seconds <= _MOST_SECONDS
        ):
            agent.times.add(seconds)
        tools = call.get("server_tools")
        for name, uses in tools.items() if isinstance(tools, dict) else ():
            if type(uses) is int and uses >= 0:
                agent.server_tools[name] += uses

    def result(self, end: datetime, *, is_over: bool, alive: datetime | None) -> FoldedSession:
        usages = {own: _usage(agent) for own, agent in self._agents.items()}
        last = max((each for each in (self._last, alive) if each is not None), default=None)
        status = self._status if is_over else "collected"
        ended = (self._ended if is_over else end) or last or end
        parents = self._parents()
        has_process = self._start.get("process") is not None
        instances = tuple(
            _instance(
                agent,
                parents.get(own),
                status,
                ended,
                usages[own],
                self._measured,
                has_process=has_process,
                session_error=self._error,
            )
            for own, agent in self._agents.items()
        )
        fields: JsonObject = {
            "labels": self._start.get("labels") or {},
            "trace": self._start.get("trace"),
            "relations": [{"type": "run", "id": run} for run in self._runs],
        }
        if counted := {run: calls for run, calls in self._runs.items() if any(calls)}:
            fields["metered_runs"] = [
                {"run_id": run, "calls_in_both": both, "only_metered": only}
                for run, (both, only) in counted.items()
            ]
        redactions = tuple(
            {"rule": rule, "where": where, "count": count}
            for (rule, where), count in self._redactions.items()
        )
        session = SessionSpec(str(self._start["team_session_id"]), instances, fields)
        return FoldedSession(session, usages, redactions, self._status, last)

    def _parents(self) -> dict[str, str]:
        """The parent of each agent that has one; those of other sessions, and circles, are left out."""
        parents: dict[str, str] = {}
        for own, agent in self._agents.items():
            parent = agent.started.get("parent_instance_id")
            above = parent if isinstance(parent, str) and parent in self._agents else None
            place = above
            while place is not None and place != own:
                place = parents.get(place)
            if above is not None and place is None:
                parents[own] = above
        return parents


def _calls(lines: Iterable[Line]) -> Iterator[JsonObject]:
    """The calls in the events, each with its agent."""
    for line in lines:
        if (
            line.get("event") != MODEL_CALLED
            or (payload := payload_of(line)) is None
            or _moment(line) is None
        ):
            continue
        mark = {} if "run_id" in payload else {_DIRECT: True}
        yield {**payload, **mark, "instance_id": _text(line.get("instance_id"))}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _moment(line: Line) -> datetime | None:
    text = line.get("timestamp")
    try:
        moment = parse_time(text) if isinstance(text, str) else None
        return moment if moment is None else moment if format_time_ms(moment) else None
    except (OverflowError, ValueError):
        return None


def _instance(
    agent: _FoldedAgent,
    parent: str | None,
    status: str | None,
    ended: datetime,
    usage: InstanceUsage,
    measured: MeasuredRuns,
    *,
    has_process: bool,
    session_error: str,
) -> InstanceSpec:
    """One agent. An agent that was not finished ends as the session did, with its error unless it has one of its own."""
    payload = agent.started
    labels = payload.get("labels")
    fields: JsonObject = {
        "name": payload["name"],
        **{name: value for name in _TEXTS if isinstance(value := payload.get(name), str) and value},
        **({"labels": labels} if isinstance(labels, dict) and labels else {}),
        "created_at": format_time_ms(agent.created),
    }
    if usage.model and "model" not in fields:
        fields["model"] = usage.model
    terminated = agent.terminated or max(ended, agent.created)
    if agent.finished is not None:
        fields |= {"status": agent.finished["status"], **_error(agent, agent.finished)}
    elif status is not None:
        inherited = {"error": session_error} if session_error and not agent.errors else {}
        open_status = STATUS_OF_OPEN[status]
        fields |= {"status": open_status, **_error(agent, {"status": open_status, **inherited})}
    else:
        message = CRASHED if has_process else NOT_FINISHED
        fields |= {"status": "terminated", "error_message": message}
        if has_process:
            fields["error_details"] = {"category": "crashed", "message": message}
        fields["terminated_at_source"] = "estimated"
    if agent.categories:
        fields["errors_by_category"] = dict(sorted(agent.categories.items()))
    fields |= _measurements(agent, measured)
    fields["terminated_at"] = format_time_ms(terminated)
    return InstanceSpec(agent.instance_id, parent, agent.created, terminated, fields)


def _measurements(agent: _FoldedAgent, runs: MeasuredRuns) -> JsonObject:
    """The response times of its calls, and what its runs used."""
    performance: JsonObject = {"peak_memory_bytes": runs.peak_memory_bytes(agent.instance_id)}
    if len(agent.times):
        performance["response_times"] = {"count": len(agent.times), **(agent.times.summary() or {})}
    return {"performance": performance, "resources": {"cpu_seconds": runs.cpu_seconds(agent.instance_id)}}


def _category(payload: JsonObject) -> str:
    stated = payload.get("category")
    return stated if isinstance(stated, str) and stated else category(payload["message"], "error") or "other"


def _error(agent: _FoldedAgent, finished: JsonObject) -> JsonObject:
    """The error that an agent ended with: the one of its end, or else the last one."""
    message, status = finished.get("error"), finished["status"]
    if status not in {"error", "timeout", "terminated"}:
        return {}
    last = agent.errors[-1] if agent.errors else None
    if not isinstance(message, str) or not message:
        if last is None:
            return {}
        message = last["message"]
    same = last is not None and last["message"] == message
    kind = _category(last) if last is not None and same else category(message, status) or "other"
    details: JsonObject = {"category": kind, "message": message}
    if last is not None and same:
        details["time"] = format_time_ms(last["time"])
    may_retry = retryable(kind)
    return {
        "error_message": message,
        "error_details": details if may_retry is None else details | {"retryable": may_retry},
    }


def _usage(agent: _FoldedAgent) -> InstanceUsage:
    """What an agent used, by its calls; unknown without any."""
    if not agent.count:
        return InstanceUsage()
    sections = _sections(agent.all_calls, is_incomplete=agent.is_incomplete)
    if sections is None:
        return InstanceUsage(calls=agent.count)
    costs, tokens = sections.costs, _tokens(sections.costs)
    models = list(agent.calls)
    parts = [_part(key, part) for key, calls in agent.calls.items() if (part := _sections(calls)) is not None]
    return InstanceUsage(
        tokens=tokens,
        tokens_used=sections.token_usage["total_tokens"],
        token_source=costs["token_source"],
        cost=costs["total_cost_usd"],
        cost_source=costs["cost_source"] if costs["total_cost_usd"] is not None else None,
        known_cost=costs.get("known_cost_usd"),
        price_rows=tuple(costs["price_rows"]),
        server_tools=dict(agent.server_tools) or None,
        model=_main_model(parts) if len(models) > 1 else models[0][0],
        calls=agent.count,
        models=tuple(parts) if len(parts) > 1 else (),
    )


def _sections(calls: RunCalls, *, is_incomplete: bool = False) -> CallSections | None:
    try:
        return calls.sections({}, {}, is_incomplete=is_incomplete)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError):
        return None  # counts that cannot be added up


def _tokens(costs: JsonObject) -> JsonObject:
    return {
        name: costs[f"{name}_tokens"]
        for name in ("input", "output", "cache_read", "cache_write", "reasoning")
    }


def _part(key: tuple[Any, ...], part: CallSections) -> JsonObject:
    model, provider, tier = key
    facts = {"provider": provider, "service_tier": tier}
    cost, known = part.costs["total_cost_usd"], part.costs.get("known_cost_usd")
    return {
        "model": model,
        **{name: value for name, value in facts.items() if value is not None},
        "calls": sum(row["calls"] for row in part.token_usage["breakdown_by_model"]),
        "tokens": _tokens(part.costs),
        "token_source": weakest_source([part.costs["token_source"]]),
        **({"cost": cost} if cost is not None else {} if known is None else {"known_cost": known}),
    }


def _main_model(parts: list[JsonObject]) -> str | None:
    """The model with most output; None if a part does not name its model."""
    outputs: Counter[str | None] = Counter()
    for part in parts:
        outputs[part["model"]] += part["tokens"]["output"] or 0
    return None if None in outputs or not outputs else max(outputs, key=lambda model: outputs[model])
