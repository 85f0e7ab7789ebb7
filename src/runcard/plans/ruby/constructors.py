"""Constructors that are declared, not written: attr_extras, dry-initializer, `Struct.new`, `Data.define`, ActiveModel."""

import re
from collections.abc import Iterator, Sequence

from runcard.plans.ruby.literals import Literals
from runcard.plans.ruby.syntax_tree import METHODS, Code, Node, children, field_of
from runcard.plans.ruby.targets import Parameter

_ATTR_EXTRAS = re.compile(r"[prva]?attr_initialize|static_facade|method_object")
_WITH_METHOD_NAME = {"static_facade"}
_DRY = {"param", "option"}
_ATTRIBUTES = re.compile(r"(?:::)?ActiveModel::(?:Model|API|Attributes)")
_CLASSES = {"class", "module"}


def declared_constructor(code: Code, class_name: str) -> tuple[Parameter, ...] | None:
    """What the constructor of a class takes by its declarations; None if there are none."""
    literals = Literals(code)
    for node in _nodes_of(code, class_name):
        made = field_of(node, "superclass") if node.type == "class" else field_of(node, "right")
        call = next(iter(children(made)), None) if made is not None and made.type == "superclass" else made
        if call is not None and (members := _members(code, call, literals)) is not None:
            return members
        if node.type == "class" and (declared := _declared(code, field_of(node, "body"), literals)):
            return declared
    return None


def _nodes_of(code: Code, class_name: str) -> Iterator[Node]:
    """The places where a class is opened, or assigned to its constant."""
    waiting: list[tuple[Node, str]] = [(code.root, "")]
    while waiting:
        node, outer = waiting.pop()
        if node.type in METHODS:
            continue
        named = field_of(node, "name") if node.type in _CLASSES else field_of(node, "left")
        is_named = node.type in _CLASSES or (node.type == "assignment" and named and named.type == "constant")
        if is_named and named is not None:
            full = "::".join(part for part in (outer, code.text_of(named).removeprefix("::")) if part)
            if full == class_name:
                yield node
            outer = full if node.type in _CLASSES else outer
        waiting += [(child, outer) for child in reversed(node.named_children)]


def _members(code: Code, call: Node, literals: Literals) -> tuple[Parameter, ...] | None:
    """The members of `Struct.new(:a, :b)` and of `Data.define(:a)`."""
    receiver, method = field_of(call, "receiver"), field_of(call, "method")
    if call.type != "call" or receiver is None or method is None:
        return None
    made = f"{code.text_of(receiver).removeprefix('::')}.{code.text_of(method)}"
    if made not in {"Struct.new", "Data.define"}:
        return None
    arguments = children(field_of(call, "arguments"))
    options = {key: literals.value(value) for key, value in literals.options(arguments).items()}
    names = literals.values([part for part in arguments if part.type != "pair"])
    texts = [name for name in names if isinstance(name, str) and name[:1].islower()]
    is_keyword = made == "Data.define" or options.get("keyword_init") is True
    return tuple(Parameter(name, is_keyword=is_keyword) for name in texts)


def _declared(code: Code, body: Node | None, literals: Literals) -> tuple[Parameter, ...]:
    """The parameters that calls in the body of a class declare."""
    calls = [part for part in children(body) if part.type == "call" and field_of(part, "receiver") is None]
    parameters: list[Parameter] = []
    is_model = any(_includes_attributes(code, call) for call in calls)
    for call in calls:
        name, arguments = field_of(call, "method"), children(field_of(call, "arguments"))
        word = code.text_of(name) if name else ""
        if _ATTR_EXTRAS.fullmatch(word):
            parameters += _of_attr_extras(arguments[word in _WITH_METHOD_NAME :], literals)
        elif word in _DRY or (word == "attribute" and is_model):
            parameters += _of_option(word, arguments, literals)
    return tuple(sorted(parameters, key=lambda each: each.is_keyword))


def _of_attr_extras(arguments: Sequence[Node], literals: Literals) -> Iterator[Parameter]:
    """`pattr_initialize :order, [:user!, :note]`: a name is positional, those in a list are keywords."""
    for value in literals.values([part for part in arguments if part.type != "pair"]):
        if isinstance(value, str):
            yield Parameter(value)
        for name in value if isinstance(value, list) else []:
            if isinstance(name, str):
                yield Parameter(name.removesuffix("!"), is_keyword=True)


def _of_option(word: str, arguments: Sequence[Node], literals: Literals) -> Iterator[Parameter]:
    """`param :order`, `option :user, default: …`, `attribute :name, :string`; not those with a default."""
    options = literals.options(arguments)
    names = literals.values([part for part in arguments if part.type != "pair"])
    if names and isinstance(names[0], str) and not {"default", "optional"} & options.keys():
        yield Parameter(names[0], is_keyword=word != "param")


def _includes_attributes(code: Code, call: Node) -> bool:
    name = field_of(call, "method")
    texts = [code.text_of(part) for part in children(field_of(call, "arguments"))]
    return name is not None and code.text_of(name) == "include" and any(map(_ATTRIBUTES.fullmatch, texts))
