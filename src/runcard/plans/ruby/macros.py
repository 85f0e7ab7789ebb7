"""Class-body calls that define methods: `attr_reader :name`, `delegate :name, to: :owner` and so on."""

import re
from collections.abc import Callable, Sequence

from runcard.plans.ruby.literals import Literals, Names, Value
from runcard.plans.ruby.syntax_tree import Node, field_of

Options = dict[str, Value]
Expansion = Callable[[list[str], Options], list[str]]


def _readers(names: list[str], _: Options) -> list[str]:
    return names


def _writers(names: list[str], _: Options) -> list[str]:
    return [f"{name}=" for name in names]


def _accessors(names: list[str], options: Options) -> list[str]:
    return [*names, *_writers(names, options)]


def _with_predicates(names: list[str], options: Options) -> list[str]:
    return [*_accessors(names, options), *(f"{name}?" for name in names)]


def _first(names: list[str], _: Options) -> list[str]:
    return names[:1]


def _attribute_aliases(names: list[str], options: Options) -> list[str]:
    return _with_predicates(names[:1], options)


def _delegated(names: list[str], options: Options) -> list[str]:
    prefix = options.get("prefix")
    prefix = options.get("to") if prefix is True else prefix
    return [f"{prefix}_{name}" for name in names] if isinstance(prefix, str) else names


def _delegator(names: list[str], _: Options) -> list[str]:
    return names[2:3] or names[1:2]


def _delegators(names: list[str], _: Options) -> list[str]:
    return names[1:]


# Instance methods, or class methods inside `class << self`.
_INSTANCE: dict[str, Expansion] = {
    "attr": _readers,
    "attr_reader": _readers,
    "attr_writer": _writers,
    "attr_accessor": _accessors,
    "define_method": _first,
    "alias_method": _first,
    "alias_attribute": _attribute_aliases,
    "delegate": _delegated,
    "instance_delegate": _delegated,
    "def_delegator": _delegator,
    "def_instance_delegator": _delegator,
    "def_delegators": _delegators,
    "def_instance_delegators": _delegators,
}
_CLASS: dict[str, Expansion] = {"define_singleton_method": _first, "scope": _first}
_BOTH: dict[str, Expansion] = {"class_attribute": _with_predicates}
_SHARED = re.compile(r"(?:thread_)?[cm]attr_(reader|writer|accessor)")


def expand(
    macro: str, arguments: Sequence[Node], literals: Literals, names: Names
) -> tuple[list[str], bool, bool]:
    """The methods that a call defines; whether they are instance methods, and whether they are class methods."""
    if shared := _SHARED.fullmatch(macro):
        expansion, is_instance, is_class = _INSTANCE[f"attr_{shared[1]}"], True, True
    elif macro in _BOTH:
        expansion, is_instance, is_class = _BOTH[macro], True, True
    elif macro in _CLASS:
        expansion, is_instance, is_class = _CLASS[macro], False, True
    elif macro in _INSTANCE:
        expansion, is_instance, is_class = _INSTANCE[macro], True, False
    else:
        return [], False, False
    options = {key: literals.value(node, names) for key, node in literals.options(arguments).items()}
    if options.get("instance_accessor") is False or options.get("instance_reader") is False:
        is_instance = False
    return expansion(_names(arguments, literals, names), options), is_instance, is_class


def _names(arguments: Sequence[Node], literals: Literals, names: Names) -> list[str]:
    """The names among arguments; `delegate [:a, :b] => :c` has them in its keys."""
    values = literals.values([node for node in arguments if node.type != "pair"], names)
    if not values:
        values = literals.values([key for node in arguments if (key := field_of(node, "key"))], names)
    flat = [name for value in values for name in (value if isinstance(value, list) else [value])]
    return [name for name in flat if isinstance(name, str)]
