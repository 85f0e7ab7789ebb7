"""The tokens and costs of a session's instances: from the SPEC, or else from the price table."""

from collections.abc import Iterator
from dataclasses import replace

from runcard.accounting import Prices, Tokens, cost, read_usage
from runcard.documents.exact_sums import plain_number
from runcard.documents.findings import Finding, display_value, finding
from runcard.documents.session.build import InstanceUsage
from runcard.documents.session.session_spec import InstanceSpec, SessionSpec
from runcard.encoding import JsonObject
from runcard.errors import UsageError
from runcard.settings.apply import configured_prices


class UsageReader:
    """Reads and prices the usage of instances; without `prices`, with those of the settings."""

    def __init__(self, prices: Prices | None) -> None:
        self._prices = prices

    @property
    def _table(self) -> Prices:
        """The prices, which are read when they are first needed."""
        if self._prices is None:
            self._prices = configured_prices()
        return self._prices

    def read(self, session: SessionSpec) -> tuple[dict[str, InstanceUsage], list[Finding]]:
        """The usage of each instance of a valid SPEC, by id, and warnings."""
        usages: dict[str, InstanceUsage] = {}
        warnings: list[Finding] = []
        for index, instance in enumerate(session.instances):
            usages[instance.instance_id] = self._usage(instance, f"/instances/{index}", warnings)
        return usages, warnings

    def _usage(self, instance: InstanceSpec, at: str, findings: list[Finding]) -> InstanceUsage:
        given = instance.fields
        tokens = read_usage(given["usage"]).tokens if "usage" in given else None
        used = _total_tokens(given, tokens, at, findings)
        usage = InstanceUsage(
            tokens=_by_class(tokens) if tokens else None,
            tokens_used=used,
            token_source=None if used is None and tokens is None else given.get("token_source", "given"),
        )
        if "cost" in given:
            return replace(usage, cost=given["cost"], cost_source="given")
        return usage if tokens is None else self._priced(usage, instance, tokens, at, findings)

    def _priced(
        self, usage: InstanceUsage, instance: InstanceSpec, tokens: Tokens, at: str, findings: list[Finding]
    ) -> InstanceUsage:
        """The usage with its cost by the price table.

        The tokens are those of many calls of unknown sizes, so that prices for very long calls do not apply.
        """
        model, provider = instance.fields.get("model"), instance.fields.get("provider")
        row = self._table.find(model, provider, instance.created) if model else None
        amount = None if row is None else cost(tokens, replace(row, tiers=()))
        if row is None or amount is None:
            findings.append(_unpriced(model, at, has_price=row is not None))
            return usage
        return replace(
            usage,
            cost=plain_number(amount),
            cost_source="priced",
            price_row=replace(row, tiers=()).to_dict(),
        )


def usage_findings(given: JsonObject, at: str) -> Iterator[Finding]:
    """Errors in the usage of an instance."""
    if "usage" in given:
        try:
            read_usage(given["usage"])
        except UsageError as error:
            yield finding("spec.usage", f"{at}/usage", error.message, hint=error.hint)


def _total_tokens(given: JsonObject, tokens: Tokens | None, at: str, findings: list[Finding]) -> int | None:
    """The total tokens of an instance: as given, or the sum of the classes."""
    counted = None
    if tokens is not None and tokens.input is not None and tokens.output is not None:
        counted = tokens.input + tokens.output
    total = given.get("tokens_used")
    if total is None:
        return counted
    if counted not in {None, total}:
        findings.append(
            finding(
                "spec.conflict",
                f"{at}/tokens_used",
                f"tokens_used is {display_value(total)}, but usage has {counted:,} tokens of input and output",
                hint="remove tokens_used, or correct one of the two",
                expected=counted,
                found=total,
            )
        )
    return int(total)


def _by_class(tokens: Tokens) -> JsonObject:
    return {
        "input": tokens.input,
        "output": tokens.output,
        "cache_read": tokens.cache_read,
        "cache_write": _cache_written(tokens),
        "reasoning": tokens.reasoning,
    }


def _cache_written(tokens: Tokens) -> int | None:
    """The tokens written to a cache, in both classes or in the one that is known."""
    parts = [part for part in (tokens.cache_write_5m, tokens.cache_write_1h) if part is not None]
    return sum(parts) if parts else None


def _unpriced(model: str | None, at: str, *, has_price: bool) -> Finding:
    name = f"the model {display_value(model)}" if model else "an instance without a model"
    problem = "tokens unknown or without a price for" if has_price else "no price for"
    return finding(
        "spec.price",
        f"{at}/usage",
        f"{problem} {name}: the cost stays unknown",
        hint="add 'cost' if it is known, or 'provider'",
        found=model,
    )
