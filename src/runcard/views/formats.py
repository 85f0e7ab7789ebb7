"""Values as text for people: durations, sizes, money, tokens, counts, commands, settings. Unknown is never shown as zero."""

from collections.abc import Callable, Sequence
from json import dumps
from typing import Any

from runcard.encoding import JsonObject
from runcard.files import printable

_LAST_OF_ASCII, _LAST_OF_FOUR_DIGITS = 0x7F, 0xFFFF
_CENT, _MILLIONTH = "0.01", "0.000001"  # of a dollar
_MOST_DIGITS = 5000  # of an amount; more than a document can have
_SOURCES = {
    "priced": "by the price table",
    "given": "given by the caller",
    "reported": "reported by the vendor",
    "partial": "partly reported: a call was cut off",
    "estimated": "estimated",
}


def duration(seconds: float | None) -> str:
    """`1.5 s`, `2 min 05 s`, `3 h 20 min`."""
    if seconds is None:
        return "unknown"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def run_duration(generation: JsonObject) -> str:
    """The duration of a run. The estimated end of a killed run is the last time at which it was alive."""
    seconds = generation["duration_seconds"]
    is_estimated = seconds is not None and generation.get("estimated")
    text = duration(seconds)
    return f"at least {text} (estimated: the end was not observed)" if is_estimated else text


def command_line(words: Sequence[str]) -> str:
    """A command on one line, as one types it in a shell; `$'…'` has what cannot be typed."""
    from shlex import quote  # noqa: PLC0415

    return " ".join(quote(word) if printable(word) == word else _escaped_word(word) for word in words)


def _escaped_word(word: str) -> str:
    escaped = word.replace("\\", r"\\").replace("'", r"\'")
    return "$'" + "".join(_escaped_character(character) for character in escaped) + "'"


def _escaped_character(character: str) -> str:
    number = ord(character)
    if printable(character) == character:
        return character
    if number <= _LAST_OF_ASCII:
        return {"\n": r"\n", "\r": r"\r", "\t": r"\t"}.get(character, rf"\x{number:02x}")
    return rf"\u{number:04x}" if number <= _LAST_OF_FOUR_DIGITS else rf"\U{number:08x}"


def long_duration(seconds: int) -> str:
    """A duration in words: `32 minutes`, `1 hour 5 minutes`."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    units = [(days, "day"), (hours, "hour"), (minutes, "minute"), (rest, "second")]
    return " ".join([counted(count, unit) for count, unit in units if count][:2]) or "0 seconds"


def short_duration(seconds: int) -> str:
    """A duration for a table: `32m`, `1h 05m`, `45s`."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,}h {minutes:02}m" if minutes else f"{hours:,}h"
    if minutes:
        return f"{minutes}m {rest:02}s" if rest else f"{minutes}m"
    return f"{rest}s"


def byte_size(count: int) -> str:
    """`512 B`, `1.2 MB`."""
    if count < 1000:
        return f"{count} B"
    amount = float(count)
    for unit in ("kB", "MB", "GB", "TB"):
        amount /= 1000
        if amount < 999.95 or unit == "TB":
            break
    return f"{amount:.1f} {unit}"


def money(amount: float | None) -> str:
    """Dollars: from $1 on to the cent, smaller amounts to a millionth, without needless zeros; halves are rounded up."""
    if amount is None:
        return "unknown"
    rounded = _dollars(amount, "ROUND_HALF_UP")
    return f"less than ${_MILLIONTH}" if amount > 0 and amount < float(_MILLIONTH) else rounded


def money_at_least(amount: float) -> str:
    """`≥ $0.25`: the known part of a cost, rounded down, so that it never says more than is known."""
    rounded = _dollars(amount, "ROUND_DOWN")
    return f"> {rounded}" if amount and rounded == "$0.00" else f"≥ {rounded}"


def money_part(amount: float, *, of_at_least: bool) -> str:
    """A part of a sum of money, rounded as the sum is, so that no part is shown as more than the whole."""
    return _dollars(amount, "ROUND_DOWN") if of_at_least else money(amount)


def _dollars(amount: float, rounding: str) -> str:
    """An amount as it is written in JSON, rounded: its float may be a little less or more."""
    from decimal import Context, Decimal  # noqa: PLC0415 - few runs cost money

    context = Context(_MOST_DIGITS, rounding)
    step = _CENT if amount >= 1 else _MILLIONTH
    rounded = context.quantize(Decimal(str(amount)), Decimal(step))
    whole, _, fraction = f"{rounded:,f}".partition(".")
    return f"${whole}.{fraction.rstrip('0'):0<2}"


def total_or_known(total: float | None, known: float | None, format_amount: Callable[[Any], str]) -> str:
    """A total; where it is unknown, the part of it that is known: `≥ $0.25 (a part is unknown)`."""
    if total is not None:
        return format_amount(total)
    if not known:
        return "unknown"
    at_least = money_at_least(known) if format_amount is money else f"≥ {format_amount(known)}"
    return f"{at_least} (a part is unknown)"


def cost_or_known(cost: float | None, known: float | None) -> str:
    """The same for a cost, in short, as in a table: `≥ $0.25`."""
    return money_at_least(known) if cost is None and known else money(cost)


def token_count(count: int | None) -> str:
    return "unknown" if count is None else f"{count:,}"


def counted(count: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def truncated(value: object, length: int) -> str:
    """A value on one line, at most so long: text as it is, everything else as JSON."""
    text = value if isinstance(value, str) else dumps(value, ensure_ascii=False)
    return text if len(text) <= length else text[: length - 1] + "…"


def settings_shown(configuration: JsonObject) -> list[tuple[str, object]]:
    """The settings of a run, `null` and `""` included. A model or provider that is null is unknown, and left out."""
    return [
        (key, "null" if value is None else '""' if value == "" else value)
        for key, value in configuration.items()
        if value is not None or key not in {"model", "provider"}
    ]


def source_text(source: str) -> str:
    """The `cost_source` or `token_source` of a document in words."""
    return _SOURCES.get(source, source)
