"""What a source tells about calling a method: parameters, visibility, public callers, its class or module."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from runcard.errors import RuncardError
from runcard.plans.ruby.constructors import declared_constructor
from runcard.plans.ruby.definitions import CLASS, INSTANCE, PUBLIC, Definition, read_definitions
from runcard.plans.ruby.literals import Literals
from runcard.plans.ruby.rails import underscore
from runcard.plans.ruby.source_text import read_source
from runcard.plans.ruby.syntax_tree import (
    METHODS,
    Code,
    Node,
    children,
    descendants,
    field_of,
    line_of,
    read_code,
)
from runcard.plans.ruby.targets import Parameter, parameters_of

_MAX_CALLERS = 5
_MAX_ANCESTORS = 5
_MAX_ASSIGNED = 80  # characters
_NO_HOOKS = {"private", "protected", "public", "private_class_method", "module_function", "helper_method"}
_NO_HOOKS |= {"alias_method", "attr_reader", "attr_writer", "attr_accessor", "delegate", "memoize"}
_ACTION_HOOK = re.compile(r"(?:prepend_|append_)?(?:before|after|around)_action")
_CONCERN = re.compile(
    rb"extend\s+(?:::)?ActiveSupport::Concern|def\s+self\.included\b|^\s*included\s+do\b", re.MULTILINE
)
MethodKey = tuple[str, str]  # name and type


@dataclass(frozen=True, slots=True)
class CallSignature:
    """The required parameters of the method and of the constructor; None: the constructor is not in the source."""

    parameters: Sequence[Parameter] = ()
    constructor: Sequence[Parameter] | None = None


@dataclass(frozen=True, slots=True)
class PublicCaller:
    """A public method that calls the method, directly or through others."""

    name: str
    method_type: str
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class MethodFacts:
    """What is known about a method; the defaults are those of an unreadable source."""

    signature: CallSignature = field(default_factory=CallSignature)
    visibility: str = PUBLIC
    callers: tuple[PublicCaller, ...] = ()  # of a method that is not public; the nearest first
    hooks: tuple[str, ...] = ()  # declarations that run it: `before_action`
    superclass: str = ""
    is_module: bool = False
    is_concern: bool = False
    is_for_including_class: bool = False  # a class method that a concern gives to the classes that include it
    has_class_twin: bool = False  # a private copy of a class method, made by `module_function`
    reads_params: bool = False  # it uses `params`
    assigned: Mapping[str, str] = field(
        default_factory=dict
    )  # what variables of the method are assigned from
    methods: tuple[MethodKey, ...] = ()  # all methods of the class, in the order of the text


def read_method_facts(path: str, root: str, class_name: str, method: str, method_type: str) -> MethodFacts:
    """The facts about a method; raises RuncardError when its source cannot be read."""
    code, _ = read_code(read_source(path))
    classes, _ = read_definitions(code)
    name = class_name.removeprefix("::")
    full = name if name in classes else next((each for each in classes if each.endswith(f"::{name}")), "")
    definition = classes.get(full)
    if definition is None:
        return MethodFacts()
    nodes = _ClassNodes(code, definition)
    key = (method, method_type)
    node = nodes.by_key.get(key)
    constructor = nodes.parameters(("initialize", INSTANCE))
    if constructor is None and not definition.is_module:
        constructor = declared_constructor(code, full)
    if constructor is None and not definition.is_module:
        constructor = _inherited_constructor(classes, definition, path, root)
    visibility = definition.visibility.get(key, PUBLIC)
    is_hidden = visibility != PUBLIC
    return MethodFacts(
        CallSignature(nodes.parameters(key) or (), constructor),
        visibility,
        tuple(nodes.public_callers(key)) or tuple(nodes.hooked_actions(method)) if is_hidden else (),
        tuple(nodes.hooks(method)) if is_hidden else (),
        definition.superclass,
        definition.is_module,
        definition.is_module and _CONCERN.search(code.text) is not None,
        definition.is_module and method_type == CLASS and _is_in_class_methods(code, node),
        is_hidden
        and method_type == INSTANCE
        and definition.visibility.get((method, CLASS), PUBLIC) == PUBLIC
        and definition.methods.get((method, CLASS)) == definition.methods.get(key),
        node is not None and "params" in _called(code, node),
        _assigned(code, node) if node is not None else {},
        tuple(sorted(definition.methods, key=lambda each: definition.methods[each])),
    )


class _ClassNodes:
    """The definitions of the methods of a class."""

    def __init__(self, code: Code, definition: Definition) -> None:
        self._code, self._definition = code, definition
        by_place: dict[tuple[int, str], Node] = {}
        self._declarations: list[Node] = []
        for node in descendants(code.root, METHODS):
            if node.type in METHODS and (name := field_of(node, "name")):
                by_place[line_of(node), "".join(code.text_of(name).split())] = node
            elif node.type == "call" and field_of(node, "receiver") is None:
                self._declarations.append(node)
        self.by_key: dict[MethodKey, Node] = {
            key: by_place[line, key[0]]
            for key, line in definition.methods.items()
            if (line, key[0]) in by_place
        }

    def parameters(self, key: MethodKey) -> tuple[Parameter, ...] | None:
        """The required parameters of a method; None if it is not defined by `def`."""
        node = self.by_key.get(key)
        return None if node is None else tuple(parameters_of(self._code, node))

    def public_callers(self, key: MethodKey) -> Iterator[PublicCaller]:
        """The public methods that call a method, the nearest first."""
        called = {caller: _called(self._code, node) for caller, node in self.by_key.items()}
        seen, waiting, count = {key}, [key], 0
        while waiting and count < _MAX_CALLERS:
            name, kind = waiting.pop(0)
            for caller, names in called.items():
                if caller in seen or name not in names or caller[1] != kind:
                    continue
                seen.add(caller)
                if self._definition.visibility.get(caller, PUBLIC) != PUBLIC:
                    waiting.append(caller)
                elif count < _MAX_CALLERS:
                    count += 1
                    yield PublicCaller(*caller, self.parameters(caller) or ())

    def hooked_actions(self, method: str) -> list[PublicCaller]:
        """The actions of a controller that `before_action :method` and the like run it for."""
        found: list[PublicCaller] = []
        for node in self._declarations:
            name, arguments = field_of(node, "method"), children(field_of(node, "arguments"))
            texts = {self._code.text_of(argument) for argument in arguments}
            if (
                name is None
                or f":{method}" not in texts
                or not _ACTION_HOOK.fullmatch(self._code.text_of(name))
            ):
                continue
            literals = Literals(self._code)
            options = {key: literals.value(value) for key, value in literals.options(arguments).items()}
            only, left_out = _names(options.get("only")), _names(options.get("except")) or []
            found += [
                PublicCaller(action, INSTANCE, self.parameters((action, INSTANCE)) or ())
                for action, kind in self.by_key
                if kind == INSTANCE
                and (action, kind) not in self._definition.visibility
                and (only is None or action in only)
                and action not in left_out
            ]
        return found[:_MAX_CALLERS]

    def hooks(self, method: str) -> Iterator[str]:
        """The declarations that name a method as a symbol: `before_action :load`."""
        found: dict[str, None] = {}
        for node in self._declarations:
            name = field_of(node, "method")
            word = self._code.text_of(name) if name else ""
            arguments = children(field_of(node, "arguments"))
            texts = {self._code.text_of(argument) for argument in arguments}
            if f":{method}" in texts and word not in _NO_HOOKS:
                found[f"{word} :{method}"] = None
        yield from list(found)[:_MAX_CALLERS]


def _assigned(code: Code, method: Node) -> dict[str, str]:
    """The code that a variable is assigned from, of those that are assigned once and on one line."""
    found: dict[str, list[str]] = {}
    waiting = list(method.named_children)
    while waiting:
        node = waiting.pop()
        waiting += node.named_children
        left, right = field_of(node, "left"), field_of(node, "right")
        if node.type not in {"assignment", "operator_assignment"} or left is None or right is None:
            continue
        if left.type in {"identifier", "instance_variable"}:
            is_plain = node.type == "assignment"
            found.setdefault(code.text_of(left), []).append(code.text_of(right) if is_plain else "")
    return {
        name: texts[0]
        for name, texts in found.items()
        if len(texts) == 1 and 0 < len(texts[0]) <= _MAX_ASSIGNED and "\n" not in texts[0]
    }


def _names(value: object) -> list[object] | None:
    if value is None:
        return None
    return value if isinstance(value, list) else [value]


def _called(code: Code, node: Node) -> set[str]:
    """The names that a method calls on itself."""
    names: set[str] = set()
    waiting = list(node.named_children)
    while waiting:
        at = waiting.pop()
        if at.type == "identifier":
            names.add(code.text_of(at))
        elif at.type == "call":
            receiver, method = field_of(at, "receiver"), field_of(at, "method")
            if method is not None and (receiver is None or receiver.type == "self"):
                names.add(code.text_of(method))
            waiting += [child for child in at.named_children if child != method]
            continue
        waiting += at.named_children
    return names


def _is_in_class_methods(code: Code, node: Node | None) -> bool:
    """Whether a method is in `class_methods do` or in `module ClassMethods`."""
    at = node.parent if node is not None else None
    while at is not None:
        name = field_of(at, "method") if at.type == "call" else field_of(at, "name")
        if name is not None and code.text_of(name) in {"class_methods", "ClassMethods"}:
            return True
        at = at.parent
    return False


def _inherited_constructor(
    classes: Mapping[str, Definition], definition: Definition, path: str, root: str
) -> tuple[Parameter, ...] | None:
    """The parameters of the constructor of the nearest superclass that the project has; None if there is none."""
    for _ in range(_MAX_ANCESTORS):
        name = definition.superclass.removeprefix("::")
        if not re.fullmatch(r"\w+(?:::\w+)*", name):
            return None
        source = path
        found = classes.get(name) or next(
            (classes[each] for each in classes if each.endswith(f"::{name}")), None
        )
        if found is None:
            source = next((each for each in _superclass_files(name, path, root) if os.path.isfile(each)), "")
            with suppress(RuncardError):
                if source:
                    code, _ = read_code(read_source(source))
                    classes = read_definitions(code)[0]
                    found = classes.get(name)
        if found is None or found is definition:
            return None
        with suppress(RuncardError):
            code, _ = read_code(read_source(source))
            full = next(each for each in classes if classes[each] is found)
            own = _ClassNodes(code, found).parameters(("initialize", INSTANCE))
            if (constructor := own if own is not None else declared_constructor(code, full)) is not None:
                return constructor
        definition, path = found, source
    return None


def _superclass_files(name: str, path: str, root: str) -> list[str]:
    """Where the file of a class may be: in the folders of the source, up to the root."""
    files: list[str] = []
    outer = name.rpartition("::")[0]
    at = os.path.dirname(path)
    while at.startswith(root) and len(files) < 20:
        files += [os.path.join(at, f"{underscore(each)}.rb") for each in (name, outer) if each]
        if at == root:
            break
        at = os.path.dirname(at)
    return files
