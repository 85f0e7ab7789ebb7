"""Masking of one value whose name is known: a key of a configuration, a variable, an option of a command.

Invariant: a value is masked whole or by its secret parts, never less than by pattern alone.
"""

from runcard.masking import http_headers
from runcard.masking.marks import MARK, Masked, count, mark
from runcard.masking.masker import mask_text
from runcard.masking.secret_names import name_hint
from runcard.masking.secret_values import ValueContext, secret_rule
from runcard.masking.value_spans import JUDGED, ValueSpan


def mask_named(
    name: str, value: str, counts: dict[str, int], place: ValueContext, *, quiet: bool = False
) -> str:
    """`value` as it may be shown under `name`; what was masked is added to `counts`.

    `quiet`: it is known already that the value holds nothing suspicious of its own.
    """
    if quiet and not name_hint(name):
        return value
    by_pattern = Masked(value, {}) if quiet else mask_text(value)
    whole = by_pattern.value.startswith(MARK) and by_pattern.value.find("]") == len(by_pattern.value) - 1
    if whole or not name_hint(name):
        count(counts, by_pattern.counts)
        return by_pattern.value
    if header := _header(name, value, counts):
        return header
    if rule := secret_rule(name, value[:JUDGED], place):
        count(counts, {rule: 1})
        return mark(rule)
    count(counts, by_pattern.counts)
    return by_pattern.value


def _header(name: str, value: str, counts: dict[str, int]) -> str | None:
    """The value of an `Authorization` or `Cookie` header; None when the name is no header's, or it has no secret."""
    said = name_hint(name)
    raw = value.encode("utf-8", "surrogatepass")
    if said and said.rule == "authorization":
        found = http_headers.authorization(raw, 0, ValueSpan(len(raw)))
    elif said and said.rule == "cookie":
        found = http_headers.cookie(raw, 0, ValueSpan(len(raw)), is_set=name.lower().startswith("set"))
    else:
        return None
    if found is None:
        return None
    before, after = (part.decode("utf-8", "surrogatepass") for part in (raw[: found.start], raw[found.end :]))
    rest = mask_text(after)
    count(counts, {found.rule: 1})
    count(counts, rest.counts)
    return before + mark(found.rule) + rest.value
