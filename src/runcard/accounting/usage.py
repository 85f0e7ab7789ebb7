"""The usage of one model call, in one form for all vendors.

`vendors` reads it from replies, `prices` computes its cost.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from runcard.accounting.tokens import Tokens

Source = Literal["reported", "partial", "given"]

_OWN_FORMATS = {"ollama"}  # its models have the names of others, who charge for them


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one call, and the other facts about it in a reply."""

    tokens: Tokens
    provider: str | None = None  # whose format the reply has; compatible servers use the same
    model: str | None = None  # as the reply names it
    response_id: str | None = None
    stop_reason: str | None = None
    source: Source | None = None  # None: the reply has no token counts
    service_tier: str | None = None  # None: the standard one; see `service_tiers`
    server_tools: Mapping[str, int] = field(default_factory=dict)  # uses of tools that the vendor bills apart
    also: tuple[
        "Usage", ...
    ] = ()  # calls within this one that `tokens` does not include, perhaps of other models
    reported_cost: Decimal | None = None  # in US dollars, as the reply states it
    billed: Tokens | None = None  # the tokens that are charged, where the reply has others than `tokens`
    unknown: tuple[str, ...] = ()  # counts in the reply that may be tokens beside these: the cost is unknown
    is_total: bool = False  # the counts are of several calls of unknown sizes
    session: str | None = None  # the session of a program whose total this is

    @property
    def known_provider(self) -> str | None:
        """The provider, if the caller named it or no other server has this format."""
        return self.provider if self.source == "given" or self.provider in _OWN_FORMATS else None

    @property
    def calls(self) -> tuple["Usage", ...]:
        """This call and those within it: together the whole usage."""
        return (self, *self.also)
