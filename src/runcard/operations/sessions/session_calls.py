"""The calls of many session files, by session and agent, with what each agent used and what that cost."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from runcard.accounting import PriceRow, Prices
from runcard.documents.exact_sums import plain_number
from runcard.documents.session.build import InstanceUsage, distinct_price_rows
from runcard.encoding import JsonObject
from runcard.operations.sessions.call_costs import CallCharge, CallSums, CostTotals, SumOfCalls
from runcard.transcripts.activity import UNATTRIBUTED
from runcard.transcripts.calls import NO_TIME, CallTable

_INPUT = 0  # the position of a count


class CallGroup(NamedTuple):
    """Who made calls; None where the files do not say."""

    session: str | None
    agent: str | None  # the id that its tool gives it


@dataclass
class AgentCalls:
    """The calls of one agent, added up by price."""

    name: str | None = None
    started: int = NO_TIME
    ended: int = NO_TIME
    project: str | None = None
    branch: str | None = None
    charges: list[tuple[SumOfCalls, CallCharge]] = field(default_factory=list)

    def add_time(self, time: int) -> None:
        if time >= 0:
            self.started = time if self.started < 0 else min(self.started, time)
            self.ended = max(self.ended, time)

    @property
    def unpriced(self) -> list[str]:
        """The models without a price, or with a part that has none."""
        names = {sums.kind.model or "unknown" for sums, charge in self.charges if not charge.has_price}
        return sorted(names)

    def usage(self) -> InstanceUsage:
        """The usage of the agent; `models` has it by model, provider and service tier."""
        groups: dict[tuple[str | None, ...], list[tuple[SumOfCalls, CallCharge]]] = {}
        for sums, charge in self.charges:
            kind = sums.kind
            groups.setdefault((kind.model, kind.provider, kind.service_tier), []).append((sums, charge))
        models = sorted(map(_model_usage, groups.values()), key=_order)
        totals, tokens = _totals(self.charges), _tokens(self.charges)
        rows = [charge.row for _, charge in self.charges]
        is_known = tokens["input"] is not None and tokens["output"] is not None
        return InstanceUsage(
            tokens=tokens,
            tokens_used=tokens["input"] + tokens["output"] if is_known else None,
            token_source=totals.token_source,
            cost=None if totals.cost is None else plain_number(totals.cost),
            cost_source=_cost_source(rows) if totals.cost is not None else None,
            known_cost=plain_number(totals.known_cost) if totals.cost is None and totals.known_cost else None,
            price_rows=tuple(distinct_price_rows(None if row is None else row.to_dict() for row in rows)),
            server_tools=_server_tools(self.charges) or None,
            model=models[0]["model"] if models else None,
            calls=totals.calls,
            models=tuple(models),
        )


def _cost_source(rows: list[PriceRow | None]) -> str | None:
    """Where a cost comes from; nowhere without a call."""
    return None if not rows else "priced" if any(rows) else "reported"


def _model_usage(charges: list[tuple[SumOfCalls, CallCharge]]) -> JsonObject:
    kind = charges[0][0].kind
    totals = _totals(charges)
    return {
        "model": kind.model,
        **({} if kind.provider is None else {"provider": kind.provider}),
        **({} if kind.service_tier is None else {"service_tier": kind.service_tier}),
        "calls": totals.calls,
        "tokens": _tokens(charges),
        "token_source": totals.token_source,
        **(
            {"known_cost": plain_number(totals.known_cost)}
            if totals.cost is None
            else {"cost": plain_number(totals.cost)}
        ),
    }


def _order(usage: JsonObject) -> tuple[object, ...]:
    """The model with most output first."""
    names = [usage.get(name) or "" for name in ("model", "provider", "service_tier")]
    return -(usage["tokens"]["output"] or 0), -usage["calls"], names


def _totals(charges: Iterable[tuple[SumOfCalls, CallCharge]]) -> CostTotals:
    totals = CostTotals()
    for sums, charge in charges:
        totals.add(sums, charge)
    return totals


def _tokens(charges: list[tuple[SumOfCalls, CallCharge]]) -> JsonObject:
    """The tokens as documents have them: `input` is all that was sent, with the cached parts."""
    totals = _totals(charges)
    sent = sum(sums.counts[_INPUT] for sums, _ in charges)
    return totals.tokens | {"input": None if totals.tokens["input"] is None else sent}


def _server_tools(charges: list[tuple[SumOfCalls, CallCharge]]) -> dict[str, int]:
    uses: Counter[str] = Counter()
    for sums, _ in charges:
        for name, count in sums.kind.server_tools:
            uses[name] += count * sums.calls
    return dict(sorted(uses.items()))


def calls_by_session(table: CallTable, prices: Prices) -> dict[str | None, dict[str | None, AgentCalls]]:
    """All calls of a table, by session and by the id of the agent."""
    sums: CallSums[CallGroup] = CallSums(prices, table.kinds)
    groups = [
        CallGroup(origin.session, None if origin.agent_id == UNATTRIBUTED else origin.agent_id)
        for origin in table.origins
    ]
    agents: dict[CallGroup, AgentCalls] = {}
    for time, kind, origin, counts in table.numbered():
        group = groups[origin]
        sums.add(group, time, kind, counts)
        if (agent := agents.get(group)) is None:
            facts = table.origins[origin]
            agent = agents[group] = AgentCalls(facts.agent, project=facts.project, branch=facts.branch)
        agent.add_time(time)
    for group, same_price, charge in sums.charges():
        agents[group].charges.append((same_price, charge))
    sessions: dict[str | None, dict[str | None, AgentCalls]] = {}
    for group, agent in agents.items():
        sessions.setdefault(group.session, {})[group.agent] = agent
    return sessions
