"""Token counts by class, and how they add up.

`input` is all input that was sent, cached or not: the cache classes are parts of it, as `reasoning` is a part of `output`.
None is a count that is not known, which is not zero; a total is not known when a part of it is not. Nothing here knows
how a vendor writes its counts, nor what they cost.

Invariant: whoever holds a `Tokens` holds whole numbers of which no part is larger than its whole.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from runcard.errors import UsageError

CLASSES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")
LARGEST = 2**53 - 1  # the largest whole number that every reader of JSON keeps


@dataclass(frozen=True, slots=True)
class Tokens:
    """How many tokens of each class one call used, or several together."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write_5m: int | None = None  # written to the cache for the vendor's usual, short time
    cache_write_1h: int | None = None  # written for longer, at another price
    reasoning: int | None = None

    def __post_init__(self) -> None:
        for name in CLASSES:
            check_count(getattr(self, name), name)
        cached = sum(part or 0 for part in (self.cache_read, self.cache_write_5m, self.cache_write_1h))
        _check_part(cached, self.input, "cached tokens", "input")
        _check_part(self.reasoning or 0, self.output, "reasoning tokens", "output")

    @property
    def cache_write(self) -> int | None:
        """All that was written to a cache; None when a part of it is not known."""
        if self.cache_write_5m is None or self.cache_write_1h is None:
            return None
        return self.cache_write_5m + self.cache_write_1h

    def to_dict(self) -> dict[str, int]:
        """The counts that are known."""
        counts = {name: getattr(self, name) for name in CLASSES}
        return {name: count for name, count in counts.items() if count is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """What `to_dict` gave; other keys are left alone."""
        return cls(**{name: data.get(name) for name in CLASSES})


def sum_tokens(parts: Iterable[Tokens]) -> Tokens:
    """The total of each class: None where a part does not know its count, and where there are no parts.

    A total is for counting. Prices may depend on the size of a call, so costs are added up, not computed from a total.
    """
    known = list(parts)
    return Tokens(**{name: _total([getattr(part, name) for part in known]) for name in CLASSES})


def weakest(sources: Iterable[str | None]) -> str | None:
    """The source that a sum of counts from these sources has; None when there is none, or one is not known."""
    from runcard.documents.token_sources import TOKEN_SOURCES  # noqa: PLC0415

    found = list(sources)
    if unknown := [source for source in found if source not in TOKEN_SOURCES]:
        raise UsageError(
            f"{unknown[0]!r} is no source of token counts",
            hint=f"the sources are {', '.join(filter(None, TOKEN_SOURCES))}, and None",
        )
    return max(found, key=TOKEN_SOURCES.index, default=None)


def check_count(count: object, name: str) -> int | None:
    """A count as it was found under a name, when it can be one; raises UsageError with the name otherwise."""
    if count is None:
        return None
    if isinstance(count, bool) or not isinstance(count, int):
        raise _refused(name, f"a {type(count).__name__}")
    if count < 0:
        raise _refused(name, "less than zero")
    if count > LARGEST:
        raise _refused(name, f"more than {LARGEST:,}")
    return count


def split_writes(
    total: int | None, short: int | None, long: int | None, name: str
) -> tuple[int | None, int | None]:
    """What was written to a cache for the usual time and for longer, from the total and what is said of its parts.

    What the parts do not explain was written for the usual time.
    """
    if total is None:
        return short, long
    if (said := (short or 0) + (long or 0)) > total:
        raise UsageError(
            f"{name} is {total:,}, less than the {said:,} of its parts", hint="pass the usage as it came"
        )
    return total - (long or 0), long or 0


def _refused(name: str, fault: str) -> UsageError:
    return UsageError(
        f"{name} is {fault}", hint="a token count is a whole number; leave out what is not known"
    )


def _check_part(part: int, whole: int | None, what: str, name: str) -> None:
    if whole is not None and part > whole:
        raise UsageError(
            f"{part:,} {what} are more than the {whole:,} of {name}",
            hint=f"{name} counts all, so its parts cannot be larger",
        )


def _total(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None
