"""The analyzer: a source, a method of it, and the plan that they make."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from runcard.digests import sha256_bytes
from runcard.documents.findings import InvalidDocument
from runcard.documents.kinds import TESTPLAN
from runcard.documents.testplan.plan import TestPlan
from runcard.encoding import JsonObject
from runcard.errors import DocumentError, UsageError
from runcard.files import json_name, printable, read_file, unreadable
from runcard.plans.analysis.characteristics import Around, characteristics_of
from runcard.plans.analysis.conditions import Conditions
from runcard.plans.analysis.control_flow import Walker
from runcard.plans.analysis.declared_values import Declarations, Surroundings, read_declarations
from runcard.plans.analysis.method_source import Method, find_method, local_names, private_methods
from runcard.plans.analysis.path_conditions import Way
from runcard.plans.analysis.project_context import Level, Models, remember_constants
from runcard.plans.plan_files import Asked
from runcard.plans.project import project_of
from runcard.plans.ruby.definitions import read_definitions
from runcard.plans.ruby.factories import Factories, read_factories
from runcard.plans.ruby.literals import Literals
from runcard.plans.ruby.source_text import LARGEST, source_of
from runcard.plans.ruby.syntax_tree import Node, read_code
from runcard.plans.ruby.targets import Target, Targets

VERSION = "1.0"  # of the analyzer; another one may find other characteristics in the same source
DEEPEST = 6  # levels that a plan should have at most
_MOST_LISTED = 30


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was found about a method."""

    target: Target
    plan: JsonObject
    warnings: tuple[str, ...]


def analyze(path: str, asked: Asked, *, root: str | None = None) -> Analysis:
    """Analyze one method of a Ruby file."""
    source = _Source(path, root)
    target = source.find(asked)
    return source.analyze(target, source.method(target))


def analyze_all(path: str, *, root: str | None = None) -> list[Analysis]:
    """Analyze every method of a Ruby file that has a body, in the order of the text."""
    source = _Source(path, root)
    return list(source.analyze_all())


