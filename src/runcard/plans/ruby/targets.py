"""The methods of a Ruby file: list them, look one up, and find its required parameters."""

import os
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from runcard.encoding import JsonObject, Limits
from runcard.errors import DocumentError
from runcard.files import printable
from runcard.plans.ruby.definitions import CLASS, INSTANCE, PUBLIC, Definition, read_definitions
from runcard.plans.ruby.source_text import ReadWarning, read_source
from runcard.plans.ruby.syntax_tree import Code, Node, children, field_of, read_code

_SIGNS = {INSTANCE: "#", CLASS: "."}
_MAX_SUGGESTIONS = 3
_ENDINGS = (".rb", ".rake", ".ru", ".gemspec", ".rbw")
_NAMES = {"Rakefile", "Gemfile", "Guardfile", "Capfile"}


@dataclass(frozen=True, slots=True)
class Target:
    """A method, with the names that a plan uses."""

    class_name: str
    method: str
    method_type: str
    line: int
    visibility: str = PUBLIC  # public, private or protected

    def __str__(self) -> str:
        return f"{self.class_name}{_SIGNS[self.method_type]}{self.method}"

    def to_dict(self) -> JsonObject:
        return {
            "class": self.class_name,
            "method": self.method,
            "method_type": self.method_type,
            "line": self.line,
            "visibility": self.visibility,
        }


@dataclass(frozen=True, slots=True)
class Targets:
    """All classes of a file by full name, and warnings about parts that could not be read."""

    classes: dict[str, Definition]
    warnings: tuple[ReadWarning, ...] = ()

    def all(self) -> list[Target]:
        """Every method, in the order of the text."""
        targets = [
            Target(name, method, kind, line, definition.visibility.get((method, kind), PUBLIC))
            for name, definition in self.classes.items()
            for (method, kind), line in definition.methods.items()
        ]
        return sorted(targets, key=lambda target: target.line)

    def matching(self, class_name: str | None, method: str | None, method_type: str | None) -> list[Target]:
        """The methods that match, instance methods first; the end of a class name matches the class."""
        name = (class_name or "").removeprefix("::")
        targets = [
            target
            for target in self.all()
            if method in {None, target.method}
            and method_type in {None, target.method_type}
            and (not name or f"::{target.class_name}".endswith(f"::{name}"))
        ]
        exact = [target for target in targets if target.class_name == name]
        return sorted(exact or targets, key=lambda target: target.method_type != INSTANCE)


class LookupOutcome(StrEnum):
    """The outcome of a lookup."""

    FOUND = "found"
    OTHER_TYPE = "other-type"  # a class method exists instead of an instance method, or the reverse
    NO_METHOD = "no-method"
    NO_CLASS = "no-class"


@dataclass(frozen=True, slots=True)
class TargetLookup:
    """The result of looking up a class and a method."""

    outcome: LookupOutcome
    class_name: str | None  # the full name
    is_short: bool  # whether the given name was shorter
    line: int | None
    suggestions: tuple[str, ...]
    warnings: tuple[ReadWarning, ...]


def read_targets(path: str, limits: Limits | None = None) -> Targets:
    """Read a Ruby file; raises RuncardError when nothing can be read."""
    code, warnings = read_code(read_source(path, limits))
    classes, left_out = read_definitions(code)
    return Targets(classes, (*warnings, *left_out))


def check_ruby(path: str, code_is_valid: bool, targets: Targets) -> None:  # noqa: FBT001 - a fact about the file
    """Refuse a file that is not Ruby: it has another ending, and no class or method."""
    name = os.path.basename(path)
    if targets.classes or name.endswith(_ENDINGS) or name in _NAMES:
        return
    if "." in name or not code_is_valid:
        raise DocumentError(f"{printable(path)} is not a Ruby file", hint="pass a Ruby source (.rb)")


def _known_targets(path: str, limits: Limits | None) -> Targets:
    """The methods of a file; the plans of one source, checked one after the other, read it once."""
    try:
        status = os.stat(path)
    except OSError:
        return read_targets(path, limits)
    stamp = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return _cached_targets(path, stamp, limits)


@lru_cache(maxsize=1_024)
def _cached_targets(path: str, _stamp: tuple[int, ...], limits: Limits | None) -> Targets:
    return read_targets(path, limits)


def find_target(
    path: str, class_name: str, method: str, method_type: str, *, limits: Limits | None = None
) -> TargetLookup:
    """Look for a method in a file; `method_type` is `instance` or `class`."""
    targets = _known_targets(path, limits)
    name = class_name.removeprefix("::")
    full = _find_class(targets, name, method, method_type)
    if full is None:
        near = _similar(name, list(targets.classes))
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
        outcome, near = LookupOutcome.NO_METHOD, _similar_methods(targets, full, method)
    return TargetLookup(outcome, full, full != name, line, near, targets.warnings)


def _find_class(targets: Targets, name: str, method: str, method_type: str) -> str | None:
    """The class of that name, or one whose name ends with it; preferably one that has the method."""
    if name in targets.classes:
        return name
    ending = [full for full in targets.classes if full.endswith(f"::{name}")]
    with_method = [full for full in ending if (method, method_type) in targets.classes[full].methods]
    return next(iter(with_method or ending), None)


def _similar_methods(targets: Targets, full: str, method: str) -> tuple[str, ...]:
    """Methods of the class with a similar name, then methods of other classes with the same name."""
    own = [target for target in targets.all() if target.class_name == full]
    near = _similar(method, sorted({target.method for target in own}))
    similar = [str(target) for name in near for target in own if target.method == name]
    in_other_classes = [str(t) for t in targets.all() if t.method == method and t.class_name != full]
    return tuple([*similar, *in_other_classes][:_MAX_SUGGESTIONS])


def _similar(text: str, known: list[str]) -> tuple[str, ...]:
    """Names that differ little, or only before the last `::`."""
    from difflib import get_close_matches  # noqa: PLC0415 - rarely needed

    last = text.rpartition("::")[2]
    by_last: dict[str, list[str]] = {}
    for name in known:
        by_last.setdefault(name.rpartition("::")[2], []).append(name)
    similar = get_close_matches(text, known, n=_MAX_SUGGESTIONS)
    shorter = [name for short in get_close_matches(last, list(by_last)) for name in by_last[short]]
    return tuple(dict.fromkeys([*by_last.get(last, []), *similar, *shorter]))[:_MAX_SUGGESTIONS]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that has no default."""

    name: str  # empty for a destructured parameter
    is_keyword: bool = False


def parameters_of(code: Code, node: Node) -> list[Parameter]:
    """The required parameters of a definition."""
    parameters: list[Parameter] = []
    for part in children(field_of(node, "parameters")):
        if part.type == "identifier":
            parameters.append(Parameter(code.text_of(part)))
        elif part.type == "destructured_parameter":
            parameters.append(Parameter(""))
        elif part.type == "keyword_parameter" and field_of(part, "value") is None:
            name = field_of(part, "name")
            parameters.append(Parameter(code.text_of(name) if name else "", is_keyword=True))
    return parameters
