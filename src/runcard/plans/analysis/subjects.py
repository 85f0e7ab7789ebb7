"""What a condition asks about: a variable, an attribute, the result of a call; and how it is called in a plan."""

import re
from dataclasses import dataclass

from runcard.plans.ruby.rails import underscore
from runcard.plans.ruby.syntax_tree import Code, Node, field_of, parts

LONGEST_NAME = 60
# Calls that change how a value is written, not what it is.
_SAME = {"to_s", "to_sym", "to_i", "to_f", "to_d", "to_str", "itself", "dup", "presence"}
_SAME |= {"downcase", "upcase", "strip", "squish", "freeze"}
_WORDS = {"identifier", "instance_variable", "class_variable", "global_variable"}
_CONSTANTS = {"constant", "scope_resolution"}
_LITERALS = {"simple_symbol", "string", "integer", "float", "hash_key_symbol", "range"}


@dataclass(frozen=True, slots=True)
class Subject:
    """What is asked about. Two texts with the same key are the same subject."""

    key: str
    name: str
    text: str
    root: str  # the variable or method that it begins with; empty for what is no name


def subject_of(code: Code, node: Node) -> Subject:
    plain = unwrapped(code, node)
    if plain.type in {"assignment", "operator_assignment"}:
        plain = field_of(plain, "left") or plain
    key = re.sub(r"\s+", "", code.of(plain).replace("&.", ".")).removeprefix("self.").lstrip("@")
    return Subject(key, name_of(code, plain), one_line(code.of(node)), _root(code, plain))


def unwrapped(code: Code, node: Node) -> Node:
    """The expression itself: without parentheses, and without calls that only rewrite it."""
    while True:
        inner = parts(node)
        if node.type == "parenthesized_statements" and len(inner) == 1:
            node = inner[0]
            continue
        receiver, method = field_of(node, "receiver"), field_of(node, "method")
        if node.type != "call" or receiver is None or method is None or code.of(method) not in _SAME:
            return node
        node = receiver


def name_of(code: Code, node: Node) -> str:
    """An expression in the words of a name: `user.profile.age` is `user_profile_age`."""
    return slug("_".join(word for word in _words(code, node) if word))[:LONGEST_NAME].strip("_") or "value"


def argument_words(code: Code, node: Node) -> str:
    """The literals that a call is given, as a part of a name."""
    return slug("_".join(_literal_words(code, field_of(node, "arguments"))))[:LONGEST_NAME].strip("_")


def slug(text: str) -> str:
    """A text as a name may be written; letters beyond ASCII are letters."""
    return re.sub(r"\W+|__+", "_", text).strip("_")


def one_line(text: str) -> str:
    return " ".join(text.split())


def _words(code: Code, node: Node) -> list[str]:
    """The words of an expression, the outermost last; a chain of calls is followed without recursion."""
    words: list[str] = []
    at: Node | None = node
    while at is not None:
        kind = at.type
        if kind == "call":
            method, receiver = field_of(at, "method"), field_of(at, "receiver")
            name = code.of(method).rstrip("?!") if method else ""
            words += [
                *reversed(_literal_words(code, field_of(at, "arguments"))),
                "" if name in _SAME else name,
            ]
            at = receiver
        elif kind == "element_reference":
            words += reversed(_literal_words(code, at))
            at = field_of(at, "object")
        elif kind == "parenthesized_statements" and len(parts(at)) == 1:
            at = parts(at)[0]
        else:
            words.append(_word(code, at))
            at = None
    return words[::-1]


def _word(code: Code, node: Node) -> str:
    text = code.of(node)
    if node.type == "self":
        return ""
    if node.type in _CONSTANTS:
        return underscore(text.rpartition("::")[2])
    if re.fullmatch(r"\$\d+", text):
        return f"match_{text[1:]}"
    return text.lstrip("@$:") if node.type in _WORDS else underscore(slug(text))


def _literal_words(code: Code, arguments: Node | None) -> list[str]:
    """The literals among arguments, which tell one call from another."""
    of = field_of(arguments, "object") if arguments is not None else None  # what `[]` is asked of
    found = [node for node in parts(arguments) if node != of and node.type in _LITERALS | _CONSTANTS]
    return [underscore(slug(code.of(node).rpartition("::")[2] or code.of(node))) for node in found[:3]]


def _root(code: Code, node: Node) -> str:
    at: Node | None = node
    while at is not None and at.type in {"call", "element_reference"}:
        receiver = field_of(at, "receiver") or field_of(at, "object")
        if receiver is None or receiver.type == "self":
            method = field_of(at, "method")
            return code.of(method) if method else ""
        at = receiver
    return code.of(at).lstrip("@") if at is not None and at.type in _WORDS else ""
