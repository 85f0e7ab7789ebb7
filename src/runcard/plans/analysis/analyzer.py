"""The analyzer: reads a source, finds a method in it, and makes its plan."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.documents.findings import InvalidDocument
from runcard.documents.kinds import TESTPLAN
from runcard.documents.testplan.plan import TestPlan
from runcard.encoding import JsonObject
from runcard.errors import DocumentError, UsageError
from runcard.files import json_name, printable, read_file, unreadable
from runcard.plans.analysis.characteristics import SetupContext, characteristics_of
from runcard.plans.analysis.conditions import Conditions
from runcard.plans.analysis.control_flow import Walker
from runcard.plans.analysis.declared_values import ConditionContext, Declarations, read_declarations
from runcard.plans.analysis.method_source import Method, find_method, local_names, private_methods
from runcard.plans.analysis.project_context import ProjectFiles, TestLevel, remember_constants
from runcard.plans.analysis.questions import MethodFlow
from runcard.plans.plan_files import MethodRef
from runcard.plans.project import project_of
from runcard.plans.ruby.definitions import read_definitions
from runcard.plans.ruby.literals import Literals
from runcard.plans.ruby.source_text import MAX_SIZE, source_of
from runcard.plans.ruby.syntax_tree import Node, read_code
from runcard.plans.ruby.targets import Target, Targets

VERSION = "1.0"  # of the analyzer; another version may find other characteristics in the same source
MAX_LEVELS = 6  # that a plan should have
_MAX_LISTED = 30


class AnalysisOptions(NamedTuple):
    """What an analysis includes."""

    is_deep: bool = False  # the conditions of private methods, too
    all_factories: bool = False  # not only those that belong to the target


@dataclass(frozen=True, slots=True)
class Analysis:
    """The plan of a method, and warnings."""

    target: Target
    plan: JsonObject
    warnings: tuple[str, ...]


def analyze(
    path: str,
    method_ref: MethodRef,
    *,
    root: str | None = None,
    files: ProjectFiles | None = None,
    options: AnalysisOptions | None = None,
) -> Analysis:
    """Analyze one method of a Ruby file; `files` are shared by the sources of one command."""
    source = _SourceAnalyzer(path, root, files or ProjectFiles(), options)
    target = source.find(method_ref)
    return source.analyze(target, source.method(target))


def analyze_all(
    path: str,
    *,
    root: str | None = None,
    files: ProjectFiles | None = None,
    options: AnalysisOptions | None = None,
) -> list[Analysis]:
    """Analyze every method of a Ruby file that has a body, in the order of the text."""
    source = _SourceAnalyzer(path, root, files or ProjectFiles(), options)
    return list(source.analyze_all())


class _SourceAnalyzer:
    """A Ruby file, read once, and the project around it."""

    def __init__(
        self, path: str, root: str | None, files: ProjectFiles, options: AnalysisOptions | None = None
    ) -> None:
        self._options = options or AnalysisOptions()
        self.project, self.file = project_of(path, root)
        self.path = os.path.join(self.project.root, self.file)
        self.stamp, data = _read(self.path)
        self.code, warnings = read_code(source_of(data, self.path))
        classes, left_out = read_definitions(self.code)
        self.targets = Targets(classes, (*warnings, *left_out))
        self.literals = Literals(self.code)
        remember_constants(self.code, self.literals)
        self.files = files
        self.models, self.factories = files.models(self.project), files.factories(self.project)
        self.file_warnings = tuple(self._file_warnings())  # about the whole file, reported once
        self._classes: dict[int, tuple[Declarations, dict[str, Node]]] = {}

    def _file_warnings(self) -> Iterator[str]:
        for warning in self.targets.warnings:
            yield f"line {warning.line}: {warning.message}"
        if self.factories.is_incomplete:
            yield from map(str, self.factories.warnings)

    def find(self, method_ref: MethodRef) -> Target:
        if method_ref.method is None:
            raise UsageError("no method given", hint="pass --method or --all-methods")
        matches = self.targets.matching(*method_ref)
        if not matches:
            known = self.targets.all()
            listed = ", ".join(map(str, known[:_MAX_LISTED])) or "none"
            more = f" and {len(known) - _MAX_LISTED} more" if len(known) > _MAX_LISTED else ""
            where = f" of {printable(method_ref.class_name)}" if method_ref.class_name else ""
            raise DocumentError(
                f"{printable(self.file)} has no method {printable(method_ref.method)}{where}; its methods: {listed}{more}",
                hint="pass one of these with --method, and its class with --class",
            )
        if len({target.class_name for target in matches}) > 1:
            raise UsageError(
                f"{printable(method_ref.method)} is ambiguous: {' or '.join(map(str, matches))}",
                hint="pass --class",
            )
        return matches[0]

    def method(self, target: Target) -> Method | None:
        return find_method(self.code, target, self.literals)

    def analyze_all(self) -> Iterator[Analysis]:
        for target in self.targets.all():
            method = self.method(target)
            if method is not None:
                yield self.analyze(target, method)
                self.file_warnings = ()

    def analyze(self, target: Target, method: Method | None) -> Analysis:
        flow = MethodFlow([], []) if method is None else self._walk(method)
        file = json_name(self.file).text
        names = {} if method is None else self._names(method, flow)
        characteristics = characteristics_of(
            flow, file, target.class_name, method, SetupContext(self.models, names)
        )
        plan = self._plan(target, method, characteristics)
        report = TestPlan.check(plan)
        if not report.valid:
            raise InvalidDocument(report, f"the plan of {target}")
        return Analysis(target, plan, tuple(self._warnings(target, characteristics, flow)))

    def _walk(self, method: Method) -> MethodFlow:
        flags = {name: value for name, value in method.defaults.items() if isinstance(value, bool)}
        declared, privates = self._class_of(method)
        context = ConditionContext(declared, self.models, flags)
        conditions = Conditions(self.code, self.literals, context)
        conditions.is_deep = self._options.is_deep
        conditions.privates = {name: body for name, body in privates.items() if body != method.body}
        walker = Walker(self.code, conditions, conditions.privates)
        walker.walk(method.body, (), tail=True)
        walker.flow.too_deep = walker.flow.too_deep or conditions.too_deep
        return walker.flow

    def _names(self, method: Method, flow: MethodFlow) -> dict[str, frozenset[str]]:
        """The local names of the private methods that were read."""
        _, privates = self._class_of(method)
        read = {item.question.via for item in flow.questions}
        return {name: local_names(self.code, body) for name, body in privates.items() if name in read}

    def _class_of(self, method: Method) -> tuple[Declarations, dict[str, Node]]:
        """The declarations and private methods of the class of a method; read once per class."""
        at = method.owner.start_byte if method.owner else -1
        if at not in self._classes:
            declared = read_declarations(self.code, method.owner, self.literals)
            self._classes[at] = declared, private_methods(self.code, method.owner, self.literals)
        return self._classes[at]

    def _plan(self, target: Target, method: Method | None, characteristics: list[JsonObject]) -> JsonObject:
        known = self.files.factories_detected(self.project)
        level = None if method is None else TestLevel(self.code, self.file, method, self.models, set(known))
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

    def _warnings(self, target: Target, characteristics: list[JsonObject], flow: MethodFlow) -> list[str]:
        warnings = list(self.file_warnings)
        deepest = max((characteristic["level"] for characteristic in characteristics), default=0)
        if not characteristics:
            warnings.append(f"{target} has no branches, so no separate cases")
        if deepest > MAX_LEVELS:
            warnings.append(
                f"{target} has {deepest} levels of conditions, more than {MAX_LEVELS}: "
                "split the method and test its parts separately"
            )
        if flow.too_deep is not None:
            warnings.append(f"line {flow.too_deep}: nested too deeply; inner conditions are left out")
        return warnings


def _read(path: str) -> tuple[JsonObject, bytes]:
    """The bytes of a source, and the `analyzer` section about them.

    The same source must give the same plan, so the timestamp is the modification time of the source.
    """
    try:
        seconds = os.stat(path).st_mtime_ns // 10**9
    except OSError as error:
        raise unreadable(error, path) from error
    data = read_file(path, MAX_SIZE, only_regular=True)
    if len(data) > MAX_SIZE:
        raise DocumentError(f"{printable(path)} is larger than {MAX_SIZE:,} bytes", hint="split the file")
    if seconds <= 0:
        raise DocumentError(f"{printable(path)} has no usable modification time", hint="touch the file")
    moment = datetime.fromtimestamp(seconds, UTC)
    return {
        "completed": True,
        "timestamp": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "source_file_mtime": seconds,
        "version": VERSION,
        "source_sha256": sha256_bytes(data).hex,
        "source_size": len(data),
    }, data
