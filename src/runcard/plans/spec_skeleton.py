"""The text of a skeleton: Ruby with a context for each state and an example for each combination.

What must be filled in is a comment that says what to do. An example without expectations is skipped, so that it
does not pass by accident. Whatever the plan contains, the text is valid Ruby.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from runcard.encoding import JsonObject
from runcard.files import printable
from runcard.plans.ruby.quoting import constant, quoted
from runcard.plans.ruby.spec_tree import EXPECTATION, TAG
from runcard.plans.spec_contexts import Context
from runcard.plans.spec_layout import DEFAULT_WIDTH, fitted
from runcard.plans.spec_subject import FactoryLet, SpecSubject
from runcard.plans.spec_wording import worded_state

_ROOT = re.compile(r"@?\w+")  # of an expression: the variable that it starts with
Traits = tuple[tuple[FactoryLet, tuple[str, ...]], ...]  # of the lets that the contexts above set


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The skeleton of one method's examples, as lines without line ends, indented by two blanks."""

    target: JsonObject
    contexts: Sequence[Context]
    subject: SpecSubject
    is_tagged: bool = True
    traits: Mapping[str, tuple[FactoryLet, str]] = field(default_factory=dict)  # by the tag of a context
    origins: Mapping[str, str] = field(
        default_factory=dict
    )  # code that makes an object, by the name of its variable
    width: int = DEFAULT_WIDTH

    def file(self, requires: Iterable[str]) -> bytes:
        """The text of a new spec."""
        lines = [
            "# frozen_string_literal: true",
            "",
            *requires,
            "",
            *fitted(self.class_group(), self.width),
            "",
        ]
        return "\n".join(lines).encode()

    def class_group(self) -> list[str]:
        """The group of the class, with that of the method."""
        kind = f", type: :{self.subject.type}" if self.subject.type else ""
        head = f"RSpec.describe {constant(self.target['class'])}{kind} do"
        return [head, *_indented(self.method_group()), "end"]

    def method_group(self) -> list[str]:
        """The group of the method."""
        lines = [f"describe {quoted(method_name(self.target))} do", *_indented(self.subject.lines)]
        for context in self.contexts:
            lines += ["", *_indented(self.context(context))]
        if not self.contexts:
            lines += ["", *_indented(_example())]
        return [*lines, "end"]

    def context(self, context: Context, traits: Traits = ()) -> list[str]:
        """The group of a state; `traits` are those of the contexts around it."""
        tag = f", {TAG}: {quoted(context.tag)}" if self.is_tagged else ""
        lines = [f"context {quoted(context.description)}{tag} do"]
        traits = self.traits_in(context, traits)
        if context.tag in self.traits:
            factory_let, names = traits[-1]
            lines.append(f"  {factory_let.line(names)}")
        else:
            lines.append(f"  # TODO: set up {_setup(context)}{self._origin(context)}")
        for child in context.children:
            lines += ["", *_indented(self.context(child, traits))]
        if not context.children:
            lines += ["", *_indented(_example())]
        return [*lines, "end"]

    def _origin(self, context: Context) -> str:
        """Where the object comes from that a state is about: an assignment, or a factory."""
        setup = context.characteristic.get("setup")
        source = setup.get("source") if isinstance(setup, dict) else None
        root = _ROOT.match(source) if isinstance(source, str) else None
        origin = self.origins.get(root[0]) if root else None
        return f"; {root[0]} is {printable(origin)}" if root and origin else ""

    def traits_in(self, context: Context, traits: Traits) -> Traits:
        """The traits that hold in a context: those around it and its own, which is last."""
        found = self.traits.get(context.tag)
        if found is None:
            return traits
        factory_let, trait = found
        above = next((names for known, names in traits if known == factory_let), ())
        others = tuple((known, names) for known, names in traits if known != factory_let)
        return (*others, (factory_let, (*above, trait)))


def method_name(target: JsonObject) -> str:
    """`#call` for an instance method, `.call` for a class method."""
    return f"{'.' if target['method_type'] == 'class' else '#'}{target['method']}"


def _setup(context: Context) -> str:
    """The characteristic, its state, and how the plan sets it up."""
    characteristic = context.characteristic
    known = [printable(context.state)]
    setup = characteristic.get("setup")
    worded = worded_state(characteristic, context.state)
    if isinstance(setup, dict) and setup.get("type") == "exception" and worded:
        setup = f"exception: {worded[1]}"
    elif isinstance(setup, dict):
        setup = " ".join(str(setup[key]) for key in ("type", "class", "source") if setup.get(key))
    if setup:
        known.append(f"by {' '.join(setup.split())}")
    own = characteristic.get("state_thresholds")
    if isinstance(own, dict) and isinstance(own.get(context.state), str):
        known.append(own[context.state])
    elif characteristic.get("threshold_value") is not None:
        known.append(
            f"threshold {characteristic.get('threshold_operator') or 'at'} {characteristic['threshold_value']}"
        )
    return f"{printable(characteristic['name'])}: {printable(', '.join(known))}"


def _example() -> tuple[str, ...]:
    return (
        "it 'behaves as expected' do",
        f"  # {EXPECTATION}",
        "  skip 'no expectation yet'",
        "end",
    )


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" if line else "" for line in lines)
