"""Token counts by class, and how they add up.

`input` is all input that was sent, cached or not: the cache classes are parts of it, as `reasoning` is a part of `output`.
`MODALITIES` are parts as well, where a reply states them: `input_audio` of `input`, `cache_read_audio` of `cache_read` and of
`input_audio`, `output_image` of `output`; the rest is text. None is an unknown count, which is not zero; a total is unknown
when a part of it is. `vendors` knows how each vendor writes counts, `prices` what they cost.

Invariant: the counts of a `Tokens` are whole numbers, and no part is larger than its whole.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from runcard.errors import UsageError

CLASSES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")
MODALITIES = (
    *("input_audio", "input_image", "input_video"),
    *("cache_read_audio", "cache_read_image", "cache_read_video"),
    *("output_text", "output_audio", "output_image", "output_video"),
)
MAX_COUNT = 2**53 - 1  # the largest whole number that every JSON reader keeps exactly


@dataclass(frozen=True, slots=True, repr=False)
class Tokens:
    """The tokens of each class that one call used, or several together."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write_5m: int | None = None  # written to the cache for the vendor's standard, short time
    cache_write_1h: int | None = None  # written for longer, at a higher price
    reasoning: int | None = None
    input_audio: int | None = None
    input_image: int | None = None
    input_video: int | None = None
    cache_read_audio: int | None = None
    cache_read_image: int | None = None
    cache_read_video: int | None = None
    output_text: int | None = None
    output_audio: int | None = None
    output_image: int | None = None
    output_video: int | None = None

    def __post_init__(self) -> None:
        for name in (*CLASSES, *MODALITIES):
            check_count(getattr(self, name), name)
        cached = sum(part or 0 for part in (self.cache_read, self.cache_write_5m, self.cache_write_1h))
        _check_part(cached, self.input, "cached tokens", "input")
        _check_part(self.reasoning or 0, self.output, "reasoning tokens", "output")
        if any(getattr(self, name) for name in MODALITIES):
            self._check_modalities()

    def _check_modalities(self) -> None:
        for whole in ("input", "cache_read", "output"):
            stated = sum(getattr(self, name) or 0 for name in MODALITIES if name.startswith(f"{whole}_"))
            _check_part(stated, getattr(self, whole), "tokens by modality", whole)
        for kind in ("audio", "image", "video"):
            cached, sent = getattr(self, f"cache_read_{kind}"), getattr(self, f"input_{kind}")
            _check_part(cached or 0, sent, f"cached {kind} tokens", f"input_{kind}")

    def __repr__(self) -> str:
        """The classes, and the modalities that are known."""
        modalities = [name for name in MODALITIES if getattr(self, name) is not None]
        counts = (f"{name}={getattr(self, name)!r}" for name in (*CLASSES, *modalities))
        return f"Tokens({', '.join(counts)})"

    @property
    def cache_write(self) -> int | None:
        """All tokens written to a cache; None when a part is unknown."""
        if self.cache_write_5m is None or self.cache_write_1h is None:
            return None
        return self.cache_write_5m + self.cache_write_1h

    def to_dict(self) -> dict[str, int]:
        """The known counts."""
        counts = {name: getattr(self, name) for name in (*CLASSES, *MODALITIES)}
        return {name: count for name, count in counts.items() if count is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; other keys are ignored."""
        return cls(**{name: data.get(name) for name in (*CLASSES, *MODALITIES)})


def sum_tokens(parts: Iterable[Tokens]) -> Tokens:
    """The total of each class: None where a count is unknown, and where there are no parts.

    Do not price a total: prices may depend on the size of a call, so add up costs instead.
    """
    known = list(parts)
    return Tokens(
        **{name: _total([getattr(part, name) for part in known]) for name in (*CLASSES, *MODALITIES)}
    )


def weakest(sources: Iterable[str | None]) -> str | None:
    """The source of a sum of counts from these sources: the least reliable one; None without sources, or with an unknown one."""
    from runcard.documents.token_sources import TOKEN_SOURCES  # noqa: PLC0415

    all_sources = list(sources)
    if unknown := [source for source in all_sources if source not in TOKEN_SOURCES]:
        raise UsageError(
            f"{unknown[0]!r} is not a source of token counts",
            hint=f"use one of {', '.join(filter(None, TOKEN_SOURCES))}, or None",
        )
    return max(all_sources, key=TOKEN_SOURCES.index, default=None)


def check_count(count: object, name: str) -> int | None:
    """A valid count, or None; raises UsageError with the field's name otherwise."""
    if count is None:
        return None
    if isinstance(count, bool) or not isinstance(count, int):
        raise _invalid_count(name, f"a {type(count).__name__}")
    if count < 0:
        raise _invalid_count(
            name, f"{count if count >= -MAX_COUNT else 'too small'}; it must not be negative"
        )
    if count > MAX_COUNT:
        raise _invalid_count(name, f"more than {MAX_COUNT:,}")
    return count


def split_writes(
    total: int | None, short: int | None, long: int | None, name: str
) -> tuple[int | None, int | None]:
    """Tokens written to a cache for the standard time and for longer, from the total and its parts.

    What the parts do not account for was written for the standard time.
    """
    if total is None:
        return short, long
    if (parts := (short or 0) + (long or 0)) > total:
        raise UsageError(
            f"{name} is {total:,}, less than the {parts:,} of its parts", hint="pass the usage unchanged"
        )
    return total - (long or 0), long or 0


def _invalid_count(name: str, problem: str) -> UsageError:
    return UsageError(f"{name} is {problem}", hint="pass whole numbers; leave out unknown counts")


def _check_part(part: int, whole: int | None, what: str, name: str) -> None:
    if whole is not None and part > whole:
        raise UsageError(
            f"{part:,} {what} are more than the {whole:,} {name} tokens",
            hint=f"pass all {name} tokens as {name}: cached and reasoning tokens are parts of it",
        )


def _total(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None
