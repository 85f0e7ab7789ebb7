"""Masking of a value with a known name: a key of a configuration, a variable, an option.

Invariant: a value is masked is_whole or in parts, never less than by pattern alone.
"""

from runcard.masking import http_headers
from runcard.masking.marks import MARK, Masked, add_counts, mark
from runcard.masking.masker import mask_text
from runcard.masking.secret_names import name_hint
from runcard.masking.secret_values import ValueContext, secret_rule
from runcard.masking.value_spans import CHECKED, ValueSpan


def mask_named(
    name: str, value: str, counts: dict[str, int], context: ValueContext, *, quiet: bool = False
) -> str:
    """`value` as it may be shown under `name`; masked secrets are added to `counts`.

    `quiet`: a search showed already that no pattern matches the value.
    """
    if quiet and not name_hint(name):
        return value
    by_pattern = Masked(value, {}) if quiet else mask_text(value)
    is_whole = by_pattern.value.startswith(MARK) and by_pattern.value.find("]") == len(by_pattern.value) - 1
    if is_whole or not name_hint(name):
        add_counts(counts, by_pattern.counts)
        return by_pattern.value
    if header := _header(name, value, counts):
        return header
    if rule := secret_rule(name, value[:CHECKED], context):
        add_counts(counts, {rule: 1})
        return mark(rule)
    add_counts(counts, by_pattern.counts)
    return by_pattern.value


def _header(name: str, value: str, counts: dict[str, int]) -> str | None:
    """The masked value of an `Authorization` or `Cookie` header; None for other names, and without a secret."""
    hint = name_hint(name)
    raw = value.encode("utf-8", "surrogatepass")
    if hint and hint.rule == "authorization":
        secret = http_headers.authorization(raw, 0, ValueSpan(len(raw)))
    elif hint and hint.rule == "cookie":
        secret = http_headers.cookie(raw, 0, ValueSpan(len(raw)), is_set=name.lower().startswith("set"))
    else:
        return None
    if secret is None:
        return None
    before, after = (
        part.decode("utf-8", "surrogatepass") for part in (raw[: secret.start], raw[secret.end :])
    )
    rest = mask_text(after)
    add_counts(counts, {secret.rule: 1})
    add_counts(counts, rest.counts)
    return before + mark(secret.rule) + rest.value
