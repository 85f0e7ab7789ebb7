"""Names of contexts and examples: the state of a characteristic that a description is about.

A description is read clause by clause. A clause is about a state when it says of the characteristic's subject what the
state says of it, with the same negation: "when the user is inactive", "with an invalid token", "without a block". What
could also mean something else is not recognised: "when the user has an active subscription" is not about the user.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from runcard.encoding import JsonObject
from runcard.plans.spec_wording import description, worded_state, words

_TOKENS = re.compile(r"[a-z]+(?:'[a-z]+)?|[A-Z]+(?![a-z])|[A-Z][a-z]+|\d+(?:\.\d+)?|[,;:(/]", re.ASCII)


def _words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LINKS = _words_of(
    """
    when if unless with without for given while where but and or because after before once until on as
    having
    """
)
_OF_EXAMPLES = _words_of(
    """
    when if unless given while where
    """
)  # what a condition begins with
_CONTINUED = frozenset({"with", "given", "when", "if", "where", "while"})  # also after "and"
_NEGATIONS = frozenset({"not", "no", "never", "without", "non", "neither", "lacks", "lacking", "cannot"})
_PREPOSITIONS = _words_of(
    """
    in on for by of at to from than that which who as into is are was were be been being has have had
    does do did and or but when if with without during within after before using via
    """
)
_VERBS = _words_of("is are was were be been being has have had does do did")
_FILLERS = _words_of(
    """
    a an the this its their his her it is are was were be been being has have had does do did will would
    there s also only already still just any some by of as to return returns
    """
)
_PRESENT = _words_of(
    """
    present given provided specified supplied passed exist exists existing exist set available defined true
    """
)
_ABSENT = frozenset({"nil", "null", "absent", "missing", "blank", "undefined", "unset", "false"})
_SWITCHES = {"enabled": False, "disabled": True}  # said of what may be absent; whether they say that it is
_KINDS = _words_of(
    "parameter option argument attribute header flag"
)  # where a value comes from: "title option"
_VAGUE = _words_of(
    """
    present empty equal different valid invalid success succeeded failed enabled disabled true false
    other match included excluded nothing something more less
    """
)
_UNNAMED = frozenset({"other", "none_of_these", "succeeded", "failed"})  # nothing is said by these alone
_EXPANDED = {
    "isn't": "is not",
    "aren't": "are not",
    "doesn't": "does not",
    "don't": "do not",
    "can't": "can not",
}
_EXPANDED |= {
    "wasn't": "was not",
    "hasn't": "has not",
    "haven't": "have not",
    "didn't": "did not",
    "won't": "will not",
}
_EXPANDED |= {"cannot": "can not", "couldn't": "could not", "there's": "there is", "it's": "it is"}
_PHRASES = {  # how people say what states say in one word
    r"set to": "is",
    r"(?:more|greater|larger|longer|higher|bigger) than": "above",
    r"(?:less|fewer|smaller|shorter|lower) than": "below",
    r"at most": "up to",
}
_ACTOR = re.compile(  # whom an example of a policy is about
    r"(?:.*?\b(?:allow|permit|grant|den(?:y|ies)|forbid|prevent|refuse|reject)\w*(?: access)?(?: to| for)? (?P<given>.+?)"
    r"(?: to | from |$)|(?P<acting>.+?) (?:can|can't|cannot|may) )",
    re.IGNORECASE,
)
_PHRASE = re.compile("|".join(rf"\b(?:{phrase})\b" for phrase in _PHRASES))
_LONG = {  # the words that short names stand for
    "arg": "argument",
    "attr": "attribute",
    "cmd": "command",
    "config": "configuration",
    "desc": "description",
    "dir": "directory",
    "msg": "message",
    "obj": "object",
    "opt": "option",
    "param": "parameter",
    "str": "string",
}
_CAMEL_CASE = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z]*)+\b", re.ASCII)
_OPPOSITE = re.compile(r"(?:un|in|im|ir|dis|non)(\w{3,})")
_PAIRED = {  # the other word of a pair, of which a state has one
    "outside": ("inside", "within"),
    "inside": ("outside",),
    "within": ("outside",),
    "offline": ("online",),
    "disabled": ("enabled", "enable"),
    "hidden": ("visible",),
}
_ARTICLES = frozenset({"a", "an", "the"})
_STOPS = frozenset(",;:(/")
_MAX_EXTRA = 1  # words that a clause without the subject may have besides those of the state
_MIN_WORD = 3  # letters of a word that may stand without its subject


class DescriptionClause(NamedTuple):
    """A part of a description: the word that it begins with, and its words."""

    link: str
    tokens: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatePattern:
    """What a clause about a state says: of which subject, which words, and whether it negates them."""

    name: str
    state: str
    subject: tuple[str, ...]
    predicate: tuple[str, ...]
    negative: bool
    exact: frozenset[tuple[str, ...]]  # the words of the descriptions that a skeleton has
    is_sole: bool = True  # no other state of the plan has these words


class StateNames:
    """The states of a plan, as descriptions name them."""

    def __init__(self, characteristics: Sequence[JsonObject], *, is_policy: bool = False) -> None:
        self._is_policy = is_policy
        patterns = [pattern for each in characteristics for pattern in _patterns(each)]
        self._known = {word for each in patterns for word in (*each.predicate, *each.subject)}
        shared = [(pattern.predicate, pattern.negative) for pattern in patterns]
        self._patterns = [
            pattern if shared.count((pattern.predicate, pattern.negative)) == 1 else _not_sole(pattern)
            for pattern in patterns
        ]

    def _joined(self, text: str) -> str:
        """A description with the names in camel case that a state has as one word: `WhatsApp` for `whatsapp`."""
        return _CAMEL_CASE.sub(
            lambda match: match[0].lower() if match[0].lower() in self._known else match[0], text
        )

    def in_context(self, text: str) -> set[tuple[str, str]]:
        """The states that the description of a group is about."""
        text = self._joined(text)
        exact = _significant(text)
        known = {(each.name, each.state) for each in self._patterns if exact in each.exact}
        return known or self._in_clauses(list(clauses(text)))

    def in_example(self, text: str) -> set[tuple[str, str]]:
        """The states in the condition of an example: "returns nil when the user is inactive".

        In a policy, also those of the user: "allows admins to edit it", "guests cannot edit it".
        """
        actor = _ACTOR.match(text) if self._is_policy else None
        if actor is not None:
            text = f"if {actor['given'] or actor['acting']}, {text}"
        return self._in_clauses(
            [clause for clause in clauses(self._joined(text)) if clause.link in _OF_EXAMPLES | {"or"}]
        )

    def _in_clauses(self, parts: list[DescriptionClause]) -> set[tuple[str, str]]:
        found: set[tuple[str, str]] = set()
        if any(clause.link == "or" for clause in parts):
            return found  # it leaves open which state it is about
        for clause in parts:
            matches = [each for each in self._patterns if each.predicate and _is_about(clause, each)]
            about = [each for each in matches if _has_subject(clause, each)]
            chosen = [(each.name, each.state) for each in about or matches]
            names = [name for name, _ in chosen]
            found |= {
                key for key in chosen if names.count(key[0]) == 1
            }  # two states at once: it is about neither
        return found


def _not_sole(pattern: StatePattern) -> StatePattern:
    return StatePattern(
        pattern.name,
        pattern.state,
        pattern.subject,
        pattern.predicate,
        pattern.negative,
        pattern.exact,
        False,
    )


# Patterns


def _patterns(characteristic: JsonObject) -> Iterator[StatePattern]:
    states = characteristic["states"]
    texts = {state: _state_text(characteristic, state) for state in states}
    bases = {word for _, text in texts.values() for word in _read(text, frozenset())[0]}
    for state in states:
        subject, text = texts[state]
        predicate, negative = _read(text, frozenset(bases))
        if state in _UNNAMED and not subject:
            predicate = ()
        own = _without_kind(
            [word for word in _content(_split(subject)) if word not in {"it", "value", "self"}]
        )
        exact = frozenset(_significant(description(characteristic, state, depth)) for depth in (1, 2))
        yield StatePattern(characteristic["name"], state, own, predicate, negative, exact)


def _state_text(characteristic: JsonObject, state: str) -> tuple[str, str]:
    """The subject of a state and what it says of it: its wording, or else its names."""
    if given := worded_state(characteristic, state):
        is_error = not given[0] and given[1].endswith(" is raised")
        return ("", words(state)) if is_error else given
    subject, text = words(characteristic["name"]), words(state)
    for other in characteristic["states"]:
        subject = subject.removesuffix(f" {words(other)}")
    return ("" if subject == text else subject), text.removeprefix(f"{subject} ")


def _read(text: str, bases: frozenset[str]) -> tuple[tuple[str, ...], bool]:
    """The words of what a state says, and whether it is negative."""
    tokens = _split(text)
    kept, negative = [], False
    for token in tokens:
        word, is_negative = _base(token, bases)
        negative ^= is_negative
        if word and word not in _FILLERS and word not in {"raised", "can", "should"}:
            kept.append(word)
    return tuple(kept), negative


def _base(token: str, bases: frozenset[str]) -> tuple[str, bool]:
    """The positive form of a word, and whether it was negative: `inactive` is `active`, `nil` is not `present`."""
    if token in _NEGATIONS:
        return "", True
    if token in _ABSENT:
        return "present", True
    if token in _PRESENT:
        return "present", False
    for positive in _PAIRED.get(token, ()):
        if positive in bases:
            return positive, True
    if token in _SWITCHES and "present" in bases:
        return "present", _SWITCHES[token]
    if token.endswith("d") and (verb := _verb_of(token, bases)):
        return verb, False
    match = _OPPOSITE.fullmatch(token)
    if match is not None and _singular(match[1]) in bases:
        return _singular(match[1]), True
    return _singular(token), False


def _verb_of(participle: str, bases: frozenset[str]) -> str:
    """The verb that a state has, of which this is the participle: "enabled" where the method is `enable?`."""
    return next((verb for verb in (participle[:-1], participle[:-2]) if verb in bases), "")


def _without_kind(tokens: Sequence[str]) -> tuple[str, ...]:
    """A subject without the word for where its value comes from: "title" for "title option"."""
    last = len(tokens)
    while last > 1 and tokens[last - 1] in _KINDS:
        last -= 1
    return tuple(tokens[:last])


# Clauses


def clauses(text: str) -> Iterator[DescriptionClause]:
    """The clauses of a description; the first has no link if the description begins without one."""
    link = ""
    tokens: list[str] = []
    for token in _split(text):
        is_link = token in _LINKS and not (tokens and token in _PRESENT)  # "when a block is given"
        if is_link or token in _STOPS:
            if tokens or link in _OF_EXAMPLES:
                yield DescriptionClause(link, tuple(tokens))
            goes_on = link in _CONTINUED and token == "and"  # noqa: S105 - "with a title and a token"
            link, tokens = link if goes_on else token if is_link else "", []
        else:
            tokens.append(token)
    yield DescriptionClause(link, tuple(tokens))


def _split(text: str) -> list[str]:
    expanded = re.sub(r"[a-z]+'t|there's|it's", lambda match: _EXPANDED.get(match[0], match[0]), text)
    said = _PHRASE.sub(_in_short, expanded.replace("_", " ").replace("::", " "))
    return [token.lower() for token in _TOKENS.findall(said)]


def _in_short(match: re.Match[str]) -> str:
    return next(word for phrase, word in _PHRASES.items() if re.fullmatch(phrase, match[0]))


def _content(tokens: Sequence[str]) -> list[str]:
    return [_singular(token) for token in tokens if token not in _FILLERS and token not in _STOPS]


def _significant(text: str) -> tuple[str, ...]:
    return tuple(
        token for token in _split(text) if token not in _FILLERS | _LINKS or token in {"without", "unless"}
    )


def _singular(word: str) -> str:
    is_plural = word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in _FILLERS
    one = word[:-1] if is_plural and len(word) > 3 else word
    return _LONG.get(one, one)


# Comparison


def _is_about(clause: DescriptionClause, pattern: StatePattern) -> bool:
    bases = frozenset({*pattern.predicate, *pattern.subject})
    tokens = [_base(token, bases) for token in _plain_tokens(clause, pattern)]
    is_denied = False
    if clause.tokens[-1:] in {("true",), ("false",)} and pattern.predicate != ("present",):
        tokens, is_denied = tokens[:-1], clause.tokens[-1] == "false"  # "admin is false"
    if pattern.predicate == ("present",) and pattern.subject:
        presence = _presence(clause, pattern, tokens)
        if presence is not None:
            return presence == pattern.negative
    if pattern.predicate == ("empty",) and pattern.subject and _presence(clause, pattern, tokens):
        return not pattern.negative
    size, is_denied = len(pattern.predicate), is_denied ^ (clause.link in {"unless", "without"})
    said = {
        _is_negated(tokens, at, at + size, pattern) ^ is_denied
        for at in range(len(tokens) - size + 1)
        if tuple(word for word, _ in tokens[at : at + size]) == pattern.predicate
        and _is_said_of(clause, pattern, tokens, at, at + size)
    }
    return pattern.negative in said


def _plain_tokens(clause: DescriptionClause, pattern: StatePattern) -> Iterator[str]:
    """The words of a clause without articles, and without what a subject is called besides: "the title option"."""
    before = ""
    for token in clause.tokens:
        is_kind = _LONG.get(token, token) in _KINDS and _singular(before) in pattern.subject
        if token not in _ARTICLES and not is_kind:
            yield token
            before = token


def _is_negated(tokens: list[tuple[str, bool]], at: int, last: int, pattern: StatePattern) -> bool:
    """Whether the state is negated: by its own word, or by a negation before it or before its subject."""
    negative = any(is_negative for _, is_negative in tokens[at:last])
    for index, (word, is_negative) in enumerate(tokens):
        if word or not is_negative or index >= last:
            continue
        following = next((word for word, _ in tokens[index + 1 :] if word and word not in _FILLERS), "")
        negative ^= following in pattern.predicate or following in pattern.subject
    return negative


def _is_said_of(
    clause: DescriptionClause, pattern: StatePattern, tokens: list[tuple[str, bool]], at: int, last: int
) -> bool:
    """Whether the words of a state are said of its subject, or can be said of nothing else."""
    after = next((word for word, _ in tokens[last:] if word), "")
    before = [word for word, _ in tokens[:at] if word and word not in _FILLERS]
    if _has_subject(clause, pattern):
        head = pattern.subject[-1]
        if after == head or after in pattern.subject:
            return True
        return bool(before) and before[-1] in pattern.subject and (not after or after in _PREPOSITIONS)
    if after and (after not in _PREPOSITIONS or after in _VERBS):
        return False
    is_clear = pattern.is_sole and not _VAGUE.intersection(pattern.predicate)
    is_long = all(len(word) >= _MIN_WORD for word in pattern.predicate)
    extra = [word for word, _ in tokens if word and word not in _FILLERS and word not in pattern.predicate]
    return is_clear and is_long and len(extra) <= (_MAX_EXTRA if pattern.subject else 0)


def _has_subject(clause: DescriptionClause, pattern: StatePattern) -> bool:
    own = {_singular(token) for token in clause.tokens}
    return bool(pattern.subject) and pattern.subject[-1] in own


def _presence(
    clause: DescriptionClause, pattern: StatePattern, tokens: list[tuple[str, bool]]
) -> bool | None:
    """Whether "with x", "without x", "no x" or "x is given" says that something is absent; None if it says neither."""
    head = pattern.subject[-1]
    kept = [(word, negative) for word, negative in tokens if word not in _FILLERS]
    words_only = [word for word, _ in kept if word]
    phrase = words_only[: _phrase_length(words_only)]
    if "empty" in phrase or ("present", True) in kept:
        return None
    negative = bool(kept) and kept[0] == ("", True)
    if clause.link in {"with", "given", "having"} and phrase and phrase[-1] == head:
        return negative
    if clause.link == "without" and phrase and phrase[-1] == head and len(phrase) <= len(pattern.subject) + 1:
        return not negative
    if ("", True) not in kept:
        return None
    at = kept.index(("", True))
    before, noun = ([word for word, _ in part if word] for part in (kept[:at], kept[at:]))
    is_said = not before or not {"has", "have"}.isdisjoint(clause.tokens)  # "message has no content"
    is_all = noun[-1:] == [head] and {*before, *noun} <= {*pattern.subject, "it"}
    return True if is_said and is_all else None


def _phrase_length(tokens: list[str]) -> int:
    """How many words there are before the first preposition or participle that ends a noun phrase."""
    return next(
        (at for at, word in enumerate(tokens) if word in _PREPOSITIONS or word == "present"), len(tokens)
    )
