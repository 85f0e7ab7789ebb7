"""The skeleton of a spec: Ruby with a context for each state and an example for each way through them.

It says what is to be tested, not how: what somebody must fill in is a comment with a placeholder in braces, and an
example that expects nothing yet is skipped, so that it is not green by accident. Whatever the plan holds, the text is
valid Ruby, and means no more than it shows.
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

Step = tuple[int, ...]  # characteristics side by side

MOST_LEAVES = 1_000
DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Context:
    """A group of examples: one state of a characteristic, and what is told apart in it."""

    one: JsonObject  # the characteristic
    state: str
    description: str
    children: tuple["Context", ...]

    def walk(self) -> Iterator["Context"]:
        """This one and all below it, in their order."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def is_leaf(self) -> bool:
        return not self.children


def contexts_of(characteristics: list[JsonObject]) -> tuple[Context, ...]:
    """The contexts of a valid plan's characteristics; raises DocumentError for more than a spec can hold."""
    return _ContextBuilder(CharacteristicTree(characteristics)).contexts


class _ContextBuilder:
    def __init__(self, tree: CharacteristicTree) -> None:
        self._tree = tree
        self._left = MOST_LEAVES
        self._below: dict[tuple[int, str], list[int]] = {}
        for index, parent in enumerate(tree.parents):
            if parent is not None:
                for state in dict.fromkeys(tree.when(index)):
                    self._below.setdefault((parent, state), []).append(index)
        self._ending = {index for index, ways in enumerate(ways_of(tree)) if not ways.open}

    @cached_property
    def contexts(self) -> tuple[Context, ...]:
        roots = [index for index in range(len(self._tree.all)) if self._tree.is_root(index)]
        return self._nested(self._steps(roots), 1)

    def _steps(self, group: list[int]) -> tuple[Step, ...]:
        """Characteristics of one state, to be nested one in the other; those that let nothing follow are the last."""
        going = tuple((index,) for index in group if index not in self._ending)
        ending = tuple(index for index in group if index in self._ending)
        return (*going, ending) if ending else going

    def _nested(self, steps: tuple[Step, ...], depth: int) -> tuple[Context, ...]:
        if not steps:
            self._left -= 1
            return ()
        self._check(depth)
        first, *rest = steps
        return tuple(
            self._context(index, state, tuple(rest), depth)
            for index in first
            for state in happy_first(self._tree.all[index])
        )

    def _context(self, index: int, state: str, rest: tuple[Step, ...], depth: int) -> Context:
        one = self._tree.all[index]
        is_terminal = state in self._tree.terminal[index]
        steps = () if is_terminal else (*self._steps(self._below.get((index, state), [])), *rest)
        return Context(one, state, description(one, state, depth), self._nested(steps, depth + 1))

    def _check(self, depth: int) -> None:
        if self._left <= 0 or depth > DEEPEST:
            much = f"more than {MOST_LEAVES:,} examples" if self._left <= 0 else f"more than {DEEPEST} levels"
            raise DocumentError(
                f"the characteristics make {much}: no spec can be read with that many",
                hint="plan a part of the method by itself, or take out what need not be combined",
            )


_WORD = re.compile(r"(?:[a-z_]|[^\W\d])\w*[?!]?", re.IGNORECASE)
_TAKEN = re.compile(  # what a let must not be called: words of Ruby, of RSpec, and what every object has
    "alias|and|begin|break|case|class|def|do|else|elsif|end|ensure|false|for|if|in|module|next|nil|not|or|redo|rescue|retry"
    "|return|self|super|then|true|undef|unless|until|when|while|yield|__ENCODING__|__FILE__|__LINE__|described_class|expect"
    "|hash|initialize|instance|is_expected|method|object_id|pending|raise|result|send|skip|subject|to_s"
)
_CONSTANTS_OF_RUBY = {"BEGIN", "END"}  # words that look like a class


@dataclass(frozen=True, slots=True)
class CallSignature:
    """How the method is called: what it needs, and what an instance needs to be made."""

    parameters: Sequence[Parameter] = ()
    constructor: Sequence[Parameter] = ()


def skeleton(target: JsonObject, contexts: Sequence[Context], call: CallSignature, helper: str) -> bytes:
    """The text of a spec for the target of a valid plan; `helper` is the file that it requires."""
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
    return quoted(name) if _CONSTANTS_OF_RUBY & set(name.split("::")) else name


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
    given = lets.arguments(call.parameters)
    made = lets.arguments(call.constructor) if needs_instance else []
    receiver = "instance" if needs_instance else "described_class"
    method = "new" if target["method"] == "initialize" and not needs_instance else target["method"]
    yield f"subject(:result) {{ {receiver}{_sent(method, given)} }}"
    yield ""
    if needs_instance:
        yield f"let(:instance) {{ described_class{_sent('new', made)} }}"
    for name in lets.names:
        yield f"let(:{name}) {{ nil }} # {{ARGUMENT}} what is handed over as {name}"
    yield "# {COMMON_SETUP} what all examples need"


def _sent(method: str, arguments: list[str]) -> str:
    """A call of a method, from its dot on; one that cannot be written with a dot is sent."""
    if _WORD.fullmatch(method):
        return f".{method}({', '.join(arguments)})" if arguments else f".{method}"
    return f".public_send({', '.join([quoted(method), *arguments])})"


class _LetNames:
    """The names of the arguments; each has a let of its own, and the same name is the same argument."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def arguments(self, parameters: Sequence[Parameter]) -> list[str]:
        return [self._argument(parameter) for parameter in parameters]

    def _argument(self, parameter: Parameter) -> str:
        name = parameter.name or f"argument_{len(self.names) + 1}"
        if _TAKEN.fullmatch(name):
            name += "_argument"
        if name not in self.names:
            self.names.append(name)
        return f"{parameter.name}: {name}" if parameter.is_keyword else name


def _context(context: Context) -> Iterator[str]:
    yield f"context {quoted(context.description)} do"
    yield f"  # {{SETUP_CODE}} {printable(context.one['name'])}: {_setup(context)}"
    for child in context.children:
        yield ""
        yield from _indented(_context(child))
    if not context.children:
        yield ""
        yield from _indented(_example())
    yield "end"


def _setup(context: Context) -> str:
    """The state, and what the plan knows about how it comes about."""
    one = context.one
    known = [printable(context.state)]
    setup = one.get("setup")
    if isinstance(setup, dict):
        setup = " ".join(str(setup[key]) for key in ("type", "class", "source") if setup.get(key))
    if setup:
        known.append(f"by {' '.join(setup.split())}")
    if one.get("threshold_value") is not None:
        known.append(f"{one.get('threshold_operator') or 'at'} {one['threshold_value']}")
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
    """A string literal: in single quotes, unless it holds what cannot be seen, or what linters take for a mistake there."""
    if text.isprintable() and "#{" not in text:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return '"' + _INTERPOLATES.sub(r"\#", "".join(map(_escaped, text))) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"\\u{{{code:x}}}"  # half a character is none
