"""The vocabulary of the analyzer: predicates for presence, opposites, names of states."""

import re

from runcard.plans.analysis.questions import ABSENT, EMPTY, PRESENT, Pair, Presence

TRUTHY = Presence(frozenset({PRESENT, EMPTY}), frozenset({ABSENT}))
PRESENCES = {
    "present?": Presence(frozenset({PRESENT}), frozenset({ABSENT})),
    "blank?": Presence(frozenset({EMPTY, ABSENT}), frozenset({ABSENT})),
    "nil?": Presence(frozenset({ABSENT}), frozenset({ABSENT})),
    "empty?": Presence(frozenset({EMPTY}), frozenset({EMPTY})),
    "any?": Presence(frozenset({PRESENT}), frozenset({EMPTY})),
    "none?": Presence(frozenset({EMPTY}), frozenset({EMPTY})),
    "exists?": Presence(frozenset({PRESENT}), frozenset({ABSENT})),
    "exist?": Presence(frozenset({PRESENT}), frozenset({ABSENT})),
}

# A positive word and its opposite, where the opposite is a separate word and there is nothing between the two.
_OPPOSITES = {
    "valid": "invalid",
    "active": "inactive",
    "enabled": "disabled",
    "available": "unavailable",
    "visible": "hidden",
    "online": "offline",
    "complete": "incomplete",
    "even": "odd",
    "success": "failure",
}
_POSITIVE = {negative: positive for positive, negative in _OPPOSITES.items()}
_POSITIVE |= {f"un{word}": word for word in ("paid", "read", "known", "seen", "sent")}
_POSITIVE |= {"missing": PRESENT}
_UNDONE = re.compile(r"un(?!ited|ified)[a-z]{3,}ed")  # unverified, unpublished
_NEGATING = ("not_", "no_", "non_", "isnt_")

# Methods called for their effect, whose result tells whether they succeeded.
ACTIONS = {
    "save",
    "update",
    "update_attributes",
    "destroy",
    "create",
    "delete",
    "authenticate",
    "touch",
    "archive",
    "unarchive",
    "approve",
    "publish",
    "unpublish",
    "submit",
    "enqueue",
    "activate",
    "deactivate",
    "perform",
    "process",
    "call",
    "deliver",
    "charge",
    "execute",
    "run",
    "import",
    "commit",
    "sync",
}
OWN_ACTIONS = {
    "save",
    "save!",
    "destroy",
    "destroy!",
    "touch",
}  # also without a receiver; not names of variables
SUCCEEDED, FAILED = "succeeded", "failed"

# Subjects that are sufficient or insufficient.
_SUPPLIES = {"balance", "stock", "inventory", "quantity", "funds", "credit", "credits", "points", "budget"}
_SUPPLIES |= {"available", "remaining", "capacity", "seats", "allowance", "limit", "quota"}
GOOD = {"sufficient", "adult", "positive"}  # states of a range that always come first
_COUNTS = {"count", "size", "length"}


def pair_of(predicate: str) -> Pair:
    """The two states of a predicate without its `?`, the positive first."""
    for negating in _NEGATING:
        if predicate.startswith(negating) and len(predicate) > len(negating):
            positive = predicate.removeprefix(negating)
            return Pair(positive, f"not_{positive}", holds=False)
    before, _, last = predicate.rpartition("_")
    if last in _POSITIVE:
        positive = f"{before}_{_POSITIVE[last]}" if before else _POSITIVE[last]
        return Pair(positive, predicate, holds=False)
    if predicate.startswith("invalid_"):
        return Pair(predicate.removeprefix("in"), predicate, holds=False)
    if _UNDONE.fullmatch(predicate):
        return Pair(predicate.removeprefix("un"), predicate, holds=False)
    positive = predicate.removeprefix("is_") or predicate
    return Pair(positive, _OPPOSITES.get(positive, f"not_{positive}"))


def is_supply(name: str) -> bool:
    return not _SUPPLIES.isdisjoint(name.split("_")[-1:])


def is_count(name: str) -> bool:
    return name.rsplit("_", maxsplit=1)[-1] in _COUNTS
