"""The tokens and costs of a session's instances: from the SPEC, or else from the price table."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from runcard.accounting import Charge, Prices, Tokens, Usage, read_usage, sum_tokens, weakest
from runcard.accounting.missing_prices import missing_price
from runcard.documents.exact_sums import exact_sum, plain_number
from runcard.documents.findings import Finding, display_value, finding
from runcard.documents.session.build import InstanceUsage, distinct_price_rows
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
        calls = _calls(given["usage"]) if "usage" in given else ()
        tokens = sum_tokens(call.tokens for call in calls) if calls else None
        used = _total_tokens(given, tokens, at, findings)
        usage = InstanceUsage(
            tokens=_by_class(tokens) if tokens else None,
            tokens_used=used,
            server_tools=dict(sum((Counter(call.server_tools) for call in calls), Counter())) or None,
            token_source=None if used is None and tokens is None else _token_source(given, calls),
            model=_main_model(calls) if isinstance(given.get("usage"), list) else _only_model(calls),
        )
        if "cost" in given:
            return replace(usage, cost=given["cost"], cost_source="given")
        if calls:
            return self._priced(usage, instance, calls, at, findings)
        if used is not None:
            findings.append(_only_total(at))
        return usage

    def _priced(
        self,
        usage: InstanceUsage,
        instance: InstanceSpec,
        calls: tuple[Usage, ...],
        at: str,
        findings: list[Finding],
    ) -> InstanceUsage:
        """The usage with its cost: as the calls state it, or by the price table."""
        amounts: list[float] = []
        charges = [self._charge(call, instance) for call in calls]
        sources: set[str | None] = set()
        for call, charge in zip(calls, charges, strict=True):
            if charge.cost is None:
                findings.append(self._unpriced(call, instance, charge, at))
            amount = charge.known_cost if charge.cost is None else charge.cost
            amounts += [] if amount is None else [plain_number(amount)]
            sources.add(None if charge.cost is None else charge.source)
        rows = [None if charge.row is None else charge.row.to_dict() for charge in charges]
        if isinstance(instance.fields["usage"], list):
            usage = replace(usage, models=tuple(map(_model_usage, calls, charges)))
        if not amounts:
            return usage
        usage = replace(usage, price_rows=tuple(distinct_price_rows(rows)))
        total = plain_number(exact_sum(amounts))
        if None in sources:
            return replace(usage, known_cost=total)
        return replace(usage, cost=total, cost_source="priced" if "priced" in sources else "reported")

    def _charge(self, call: Usage, instance: InstanceSpec) -> Charge:
        """The tokens are those of many calls of unknown sizes, so that prices for very long calls do not apply."""
        total = replace(call, is_total=True, service_tier=self._tier(call, instance))
        model = instance.fields.get("model")
        return self._table.charge(total, self._provider(call, instance), instance.created, model)

    def _unpriced(self, call: Usage, instance: InstanceSpec, charge: Charge, at: str) -> Finding:
        given = instance.fields
        model = call.model or given.get("model")
        provider = self._provider(call, instance) or call.known_provider
        tier = self._tier(call, instance)
        message = missing_price(self._table, charge, model, provider, tier, instance.created)
        part = "known only in part" if charge.known_cost is not None else "unknown"
        other = "" if charge.unpriced or provider else ", or 'provider'" if model else ", or 'model'"
        return finding(
            "spec.price",
            f"{at}/usage",
            f"{message}: the cost is {part}",
            hint=f"add 'cost' if it is known{other}",
            found=model,
        )

    def _tier(self, call: Usage, instance: InstanceSpec) -> str | None:
        """As the instance states it; in a list, each part may have one of its own."""
        given: str | None = instance.fields.get("service_tier")
        is_list = isinstance(instance.fields["usage"], list)
        return call.service_tier or given if is_list else given or call.service_tier

    def _provider(self, call: Usage, instance: InstanceSpec) -> str | None:
        given: str | None = instance.fields.get("provider")
        is_list = isinstance(instance.fields["usage"], list)
        return call.known_provider or given if is_list else given


def _token_source(given: JsonObject, calls: tuple[Usage, ...]) -> str | None:
    """As given, or else that of the usage: a vendor's own form is as reliable as the vendor."""
    if "token_source" in given or "tokens_used" in given:
        source: str | None = given.get("token_source", "given")
        return source
    return weakest(call.source for call in calls)


def _calls(usage: object) -> tuple[Usage, ...]:
    """The usage of an instance, or a list of them."""
    parts = usage if isinstance(usage, list) else [usage]
    return tuple(call for part in parts for call in read_usage(part).calls)


def _only_model(calls: tuple[Usage, ...]) -> str | None:
    models = {call.model for call in calls}
    return models.pop() if len(models) == 1 else None


def _main_model(calls: tuple[Usage, ...]) -> str | None:
    """The model with most output; None if a part does not name its model."""
    outputs: Counter[str | None] = Counter()
    for call in calls:
        outputs[call.model] += call.tokens.output or 0
    return None if None in outputs or not outputs else max(outputs, key=lambda model: outputs[model])


def _model_usage(call: Usage, charge: Charge) -> JsonObject:
    """A part of the usage, as documents list it."""
    facts = {"provider": call.known_provider, "service_tier": call.service_tier}
    cost = charge.known_cost if charge.cost is None else charge.cost
    return {
        "model": call.model,
        **{name: value for name, value in facts.items() if value is not None},
        "tokens": _by_class(call.tokens),
        "token_source": call.source,
        **({} if cost is None else {"known_cost" if charge.cost is None else "cost": plain_number(cost)}),
    }


def usage_findings(given: JsonObject, at: str) -> Iterator[Finding]:
    """Errors in the usage of an instance."""
    usage = given.get("usage", [])
    is_list = isinstance(usage, list)
    for number, part in enumerate(usage if is_list else [usage]):
        try:
            read_usage(part)
        except UsageError as error:
            pointer = f"{at}/usage/{number}" if is_list else f"{at}/usage"
            yield finding("spec.usage", pointer, error.message, hint=error.hint)


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


def _only_total(at: str) -> Finding:
    return finding(
        "spec.price",
        f"{at}/tokens_used",
        "tokens_used has no price, because input and output cost different amounts: the cost is unknown",
        hint="add 'usage' with input and output, or 'cost'",
    )
