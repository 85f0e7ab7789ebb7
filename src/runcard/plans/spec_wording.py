"""The English of a spec: how the state of a characteristic reads as the description of a context.

The names are all there is to go by: `card_valid` with the states `valid` and `expired` reads "card is valid". What a text
says on its own (`not_authenticated` of `authenticated`) is not said twice. Nothing that a name holds can leave the line it
stands on: a blank is a blank, and what cannot be seen is escaped.
"""

import re

from runcard.encoding import JsonObject
from runcard.files import printable

_GAPS = re.compile(r"[_\s]+")
_NEGATIVE = re.compile(
    r"(?:not|no|non|never|without|absent|blank|blocked|cancell?ed|declined|denied|empty|errors?|expired|fail(?:ed|s|ure)?"
    r"|false|forbidden|locked|missing|nil|none|null|off|rejected|wrong"
    r"|in(?:valid|sufficient|active|complete|correct|eligible)|dis(?:abled|allowed|approved|connected)"
    r"|un(?!it)\w+(?:ed|able|paid|known|ful))",
    re.IGNORECASE,
)
_THERE = {"present", "given", "exists", "existing", "true", "yes"}  # said by "with" alone
_TWO = 2
_PAST = {"succeeded", "failed"}
_MODAL = re.compile(r"(not )?(can|should|must|will|has) (.+)")
_NEGATED = {
    "can": "cannot",
    "should": "should not",
    "must": "must not",
    "will": "will not",
    "has": "has no",
}
_COMPARED = re.compile(
    r"(.+) (equals|in) (.+)"
)  # how the analyzer calls what is compared with something else
_OUTCOMES = {  # as a sentence, and behind "with"
    ("equals", "equal"): ("equals", "equal to"),
    ("equals", "different"): ("differs from", "different from"),
    ("in", "included"): ("is in", "in"),
    ("in", "excluded"): ("is not in", "not in"),
}


def words(name: str) -> str:
    """A name as words."""
    return printable(_GAPS.sub(" ", name).strip()) or "?"


def happy_first(one: JsonObject) -> list[str]:
    """The states in the order of their contexts: what goes well comes first; a sequence has its own order."""
    states = list(dict.fromkeys(one["states"]))
    if one["type"] == "sequential":
        return states
    return sorted(states, key=is_negative)


def is_negative(state: str) -> bool:
    """Whether a state sounds like the one in which something is missing or goes wrong."""
    return any(_NEGATIVE.fullmatch(word) for word in words(state).split())


def description(one: JsonObject, state: str, depth: int) -> str:
    """What the context of a state is called, at a depth of 1 or more."""
    word = _link(one, state, depth)
    if word == "with":
        return f"with {_noun(one, state)}"
    return f"{word} {_clause(one, state)}"


def _clause(one: JsonObject, state: str) -> str:
    """A state as a sentence without its first word: "payment method is card"."""
    subject, rest = _told_apart(one, state)
    if not subject:
        return rest
    if compared := _compared(subject, rest, 0):
        return compared
    if modal := _modal(rest):
        return f"{subject} {modal}"
    return f"{subject} {rest}" if rest in _PAST else f"{subject} {_verb(subject)} {rest}"


def _compared(subject: str, rest: str, form: int) -> str | None:
    """A comparison of two things, as a sentence (form 0) or behind "with" (form 1)."""
    match = _COMPARED.fullmatch(subject)
    if match is None or (match[2], rest) not in _OUTCOMES:
        return None
    return f"{match[1]} {_OUTCOMES[match[2], rest][form]} {match[3]}"


def _modal(rest: str) -> str | None:
    """What somebody can or has, with its negation where English has it."""
    match = _MODAL.fullmatch(rest)
    return match and f"{_NEGATED[match[2]] if match[1] else match[2]} {match[3]}"


def _link(one: JsonObject, state: str, depth: int) -> str:
    if depth == 1:
        return "when"
    states = happy_first(one)
    if one["type"] in {"enum", "sequential"} or len(states) != _TWO:
        return "and"
    return "with" if state == states[0] else "but"


def _noun(one: JsonObject, state: str) -> str:
    """A state as something that one can have: "sufficient balance"."""
    subject, rest = _told_apart(one, state)
    if not subject:
        return rest
    if rest.lower() in _THERE:
        return subject
    if compared := _compared(subject, rest, 1):
        return compared
    if modal := _modal(rest):
        return f"{subject} that {modal}"
    is_whole = is_negative(state) or rest in _PAST or " " in rest
    return f"{subject} {rest}" if is_whole else f"{rest} {subject}"


def _told_apart(one: JsonObject, state: str) -> tuple[str, str]:
    """Who or what a state is about, and what it says of it; nobody when the state says all."""
    said = words(state)
    subject = words(one["name"]).removeprefix("is ")
    known = sorted({words(other) for other in one["states"]}, key=len, reverse=True)
    for other in known:
        if subject != other and subject.endswith(f" {other}"):
            subject = subject.removesuffix(f" {other}")
            break
    if said == subject or re.fullmatch(rf"(?:not|no|non|un|in) ?{re.escape(subject)}", said):
        return "", said
    return subject, said.removeprefix(f"{subject} ")


def _verb(subject: str) -> str:
    is_plural = subject.endswith("s") and not subject.endswith(("ss", "us", "is"))
    return "are" if is_plural else "is"
