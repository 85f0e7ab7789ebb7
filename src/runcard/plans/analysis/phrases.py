"""English for conditions: a predicate of Ruby as a clause, positive and negative.

`user.active?` reads "user is active" and "user is inactive", `list.include?(x)` "list includes x" and "list does not
include x". Only the words of names are known, so words are told apart by lists and endings.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from runcard.plans.analysis.english_words import ADJECTIVES, FLAGS, NOUN_VERBS, NOUNS, ROLES, VERBS
from runcard.plans.ruby.inflections import singular

_MODALS = {"can", "could", "should", "must", "will", "may", "would"}
PREPOSITIONS = {
    "to",
    "for",
    "by",
    "of",
    "in",
    "on",
    "at",
    "with",
    "from",
    "as",
    "into",
    "after",
    "before",
    "than",
    "like",
}
_PLACES = {"against", "between", "during", "over", "under", "within", "without"}
_ENDINGS = re.compile(r"\w{2,}(?:ed|able|ible|ive|ous|ful|less|ic|ical|ial|ing|ish|ant|ent|ary|ory)")
_ROLE_ENDINGS = re.compile(r"\w{3,}(?:ment|tion|sion|ship|er|or)")  # of nouns; `newer` is none
_DOUBLED = re.compile(
    r"(?:[^aeiou]*|com|sub|be)[^aeiou]*[aeiou][bgmnpt]"
)  # run, commit: not wait, sort, edit
_AUXILIARIES = {"is", "are", "was", "were", "has", "have"}
_IRREGULAR_PLURALS = {"children", "people", "men", "women"}
_SINGULARS = {"alias", "atlas", "aws", "bias", "canvas", "chaos", "lens", "rails", "series", "windows", "yes"}
_VOWELS = set("aeiouy")
_AN = re.compile(  # before a vowel, as it is said: an hour, an HTML page; a user, a one-time code
    r"(?!one|uni[qtvo]|ur[il]|use|usa|uti|uuid|eu|u(?!\w))[aeiou]|html|http|xml|sql|ssl|ssh|svg|rss|sms|ftp|hour|[fhlmnrsx](?!\w)",
    re.IGNORECASE,
)
_ADVERBS = {"already", "also", "always", "both", "just", "never", "only", "still", "too"}
_QUANTIFIERS = {"all", "any", "each", "every", "no", "none", "some"}
_NOT_ADVERBS = {
    "anomaly",
    "apply",
    "assembly",
    "daily",
    "family",
    "monthly",
    "reply",
    "supply",
    "weekly",
    "yearly",
}
_COUNTS = {"one": "one element", "many": "several elements"}
_ELEMENTS = {"first", "last"}
_KEY_PREDICATES = {"key", "has_key"}


class Phrases(NamedTuple):
    """The subject of a clause, and its predicate in both states. Without a subject, they are whole clauses."""

    subject: str
    positive: str
    negative: str


def scoped_noun(words: Sequence[str]) -> str:
    """A chain of calls with scopes as a noun phrase: `messages.incoming.last` is the "last incoming message".

    Empty if the last calls are neither `first` or `last` nor adjectives that follow a plural.
    """
    element = words[-1] if words and words[-1] in _ELEMENTS else ""
    scopes = list(words[:-1] if element else words)
    adjectives: list[str] = []
    while len(scopes) > 1 and _is_adjective(scopes[-1]):
        adjectives.insert(0, scopes.pop())
    if not scopes or not is_plural(scopes[-1]) or not (element or adjectives):
        return ""
    noun = singular(scopes[-1]) if element else scopes[-1]
    owner = " ".join(scopes[:-1])
    phrase = " ".join(filter(None, (element, *adjectives, noun))).replace("_", " ")
    return f"{phrase} of {owner.replace('_', ' ')}" if owner else phrase


def is_plural(noun: str) -> bool:
    words = noun.split()
    if not words or words[-1] in PREPOSITIONS or words[-1] == "was" or not words[-1].isalpha():
        return False
    head = next((words[at - 1] for at in range(1, len(words)) if words[at] in PREPOSITIONS), "")
    last = head or noun.rpartition(" ")[2]
    return last in _IRREGULAR_PLURALS or (
        last.endswith("s")
        and len(last) > 2
        and last not in _SINGULARS
        and not last.endswith(("ss", "us", "is", "news"))
        and not _VOWELS.isdisjoint(last)  # `dns`
    )


def being(noun: str) -> str:
    """`is` or `are`."""
    return "are" if is_plural(noun) else "is"


def article(noun: str) -> str:
    """A noun phrase with its article, if it needs one."""
    if is_plural(noun):
        return noun
    return f"{'an' if _AN.match(noun) else 'a'} {noun}"


def quantity_phrases(owner: str, word: str) -> Phrases:
    """The clauses of `any?`, `all?`, `none?` and `one?` with a block."""
    counts = {
        "any": ("some", "no"),
        "all": ("all", "not all"),
        "none": ("no", "some"),
        "one": ("one of", "not one of"),
    }
    yes, no = (f"{count} {owner or 'items'} match" for count in counts[word])
    return Phrases("", yes, no)


def result_phrases(owner: str, method: str, *, takes_arguments: bool) -> Phrases | None:
    """The clauses for a method whose name is a verb and whose result is tested for presence; None for any other."""
    words = method.split("_")
    if words[0] == "find":
        rest = [word for word in words[1:] if word not in {"by", "with", "for", "all", "each"}]
        subject = " ".join([*rest, owner]).strip() if rest and "by" not in words else owner
        if not subject:
            return Phrases("", "a record is found", "no record is found")
        return Phrases(subject, f"{being(subject)} found", f"{being(subject)} not found")
    if (
        not takes_arguments
        or words[0] not in VERBS - ADJECTIVES
        or (len(words) < 2 and words[0] in NOUN_VERBS | NOUNS)
        or not PREPOSITIONS.isdisjoint(words[1:2])
    ):
        return None
    name = " ".join((gerund(words[0]), *words[1:]))
    return Phrases(name, "returns a value", "returns nothing")


def predicate_phrases(owner: str, predicate: str, argument: str, opposite: str | None) -> Phrases | None:
    """The clauses of a predicate without its `?`; `owner` is empty for a predicate of the object itself.

    None for several words that are no clause, such as `within_window` or `inbox_access`.
    `argument` is what it is called with, as words; `opposite` is the word for the negative state, if it has its own.
    """
    words = [word for word in predicate.split("_") if word]
    if len(words) > 1 and words[0] == "is":
        words = words[1:]
    idiom = _idiom(owner, words, argument)
    if idiom is not None:
        return idiom
    split = _split(words)
    subject = " ".join(filter(None, (owner, *words[:split])))
    rest = words[split:]
    said = None if words[0] in _QUANTIFIERS and len(words) > 1 else _verb_phrase(rest, subject)
    if said is None:
        return None
    positive, negative = said
    if argument and split and len(rest) == 1 and rest[0] not in PREPOSITIONS:  # `column_exists?(:name)`
        subject = f"{subject} {argument}"
    elif argument:
        positive, negative = f"{positive} {argument}", f"{negative} {argument}"
    if (
        not subject
        and positive.startswith("is ")
        and _is_adjective(rest[0])
        and not positive.startswith(("is a ", "is an "))
    ):
        subject, positive, negative = "", positive.removeprefix("is "), negative.removeprefix("is ")
    elif not subject:
        subject = "it"
    if opposite:
        lead = f"{being(subject)} " if subject else ""
        word = article(opposite) if positive.startswith(("is a ", "is an ")) else opposite
        negative = f"{lead}{word}" + (f" {argument}" if argument else "")
    return Phrases(subject, positive, negative)


def _idiom(owner: str, words: list[str], argument: str) -> Phrases | None:
    """The clauses of predicates whose words do not tell: `key?`, `one?`, `if_type?`."""
    predicate, subject = "_".join(words), owner or "it"
    thing = f"the key {argument}" if predicate in _KEY_PREDICATES and argument else ""
    thing = thing or (_COUNTS.get(predicate, "") if owner else "")
    if thing:
        have, do = ("have", "do") if is_plural(owner) else ("has", "does")
        return Phrases(subject, f"{have} {thing}", f"{do} not have {thing}")
    if len(words) > 1 and words[-1] == "type" and not argument:
        be, kind = being(owner), " ".join(words[:-1])
        return Phrases(subject, f"{be} of type {kind}", f"{be} not of type {kind}")
    return None


def phrases_about(argument: str, predicate: str, opposite: str | None) -> Phrases | None:
    """The clauses of a predicate of the object itself, which is called with a value: `duplicate?(row)`.

    A verb has the value as its object ("it accepts env"); others are said of the value ("row is a duplicate"). None if it
    may be either: of `has_role?(x)`, x has the role or is the role.
    """
    own = predicate_phrases("", predicate, "", opposite)
    if own is None or own.positive.startswith("has "):
        return None
    if own.subject not in {"", "it"}:  # `translation_exists?(name)`
        return about_named(own, argument)
    actor = actor_phrase(predicate, argument)
    if actor:
        return Phrases(own.subject, *with_actor(own, actor))
    if own.subject and not own.positive.startswith(("is ", "exists")):
        is_bare = " " not in own.positive
        return (
            own if not is_bare else Phrases("it", f"{own.positive} {argument}", f"{own.negative} {argument}")
        )
    if not own.subject:
        be = being(argument)
        return Phrases(argument, f"{be} {own.positive}", f"{be} {own.negative}")
    if is_plural(argument):
        return predicate_phrases(argument, predicate, "", opposite)
    return own._replace(subject=argument)


def about_named(phrases: Phrases, argument: str) -> Phrases:
    """The clauses about a thing with a name: "translation name exists"; others stay as they are."""
    is_named = _NAMED_THINGS.search(phrases.positive) is not None
    return phrases._replace(subject=f"{phrases.subject} {argument}") if is_named else phrases


def actor_phrase(predicate: str, argument: str) -> str:
    """Whom an ability is about: "visible to user", "editable by user"; empty for other predicates."""
    if not argument or not predicate.endswith(("able", "ible")):
        return ""
    return f"{'to' if predicate in _TO_SOMEBODY else 'by'} {argument}" if _ACTOR.search(argument) else ""


def with_actor(phrases: Phrases, actor: str) -> tuple[str, str]:
    """Both predicates, with whom they are about: "visible to user" and "hidden from user"."""
    negative = f"{phrases.negative} {actor}"
    return f"{phrases.positive} {actor}", re.sub(r"\bhidden to\b", "hidden from", negative)


_NAMED_THINGS = re.compile(
    r"^(?:exists?|(?:is|are) (?:defined|enabled|set|known|registered|loaded|installed))$"
)
_TO_SOMEBODY = {"visible", "accessible", "available"}
_ACTOR = re.compile(r"(?:user|person|member|account|viewer|author|owner|admin|principal|actor|role|group)$")


def flag_phrases(owner: str, name: str) -> Phrases | None:
    """The clauses for a flag such as `@imported`, by its name; None for a name that is no flag."""
    first, _, last = name.partition("_")
    if last and (first in _MODALS | _AUXILIARIES):
        plain = Phrases(f"{owner} `{name}`".strip(), "is true", "is false")
        return predicate_phrases(owner, name, "", None) or plain
    is_noun = first in NOUNS | ADJECTIVES | NOUN_VERBS
    is_noun = is_noun and not (owner and PREPOSITIONS.intersection(last.split("_")))
    if last and first in VERBS and not is_noun:  # `show_all`, `sign_in_after_reset`
        return Phrases(" ".join(filter(None, (owner, name.replace("_", " ")))), "is set", "is not set")
    last = name.rpartition("_")[2]
    if name in VERBS and name in FLAGS:  # `force`
        return Phrases(f"{owner} {name}".strip(), "is set", "is not set")
    if last not in FLAGS and not (last.endswith("ed") and last not in NOUNS and len(last) > len("used")):
        return None
    return predicate_phrases(owner, name, "", None)


def setting_phrases(owner: str, predicate: str, argument: str) -> Phrases:
    """The clauses of a setting: `Setting.login_required?` reads "setting login required is enabled"."""
    phrases = predicate_phrases(owner, predicate, argument, None)
    is_verb = verb_of(predicate.split("_", maxsplit=1)[0]) is not None
    if phrases is not None and phrases.subject == owner and is_verb:
        return phrases
    subject = " ".join(filter(None, (owner, predicate.replace("_", " "), argument)))
    return Phrases(subject, "is enabled", "is disabled")


def verb_of(word: str) -> str | None:
    """The verb behind a word such as `includes` or `include`."""
    if word in VERBS:
        return word
    for ending, base in (("ies", "y"), ("es", ""), ("s", "")):
        stem = word.removesuffix(ending) + base
        if word.endswith(ending) and stem in VERBS:
            return stem
    return None


def gerund(verb: str) -> str:
    """`save` as `saving`."""
    if verb.endswith("e") and not verb.endswith(("ee", "ye", "oe")):
        return f"{verb[:-1]}ing"
    if _DOUBLED.fullmatch(verb):
        return f"{verb}{verb[-1]}ing"
    return f"{verb}ing"


def _split(words: list[str]) -> int:
    """The position of the verb or adjective, if words before it are its subject: `username_complete`."""
    if words[0].endswith("ly") and words[0] not in _NOT_ADVERBS:  # `successfully_sent`
        return 0
    if len(words) == 2 and words[1].endswith("ed") and (verb_of(words[0]) or "") in NOUN_VERBS:
        return 1  # `access_locked`, `attempts_exceeded`
    if _is_adjective(words[0]) or words[0] in _MODALS | _AUXILIARIES or _is_third_person(words[0]):
        return 0
    for at, word in enumerate(words[1:], start=1):
        is_last = at == len(words) - 1 or words[at + 1] in PREPOSITIONS
        if word in _MODALS | _AUXILIARIES:
            return at
        if is_last and (_is_third_person(word) or _is_adjective(word)):
            return at
        if at == len(words) - 1 and word in {"in", "on"}:  # `domain_in?(domain, list)`
            return at
    return 0


def _is_third_person(word: str) -> bool:
    return word.endswith("s") and word not in VERBS and verb_of(word) is not None


def _is_participle(word: str) -> bool:
    """Whether a word is a form such as `blocking`, of a known verb."""
    stem = word.removesuffix("ing")
    return stem != word and bool({stem, f"{stem}e", stem[:-1]} & VERBS) and word not in NOUNS


def _is_adjective(word: str) -> bool:
    if word in ADJECTIVES:
        return True
    return bool(_ENDINGS.fullmatch(word)) and word not in NOUNS | VERBS and not word.endswith("ment")


def _verb_phrase(words: list[str], subject: str) -> tuple[str, str] | None:
    first, rest = words[0], " ".join(words[1:])
    if words[1:2] == ["of"]:  # `start_of_line`
        return f"{being(subject)} the {first} {rest}", f"{being(subject)} not the {first} {rest}"
    is_many = is_plural(subject)
    if first in _MODALS:
        no = "cannot" if first == "can" else f"{first} not"
        return f"{first} {rest}".strip(), f"{no} {rest}".strip()
    if first in {"is", "are", "was", "were"} and rest:
        return f"{first} {rest}", f"{first} not {rest}"
    if first in {"has", "have"}:
        has = "have" if is_many else "has"
        if not rest:
            return has, f"{'do' if is_many else 'does'} not have"
        no = "not" if _is_adjective(words[1]) and len(words) == 2 else "no"
        return f"{has} {rest}", f"{has} {no} {rest}"
    verb = verb_of(first)
    if verb is not None and first not in ADJECTIVES and not (_is_adjective(first) and first != verb):
        does = "do" if is_many else "does"
        return f"{verb if is_many else third(verb)} {rest}".strip(), f"{does} not {verb} {rest}".strip()
    return _being_phrase(words, subject)


def _being_phrase(words: list[str], subject: str) -> tuple[str, str] | None:
    """What a thing is: an adjective, an adverbial phrase or a role; None for several words that are neither."""
    text, be = " ".join(words), being(subject)
    is_single = len(words) == 1 or words[1] in PREPOSITIONS
    is_phrase = len(words) > 1 and words[0] in PREPOSITIONS | _ADVERBS
    if is_phrase or (_is_adjective(words[0]) if is_single else _is_state(words)):
        return f"{be} {text}", f"{be} not {text}"
    is_role = _is_role(words[0]) if is_single else words[-1] in ROLES and words[0] not in _PLACES
    if is_role and not is_plural(subject):
        return f"{be} {article(text)}", f"{be} not {article(text)}"
    if is_plural(words[-1]) and not is_plural(subject) and words[-1] not in PREPOSITIONS:
        return f"has {text}", f"has no {text}"  # `node.arguments?`
    return (f"{be} {text}", f"{be} not {text}") if len(words) == 1 else None


def _is_state(words: list[str]) -> bool:
    return _is_adjective(words[-1]) or _is_participle(words[0])


def _is_role(word: str) -> bool:
    """Whether a word is a noun for who or what somebody is: `admin`, `maintainer`."""
    stem = word.removesuffix("er")
    is_comparative = stem != word and not {stem, f"{stem}e", f"{stem[:-1]}y", stem[:-1]}.isdisjoint(
        ADJECTIVES
    )
    is_noun = _ROLE_ENDINGS.fullmatch(word) is not None and not is_comparative
    return word in ROLES or (is_noun and word not in VERBS)


def third(verb: str) -> str:
    """`include` as `includes`."""
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"
