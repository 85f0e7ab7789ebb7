"""Masking of plain data: a configuration, an event's payload, an environment.

All strings are masked by pattern, and as a whole under a secret name. The name is the nearest key above a value; in a list of
`{"name": …, "value": …}` it is the `name` or `key`. A list of strings is read like a command line. A whole number is a secret
only under the name of a password or a key, so that no count is ever masked; fractions, booleans and null never are.

Invariants: the structure stays (same keys except for secrets in them, same lengths); the input is not changed; deep data
needs no recursion.
"""

from collections.abc import Mapping
from typing import Any

from runcard.masking.command_line import is_argument, mask_arguments
from runcard.masking.marks import Masked, add_counts, mark
from runcard.masking.masker import mask_text, may_need_masking
from runcard.masking.named_value import mask_named
from runcard.masking.secret_names import Strength, expects_secret, name_hint, names_token, word_set
from runcard.masking.secret_values import ValueContext

# Keys beside a token of a language model or a parser, never beside an access token.
_TEXT_TOKEN_KEYS = word_set(
    "bytes column end id ids index lemma line logprob logprobs offset pos position prob probability rank score start "
    "text_offset token_id top_logprobs"
)
_MIN_NUMBER = 1000  # a smaller number is an option or a count, whatever its name
_JOINED = "\0"  # joins the name of a value with the name of its parent

# A value to be masked: where the result goes (container and slot), the value, its name and its context.
_Work = tuple[Any, Any, Any, str, ValueContext]


def mask_data(value: Any) -> Masked[Any]:  # noqa: ANN401
    """Plain data (dict, list, str, int, float, bool, None) without its secrets."""
    counts: dict[str, int] = {}
    strings, names = _strings_and_names(value)
    # All at once: most data has no secrets, and one search is cheaper than many.
    quiet = not may_need_masking("\n".join(strings))
    if quiet and not any(map(name_hint, names)) and not any(map(is_argument, strings)):
        return Masked(value, counts)
    result: list[Any] = [None]
    work: list[_Work] = [(result, 0, value, "", ValueContext.STRICT)]
    while work:
        into, slot, item, name, context = work.pop()
        if isinstance(item, str):
            into[slot] = mask_named(name, item, counts, context, quiet=quiet)
        elif isinstance(item, dict):
            into[slot] = _masked_dict(item, name, work, None if quiet else counts)
        elif isinstance(item, list | tuple):
            into[slot] = _masked_list(item, name, work, counts, quiet=quiet)
        elif type(item) is int and item >= _MIN_NUMBER and (hint := expects_secret(name)):
            add_counts(counts, {hint.rule: 1})
            into[slot] = mark(hint.rule)
        else:
            into[slot] = item
    return Masked(result[0], counts)


def mask_environment(variables: Mapping[str, str]) -> Masked[dict[str, str]]:
    """The variables of a process without their secrets."""
    counts: dict[str, int] = {}
    quiet = not may_need_masking("\n".join(variables.values()))
    masked = {
        name: mask_named(name, value, counts, ValueContext.SURE, quiet=quiet)
        for name, value in variables.items()
    }
    return Masked(masked, counts)


def _strings_and_names(value: Any) -> tuple[list[str], set[str]]:  # noqa: ANN401
    """All strings of the data, keys too, and all names that values have."""
    strings, names = [], set()
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            strings.append(item)
        elif isinstance(item, dict):
            pending += item.keys()
            pending += item.values()
            names |= {_entry_name(item), *map(str, item)}
        elif isinstance(item, list | tuple):
            pending += item
    return strings, names


def _masked_dict(
    item: dict[Any, Any], name: str, work: list[_Work], counts: dict[str, int] | None
) -> dict[Any, Any]:
    """A dict for the result with its masked keys; its values are added to the work."""
    masked: dict[Any, Any] = {}
    entry_name = _entry_name(item)
    is_text_token = not _TEXT_TOKEN_KEYS.isdisjoint(item)
    for key, value in item.items():
        new = key if counts is None else _free_key(key, masked, counts)
        masked[new] = None
        own = entry_name if key == "value" and entry_name else str(key)
        is_sure = names_token(own) and not is_text_token
        context = ValueContext.SURE if is_sure else ValueContext.STRICT
        work.append((masked, new, value, _name_in(name, own), context))
    return masked


def _name_in(above: str, own: str) -> str:
    """The name of a value in a dict: its own if that is a secret name, else joined with the dict's if that one is.

    A value directly in `secrets` or `credentials` is a secret, whatever its name; further below it may be one.
    """
    parent = name_hint(above)
    if parent is None or name_hint(own):
        return own
    inherited = f"{above}{_JOINED}{own}"
    is_secret = parent.strength is Strength.HARD and _JOINED not in above and name_hint(inherited)
    return f"{own}{_JOINED}{above}" if is_secret else inherited


def _masked_list(
    item: list[Any] | tuple[Any, ...], name: str, work: list[_Work], counts: dict[str, int], *, quiet: bool
) -> list[Any]:
    if item and not name_hint(name) and all(isinstance(entry, str) for entry in item):
        return mask_arguments(list(item), counts, quiet=quiet)
    masked: list[Any] = [None] * len(item)
    work.extend((masked, index, value, name, ValueContext.STRICT) for index, value in enumerate(item))
    return masked


def _entry_name(item: dict[Any, Any]) -> str:
    for key in ("name", "key"):
        if isinstance(item.get(key), str) and isinstance(item.get("value"), str):
            return str(item[key])
    return ""


def _free_key(key: Any, used: dict[Any, Any], counts: dict[str, int]) -> Any:  # noqa: ANN401
    """A masked key, with a number if another key became the same."""
    if not isinstance(key, str):
        return key
    masked = mask_text(key)
    add_counts(counts, masked.counts)
    new, number = masked.value, 2
    while new in used:
        new, number = f"{masked.value} ({number})", number + 1
    return new
