"""The skeleton of a spec: Ruby with a context for each state and an example for each combination.

What must be filled in is a comment with a placeholder in braces. An example without expectations is skipped, so that it
does not pass by accident. Whatever the plan contains, the text is valid Ruby.

Contexts follow `depends_on` and `when_parent`, never `level`. Independent characteristics are combined: the second is
nested in every state of the first. Nothing follows a terminal state. Every state has a context, unless it depends on a
terminal state.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from runcard.documents.testplan.characteristic_tree import CharacteristicTree, ways_of
from runcard.encoding import JsonObject
from runcard.errors import DocumentError
from runcard.files import printable
from runcard.plans.ruby.targets import Parameter
from runcard.plans.spec_wording import description, happy_first

Siblings = tuple[int, ...]  # characteristics at the same depth

MAX_LEAVES = 1_000
MAX_DEPTH = 50


@dataclass(frozen=True, slots=True)
class Context:
    """A group of examples: one state of a characteristic, and the contexts in it."""

    characteristic: JsonObject
    state: str
    description: str
    children: tuple["Context", ...]

    def walk(self) -> Iterator["Context"]:
        """This context and all contexts in it, in order."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def is_leaf(self) -> bool:
        return not self.children


def contexts_of(characteristics: list[JsonObject]) -> tuple[Context, ...]:
    """The contexts of a valid plan's characteristics; raises DocumentError if there are too many."""
    return _ContextBuilder(CharacteristicTree(characteristics)).contexts


class _ContextBuilder:
    def __init__(self, tree: CharacteristicTree) -> None:
        self._tree = tree
        self._leaves_left = MAX_LEAVES
        self._dependents: dict[tuple[int, str], list[int]] = {}
        for index, parent in enumerate(tree.parents):
            if parent is not None:
                for state in dict.fromkeys(tree.when(index)):
                    self._dependents.setdefault((parent, state), []).append(index)
        self._terminating = {index for index, ways in enumerate(ways_of(tree)) if not ways.open}

    @cached_property
    def contexts(self) -> tuple[Context, ...]:
        roots = [index for index in range(len(self._tree.all)) if self._tree.is_root(index)]
        return self._nested(self._steps(roots), 1)

    def _steps(self, group: list[int]) -> tuple[Siblings, ...]:
        """Nest the characteristics of a state; those that let nothing follow come last."""
        continuing = tuple((index,) for index in group if index not in self._terminating)
        terminating = tuple(index for index in group if index in self._terminating)
        return (*continuing, terminating) if terminating else continuing

    def _nested(self, steps: tuple[Siblings, ...], depth: int) -> tuple[Context, ...]:
        if not steps:
            self._leaves_left -= 1
            return ()
        self._check_size(depth)
        first, *rest = steps
        return tuple(
            self._context(index, state, tuple(rest), depth)
            for index in first
            for state in happy_first(self._tree.all[index])
        )

    def _context(self, index: int, state: str, rest: tuple[Siblings, ...], depth: int) -> Context:
        characteristic = self._tree.all[index]
        is_terminal = state in self._tree.terminal[index]
        steps = () if is_terminal else (*self._steps(self._dependents.get((index, state), [])), *rest)
        children = self._nested(steps, depth + 1)
        return Context(characteristic, state, description(characteristic, state, depth), children)

    def _check_size(self, depth: int) -> None:
        if self._leaves_left <= 0 or depth > MAX_DEPTH:
            size = (
                f"more than {MAX_LEAVES:,} examples"
                if self._leaves_left <= 0
                else f"more than {MAX_DEPTH} levels"
            )
            raise DocumentError(
                f"the characteristics make {size}, too many for a spec",
                hint="plan a part of the method separately, or remove characteristics that need not be combined",
            )


_CALLABLE_NAME = re.compile(r"(?:[a-z_]|[^\W\d])\w*[?!]?", re.IGNORECASE)
_RESERVED = re.compile(  # not allowed as the name of a let: words of Ruby and RSpec, and methods of every object
    "alias|and|begin|break|case|class|def|do|else|elsif|end|ensure|false|for|if|in|module|next|nil|not|or|redo|rescue|retry"
    "|return|self|super|then|true|undef|unless|until|when|while|yield|__ENCODING__|__FILE__|__LINE__|described_class|expect"
    "|hash|initialize|instance|is_expected|method|object_id|pending|raise|result|send|skip|subject|to_s"
)
_RESERVED_CONSTANTS = {"BEGIN", "END"}  # keywords that look like a class


@dataclass(frozen=True, slots=True)
class CallSignature:
    """The required parameters of the method and of the constructor."""

    parameters: Sequence[Parameter] = ()
    constructor: Sequence[Parameter] = ()


