"""The values that a class declares for its attributes: enums, and the states of AASM and state_machines.

Values are in the order of the text. A state machine orders its states; an enum only lists them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from runcard.plans.analysis.questions import DeclaredValues
from runcard.plans.ruby.literals import Literals
from runcard.plans.ruby.rails import enum_values
from runcard.plans.ruby.syntax_tree import METHODS, Code, Node, children, field_of

_MACHINES = {"aasm": "aasm_state", "state_machine": "state"}  # and their default attributes
_STATES = {"state", "status", "current_state"}


@dataclass(slots=True)
class Declarations:
    """What a class declares: the values of attributes, and the predicates for these values."""

    attributes: dict[str, DeclaredValues] = field(default_factory=dict)
    predicates: dict[str, tuple[str, str]] = field(default_factory=dict)  # `paid?` → status, paid

    def of(self, attribute: str) -> DeclaredValues | None:
        """The values of an attribute; `status` and `state` also name the only state machine of a class."""
        if attribute in self.attributes or attribute not in _STATES:
            return self.attributes.get(attribute)
        machines = [declared for declared in self.attributes.values() if declared.is_ordered]
        return machines[0] if len(machines) == 1 else None

    def add(self, attribute: str, declared: DeclaredValues, prefix: str = "", suffix: str = "") -> None:
        if not declared.values:
            return
        self.attributes[attribute] = declared
        for value in declared.values:
            self.predicates[f"{prefix}{value}{suffix}?"] = (attribute, value)


class DeclarationSource:
    """Finds declarations of other classes; this base class knows none."""

    def declarations(self, variable: str) -> Declarations:  # noqa: ARG002 - for subclasses
        return Declarations()


class ConditionContext(NamedTuple):
    """What is known about the names in a condition."""

    own: Declarations  # of the class that contains the method
    of_model: DeclarationSource  # of the class that a variable is named after
    flags: Mapping[str, bool]  # parameters whose default is true or false


def read_declarations(code: Code, body: Node | None, literals: Literals) -> Declarations:
    """The declarations in the body of a class."""
    declarations = Declarations()
    for call in _calls(body):
        name = code.text_of(method) if (method := field_of(call, "method")) else ""
        arguments = children(field_of(call, "arguments"))
        if name == "enum":
            _enum(declarations, arguments, literals)
        elif name in _MACHINES and (block := field_of(call, "block")):
            _machine(declarations, code, name, arguments, block, literals)
    return declarations


def _calls(body: Node | None) -> Iterator[Node]:
    """The calls in the body of a class and in blocks such as `included do`, but not those in its methods."""
    waiting = [body] if body else []
    while waiting:
        node = waiting.pop()
        if node.type == "call":
            yield node
        if node.type not in METHODS | {"class", "module"} or node is body:
            waiting += reversed(node.named_children)


def _enum(declarations: Declarations, arguments: list[Node], literals: Literals) -> None:
    options = {key.strip("_"): literals.value(node) for key, node in literals.options(arguments).items()}
    for attribute, values in enum_values(arguments, literals).items():
        default = options.get("default")
        declared = DeclaredValues(tuple(values), default=default if default in values else None)
        prefix, suffix = (_affix(options.get(word), attribute) for word in ("prefix", "suffix"))
        declarations.add(attribute, declared, f"{prefix}_" if prefix else "", f"_{suffix}" if suffix else "")


def _affix(option: object, attribute: str) -> str:
    if option is True:
        return attribute
    return option if isinstance(option, str) else ""


def _machine(
    declarations: Declarations, code: Code, kind: str, arguments: list[Node], block: Node, literals: Literals
) -> None:
    options = {key: literals.value(node) for key, node in literals.options(arguments).items()}
    names = literals.values([node for node in arguments if node.type != "pair"])
    named = options.get("column") or (names[0] if kind == "state_machine" and names else None)
    attribute = named if isinstance(named, str) else _MACHINES[kind]
    states, initial = _machine_states(code, block, literals, options.get("initial"))
    declarations.add(attribute, DeclaredValues(tuple(states), is_ordered=True, default=initial))


def _machine_states(
    code: Code, block: Node, literals: Literals, initial: object
) -> tuple[list[str], str | None]:
    states = [initial] if isinstance(initial, str) else []
    first = initial if isinstance(initial, str) else None
    for call in _calls(block):
        method = field_of(call, "method")
        if method is None or code.text_of(method) not in {"state", "transition"}:
            continue
        arguments = children(field_of(call, "arguments"))
        if code.text_of(method) == "state":
            named = literals.values([node for node in arguments if node.type != "pair"])
            if "initial" in literals.options(arguments) and named:
                first = named[0] if isinstance(named[0], str) else first
        else:
            pairs = [node for node in arguments if node.type == "pair"]
            ends = [end for pair in pairs for end in (field_of(pair, "key"), field_of(pair, "value")) if end]
            named = [
                name for name in literals.values(ends) if name not in {"from", "to", "if", "unless", "on"}
            ]
        flat = [name for value in named for name in (value if isinstance(value, list) else [value])]
        states += [name for name in flat if isinstance(name, str) and name not in states]
    return states, first
