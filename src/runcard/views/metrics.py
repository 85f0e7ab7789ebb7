"""The metrics of a run, for people."""

from runcard.encoding import JsonObject


def metric_values(document: JsonObject) -> list[tuple[str, str]]:
    """Each metric with its last value; with its range and the number of values, where there were several."""
    return [(name, _value(values)) for name, values in (document.get("metrics") or {}).items() if values]


def _value(values: JsonObject) -> str:
    last, count = number_text(values.get("last")), values.get("count")
    if count is None or count <= 1:
        return last
    low, high = number_text(values.get("min")), number_text(values.get("max"))
    return f"{last} (min {low}, max {high}, {count:,} values)"


def number_text(value: float | None) -> str:
    """A number with as many digits as tell it from others at a glance; `not finite` for None."""
    if value is None:
        return "not finite"
    if isinstance(value, int):
        return (
            str(value)
            if abs(value) < 10**15
            else f"{float(value):.6g}"
            if abs(value) < 10**300
            else "very large"
        )
    return f"{value:.6g}"
