"""Where token counts come from, and how far a total can be trusted."""

from collections.abc import Iterable

# From the most to the least reliable. A total is only as reliable as the weakest of its parts.
TOKEN_SOURCES = ("reported", "partial", "estimated", "given", None)


def weakest_source(sources: Iterable[str | None]) -> str | None:
    """The source of a total: that of its least reliable part; an unknown source counts as the weakest."""
    known = (source if source in TOKEN_SOURCES else None for source in sources)
    return max(known, key=TOKEN_SOURCES.index, default=None)
