"""Service tiers: how a call was served, when that has its own price, such as batch, flex or priority.

A vendor's module in `vendors` reads the tier from a reply. A price table has the prices of a tier under `service_tier`
(see docs/accounting.md). So a new tier needs prices, and no code. Only the names of the standard tier are listed here: a
call in the standard tier has None.
"""

_STANDARD = {
    "anthropic": {"standard", "global", "not_available"},  # of service_tier, speed and inference_geo
    "openai": {"default", "standard", "on_demand"},
    "aws": {"default", "standard"},  # of serviceTier and latency
    "google": {"on_demand", "standard", "unspecified", "traffic_type_unspecified"},
}
_STANDARD_IN_PRICES = {"standard", "default"}


def non_standard(tier: str | None, vendor: str) -> str | None:
    """A tier as a vendor names it; None for the standard one."""
    return tier if tier and tier not in _STANDARD[vendor] else None


def priced_tier(tier: str | None) -> str | None:
    """A tier as a price table names it; None for the standard one."""
    return None if tier is None or tier.lower() in _STANDARD_IN_PRICES else tier.lower()
