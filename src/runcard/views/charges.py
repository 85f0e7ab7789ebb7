"""What a cost consists of besides tokens, in words: uses of server tools, and special prices."""

from collections import Counter
from collections.abc import Iterable, Sequence

from runcard.encoding import JsonObject
from runcard.views.formats import source_text

_MOST = 8  # tools, or kinds of prices
_CACHE = {"cache_read_tokens": "read from the cache", "cache_write_tokens": "written to the cache"}


def server_tools(parts: Iterable[JsonObject]) -> str | None:
    """`web search (3), code execution (1)`: of calls by model, or of instances; None without any."""
    uses: Counter[str] = Counter()
    for part in parts:
        uses.update(part.get("server_tools") or {})
    names = [f"{name.replace('_', ' ')} ({count:,})" for name, count in list(uses.items())[:_MOST]]
    hidden = len(uses) - len(names)
    return ", ".join([*names, f"and {hidden:,} more"] if hidden > 0 else names) or None


def cached_tokens(costs: JsonObject) -> str:
    """` (1,200 read from the cache, 300 written to the cache)`; empty if there are none, or they are unknown."""
    parts = [f"{costs[key]:,} {label}" for key, label in _CACHE.items() if costs.get(key)]
    return f" ({', '.join(parts)})" if parts else ""


def total_source(instances: Sequence[JsonObject]) -> str:
    """` (by the price table)`: the source of the cost of a session; empty if a part of it has none."""
    sources = {entry.get("cost_source") for entry in instances}
    if not sources or None in sources:
        return ""
    texts = [source_text(source) for source in ("priced", "reported", "given") if source in sources]
    return f" ({', '.join(texts)})"


def special_prices(price_rows: Iterable[JsonObject] | None) -> str | None:
    """`batch prices, prices above 200,000 input tokens`; None if all prices are the usual ones."""
    kinds: dict[str, None] = {}
    for row in price_rows or ():
        if service_tier := row.get("service_tier"):
            kinds[f"{service_tier} prices"] = None
        if (limit := (row.get("tier") or {}).get("above_input_tokens")) is not None:
            kinds[f"prices above {limit:,} input tokens"] = None
    return ", ".join(list(kinds)[:_MOST]) or None