class _Source:
    """A Ruby file, read once, and the project around it."""

    def __init__(self, path: str, root: str | None) -> None:
        project, self.file = project_of(path, root)
        self.path = os.path.join(project.root, self.file)
        self.stamp, data = _read(self.path)
        self.code, trouble = read_code(source_of(data, self.path))
        classes, left_out = read_definitions(self.code)
        self.targets = Targets(classes, (*trouble, *left_out))
        self.literals = Literals(self.code)
        remember_constants(self.code, self.literals)
        self.models = Models(project.root)
        self.factories = (
            read_factories(project.root, project.root) if project.is_marked else Factories(project.root)
        )
        self.remarks = tuple(self._remarks())  # on the whole file, said once
        self._classes: dict[int, tuple[Declarations, dict[str, Node]]] = {}

    def _remarks(self) -> Iterator[str]:
        for trouble in self.targets.warnings:
            yield f"line {trouble.line}: {trouble.message}"
        if self.factories.is_damaged:
            yield from map(str, self.factories.complaints)

    def find(self, asked: Asked) -> Target:
        if asked.method is None:
            raise UsageError("no method was named", hint="name it with --method, or use --all-methods")
        named = self.targets.named(*asked)
        if not named:
            known = self.targets.all()
            listed = ", ".join(map(str, known[:_MOST_LISTED])) or "none at all"
            more = f" and {len(known) - _MOST_LISTED} more" if len(known) > _MOST_LISTED else ""
            where = f" of {printable(asked.class_name)}" if asked.class_name else ""
            raise DocumentError(
                f"{printable(self.file)} has no method {printable(asked.method)}{where}; it has {listed}{more}",
                hint="name one of these with --method, and its class with --class",
            )
        if len({target.class_name for target in named}) > 1:
            raise UsageError(
                f"{printable(asked.method)} can be {' or '.join(map(str, named))}",
                hint="name the class with --class",
            )
        return named[0]

    def method(self, target: Target) -> Method | None:
        return find_method(self.code, target, self.literals)

    def analyze_all(self) -> Iterator[Analysis]:
        for target in self.targets.all():
            method = self.method(target)
            if method is not None:
                yield self.analyze(target, method)
                self.remarks = ()

    def analyze(self, target: Target, method: Method | None) -> Analysis:
        way = Way([], []) if method is None else self._walked(method)
        file = json_name(self.file).text
        names = {} if method is None else self._names(method, way)
        characteristics = characteristics_of(way, file, target.class_name, method, Around(self.models, names))
        plan = self._plan(target, method, characteristics)
        report = TestPlan.check(plan)
        if not report.valid:
            raise InvalidDocument(report, f"the plan of {target}")
        return Analysis(target, plan, tuple(self._warnings(target, characteristics, way)))

    def _walked(self, method: Method) -> Way:
        flags = {name: value for name, value in method.defaults.items() if isinstance(value, bool)}
        declared, privates = self._class_of(method)
        around = Surroundings(declared, self.models, flags)
        conditions = Conditions(self.code, self.literals, around)
        conditions.privates = {name: body for name, body in privates.items() if body != method.body}
        walker = Walker(self.code, conditions, conditions.privates)
        walker.walk(method.body, (), tail=True)
        walker.way.too_deep = walker.way.too_deep or conditions.too_deep
        return walker.way

    def _names(self, method: Method, way: Way) -> dict[str, frozenset[str]]:
        """What the private methods that were read name for themselves."""
        _, privates = self._class_of(method)
        read = {asked.question.via for asked in way.asked}
        return {name: local_names(self.code, body) for name, body in privates.items() if name in read}

    def _class_of(self, method: Method) -> tuple[Declarations, dict[str, Node]]:
        """What the class of a method declares, and its private methods; read once for all of its methods."""
        at = method.owner.start_byte if method.owner else -1
        if at not in self._classes:
            declared = read_declarations(self.code, method.owner, self.literals)
            self._classes[at] = declared, private_methods(self.code, method.owner, self.literals)
        return self._classes[at]

    def _plan(self, target: Target, method: Method | None, characteristics: list[JsonObject]) -> JsonObject:
        known = self.factories.to_dict()
        level = None if method is None else Level(self.code, self.file, method, self.models, set(known))
        return {
            TESTPLAN.version_key: TESTPLAN.latest,
            "analyzer": self.stamp,
            "test_level": level.test_level if level else "unit",
            "target": {
                "class": target.class_name,
                "method": target.method,
                "method_type": target.method_type,
                "file": json_name(self.file).text,
                "uses_models": level.uses_models if level else False,
            },
            "characteristics": characteristics,
            "factories_detected": known,
            "automation": {
                "analyzer_completed": True,
                "analyzer_version": VERSION,
                "factories_detected": bool(known),
            },
        }

    def _warnings(self, target: Target, characteristics: list[JsonObject], way: Way) -> list[str]:
        said = list(self.remarks)
        deepest = max((one["level"] for one in characteristics), default=0)
        if not characteristics:
            said.append(f"{target} has no condition: there is nothing to test apart")
        if deepest > DEEPEST:
            said.append(
                f"{target} has {deepest} levels of conditions, more than {DEEPEST}: split the method, "
                "and test its parts by themselves"
            )
        if way.too_deep is not None:
            said.append(f"line {way.too_deep}: nested too deep, what lies below is left out")
        return said


def _read(path: str) -> tuple[JsonObject, bytes]:
    """The bytes of a source, and what a plan notes about them.

    The analysis is a function of the source, so it has no clock of its own: its time is that of the source.
    """
    try:
        seconds = os.stat(path).st_mtime_ns // 10**9
    except OSError as error:
        raise unreadable(error, path) from error
    data = read_file(path, LARGEST, only_regular=True)
    if len(data) > LARGEST:
        raise DocumentError(f"{printable(path)} is larger than {LARGEST:,} bytes", hint="name a smaller file")
    if seconds <= 0:
        raise DocumentError(
            f"{printable(path)} has no modification time that a plan can note", hint="touch the file"
        )
    moment = datetime.fromtimestamp(seconds, UTC)
    return {
        "completed": True,
        "timestamp": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "source_file_mtime": seconds,
        "version": VERSION,
        "source_sha256": sha256_bytes(data).hex,
        "source_size": len(data),
    }, data
