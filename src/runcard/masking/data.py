"""Masking of plain data: a configuration, an event's payload, an environment.

Strings are masked by pattern wherever they stand, and as a whole under a secret name. The name is the nearest key
above a value; in a list of `{"name": …, "value": …}` it is what `name` or `key` says. A list of strings is read like a
command line. A whole number is a secret where a password or a key is expected, and nowhere else, so that no count is
ever masked; fractions, booleans and null are none.

Invariants: the shape stays (same keys but for secrets in them, same lengths); the data given is not touched; depth costs
no recursion.
"""

from collections.abc import Mapping
from typing import Any

from runcard.masking.command_line import is_argument, mask_arguments
from runcard.masking.marks import Masked, count, mark
from runcard.masking.masker import mask_text, may_need_masking
from runcard.masking.named_value import mask_named
from runcard.masking.secret_names import Strength, expects_secret, name_hint, names_token, word_set
from runcard.masking.secret_values import ValueContext

# What stands beside a token of a language model or a parser, and never beside one that opens doors.
_BESIDE_WORDS = word_set(
    "bytes column end id ids index lemma line logprob logprobs offset pos position prob probability rank score start "
    "text_offset token_id top_logprobs"
)
_SHORTEST = 1000  # a smaller number is a choice or a count, whatever its name
_IN = "\0"  # joins the name of a value with that of what it lies in

# A value to be masked: where the result goes (container and slot), the value, its name, and how sure that is.
_Work = tuple[Any, Any, Any, str, ValueContext]


def mask_data(value: Any) -> Masked[Any]:  # noqa: ANN401
    """Plain data (dict, list, str, int, float, bool, None) without its secrets."""
    counts: dict[str, int] = {}
    strings, names = _spoken(value)
    # All at once: most data is quiet, and one look costs less than many.
    quiet = not may_need_masking("\n".join(strings))
    if quiet and not any(map(name_hint, names)) and not any(map(is_argument, strings)):
        return Masked(value, counts)
    result: list[Any] = [None]
    work: list[_Work] = [(result, 0, value, "", ValueContext.STRICT)]
    while work:
        into, slot, item, name, place = work.pop()
        if isinstance(item, str):
            into[slot] = mask_named(name, item, counts, place, quiet=quiet)
        elif isinstance(item, dict):
            into[slot] = _opened(item, name, work, None if quiet else counts)
        elif isinstance(item, list | tuple):
            into[slot] = _listed(item, name, work, counts, quiet=quiet)
        elif type(item) is int and item >= _SHORTEST and (said := expects_secret(name)):
            count(counts, {said.rule: 1})
            into[slot] = mark(said.rule)
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


def _spoken(value: Any) -> tuple[list[str], set[str]]:  # noqa: ANN401
    """All strings of the data, keys too, and all names that values have."""
    strings, names = [], set()
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            strings.append(item)
        elif isinstance(item, dict):
            waiting += item.keys()
            waiting += item.values()
            names |= {_spoken_name(item), *map(str, item)}
        elif isinstance(item, list | tuple):
            waiting += item
    return strings, names


def _opened(
    item: dict[Any, Any], name: str, work: list[_Work], counts: dict[str, int] | None
) -> dict[Any, Any]:
    """A dict for the result, with its keys in place; its values become work."""
    opened: dict[Any, Any] = {}
    spoken = _spoken_name(item)
    speaks_of_words = not _BESIDE_WORDS.isdisjoint(item)
    for key, value in item.items():
        new = key if counts is None else _free_key(key, opened, counts)
        opened[new] = None
        own = spoken if key == "value" and spoken else str(key)
        is_sure = names_token(own) and not speaks_of_words
        place = ValueContext.SURE if is_sure else ValueContext.STRICT
        work.append((opened, new, value, _name_in(name, own), place))
    return opened


def _name_in(above: str, own: str) -> str:
    """The name of a value in a dict: its own when that is a secret name, else with that of the dict when that one is.

    What lies right in `secrets` or `credentials` is one, whatever it is called; further below it only may be.
    """
    around = name_hint(above)
    if around is None or name_hint(own):
        return own
    inherited = f"{above}{_IN}{own}"
    is_one = around.strength is Strength.HARD and _IN not in above and name_hint(inherited)
    return f"{own}{_IN}{above}" if is_one else inherited


def _listed(
    item: list[Any] | tuple[Any, ...], name: str, work: list[_Work], counts: dict[str, int], *, quiet: bool
) -> list[Any]:
    if item and not name_hint(name) and all(isinstance(one, str) for one in item):
        return mask_arguments(list(item), counts, quiet=quiet)
    listed: list[Any] = [None] * len(item)
    work.extend((listed, index, value, name, ValueContext.STRICT) for index, value in enumerate(item))
    return listed


def _spoken_name(item: dict[Any, Any]) -> str:
    for key in ("name", "key"):
        if isinstance(item.get(key), str) and isinstance(item.get("value"), str):
            return str(item[key])
    return ""


def _free_key(key: Any, taken: dict[Any, Any], counts: dict[str, int]) -> Any:  # noqa: ANN401
    """A key without its secrets, and with a number when another key has become the same."""
    if not isinstance(key, str):
        return key
    masked = mask_text(key)
    count(counts, masked.counts)
    new, number = masked.value, 2
    while new in taken:
        new, number = f"{masked.value} ({number})", number + 1
    return new
