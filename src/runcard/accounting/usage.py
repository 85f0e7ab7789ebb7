"""What one call to a model used, as its reply or its caller says.

It is the one shape that all vendors' replies are read into; `usage` reads them, `prices` knows what they cost.
"""

from dataclasses import dataclass
from typing import Literal

from runcard.accounting.tokens import Tokens

Source = Literal["reported", "partial", "given"]


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one call, and the facts about it that stand beside them in a reply."""

    tokens: Tokens
    provider: str | None = None  # whose shape the reply has; a compatible server uses the same one
    model: str | None = None  # as the reply names it
    response_id: str | None = None
    stop_reason: str | None = None
    source: Source | None = None  # None: the reply says nothing about tokens
    service_tier: str | None = (
        None  # how it was served when that has another price than usual: batch, flex, …
    )
    also: tuple["Usage", ...] = ()  # calls inside this one that `tokens` leaves out, perhaps of other models

    @property
    def calls(self) -> tuple["Usage", ...]:
        """This call and those inside it: together they are what was used."""
        return (self, *self.also)
