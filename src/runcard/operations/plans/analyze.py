"""Analyze a method of a Ruby source, and write its plan as the analyzer."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from runcard.documents.testplan.plan import TestPlan
from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import json_name
from runcard.plans.analysis import Analysis, AnalysisOptions, ProjectFiles, analyze, analyze_all
from runcard.plans.plan import Plan, StaleError
from runcard.plans.plan_files import MethodRef, locate_plan
from runcard.plans.plan_writes import PlanWrites

_TRIES = 20  # to write while others write


@dataclass(frozen=True, slots=True)
class AnalysisResult:
    """The analysis of a method, and its plan if it was written."""

    analysis: Analysis
    plan: Plan | None = None  # None: not written

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.analysis.warnings, *(self.plan.warnings if self.plan else ()))

    @property
    def text(self) -> str:
        """The plan as YAML."""
        return TestPlan.encode(self.analysis.plan).decode()

    def to_dict(self) -> JsonObject:
        path = None if self.plan is None else json_name(self.plan.path).text
        return {**self.analysis.plan, "metadata_path": path, "warnings": list(self.warnings)}


def analyze_source(
    path: str,
    method_ref: MethodRef,
    *,
    root: str | None = None,
    write: bool = False,
    files: ProjectFiles | None = None,
    options: AnalysisOptions | None = None,
) -> AnalysisResult:
    """Analyze one method of a source; with `write`, also write its plan.

    For many sources, pass the same `files`: then the models and factories of their project are read once.
    """
    analysis = analyze(path, method_ref, root=root, files=files, options=options)
    return write_analysis(path, analysis, root=root, write=write)


def analyze_methods(
    path: str,
    *,
    root: str | None = None,
    files: ProjectFiles | None = None,
    options: AnalysisOptions | None = None,
) -> list[Analysis]:
    """Analyze all methods of a source that have a body."""
    return analyze_all(path, root=root, files=files, options=options)


def write_analysis(
    path: str,
    analysis: Analysis,
    *,
    root: str | None = None,
    write: bool = True,
    writes: PlanWrites | None = None,
) -> AnalysisResult:
    """Write an analysis into the plan of its method, if `write` is set.

    Reports of later agents stay if the characteristics are the same; otherwise they are removed, and the plan before is
    kept beside the new one. If another
    process wrote the file in the meantime, for example the plan of another method, writing is repeated. With `writes`, the
    caller makes the plan durable.
    """
    if not write:
        return AnalysisResult(analysis)
    for _ in range(_TRIES):
        with suppress(StaleError):
            return _write(path, analysis, root, writes)
    return _write(path, analysis, root, writes)


def write_analyses(
    path: str, analyses: Iterable[Analysis], writes: PlanWrites, *, root: str | None = None
) -> list[AnalysisResult | RuncardError]:
    """Write the analyses of the methods of one source, and make them durable together.

    A plan that cannot be written does not stop the others: its error takes the place of its result.
    """
    results: list[AnalysisResult | RuncardError] = []
    for analysis in analyses:
        try:
            results.append(write_analysis(path, analysis, root=root, writes=writes))
        except RuncardError as error:
            results.append(error)
    writes.sync()
    return results


def _write(path: str, analysis: Analysis, root: str | None, writes: PlanWrites | None) -> AnalysisResult:
    method_ref = MethodRef.of(analysis.plan["target"])
    plan = Plan(locate_plan(path, root=root, method_ref=method_ref, is_resolved=True))
    merged = _merged(plan.to_dict(), analysis.plan)
    return AnalysisResult(analysis, plan.write("analyzer", merged, writes=writes))


def _merged(plan: JsonObject, analysis: JsonObject) -> JsonObject:
    """A plan with a new analysis; keys that others added to its sections stay."""
    sections = {
        name: plan[name] for name in ("analyzer", "target", "automation") if isinstance(plan.get(name), dict)
    }
    merged = {name: {**section, **analysis[name]} for name, section in sections.items()}
    if "deep" not in analysis["analyzer"] and "analyzer" in merged:
        merged["analyzer"].pop("deep", None)
    return {**plan, **analysis, **merged}
