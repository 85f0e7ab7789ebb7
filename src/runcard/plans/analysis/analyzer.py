"""The analyzer: reads a source, finds a method in it, and makes its plan."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.documents.findings import InvalidDocument
from runcard.documents.kinds import TESTPLAN
from runcard.documents.testplan.plan import TestPlan
from runcard.encoding import JsonObject
from runcard.errors import DocumentError, UsageError
from runcard.files import json_name, printable, read_file, unreadable
from runcard.plans.analysis.branch_states import MethodBranches, method_branches
from runcard.plans.analysis.characteristics import SetupContext, characteristics_of
from runcard.plans.analysis.conditions import Conditions
from runcard.plans.analysis.control_flow import Walker
from runcard.plans.analysis.declared_values import ConditionContext, Declarations, read_declarations
from runcard.plans.analysis.method_source import (
    Method,
    find_method,
    has_branches,
    local_names,
    private_methods,
)
from runcard.plans.analysis.project_context import ProjectFiles, TestLevel, policy_names, remember_constants
from runcard.plans.analysis.questions import MethodFlow
from runcard.plans.analysis.target_factories import mentioned_names
from runcard.plans.plan_files import MethodRef
from runcard.plans.project import project_of
from runcard.plans.ruby.definitions import read_definitions
from runcard.plans.ruby.literals import Literals
from runcard.plans.ruby.source_text import MAX_SIZE, source_of
from runcard.plans.ruby.syntax_tree import Node, read_code
from runcard.plans.ruby.targets import Target, Targets, check_ruby

VERSION = "1.2"  # of the analyzer; another version may find other characteristics in the same source
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


def method_digests(path: str, *, root: str | None = None, is_deep: bool = False) -> dict[MethodRef, str]:
    """The digest of each method of a Ruby file, as a plan of it has it now."""
    source = _SourceAnalyzer(path, root, ProjectFiles(), AnalysisOptions(is_deep=is_deep))
    return {
        MethodRef(target.class_name, target.method, target.method_type): source.method_digest(
            target, source.method(target)
        )
        for target in source.targets.all()
    }


def branches_of(
    path: str, method_ref: MethodRef, *, root: str | None = None, is_deep: bool = False
) -> MethodBranches:
    """The branches of one method of a Ruby file, and what each proves when it runs."""
    source = _SourceAnalyzer(path, root, ProjectFiles(), AnalysisOptions(is_deep=is_deep))
    return source.branches(source.find(method_ref))


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
        check_ruby(self.path, self.code.is_valid, self.targets)
        self.literals = Literals(self.code)
        remember_constants(self.code, self.literals)
        self.files = files
        self.models = files.models(self.project)
        self._classes: dict[int, tuple[Declarations, dict[str, Node]]] = {}

    @cached_property
    def file_warnings(self) -> tuple[str, ...]:
        """About the whole file, reported once."""
        factories = self.files.factories(self.project)
        warnings = [f"line {warning.line}: {warning.message}" for warning in self.targets.warnings]
        return (*warnings, *(map(str, factories.warnings) if factories.is_incomplete else ()))

    def find(self, method_ref: MethodRef) -> Target:
        if method_ref.method is None:
            raise UsageError(
                f"{printable(self.file)}: no method given; its methods: {self._method_names()}",
                hint="pass one of these with --method, or --all-methods",
            )
        matches = self.targets.matching(*method_ref)
        if not matches:
            where = f" of {printable(method_ref.class_name)}" if method_ref.class_name else ""
            raise DocumentError(
                f"{printable(self.file)} has no method {printable(method_ref.method)}{where}; its methods: {self._method_names()}",
                hint="pass one of these with --method, and its class with --class",
            )
        if len({target.class_name for target in matches}) > 1:
            raise UsageError(
                f"{printable(method_ref.method)} is ambiguous: {' or '.join(map(str, matches))}",
                hint="pass --class",
            )
        return matches[0]

    def _method_names(self) -> str:
        known = self.targets.all()
        more = f" and {len(known) - _MAX_LISTED} more" if len(known) > _MAX_LISTED else ""
        return (", ".join(map(str, known[:_MAX_LISTED])) or "none") + more

    def method(self, target: Target) -> Method | None:
        return find_method(self.code, target, self.literals)

    def analyze_all(self) -> Iterator[Analysis]:
        for target in self.targets.all():
            method = self.method(target)
            if method is None:
                continue
            try:
                yield self.analyze(target, method)
                self.file_warnings = ()  # reported once
            except InvalidDocument as error:  # a class with an odd name must not cost the others
                self.file_warnings = (*self.file_warnings, f"line {target.line}: left out: {error.message}")

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

    def branches(self, target: Target) -> MethodBranches:
        method = self.method(target)
        if method is None:
            return MethodBranches((), {}, frozenset())
        namesakes = self.targets.matching(target.class_name, target.method, None)
        is_only = all(each.method_type == target.method_type for each in namesakes)
        return method_branches(self.code, method, self._walk(method))._replace(has_namesake=not is_only)

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
        factories = self.files.factories(self.project)
        level = None
        if method is not None:
            others = policy_names(self.file, target.class_name)
            level = TestLevel(self.code, self.file, method, self.models, set(factories.known), others)
        known = self._factories_of(target, method)
        return {
            TESTPLAN.version_key: TESTPLAN.latest,
            "analyzer": self.stamp | self._method_stamp(target, method),
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

    def _factories_of(self, target: Target, method: Method | None) -> JsonObject:
        """The factories that belong to the target, or all of them."""
        if self._options.all_factories:
            return self.files.factories_detected(self.project)
        names = mentioned_names(self.code, method.node) if method is not None else frozenset()
        names |= policy_names(self.file, target.class_name)
        own = self.files.target_factories(self.project).of(target.class_name, names)
        return self.files.factories(self.project).of(own)

    def _method_stamp(self, target: Target, method: Method | None) -> JsonObject:
        stamp: JsonObject = {"method_sha256": self.method_digest(target, method)}
        return stamp | {"deep": True} if self._options.is_deep else stamp

    def method_digest(self, target: Target, method: Method | None) -> str:
        """The digest of all that the characteristics of a method follow from, in its file.

        These are its text, the private methods that it calls, and the values that its class declares.
        """
        if method is None:
            return sha256_bytes(str(target).encode()).hex
        declared, privates = self._class_of(method)
        text = self.code.text_of(method.node)
        called = {name: self.code.text_of(body) for name, body in privates.items() if name in text}
        constants = {name: value for name, value in self.literals.recorded().items() if name in text}
        parts = [str(target), text, sorted(called.items()), sorted(declared.attributes.items())]
        facts = [*parts, sorted(constants.items()), self._options.is_deep]
        return sha256_bytes(repr(facts).encode("utf-8", "surrogatepass")).hex

    def _hint_at_helpers(self, target: Target) -> str:
        """The private methods with branches, which only a deep analysis includes."""
        method = None if self._options.is_deep else self.method(target)
        if method is None:
            return ""
        text = self.code.text_of(method.node)
        _, privates = self._class_of(method)
        called = [name for name, body in privates.items() if name in text and has_branches(body)]
        return f" of its own; pass --deep to include those of {', '.join(called)}" if called else ""

    def _warnings(self, target: Target, characteristics: list[JsonObject], flow: MethodFlow) -> list[str]:
        warnings = list(self.file_warnings)
        deepest = max((characteristic["level"] for characteristic in characteristics), default=0)
        if not characteristics:
            warnings.append(f"{target} has no branches, so no separate cases{self._hint_at_helpers(target)}")
        if deepest > MAX_LEVELS:
            warnings.append(
                f"{target} has {deepest} levels of conditions, more than {MAX_LEVELS}: "
                "split the method and test its parts separately"
            )
        if flow.too_deep is not None:
            warnings.append(f"line {flow.too_deep}: nested too deeply; inner conditions are left out")
        return warnings


def _now() -> datetime:
    return datetime.now(UTC)


def _read(path: str) -> tuple[JsonObject, bytes]:
    """The bytes of a source, and the `analyzer` section about them. Only its timestamp is not from the source."""
    try:
        seconds = os.stat(path).st_mtime_ns // 10**9
    except OSError as error:
        raise unreadable(error, path) from error
    data = read_file(path, MAX_SIZE, only_regular=True)
    if len(data) > MAX_SIZE:
        raise DocumentError(f"{printable(path)} is larger than {MAX_SIZE:,} bytes", hint="split the file")
    if seconds <= 0:
        raise DocumentError(f"{printable(path)} has no usable modification time", hint="touch the file")
    return {
        "completed": True,
        "timestamp": _now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        "source_file_mtime": seconds,
        "version": VERSION,
        "source_sha256": sha256_bytes(data).hex,
        "source_size": len(data),
    }, data
