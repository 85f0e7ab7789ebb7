"""The metrics of a run: of each, the last value, the smallest, the largest, and how many there were.

The series itself is in the journal. A value that is not a finite number, such as the NaN of a diverging loss, is null: it
counts, and is neither the smallest nor the largest.
"""

from collections.abc import Iterator

from runcard.documents.findings import Finding, display_value, finding
from runcard.encoding import JsonObject, join_pointer

Number = int | float


class Metrics:
    """Metrics by name, in the order in which they were first logged."""

    def __init__(self) -> None:
        self._by_name: dict[str, JsonObject] = {}

    def add(self, name: str, value: Number | None) -> None:
        """Add a value; None for one that is not finite."""
        known = self._by_name.setdefault(name, {"last": None, "min": None, "max": None, "count": 0})
        known["last"] = value
        known["count"] += 1
        if value is not None:
            known["min"] = value if known["min"] is None else min(known["min"], value)
            known["max"] = value if known["max"] is None else max(known["max"], value)

    @property
    def section(self) -> JsonObject:
        """The section `metrics` of the document."""
        return {name: dict(values) for name, values in self._by_name.items()}


def metric_rules(section: JsonObject) -> Iterator[Finding]:
    """The rules for the section: no value is outside of the smallest and the largest."""
    for name, values in section.items():
        smallest, largest = (values or {}).get("min"), (values or {}).get("max")
        for key in ("min", "last"):
            value = (values or {}).get(key)
            is_below = value is not None and smallest is not None and value < smallest
            is_above = value is not None and largest is not None and value > largest
            if is_below or is_above:
                yield finding(
                    "metric.range",
                    join_pointer(("metrics", name, key)),
                    f"{key} is {display_value(value)}, outside of {display_value(smallest)} to {display_value(largest)}",
                    hint="correct min, max or last",
                    found=value,
                )
