"""A price table as values: providers, their models, the prices of each, and which one counts at a time.

Where a table comes from is for `format` to know. Invariant: nothing here changes once it is read.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import cached_property

from runcard.accounting.model_names import Clause, spellings
from runcard.accounting.price_rows import Rates, Tier


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs under a condition: from a day on, at hours of the day, in a service tier."""

    rates: Rates
    tiers: tuple[Tier, ...] = ()
    since: date | None = None
    hours: tuple[time, time] | None = None  # UTC; a first after the second means over midnight
    service_tier: str | None = None

    def active(self, when: datetime) -> bool:
        moment = when.astimezone(UTC)
        if self.since is not None and moment.date() < self.since:
            return False
        if self.hours is None:
            return True
        (start, end), now = self.hours, moment.time()
        return start <= now < end if start <= end else now >= start or now < end


@dataclass(frozen=True, slots=True)
class ModelPrices:
    """An entry: a model, the names it goes by, and its prices; without any, it has no price by the token."""

    model: str
    match: Clause
    prices: tuple[Price, ...]

    def price(self, when: datetime, service_tier: str | None) -> Price | None:
        """The last one that counts at that time: later ones are newer, or more special."""
        found = [price for price in self.prices if price.service_tier == service_tier and price.active(when)]
        return found[-1] if found else None


class ProviderPrices:
    """A provider's models, read when they are first asked for."""

    def __init__(
        self, owns: Clause | None, also: tuple[str, ...], load: Callable[[], tuple[ModelPrices, ...]]
    ) -> None:
        self.owns = owns  # the names that mean it where no provider is given; None: all of its models' names
        self.also = also  # the providers whose prices count when it names none itself
        self._load = load

    @cached_property
    def models(self) -> tuple[ModelPrices, ...]:
        return self._load()

    def find(self, name: str) -> ModelPrices | None:
        """The first model that goes by this name, in lower case."""
        return next((model for model in self.models if model.match.accepts(name)), None)


@dataclass(frozen=True, slots=True)
class PriceMatch:
    """A model that was found, whose price it is, and whether that is who was asked for."""

    provider: str
    entry: ModelPrices
    stands_in: bool = False

    def price(self, when: datetime, service_tier: str | None) -> Price | None:
        """Its price; one provider's price stands in for another's only where it is the usual one."""
        return None if self.stands_in and service_tier else self.entry.price(when, service_tier)


@dataclass(frozen=True, slots=True)
class PriceTable:
    """A dated list of prices."""

    source: str
    as_of: str
    providers: Mapping[str, ProviderPrices]  # by the one name of each

    def find(self, model: str, provider: str | None) -> tuple[PriceMatch, ...]:
        """What this name may mean; several only when no provider is given."""
        for name in spellings(model):
            if hits := self._of(name, provider) if provider else self._owned(name):
                return hits
        return ()

    def _of(self, name: str, provider: str) -> tuple[PriceMatch, ...]:
        asked = self.providers.get(provider)
        if asked is None:
            return ()
        for other in (provider, *asked.also):
            if other in self.providers and (entry := self.providers[other].find(name)):
                return (PriceMatch(other, entry, stands_in=other != provider),)
        return ()

    def _owned(self, name: str) -> tuple[PriceMatch, ...]:
        owners = {
            key: one for key, one in self.providers.items() if one.owns is None or one.owns.accepts(name)
        }
        return tuple(PriceMatch(key, entry) for key, one in owners.items() if (entry := one.find(name)))
