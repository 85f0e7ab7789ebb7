"""What there is to test in a Ruby file, and whether a class and a method are in it."""

from dataclasses import dataclass
from enum import StrEnum

from runcard.encoding import JsonObject, Limits
from runcard.plans.ruby.definitions import CLASS, INSTANCE, Definition, read_definitions
from runcard.plans.ruby.source_text import ReadWarning, read_source
from runcard.plans.ruby.syntax_tree import METHODS, Code, Node, field_of, line_of, parts, read_code

_SIGNS = {INSTANCE: "#", CLASS: "."}
_MOST_SUGGESTIONS = 3


@dataclass(frozen=True, slots=True)
class Target:
    """A method, by the names that a plan has for it."""

    class_name: str
    method: str
    method_type: str
    line: int

    def __str__(self) -> str:
        return f"{self.class_name}{_SIGNS[self.method_type]}{self.method}"

    def to_dict(self) -> JsonObject:
        return {
            "class": self.class_name,
            "method": self.method,
            "method_type": self.method_type,
            "line": self.line,
        }


@dataclass(frozen=True, slots=True)
class Targets:
    """All classes of a file, by their full names, and what could not be read of it."""

    classes: dict[str, Definition]
    warnings: tuple[ReadWarning, ...] = ()

    def all(self) -> list[Target]:
        """Every method, in the order of the text."""
        found = [
            Target(name, method, kind, line)
            for name, definition in self.classes.items()
            for (method, kind), line in definition.methods.items()
        ]
        return sorted(found, key=lambda target: target.line)

    def named(self, class_name: str | None, method: str | None, method_type: str | None) -> list[Target]:
        """The methods that may be meant, instance methods first; a class may be named by the end of its name."""
        wanted = (class_name or "").removeprefix("::")
        found = [
            target
            for target in self.all()
            if method in {None, target.method}
            and method_type in {None, target.method_type}
            and (not wanted or f"::{target.class_name}".endswith(f"::{wanted}"))
        ]
        exact = [target for target in found if target.class_name == wanted]
        return sorted(exact or found, key=lambda target: target.method_type != INSTANCE)


class LookupOutcome(StrEnum):
    """What the search for a method came to."""

    FOUND = "found"
    OTHER_TYPE = "other-type"  # an instance method was asked for and a class method found, or the reverse
    NO_METHOD = "no-method"
    NO_CLASS = "no-class"


@dataclass(frozen=True, slots=True)
class TargetLookup:
    """What was found of a class and a method."""

    outcome: LookupOutcome
    class_name: str | None  # in full, as the file has it
    is_short: bool  # whether less than that was asked for
    line: int | None
    suggestions: tuple[str, ...]
    warnings: tuple[ReadWarning, ...]


def read_targets(path: str, limits: Limits | None = None) -> Targets:
    """Read a Ruby file; raises RuncardError when there is nothing that could be read."""
    code, trouble = read_code(read_source(path, limits))
    classes, left_out = read_definitions(code)
    return Targets(classes, (*trouble, *left_out))


def find_target(
    path: str, class_name: str, method: str, method_type: str, *, limits: Limits | None = None
) -> TargetLookup:
    """Look for a method in a file; `method_type` is `instance` or `class`."""
    targets = read_targets(path, limits)
    wanted = class_name.removeprefix("::")
    full = _best(targets, wanted, method, method_type)
    if full is None:
        near = _near(wanted, list(targets.classes))
        return TargetLookup(LookupOutcome.NO_CLASS, None, False, None, near, targets.warnings)
    methods = targets.classes[full].methods
    line = methods.get((method, method_type))
    other = CLASS if method_type == INSTANCE else INSTANCE
    if line is not None:
        outcome, near = LookupOutcome.FOUND, ()
    elif (method, other) in methods:
        outcome, line, near = (
            LookupOutcome.OTHER_TYPE,
            methods[method, other],
            (f"{full}{_SIGNS[other]}{method}",),
        )
    else:
        outcome, near = LookupOutcome.NO_METHOD, _near_methods(targets, full, method)
    return TargetLookup(outcome, full, full != wanted, line, near, targets.warnings)


def _best(targets: Targets, wanted: str, method: str, method_type: str) -> str | None:
    """The class that is meant: the one of that name, or one whose name ends so, rather one that has the method."""
    if wanted in targets.classes:
        return wanted
    ending = [name for name in targets.classes if name.endswith(f"::{wanted}")]
    having = [name for name in ending if (method, method_type) in targets.classes[name].methods]
    return next(iter(having or ending), None)


def _near_methods(targets: Targets, full: str, method: str) -> tuple[str, ...]:
    """The methods of the class with a similar name, then those of other classes with the same."""
    own = [target for target in targets.all() if target.class_name == full]
    near = _near(method, sorted({target.method for target in own}))
    similar = [str(target) for name in near for target in own if target.method == name]
    elsewhere = [str(t) for t in targets.all() if t.method == method and t.class_name != full]
    return tuple([*similar, *elsewhere][:_MOST_SUGGESTIONS])


def _near(wanted: str, known: list[str]) -> tuple[str, ...]:
    """Names that differ by little, or in what stands before the last `::`."""
    from difflib import get_close_matches  # noqa: PLC0415 - few need it

    last = wanted.rpartition("::")[2]
    by_last: dict[str, list[str]] = {}
    for name in known:
        by_last.setdefault(name.rpartition("::")[2], []).append(name)
    similar = get_close_matches(wanted, known, n=_MOST_SUGGESTIONS)
    shorter = [name for short in get_close_matches(last, list(by_last)) for name in by_last[short]]
    return tuple(dict.fromkeys([*by_last.get(last, []), *similar, *shorter]))[:_MOST_SUGGESTIONS]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that has no default."""

    name: str  # empty where it has none, because it is taken apart
    is_keyword: bool = False


def parameters(path: str, class_name: str, method: str, method_type: str) -> tuple[Parameter, ...]:
    """The required parameters of a method; none where it is not there, or not defined by `def`."""
    found = find_target(path, class_name, method, method_type)
    if found.outcome is not LookupOutcome.FOUND or found.line is None:
        return ()
    code, _ = read_code(read_source(path))
    node = _definition(code, method, found.line)
    return tuple(_required(code, node)) if node is not None else ()


def _definition(code: Code, method: str, line: int) -> Node | None:
    waiting = [code.root]
    while waiting:
        node = waiting.pop()
        if node.type in METHODS and line_of(node) == line:
            name = field_of(node, "name")
            if name is not None and code.of(name) == method:
                return node
        waiting += node.named_children
    return None


def _required(code: Code, node: Node) -> list[Parameter]:
    found: list[Parameter] = []
    for part in parts(field_of(node, "parameters")):
        if part.type == "identifier":
            found.append(Parameter(code.of(part)))
        elif part.type == "destructured_parameter":
            found.append(Parameter(""))
        elif part.type == "keyword_parameter" and field_of(part, "value") is None:
            name = field_of(part, "name")
            found.append(Parameter(code.of(name) if name else "", is_keyword=True))
    return found
