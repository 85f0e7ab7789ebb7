"""Subjects of conditions: a variable, an attribute or the result of a call, and its name in a plan."""

import re
from dataclasses import dataclass
from functools import lru_cache

from runcard.plans.analysis.phrases import PREPOSITIONS, scoped_noun
from runcard.plans.ruby.rails import underscore
from runcard.plans.ruby.syntax_tree import Code, Node, children, field_of

LONGEST_NAME = 60
_NOT_NOUNS = {"splat_argument", "hash_splat_argument", "pair", "lambda"}
_MOST_WORDS = 3  # of an argument in a name
_CHAIN = re.compile(r"[a-z_]\w*(?:\.[a-z_]\w*)+", re.ASCII)  # of calls without arguments
_BLANKS = re.compile(r"\s+")
_KEY = re.compile(r"""\[(?::(\w+)|['"](\w+)['"])\]""")  # `[:id]` and `["id"]` are the same
_TRY = re.compile(r"\.try\(:(\w+)\)")
_FROM_NIL = re.compile(r"(?:Array|String)\(.*|.*\.to_(?:s|str)\b(?!\().*", re.DOTALL)
# Calls that convert a value without changing what it is.
_CONVERSIONS = {"to_s", "to_sym", "to_i", "to_f", "to_d", "to_str", "itself", "dup", "presence"}
_CONVERSIONS |= {"downcase", "upcase", "strip", "squish", "freeze", "try"}
_CONVERTERS = {"Array", "String", "Integer", "Float"}  # `Array(x)`
LONGEST_CODE = 50
_QUERIES = {"where", "new"}  # not said: a query is named by its keys
_KEYED = {"params": "param", "options": "option", "opts": "option"}  # `params[:id]` is the id param
_WORDS = {"identifier", "instance_variable", "class_variable", "global_variable"}
_CONSTANTS = {"constant", "scope_resolution"}
_LITERALS = {"simple_symbol", "string", "integer", "float", "hash_key_symbol", "range"}
_NAMED = {"identifier", "instance_variable", "class_variable", "constant", "scope_resolution", "self"}
_KEYS = {"simple_symbol", "string", "hash_key_symbol", "constant"}
_OPERATIONS = {
    "subshell",
    "conditional",
    "binary",
    "unary",
    "array",
    "hash",
    "string_array",
    "symbol_array",
    "range",
}
_ELEMENTS = {"delete", "fetch", "dig"}  # `options.delete(:id)` is the id option, as `options[:id]`


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a condition. Two expressions with the same key have the same subject."""

    key: str
    name: str
    text: str
    root: str  # the variable or method that it begins with; empty if there is none
    noun: str = ""  # what it reads like; empty: like its name


def subject_of(code: Code, node: Node) -> Subject:
    plain = unwrapped(code, node)
    if plain.type in {"assignment", "operator_assignment"}:
        plain = field_of(plain, "left") or plain
    key = _BLANKS.sub("", code.text_of(plain).replace("&.", ".")).removeprefix("self.").lstrip("@")
    key = _TRY.sub(r".\1", _KEY.sub(lambda match: f"[{match[1] or match[2]}]", key))
    noun = noun_phrase(code, plain)
    return Subject(key, name_of(code, plain), one_line(code.text_of(node)), _root(code, plain), noun)


def noun_phrase(code: Code, node: Node) -> str:
    """An expression in a sentence: its words, or the code itself where words would not tell what it is."""
    text = one_line(code.text_of(node))
    if node.type == "self":
        return "it"
    is_code = len(text) <= LONGEST_CODE and _is_code(code, node)
    if is_code:
        return text
    scoped = scoped_noun(text.split(".")) if _CHAIN.fullmatch(text) else ""
    return without_repetition(scoped or name_of(code, node).replace("_", " "))


def without_repetition(words: str) -> str:
    """`inbox.inbox_type` is the "inbox type"."""
    return re.sub(r"\b(\w+)(?: \1)+\b", r"\1", words)


def _is_code(code: Code, node: Node) -> bool:
    """Whether an expression has an operator, a computed key or index, or a name that is no word: `$?`, `list[i]`."""
    at: Node | None = node
    while at is not None and at.type in {"call", "element_reference"}:
        owner = field_of(at, "object")
        keys = [part for part in children(at) if part != owner] if at.type == "element_reference" else []
        if any(part.type not in _KEYS for part in keys):
            return True
        at = field_of(at, "receiver") or owner
    if at is None or at.type in _NAMED | _LITERALS:
        return at is not None and code.text_of(at) == "ENV"
    return at.type in _OPERATIONS or at.type == "global_variable"


def unwrapped(code: Code, node: Node) -> Node:
    """An expression without parentheses and conversions."""
    while True:
        kind = node.type
        if kind == "parenthesized_statements" and len(inner := children(node)) == 1:
            node = inner[0]
            continue
        if kind != "call":
            return node
        receiver, method = field_of(node, "receiver"), field_of(node, "method")
        arguments = children(field_of(node, "arguments"))
        if receiver is None and method is not None and method.type == "constant" and len(arguments) == 1:
            if code.text_of(method) not in _CONVERTERS or arguments[0].type in _NOT_NOUNS:
                return node
            node = arguments[0]
            continue
        if receiver is None or method is None or code.text_of(method) not in _CONVERSIONS - {"try"}:
            return node
        node = receiver


def nil_is_empty(code: Code, node: Node) -> bool:
    """Whether an expression converts nil to an empty value: `Array(x)`, `x.to_s.strip`."""
    value, plain = code.text_of(node), code.text_of(unwrapped(code, node))
    return _FROM_NIL.fullmatch(value.replace(plain, "", 1) if value.startswith(plain) else value) is not None


def is_plain(code: Code, node: Node) -> bool:
    """Whether an expression only names a value: a variable, an attribute, an element with a literal key."""
    at: Node | None = unwrapped(code, node)
    while at is not None and at.type in {"call", "element_reference"}:
        owner = field_of(at, "object")
        if at.type == "call" and (children(field_of(at, "arguments")) or field_of(at, "block")):
            return False
        if at.type == "element_reference" and any(
            part.type not in _LITERALS for part in children(at) if part != owner
        ):
            return False
        at = field_of(at, "receiver") or owner
    return at is not None and at.type in _WORDS  # `self.x` may be another value than the variable `x`


def name_of(code: Code, node: Node) -> str:
    """An expression as a name: `user.profile.age` is `user_profile_age`."""
    return slug("_".join(word for word in _words(code, node) if word))[:LONGEST_NAME].strip("_") or "value"


def argument_words(code: Code, node: Node) -> str:
    """The literal arguments of a call, as a part of a name."""
    return slug("_".join(_literal_words(code, field_of(node, "arguments"))))[:LONGEST_NAME].strip("_")


def argument_nouns(code: Code, node: Node, *, is_first: bool = False) -> str:
    """The last argument of a call, or its first, as a part of a name, if it is short."""
    arguments = [part for part in children(field_of(node, "arguments")) if part.type != "block_argument"]
    last = arguments[0 if is_first else -1] if arguments else None
    if last is None or last.type in _NOT_NOUNS:
        return ""
    argument = field_of(last, "left") if last.type == "assignment" else None
    name = name_of(code, argument or last)
    return name if name.count("_") <= _MOST_WORDS and name != "value" else ""


def slug(text: str) -> str:
    """A text as an identifier; letters beyond ASCII are kept."""
    return _short_slug(text) if len(text) <= LONGEST_NAME else _slug(text)


@lru_cache(maxsize=4096)
def _short_slug(text: str) -> str:
    """The same for names: sources repeat them."""
    return _slug(text)


def _slug(text: str) -> str:
    return re.sub(r"\W+|__+", "_", text).strip("_")


def one_line(text: str) -> str:
    return " ".join(text.split())


def _words(code: Code, node: Node) -> list[str]:
    """The words of an expression, the outermost call last; without recursion."""
    words: list[str] = []
    at: Node | None = node
    is_keyed = node.type == "element_reference"
    while at is not None:
        kind = at.type
        if kind == "call":
            method, receiver = field_of(at, "method"), field_of(at, "receiver")
            name = code.text_of(method).rstrip("?!") if method else ""
            if name == "class" and receiver is not None and receiver.type == "self":
                name = ""
            if is_element(code, at):
                name, is_keyed = "", is_keyed or at == node
            words += [
                *reversed(_argument_words(code, at, name)),
                "" if name in _CONVERSIONS | _QUERIES else name,
            ]
            if name == "current" and receiver is not None and receiver.type in _CONSTANTS:
                words[-1:] = [_word(code, receiver), "current"]  # User.current is the current user
                return words[::-1]
            if name in {"first", "last"} and receiver is not None and _is_query(code, receiver):
                words.pop()  # `where(email: x).first` is named by the query
            at = receiver
        elif kind == "element_reference":
            words += reversed(_literal_words(code, at))
            at = field_of(at, "object")
        elif kind == "parenthesized_statements" and len(children(at)) == 1:
            at = children(at)[0]
        else:
            words.append(_word(code, at))
            at = None
    ending = _KEYED.get(words[-1]) if is_keyed and len(words) > 1 else None
    return [*words[-2::-1], ending] if ending else words[::-1]


def is_element(code: Code, call: Node) -> bool:
    """Whether a call takes an element by its key: `options.delete(:id)`."""
    method, receiver = field_of(call, "method"), field_of(call, "receiver")
    first = next(iter(children(field_of(call, "arguments"))), None)
    return (
        method is not None
        and code.text_of(method) in _ELEMENTS
        and receiver is not None
        and first is not None
        and first.type in _KEYS - {"constant"}
    )


def _is_query(code: Code, node: Node) -> bool:
    method = field_of(node, "method") if node.type == "call" else None
    return method is not None and code.text_of(method) == "where"


def _argument_words(code: Code, call: Node, name: str) -> list[str]:
    """The arguments of a call that are a part of its name: literals, and what follows `of` or `for`."""
    arguments = children(field_of(call, "arguments"))
    if name == "where":  # `where(email: x)` is `with email`
        keys = [field_of(part, "key") for part in arguments if part.type == "pair"]
        return ["with", slug(code.text_of(keys[0]))] if len(keys) == 1 and keys[0] is not None else []
    literals = _literal_words(code, field_of(call, "arguments"))
    if literals or name.rpartition("_")[2] not in PREPOSITIONS:
        return literals
    is_short = len(arguments) == 1 and arguments[0].type in _WORDS
    return [_word(code, arguments[0])] if is_short else []


def _word(code: Code, node: Node) -> str:
    text = code.text_of(node)
    if node.type == "self":
        return ""
    if node.type in _CONSTANTS:
        return underscore(text.rpartition("::")[2])
    if re.fullmatch(r"\$\d+", text):
        return f"match_{text[1:]}"
    return text.lstrip("@$:") if node.type in _WORDS else underscore(slug(text))


def _literal_words(code: Code, arguments: Node | None) -> list[str]:
    """The literals among arguments, which distinguish calls of one method."""
    receiver = field_of(arguments, "object") if arguments is not None else None  # of `[]`
    literals = [
        node for node in children(arguments) if node != receiver and node.type in _LITERALS | _CONSTANTS
    ]
    return [
        underscore(slug(code.text_of(node).rpartition("::")[2] or code.text_of(node)))
        for node in literals[:3]
    ]


def _root(code: Code, node: Node) -> str:
    at: Node | None = node
    while at is not None and at.type in {"call", "element_reference"}:
        receiver = field_of(at, "receiver") or field_of(at, "object")
        if receiver is None or receiver.type == "self":
            method = field_of(at, "method")
            return code.text_of(method) if method else ""
        at = receiver
    return code.text_of(at).lstrip("@") if at is not None and at.type in _WORDS else ""
