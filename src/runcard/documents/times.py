"""Times as documents write them: RFC 3339 with a zone."""

from datetime import UTC, datetime, timedelta

SECOND = timedelta(seconds=1)


def parse_time(text: str | None) -> datetime | None:
    """Parse a time; None if it is not a time or has no zone."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return _parse_unusual(text)
    return moment if moment.tzinfo else None


def _parse_unusual(text: str) -> datetime | None:
    """Parse what RFC 3339 allows and Python does not: lower-case letters and leap seconds."""
    upper = text.upper()
    leap = upper[16:19] == ":60"
    try:
        moment = datetime.fromisoformat(f"{upper[:16]}:59{upper[19:]}" if leap else upper)
        return moment + SECOND if leap and moment.tzinfo else moment if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None


def is_time_without_zone(text: str) -> bool:
    """Whether a zone is all that is missing: a date alone is not a time."""
    try:
        return len(text) > len("2025-11-06") and datetime.fromisoformat(text).tzinfo is None
    except ValueError:
        return False


def whole_seconds(start: datetime, end: datetime) -> int:
    """The time between two moments in seconds, rounded down."""
    return (end - start) // SECOND


def format_time(moment: datetime) -> str:
    """A time as runcard writes it: UTC with Z, and a fraction only if there is one.

    Raises OverflowError within a day of the first and the last year.
    """
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def format_time_ms(moment: datetime) -> str:
    """The same, with milliseconds if they are exact."""
    text = format_time(moment)
    return text[:-4] + "Z" if moment.microsecond and moment.microsecond % 1000 == 0 else text
