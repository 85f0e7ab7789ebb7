"""The marker `llm_budget`: how much the model calls of a test may cost or use.

A cost that is unknown, or known only in part, cannot be proven to be within a budget: then the test fails, and the message says why.
"""

from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from runcard.documents.exact_sums import as_decimal
from runcard.encoding import JsonObject
from runcard.errors import UsageError
from runcard.views.formats import counted, money, money_at_least, token_count

if TYPE_CHECKING:
    import pytest

_HINT = "write @pytest.mark.llm_budget(usd=0.05), or tokens=1000, or both"


class CallBudget(NamedTuple):
    """What a test may cost and use; None: any amount."""

    usd: Decimal | None
    tokens: int | None


def budget_of(item: "pytest.Item") -> CallBudget | None:
    """The budget of a test: of its markers, the nearest one that sets it. Raises UsageError for a marker that is wrong."""
    limits: JsonObject = {}
    for marker in item.iter_markers("llm_budget"):
        limits = _checked(marker) | limits
    return CallBudget(limits.get("usd"), limits.get("tokens")) if limits else None


def _checked(marker: "pytest.Mark") -> JsonObject:
    unknown = sorted(marker.kwargs.keys() - {"usd", "tokens"})
    given = {name: value for name, value in marker.kwargs.items() if value is not None}
    if marker.args or unknown or not given:
        what = f"has an unknown argument, {unknown[0]}" if unknown else "needs usd= or tokens="
        raise UsageError(f"llm_budget {what}", hint=_HINT)
    for name, value in given.items():
        kinds = (int,) if name == "tokens" else (int, float, Decimal)
        if isinstance(value, bool) or not isinstance(value, kinds) or not 0 <= value < float("inf"):
            raise UsageError(f"llm_budget({name}={value!r}) is not a budget", hint=_HINT)
    return {name: as_decimal(value) if name == "usd" else value for name, value in given.items()}


def violation(budget: CallBudget, figures: JsonObject) -> str | None:
    """Why a test is not within its budget, for people; None if it is."""
    if not figures["calls"] and not figures["incomplete"]:
        return None
    reasons = []
    if budget.usd is not None and (reason := _cost_violation(budget.usd, figures)):
        reasons.append(reason)
    if budget.tokens is not None and (reason := _token_violation(budget.tokens, figures)):
        reasons.append(reason)
    if not reasons:
        return None
    return f"llm_budget: {'; '.join(reasons)} ({_calls(figures)})"


def _cost_violation(limit: Decimal, figures: JsonObject) -> str | None:
    cost, known = figures["cost_usd"], figures["known_cost_usd"]
    allowed = f"the budget is {money(float(limit))}"
    if cost is not None and not figures["estimated"]:
        return None if as_decimal(cost) <= limit else f"the model calls cost {money(cost)}, {allowed}"
    if known is not None and as_decimal(known) > limit:
        amount = f"about {money(cost)}" if cost is not None else money_at_least(known)
        return f"the model calls cost {amount}, {allowed}"
    amount = "unknown" if not known else f"about {money(cost)}" if cost is not None else money_at_least(known)
    return f"the cost of the model calls cannot be proven to be within the budget: {amount}, {allowed}; {_doubt(figures)}"


def _token_violation(limit: int, figures: JsonObject) -> str | None:
    tokens = figures["tokens"]
    parts = [tokens[name] for name in ("input", "output")]
    used, allowed = sum(part for part in parts if part is not None), f"the budget is {token_count(limit)}"
    is_certain = None not in parts and not figures["incomplete"] and not figures["estimated"]
    if used > limit:
        return f"the model calls used {'' if is_certain else '≥ '}{token_count(used)} tokens, {allowed}"
    if is_certain:
        return None
    text = f"≥ {token_count(used)}" if used else "unknown"
    return f"the tokens of the model calls cannot be proven to be within the budget: {text}, {allowed}; {_doubt(figures)}"


def _doubt(figures: JsonObject) -> str:
    """Why a figure is not certain."""
    if figures["incomplete"]:
        return str(figures["incomplete"][0])
    if figures["estimated"]:
        return "the tokens are estimated"
    if None in (figures["tokens"]["input"], figures["tokens"]["output"]):
        return "a reply had no token counts"
    return f"the price of {', '.join(figures['unpriced'])} is not known completely: the setting `prices` can add it"


def _calls(figures: JsonObject) -> str:
    """`2 calls, 1 of them in setup`."""
    phases: JsonObject = figures.get("phases", {})
    elsewhere = [f"{phases[name]:,} in {name}" for name in ("setup", "teardown") if phases.get(name)]
    return ", ".join([counted(figures["calls"], "call"), *elsewhere])
