"""What the instances of a session used and cost: as the SPEC says, and by the price table where it does not."""

from collections.abc import Iterator
from dataclasses import replace

from runcard.accounting import Prices, Tokens, cost, read_usage
from runcard.documents.exact_sums import plain_number
from runcard.documents.findings import Finding, finding, shown
from runcard.documents.session.build import InstanceUsage
from runcard.documents.session.session_spec import InstanceSpec, SessionSpec
from runcard.encoding import JsonObject
from runcard.errors import UsageError
from runcard.operations.prices import configured_prices


class Accounts:
    """The accounts of all instances, by id."""

    def __init__(self, prices: Prices | None) -> None:
        self._prices = prices
        self._by_id: dict[str, InstanceUsage] = {}

    def __getitem__(self, instance_id: str) -> InstanceUsage:
        return self._by_id[instance_id]

    @property
    def _table(self) -> Prices:
        """The prices that were handed over, else those that the settings name, read when they are first needed."""
        if self._prices is None:
            self._prices = configured_prices()
        return self._prices

    def settle(self, session: SessionSpec) -> list[Finding]:
        """Read the usage of every instance, which is known to be good, and price it; what is odd or not known."""
        findings: list[Finding] = []
        for index, instance in enumerate(session.instances):
            self._by_id[instance.instance_id] = self._account(instance, f"/instances/{index}", findings)
        return findings

    def _account(self, instance: InstanceSpec, at: str, findings: list[Finding]) -> InstanceUsage:
        given = instance.given
        tokens = read_usage(given["usage"]).tokens if "usage" in given else None
        used = _used(given, tokens, at, findings)
        account = InstanceUsage(
            tokens=_by_class(tokens) if tokens else None,
            tokens_used=used,
            token_source=None if used is None and tokens is None else given.get("token_source", "given"),
        )
        if "cost" in given:
            return replace(account, cost=given["cost"], cost_source="given")
        return account if tokens is None else self._priced(account, instance, tokens, at, findings)

    def _priced(
        self, account: InstanceUsage, instance: InstanceSpec, tokens: Tokens, at: str, findings: list[Finding]
    ) -> InstanceUsage:
        """What the tokens cost by the table.

        They are those of many calls, of which nobody knows the sizes: what a vendor takes for a very long one does not
        count here.
        """
        model, provider = instance.given.get("model"), instance.given.get("provider")
        row = self._table.find(model, provider, instance.created) if model else None
        amount = None if row is None else cost(tokens, replace(row, tiers=()))
        if row is None or amount is None:
            findings.append(_unpriced(model, at, has_price=row is not None))
            return account
        return replace(
            account,
            cost=plain_number(amount),
            cost_source="priced",
            price_row=replace(row, tiers=()).to_dict(),
        )


def usage_findings(given: JsonObject, at: str) -> Iterator[Finding]:
    """What is wrong with the usage of an instance."""
    if "usage" in given:
        try:
            read_usage(given["usage"])
        except UsageError as error:
            yield finding("spec.usage", f"{at}/usage", error.message, hint=error.hint)


def _used(given: JsonObject, tokens: Tokens | None, at: str, findings: list[Finding]) -> int | None:
    """All tokens of an instance: as they are stated, or as the classes add up."""
    counted = None
    if tokens is not None and tokens.input is not None and tokens.output is not None:
        counted = tokens.input + tokens.output
    stated = given.get("tokens_used")
    if stated is None:
        return counted
    if counted not in {None, stated}:
        findings.append(
            finding(
                "spec.conflict",
                f"{at}/tokens_used",
                f"tokens_used is {shown(stated)}, but usage has {counted:,} tokens of input and output",
                hint="leave tokens_used out, or correct one of the two",
                expected=counted,
                found=stated,
            )
        )
    return int(stated)


def _by_class(tokens: Tokens) -> JsonObject:
    return {
        "input": tokens.input,
        "output": tokens.output,
        "cache_read": tokens.cache_read,
        "cache_write": _written(tokens),
        "reasoning": tokens.reasoning,
    }


def _written(tokens: Tokens) -> int | None:
    """All that was written to a cache; what only one of the two classes says is all there is."""
    parts = [part for part in (tokens.cache_write_5m, tokens.cache_write_1h) if part is not None]
    return sum(parts) if parts else None


def _unpriced(model: str | None, at: str, *, has_price: bool) -> Finding:
    named = f"the model {shown(model)}" if model else "an instance that names no model"
    unpriced, uncounted = "no price is known for", "not all tokens are known, or have a price, of"
    return finding(
        "spec.price",
        f"{at}/usage",
        f"{uncounted if has_price else unpriced} {named}: the cost stays unknown",
        hint="state 'cost' where it is known, or name the 'provider'",
        found=model,
    )
