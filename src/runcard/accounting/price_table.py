"""A price table as values: providers, their models, their prices, and which price is valid at a time.

`price_file` reads a table from its file. Invariant: a table never changes once it is read.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cached_property

from runcard.accounting.model_names import Clause, spellings
from runcard.accounting.price_rows import Rates, Tier


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model under conditions: from a day on, at hours of the day, in a service tier."""

    rates: Rates
    tiers: tuple[Tier, ...] = ()
    since: date | None = None
    hours: tuple[time, time] | None = None  # UTC; start after end: over midnight
    service_tier: str | None = None
    tool_rates: tuple[tuple[str, Decimal], ...] = ()  # for a thousand uses

    def is_active(self, when: datetime) -> bool:
        moment = when.astimezone(UTC)
        if self.since is not None and moment.date() < self.since:
            return False
        if self.hours is None:
            return True
        (start, end), now = self.hours, moment.time()
        return start <= now < end if start <= end else now >= start or now < end


@dataclass(frozen=True, slots=True)
class ModelPrices:
    """An entry: a model, its names, and its prices; without any, it is not priced by token."""

    model: str
    match: Clause
    prices: tuple[Price, ...]

    def price(self, when: datetime, service_tier: str | None) -> Price | None:
        """The last one that is active at that time: later ones are newer, or more specific."""
        active = [
            price for price in self.prices if price.service_tier == service_tier and price.is_active(when)
        ]
        return active[-1] if active else None


class ProviderPrices:
    """A provider's models, read on first use."""

    def __init__(
        self,
        owns: Clause | None,
        also: tuple[str, ...],
        load: Callable[[], tuple[ModelPrices, ...]],
        charged_as_text: tuple[str, ...] = (),
    ) -> None:
        self.owns = owns  # names that are its own where no provider is given; None: all of its models' names
        self.also = also  # providers whose prices apply where it has none itself
        self.charged_as_text = (
            charged_as_text  # modalities whose input costs what text does, unless it has a rate
        )
        self._load = load

    @cached_property
    def models(self) -> tuple[ModelPrices, ...]:
        return self._load()

    def find(self, name: str) -> ModelPrices | None:
        """The first model with this name, in lower case."""
        return next((model for model in self.models if model.match.matches(name)), None)


@dataclass(frozen=True, slots=True)
class PriceMatch:
    """A model that matches a name, and its provider."""

    provider: str
    entry: ModelPrices
    is_fallback: bool = False  # the price of another provider than the given one

    def price(self, when: datetime, service_tier: str | None) -> Price | None:
        """Its price; the fallback to another provider is only for the standard tier."""
        return None if self.is_fallback and service_tier else self.entry.price(when, service_tier)


@dataclass(frozen=True, slots=True)
class PriceTable:
    """A dated list of prices."""

    source: str
    as_of: str
    providers: Mapping[str, ProviderPrices]  # by canonical name

    def find(self, model: str, provider: str | None) -> tuple[PriceMatch, ...]:
        """The models that match this name; several only without a provider."""
        for name in spellings(model):
            if matches := self._of_provider(name, provider) if provider else self._of_any(name):
                return matches
        return ()

    def _of_provider(self, name: str, provider: str) -> tuple[PriceMatch, ...]:
        prices = self.providers.get(provider)
        if prices is None:
            return ()
        for other in (provider, *prices.also):
            if other in self.providers and (entry := self.providers[other].find(name)):
                return (PriceMatch(other, entry, is_fallback=other != provider),)
        return ()

    def _of_any(self, name: str) -> tuple[PriceMatch, ...]:
        owners = {
            key: prices
            for key, prices in self.providers.items()
            if prices.owns is None or prices.owns.matches(name)
        }
        return tuple(PriceMatch(key, entry) for key, prices in owners.items() if (entry := prices.find(name)))
