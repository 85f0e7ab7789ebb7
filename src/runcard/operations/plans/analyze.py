"""The analyzer: what the tests of a method must cover, found by parsing, and written as the analyzer's part of the plan."""

from contextlib import suppress
from dataclasses import dataclass

from runcard.documents.testplan.plan import TestPlan
from runcard.encoding import JsonObject
from runcard.files import json_name
from runcard.plans.analysis import Analysis, analyze, analyze_all
from runcard.plans.plan import Plan, StaleError, plan_at
from runcard.plans.plan_files import MethodRef, locate_plan

_TRIES = 20  # to write while others do


@dataclass(frozen=True, slots=True)
class AnalysisResult:
    """The plan that an analysis makes, and the file that it was written to."""

    analysis: Analysis
    plan: Plan | None = None  # None when nothing was to be written

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.analysis.warnings, *(self.plan.warnings if self.plan else ()))

    @property
    def text(self) -> str:
        """The plan as it would be written to a new file."""
        return TestPlan.encode(self.analysis.plan).decode()

    def to_dict(self) -> JsonObject:
        path = None if self.plan is None else json_name(self.plan.path).text
        return {**self.analysis.plan, "metadata_path": path, "warnings": list(self.warnings)}


def analyze_source(
    path: str, method_ref: MethodRef, *, root: str | None = None, write: bool = False
) -> AnalysisResult:
    """Analyze one method of a source; with `write` the plan of the method is written, as the analyzer."""
    return write_analysis(path, analyze(path, method_ref, root=root), root=root, write=write)


def analyze_methods(path: str, *, root: str | None = None) -> list[Analysis]:
    """Analyze all methods of a source that have a body."""
    return analyze_all(path, root=root)


def write_analysis(
    path: str, analysis: Analysis, *, root: str | None = None, write: bool = True
) -> AnalysisResult:
    """An analysis, written into the plan of its method where that is wanted.

    What later agents said about another analysis is taken out. The same analysis again changes nothing. Where somebody
    else wrote in the meantime, such as the plan of another method under the name that was free, it is done anew.
    """
    if not write:
        return AnalysisResult(analysis)
    for _ in range(_TRIES):
        with suppress(StaleError):
            return _written(path, analysis, root)
    return _written(path, analysis, root)


def _written(path: str, analysis: Analysis, root: str | None) -> AnalysisResult:
    method_ref = MethodRef.of(analysis.plan["target"])
    plan = plan_at(locate_plan(path, root=root, method_ref=method_ref, is_resolved=True))
    return AnalysisResult(analysis, plan.write("analyzer", _joined(plan.to_dict(), analysis.plan)))


def _joined(before: JsonObject, found: JsonObject) -> JsonObject:
    """A plan with another analysis; what others added to its sections stays."""
    write_analysis = {
        name: before[name]
        for name in ("analyzer", "target", "automation")
        if isinstance(before.get(name), dict)
    }
    return {
        **before,
        **found,
        **{name: {**section, **found[name]} for name, section in write_analysis.items()},
    }
