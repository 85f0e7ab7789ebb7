"""Analyze a method of a Ruby source, and write its plan as the analyzer, in a version of the format."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from runcard.documents.testplan.plan import TestPlan
from runcard.documents.testplan.versions import PlanShape, in_shape
from runcard.encoding import JsonObject
from runcard.encoding.json.edit import same_data
from runcard.errors import RuncardError
from runcard.files import json_name
from runcard.plans.analysis import Analysis, AnalysisOptions, ProjectFiles, analyze, analyze_all
from runcard.plans.plan import Plan, StaleError
from runcard.plans.plan_files import MethodRef, locate_plan
from runcard.plans.plan_writes import PlanWrites
from runcard.settings import PLANS_FORMAT, read_settings

_TRIES = 20  # to write while others write


@dataclass(frozen=True, slots=True)
class AnalysisResult:
    """The analysis of a method, and its plan if it was written."""

    analysis: Analysis
    data: JsonObject  # the plan, in the requested version
    plan: Plan | None = None  # None: not written

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.analysis.warnings, *(self.plan.warnings if self.plan else ()))

    @property
    def text(self) -> str:
        """The plan as YAML."""
        return TestPlan.encode(self.data).decode()

    def to_dict(self) -> JsonObject:
        path = None if self.plan is None else json_name(self.plan.path).text
        return {**self.data, "metadata_path": path, "warnings": list(self.warnings)}


def analyze_source(
    path: str,
    method_ref: MethodRef,
    *,
    root: str | None = None,
    write: bool = False,
    files: ProjectFiles | None = None,
    options: AnalysisOptions | None = None,
    version: str | None = None,
) -> AnalysisResult:
    """Analyze one method of a source; with `write`, also write its plan.

    For many sources, pass the same `files`: then the models and factories of their project are read once.
    """
    analysis = analyze(path, method_ref, root=root, files=files, options=options)
    return (
        write_analysis(path, analysis, root=root, version=version) if write else unwritten(analysis, version)
    )


def analyze_methods(
    path: str,
    *,
    root: str | None = None,
    files: ProjectFiles | None = None,
    options: AnalysisOptions | None = None,
) -> list[Analysis]:
    """Analyze all methods of a source that have a body."""
    return analyze_all(path, root=root, files=files, options=options)


def unwritten(analysis: Analysis, version: str | None = None) -> AnalysisResult:
    """The plan of an analysis as a new plan of a version, by default that of the settings."""
    return AnalysisResult(analysis, in_shape(analysis.plan, _new_shape(version)))


def _new_shape(version: str | None) -> PlanShape:
    return PlanShape.of_version(version or read_settings()[PLANS_FORMAT])


def write_analysis(
    path: str,
    analysis: Analysis,
    *,
    root: str | None = None,
    writes: PlanWrites | None = None,
    version: str | None = None,
) -> AnalysisResult:
    """Write an analysis into the plan of its method.

    Without a `version`, an existing plan keeps its shape. A plan that says the same already keeps its bytes.
    Reports of later agents stay if the characteristics are the same; otherwise they are removed, and the plan before is
    kept beside the new one. If another
    process wrote the file in the meantime, for example the plan of another method, writing is repeated. With `writes`, the
    caller makes the plan durable.
    """
    for _ in range(_TRIES):
        with suppress(StaleError):
            return _write(path, analysis, root, writes, version)
    return _write(path, analysis, root, writes, version)


def write_analyses(
    path: str,
    analyses: Iterable[Analysis],
    writes: PlanWrites,
    *,
    root: str | None = None,
    version: str | None = None,
) -> list[AnalysisResult | RuncardError]:
    """Write the analyses of the methods of one source, and make them durable together.

    A plan that cannot be written does not stop the others: its error takes the place of its result.
    """
    results: list[AnalysisResult | RuncardError] = []
    for analysis in analyses:
        try:
            results.append(write_analysis(path, analysis, root=root, writes=writes, version=version))
        except RuncardError as error:
            results.append(error)
    writes.sync()
    return results


def _write(
    path: str, analysis: Analysis, root: str | None, writes: PlanWrites | None, version: str | None
) -> AnalysisResult:
    method_ref = MethodRef.of(analysis.plan["target"])
    plan = Plan(locate_plan(path, root=root, method_ref=method_ref, is_resolved=True))
    existing = plan.to_dict()
    shape = PlanShape.of_plan(existing) if existing and version is None else _new_shape(version)
    data = in_shape(analysis.plan, shape)
    return AnalysisResult(analysis, data, plan.write("analyzer", _merged(existing, data), writes=writes))


def _merged(plan: JsonObject, analysis: JsonObject) -> JsonObject:
    """A plan with a new analysis; keys that others added to its sections stay."""
    sections = {
        name: plan[name] for name in ("analyzer", "target", "automation") if isinstance(plan.get(name), dict)
    }
    merged = {name: {**section, **analysis[name]} for name, section in sections.items()}
    if "deep" not in analysis["analyzer"] and "analyzer" in merged:
        merged["analyzer"].pop("deep", None)
    new = {**plan, **analysis, **merged}
    return plan if _is_known(plan, new) else new


def _is_known(plan: JsonObject, new: JsonObject) -> bool:
    """Whether a plan says the same already; then its timestamp and version are those of the analysis that wrote it.

    `automation.factories_detected` may be true of a plan without factories: it was, if the project had any.
    """
    analyzer, automation = plan.get("analyzer"), plan.get("automation")
    if not isinstance(analyzer, dict) or "timestamp" not in analyzer:
        return False
    kept = {key: analyzer[key] for key in ("timestamp", "version") if key in analyzer}
    new = new | {"analyzer": new["analyzer"] | kept}
    if isinstance(automation, dict):
        kept = {key: automation[key] for key in ("analyzer_version",) if key in automation}
        kept |= {"factories_detected": True} if automation.get("factories_detected") is True else {}
        new["automation"] = new["automation"] | kept
    return same_data(plan, new)
