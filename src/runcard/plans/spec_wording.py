"""The wording of a spec: the state of a characteristic as the description of a context.

The analyzer writes a `wording` for its characteristics. Of others only names are known: `card_valid` with the states
`valid` and `expired` reads "card is valid". A state that repeats its characteristic (`not_authenticated` of
`authenticated`) is not repeated. Whatever a name contains, the description stays
on one line: white space becomes a blank, and invisible characters are escaped.
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
_PRESENT = {"present", "given", "exists", "existing", "true", "yes"}  # expressed by "with" alone
_NOT_BEFORE = {
    "empty",
    "absent",
    "nil",
    "true",
    "false",
    "found",
    "given",
    "enabled",
    "disabled",
    "mine",
    "ok",
    "set",
    "yours",
}  # not said before a noun
_NO_NOUNS = {
    "at",
    "by",
    "for",
    "from",
    "in",
    "of",
    "off",
    "on",
    "out",
    "since",
    "to",
    "until",
    "up",
    "with",
}  # `paid at`
_PAST = {"succeeded", "failed"}
_MODAL = re.compile(r"(not )?(can|should|must|will|has) (.+)")
_NEGATED = {
    "can": "cannot",
    "should": "should not",
    "must": "must not",
    "will": "will not",
    "has": "has no",
}
_COMPARISON = re.compile(r"(.+) (equals|in) (.+)")  # names that the analyzer gives to comparisons
_OUTCOMES = {  # as a clause, and after "with"
    ("equals", "equal"): ("equals", "equal to"),
    ("equals", "different"): ("differs from", "different from"),
    ("in", "included"): ("is in", "in"),
    ("in", "excluded"): ("is not in", "not in"),
}


def words(name: str) -> str:
    """A name as words."""
    return printable(_GAPS.sub(" ", name).strip()) or "?"


def happy_first(characteristic: JsonObject) -> list[str]:
    """The states in the order of their contexts: happy path first; a sequence keeps its order.

    A state in which the method ends is no happy path, whatever its name: it is first only if all states are such.
    """
    states = list(dict.fromkeys(characteristic["states"]))
    terminal = characteristic.get("terminal_states") or ()
    if characteristic["type"] == "sequential":
        return sorted(states, key=terminal.__contains__) if states[0] in terminal else states
    if terminal and len(states) > len(set(terminal)):
        return sorted(states, key=lambda state: (state in terminal, is_negative(state)))
    return sorted(states, key=is_negative)


def is_negative(state: str) -> bool:
    """Whether the name of a state means that something is missing or goes wrong."""
    return any(_NEGATIVE.fullmatch(word) for word in words(state).split())


def description(characteristic: JsonObject, state: str, depth: int) -> str:
    """The description of the context of a state, at a depth of 1 or more."""
    link = _link(characteristic, state, depth)
    if given := worded_state(characteristic, state):
        subject, text = given
        is_adjective = words(characteristic["name"]).endswith(f" {words(state)}")
        return _from_wording(link, subject, text, is_adjective=is_adjective)
    if link == "with":
        return f"with {_noun(characteristic, state)}"
    return f"{link} {_clause(characteristic, state)}"


def worded_state(characteristic: JsonObject, state: str) -> tuple[str, str] | None:
    """The subject of a state and what it says of it, if the plan has both."""
    wording = characteristic.get("wording")
    states = wording.get("states") if isinstance(wording, dict) else None
    text = states.get(state) if isinstance(states, dict) else None
    subject = wording.get("subject") if isinstance(wording, dict) else None
    if not isinstance(text, str) or not text.strip() or not isinstance(subject, str):
        return None
    return _on_one_line(subject), _on_one_line(text)


def _on_one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def _from_wording(link: str, subject: str, text: str, *, is_adjective: bool) -> str:
    if link != "with" or subject in {"", "it"}:
        link = "and" if link == "with" else link
        return f"{link} {subject} {text}".replace("  ", " ")
    verb, _, rest = text.partition(" ")
    if not re.fullmatch(r"[\w ]+", subject) or subject.rpartition(" ")[2] in _NO_NOUNS:
        return f"and {subject} {text}"
    if verb in {"is", "are"} and rest in _PRESENT:
        return f"with {subject}"
    if is_adjective and verb in {"is", "are"} and re.fullmatch(r"[a-z-]+", rest) and rest not in _NOT_BEFORE:
        return f"with {rest} {subject}"
    return f"and {subject} {text}"


def _clause(characteristic: JsonObject, state: str) -> str:
    """A state as a clause: "payment method is card"."""
    subject, rest = _subject_and_rest(characteristic, state)
    if not subject:
        return rest
    if comparison := _comparison(subject, rest, 0):
        return comparison
    if modal := _modal(rest):
        return f"{subject} {modal}"
    return f"{subject} {rest}" if rest in _PAST else f"{subject} {_verb(subject)} {rest}"


def _comparison(subject: str, rest: str, form: int) -> str | None:
    """A comparison of two values, as a clause (form 0) or after "with" (form 1)."""
    match = _COMPARISON.fullmatch(subject)
    if match is None or (match[2], rest) not in _OUTCOMES:
        return None
    return f"{match[1]} {_OUTCOMES[match[2], rest][form]} {match[3]}"


def _modal(rest: str) -> str | None:
    """A phrase with can, has and so on, with the English negation."""
    match = _MODAL.fullmatch(rest)
    return match and f"{_NEGATED[match[2]] if match[1] else match[2]} {match[3]}"


def _link(characteristic: JsonObject, state: str, depth: int) -> str:
    if depth == 1:
        return "when"
    states = happy_first(characteristic)
    if characteristic["type"] in {"enum", "sequential"} or len(states) != 2:
        return "and"
    return "with" if state == states[0] else "but"


def _noun(characteristic: JsonObject, state: str) -> str:
    """A state as a noun phrase: "sufficient balance"."""
    subject, rest = _subject_and_rest(characteristic, state)
    if not subject:
        return rest
    if rest.lower() in _PRESENT:
        return subject
    if comparison := _comparison(subject, rest, 1):
        return comparison
    if modal := _modal(rest):
        return f"{subject} that {modal}"
    is_whole = is_negative(state) or rest in _PAST or " " in rest
    return f"{subject} {rest}" if is_whole else f"{rest} {subject}"


def _subject_and_rest(characteristic: JsonObject, state: str) -> tuple[str, str]:
    """The subject of a state and the rest of it; the subject is empty if the state contains it."""
    text = words(state)
    subject = words(characteristic["name"]).removeprefix("is ")
    known = sorted({words(other) for other in characteristic["states"]}, key=len, reverse=True)
    for other in known:
        if subject != other and subject.endswith(f" {other}"):
            subject = subject.removesuffix(f" {other}")
            break
    if text == subject or re.fullmatch(rf"(?:not|no|non|un|in) ?{re.escape(subject)}", text):
        return "", text
    return subject, text.removeprefix(f"{subject} ")


def _verb(subject: str) -> str:
    is_plural = subject.endswith("s") and not subject.endswith(("ss", "us", "is"))
    return "are" if is_plural else "is"