def skeleton(target: JsonObject, contexts: Sequence[Context], call: CallSignature, helper: str) -> bytes:
    """The text of a spec for the target of a valid plan; it requires `helper`."""
    lines = [
        "# frozen_string_literal: true",
        "",
        f"require {quoted(helper)}",
        "",
        f"RSpec.describe {_constant(target['class'])} do",
        *_indented(_method(target, contexts, call)),
        "end",
        "",
    ]
    return "\n".join(lines).encode()


def _constant(name: str) -> str:
    return quoted(name) if _RESERVED_CONSTANTS & set(name.split("::")) else name


def _method(target: JsonObject, contexts: Sequence[Context], call: CallSignature) -> Iterator[str]:
    sign = "." if target["method_type"] == "class" else "#"
    yield f"describe {quoted(sign + target['method'])} do"
    yield from _indented(_subject(target, call))
    for context in contexts:
        yield ""
        yield from _indented(_context(context))
    if not contexts:
        yield ""
        yield from _indented(_example())
    yield "end"


def _subject(target: JsonObject, call: CallSignature) -> Iterator[str]:
    needs_instance = target["method_type"] == "instance" and target["method"] != "initialize"
    lets = _LetNames()
    arguments = lets.arguments(call.parameters)
    new_arguments = lets.arguments(call.constructor) if needs_instance else []
    receiver = "instance" if needs_instance else "described_class"
    method = "new" if target["method"] == "initialize" and not needs_instance else target["method"]
    yield f"subject(:result) {{ {receiver}{_call(method, arguments)} }}"
    yield ""
    if needs_instance:
        yield f"let(:instance) {{ described_class{_call('new', new_arguments)} }}"
    for name in lets.names:
        yield f"let(:{name}) {{ nil }} # {{ARGUMENT}} what is handed over as {name}"
    yield "# {COMMON_SETUP} what all examples need"


def _call(method: str, arguments: list[str]) -> str:
    """A method call after the receiver; with `public_send` for names that cannot follow a dot."""
    if _CALLABLE_NAME.fullmatch(method):
        return f".{method}({', '.join(arguments)})" if arguments else f".{method}"
    return f".public_send({', '.join([quoted(method), *arguments])})"


class _LetNames:
    """The names of the lets for arguments; the same name is the same argument."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def arguments(self, parameters: Sequence[Parameter]) -> list[str]:
        return [self._argument(parameter) for parameter in parameters]

    def _argument(self, parameter: Parameter) -> str:
        name = parameter.name or f"argument_{len(self.names) + 1}"
        if _RESERVED.fullmatch(name):
            name += "_argument"
        if name not in self.names:
            self.names.append(name)
        return f"{parameter.name}: {name}" if parameter.is_keyword else name


def _context(context: Context) -> Iterator[str]:
    yield f"context {quoted(context.description)} do"
    yield f"  # {{SETUP_CODE}} {printable(context.characteristic['name'])}: {_setup(context)}"
    for child in context.children:
        yield ""
        yield from _indented(_context(child))
    if not context.children:
        yield ""
        yield from _indented(_example())
    yield "end"


def _setup(context: Context) -> str:
    """The state, and how the plan sets it up."""
    characteristic = context.characteristic
    known = [printable(context.state)]
    setup = characteristic.get("setup")
    if isinstance(setup, dict):
        setup = " ".join(str(setup[key]) for key in ("type", "class", "source") if setup.get(key))
    if setup:
        known.append(f"by {' '.join(setup.split())}")
    own = characteristic.get("state_thresholds")
    if isinstance(own, dict) and isinstance(own.get(context.state), str):
        known.append(own[context.state])
    elif characteristic.get("threshold_value") is not None:
        known.append(
            f"{characteristic.get('threshold_operator') or 'at'} {characteristic['threshold_value']}"
        )
    return printable(", ".join(known))


def _example() -> Iterator[str]:
    yield "it 'behaves as expected' do"
    yield "  # {EXPECTATION} say what happens, here and in the name of the example"
    yield "  skip 'no expectation yet'"
    yield "end"


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}" if line else "" for line in lines)


_INTERPOLATES = re.compile(r"#(?=[{$@])")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def quoted(text: str) -> str:
    """A Ruby string literal: in single quotes, unless it has invisible characters or `#{`, which linters reject there."""
    if text.isprintable() and "#{" not in text:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return '"' + _INTERPOLATES.sub(r"\#", "".join(map(_escaped, text))) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"\\u{{{code:x}}}"  # a lone surrogate
