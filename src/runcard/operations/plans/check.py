"""Check the methods that changed since a revision: the states that their specs do not cover.

A method has changed if its text, a private method that it calls or a value that it uses has changed; moving it does not
count. Private methods are tested through the public ones that call them, so they are not checked themselves. Plans are
neither needed nor written: the source is analyzed as it is now.
"""

import os
import tempfile
from dataclasses import dataclass
from functools import cached_property

from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import json_name, printable
from runcard.observe.git.revisions import ChangedFile, Changes
from runcard.operations.plans.review import (
    NO_GROUP,
    ReviewSource,
    coverage_evidence,
    source_facts,
    state_warning,
    title_of,
    uncovered_warning,
)
from runcard.plans.analysis import Analysis, ProjectFiles, analyze_all, method_digests
from runcard.plans.plan import Plan
from runcard.plans.plan_files import MethodRef, locate_plan
from runcard.plans.project import project_of
from runcard.plans.ruby.coverage import CoverageReport
from runcard.plans.ruby.definitions import PUBLIC
from runcard.plans.ruby.spec_tree import SpecFile
from runcard.plans.spec_paths import recorded_spec, spec_path, specs_of_source
from runcard.plans.spec_review import Review, StateCoverage, read_tested, review

_NOT_TESTED = {"spec", "test", "tests", "features", "db", "config", "vendor", "node_modules", "bin", "script"}


@dataclass(frozen=True, slots=True)
class CheckedMethod:
    """A method that changed, and the states of it that are not covered."""

    plan: JsonObject
    path: str  # of the source, in the repository
    line: int
    spec: str | None  # in the project; None if there is none
    review: Review | None
    missing_spec: str  # where the spec would be
    notes: tuple[str, ...]

    @property
    def target(self) -> str:
        return title_of(self.plan["target"])

    @property
    def state_count(self) -> int:
        return sum(len(each["states"]) for each in self.plan["characteristics"])

    @property
    def uncovered(self) -> list[StateCoverage]:
        return self.review.uncovered if self.review is not None else []

    @property
    def covered_count(self) -> int:
        return 0 if self.review is None else self.state_count - len(self.uncovered)

    @property
    def warnings(self) -> tuple[str, ...]:
        if self.review is None:
            return (
                *self.notes,
                f"{self.target}: no spec for its {self.state_count} states: {self.missing_spec}",
            )
        return (*self.notes, *(f"{self.target}: {state_warning(state)}" for state in self.uncovered))

    @property
    def short_warnings(self) -> tuple[str, ...]:
        """The warnings without the states, for whoever shows these already."""
        if not self.uncovered:
            return self.warnings
        return (
            *self.notes,
            f"{self.target}: {uncovered_warning(len(self.uncovered), self.state_count)}",
        )

    def line_of(self, state: StateCoverage) -> int:
        """The line of the first condition of a state."""
        lines = {each["name"]: each.get("lines") or [self.line] for each in self.plan["characteristics"]}
        return int(lines[state.characteristic][0])

    def to_dict(self) -> JsonObject:
        return {
            "source": json_name(self.path).text,
            "line": self.line,
            "target": {key: self.plan["target"][key] for key in ("class", "method", "method_type")},
            "spec": None if self.spec is None else json_name(self.spec).text,
            "complete": not self.warnings,
            "states": [state.to_dict() for state in self.review.states] if self.review else [],
            "warnings": list(self.warnings),
        }


class ChangedMethods:
    """The methods that changed since a revision."""

    def __init__(
        self,
        directory: str,
        base: str | None,
        *,
        staged: bool = False,
        coverage: CoverageReport | None = None,
    ) -> None:
        self._changes = Changes(directory, base, staged=staged)
        self._coverage = coverage
        self._files = ProjectFiles()

    @property
    def note(self) -> str | None:
        return self._changes.note

    @property
    def commit(self) -> str | None:
        return self._changes.commit

    @cached_property
    def sources(self) -> dict[str, ChangedFile]:
        """The Ruby sources that changed, by their path in the repository."""
        return {file.path: file for file in self._changes.files(".rb") if _is_source(file.path)}

    def check(self, source: str) -> list[CheckedMethod]:
        """The methods of a source that changed and have conditions."""
        path = os.path.join(self._changes.top, source)
        if not os.path.exists(path):  # staged, and deleted since
            return []
        project, file = project_of(path)
        before = self._digests_before(self.sources[source])
        analyses = analyze_all(path, root=project.root, files=self._files)
        checked = [
            analysis
            for analysis in analyses
            if analysis.plan["characteristics"]
            and analysis.target.visibility == PUBLIC
            and before.get(MethodRef.of(analysis.plan["target"]))
            != analysis.plan["analyzer"]["method_sha256"]
        ]
        specs = _Specs(project.root)
        public = {each.target.method for each in analyses if each.target.visibility == PUBLIC} - {
            "initialize"
        }
        is_only = len(public) == 1  # then a spec needs no group for it
        where = ReviewSource(path, project.root)
        return [self._checked(source, where, file, each, specs, is_only=is_only) for each in checked]

    def _digests_before(self, file: ChangedFile) -> dict[MethodRef, str]:
        content = self._changes.old_content(file)
        if content is None:
            return {}
        with tempfile.TemporaryDirectory(prefix="runcard-") as folder:
            old = os.path.join(folder, os.path.basename(file.path))
            with open(old, "wb") as stream:
                stream.write(content)
            try:
                return method_digests(old, root=folder)
            except RuncardError:
                return {}  # it could not be read before, so all of it counts as new

    def _checked(
        self,
        source: str,
        file: ReviewSource,
        name: str,
        analysis: Analysis,
        specs: "_Specs",
        *,
        is_only: bool,
    ) -> CheckedMethod:
        plan = analysis.plan
        found = specs_of_source(file.root, name, _recorded_spec(file, plan))
        trees = [(spec, specs.read(spec)) for spec in found]
        notes: list[str] = []
        result = None
        if trees:
            evidence, problem = None, None
            if self._coverage is not None:
                evidence, problem = coverage_evidence(file, plan, self._coverage, found)
            notes += [f"{analysis.target}: the coverage report is not used: {problem}"] if problem else []
            notes += [
                f"{analysis.target}: line {each.line} of {printable(spec)}: {each.message}"
                for spec, tree in trees
                for each in tree.warnings
            ]
            result = review(plan, trees, evidence, source_facts(file, plan))
            if not result.has_group and not is_only:
                notes.append(f"{analysis.target}: {NO_GROUP}")
        missing = printable(next(iter(found), spec_path(name)))
        return CheckedMethod(
            plan, source, analysis.target.line, next(iter(found), None), result, missing, tuple(notes)
        )


class _Specs:
    """The specs of a project, each read once."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._read: dict[str, SpecFile] = {}

    def read(self, spec: str) -> SpecFile:
        if spec not in self._read:
            self._read[spec] = read_tested(os.path.join(self._root, spec))
        return self._read[spec]


def _recorded_spec(file: ReviewSource, plan: JsonObject) -> str | None:
    """The spec that the stored plan of a method names; None without a plan."""
    try:
        location = locate_plan(
            file.path, root=file.root, method_ref=MethodRef.of(plan["target"]), is_resolved=True
        )
    except RuncardError:
        return None
    stored = Plan(location)
    return recorded_spec(stored) if stored.exists and not location.is_other_method else None


def _is_source(path: str) -> bool:
    """Whether a Ruby file has methods that specs are written for."""
    return not _NOT_TESTED.intersection(path.split("/")[:-1]) and not path.endswith(("_spec.rb", "_test.rb"))
