"""Singular and plural of English names, by the rules of Rails, and those that a project adds in `config/initializers`."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from runcard.errors import RuncardError
from runcard.files import resolve_below
from runcard.plans.ruby.literals import Literals
from runcard.plans.ruby.source_text import read_source
from runcard.plans.ruby.syntax_tree import children, descendants, field_of, read_code

Rules = tuple[tuple[str, str], ...]  # a pattern and what replaces it; the last one that matches counts

_PLURAL: Final[Rules] = (
    (r"$", "s"),
    (r"s$", "s"),
    (r"^(ax|test)is$", r"\1es"),
    (r"(octop|vir)us$", r"\1i"),
    (r"(octop|vir)i$", r"\1i"),
    (r"(alias|status)$", r"\1es"),
    (r"(bu)s$", r"\1ses"),
    (r"(buffal|tomat)o$", r"\1oes"),
    (r"([ti])um$", r"\1a"),
    (r"([ti])a$", r"\1a"),
    (r"sis$", "ses"),
    (r"(?:([^f])fe|([lr])f)$", r"\1\2ves"),
    (r"(hive)$", r"\1s"),
    (r"([^aeiouy]|qu)y$", r"\1ies"),
    (r"(x|ch|ss|sh)$", r"\1es"),
    (r"(matr|vert|ind)(?:ix|ex)$", r"\1ices"),
    (r"^(m|l)ouse$", r"\1ice"),
    (r"^(m|l)ice$", r"\1ice"),
    (r"^(ox)$", r"\1en"),
    (r"^(oxen)$", r"\1"),
    (r"(quiz)$", r"\1zes"),
)
_SINGULAR: Final[Rules] = (
    (r"s$", ""),
    (r"(ss)$", r"\1"),
    (r"(n)ews$", r"\1ews"),
    (r"([ti])a$", r"\1um"),
    (r"((a)naly|(b)a|(d)iagno|(p)arenthe|(p)rogno|(s)ynop|(t)he)(sis|ses)$", r"\1sis"),
    (r"(^analy)(sis|ses)$", r"\1sis"),
    (r"([^f])ves$", r"\1fe"),
    (r"(hive)s$", r"\1"),
    (r"(tive)s$", r"\1"),
    (r"([lr])ves$", r"\1f"),
    (r"([^aeiouy]|qu)ies$", r"\1y"),
    (r"(s)eries$", r"\1eries"),
    (r"(m)ovies$", r"\1ovie"),
    (r"(x|ch|ss|sh)es$", r"\1"),
    (r"^(m|l)ice$", r"\1ouse"),
    (r"(bus)(es)?$", r"\1"),
    (r"(o)es$", r"\1"),
    (r"(shoe)s$", r"\1"),
    (r"(cris|test)(is|es)$", r"\1is"),
    (r"^(a)x[ie]s$", r"\1xis"),
    (r"(octop|vir)(us|i)$", r"\1us"),
    (r"(alias|status)(es)?$", r"\1"),
    (r"^(ox)en", r"\1"),
    (r"(vert|ind)ices$", r"\1ex"),
    (r"(matr)ices$", r"\1ix"),
    (r"(quiz)zes$", r"\1"),
    (r"(database)s$", r"\1"),
)
_IRREGULAR: Final = (
    ("person", "people"),
    ("man", "men"),
    ("child", "children"),
    ("sex", "sexes"),
    ("move", "moves"),
    ("zombie", "zombies"),
)
_UNCOUNTABLE: Final = (
    "equipment",
    "information",
    "rice",
    "money",
    "species",
    "series",
    "fish",
    "sheep",
    "jeans",
    "police",
)


@dataclass(frozen=True, slots=True)
class Inflections:
    """The rules of a project."""

    plurals: Rules
    singulars: Rules
    uncountable: Sequence[str]

    def singular(self, name: str) -> str:
        return self._replaced(name, self.singulars)

    def plural(self, name: str) -> str:
        return self._replaced(name, self.plurals)

    def _replaced(self, name: str, rules: Rules) -> str:
        if any(re.search(rf"\b{re.escape(word)}\Z", name, re.IGNORECASE) for word in self.uncountable):
            return name
        for pattern, replacement in reversed(rules):
            if re.search(pattern, name, re.IGNORECASE):
                return re.sub(pattern, replacement, name, count=1, flags=re.IGNORECASE)
        return name


def _with(irregular: Sequence[tuple[str, str]], uncountable: Sequence[str]) -> Inflections:
    plurals = [
        (rf"({word[0]}){re.escape(word[1:])}$", rf"\1{many[1:]}")
        for one, many in irregular
        for word in (one, many)
    ]
    singulars = [
        (rf"({word[0]}){re.escape(word[1:])}$", rf"\1{one[1:]}")
        for one, many in irregular
        for word in (one, many)
    ]
    return Inflections((*_PLURAL, *plurals), (*_SINGULAR, *singulars), uncountable)


DEFAULT = _with(_IRREGULAR, _UNCOUNTABLE)


def singular(name: str) -> str:
    """The singular of a name in the plural, as Rails makes it without rules of the project."""
    return DEFAULT.singular(name)


def inflections_of(root: str) -> Inflections:
    """The rules of a project: `inflect.irregular` and `inflect.uncountable` with literal words count."""
    irregular: list[tuple[str, str]] = []
    uncountable: list[str] = []
    with suppress(RuncardError, OSError):
        code, _ = read_code(read_source(resolve_below(root, "config/initializers/inflections.rb")))
        literals = Literals(code)
        for node in descendants(code.root):
            method = field_of(node, "method") if node.type == "call" else None
            word = code.text_of(method) if method else ""
            values = literals.values(children(field_of(node, "arguments"))) if method else []
            words = [each for value in values for each in (value if isinstance(value, list) else [value])]
            texts = [each for each in words if isinstance(each, str) and each]
            if word == "irregular" and len(texts) == 2 and texts[0][0].lower() == texts[1][0].lower():
                irregular.append((texts[0], texts[1]))
            elif word == "uncountable":
                uncountable += texts
    if not irregular and not uncountable:
        return DEFAULT
    return _with((*_IRREGULAR, *irregular), (*_UNCOUNTABLE, *uncountable))
