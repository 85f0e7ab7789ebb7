"""Run the pipeline from a source to the skeleton of its spec: analyzer, validator, skeleton.

Work that is done and still valid is not repeated: the analysis of an unchanged source, and an existing skeleton that the
plan records. A spec that exists already is extended. One that cannot be extended is left as it is, and the next agent may
begin.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from runcard.documents.findings import InvalidDocument
from runcard.encoding import JsonObject
from runcard.errors import DocumentError, RuncardError
from runcard.files import json_name, printable
from runcard.operations.plans.analyze import analyze_methods, analyze_source
from runcard.operations.plans.skeleton import path_in_project, write_skeleton
from runcard.operations.plans.validate import validate_plan
from runcard.plans.agents import AGENTS, next_agent
from runcard.plans.freshness import stale_warnings, status_of
from runcard.plans.plan import Plan, find_plan
from runcard.plans.plan_files import MethodRef, locate_plan
from runcard.plans.project import has_minitest_only, project_of
from runcard.plans.spec_paths import skeleton_path, spec_of

DONE, KEPT = "done", "kept"


@dataclass(frozen=True, slots=True)
class PipelineStep:
    """The result of one agent."""

    agent: str
    outcome: str  # done, or kept from an earlier run
    detail: str

    def to_dict(self) -> JsonObject:
        return {"agent": self.agent, "outcome": self.outcome, "detail": json_name(self.detail).text}


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """The results of all agents for a source."""

    plan: Plan
    steps: tuple[PipelineStep, ...]
    warnings: tuple[str, ...]

    @property
    def next(self) -> str:
        return next_agent(self.plan.to_dict()).name

    def to_dict(self) -> JsonObject:
        return {
            "metadata_path": json_name(self.plan.path).text,
            "steps": [step.to_dict() for step in self.steps],
            "next": self.next,
            "warnings": list(self.warnings),
        }


def run_pipeline(
    path: str,
    method_ref: MethodRef,
    *,
    root: str | None = None,
    output: str | None = None,
    force: bool = False,
    on_step: Callable[[PipelineStep], object] = lambda _: None,
) -> PipelineResult:
    """Analyze a method, validate its plan and write the skeleton of its spec; raises at the first step that fails.

    `on_step` is called with each finished step.
    """
    pipeline = _Pipeline(path, root, on_step)
    method_ref = pipeline.analyze(method_ref)
    plan = pipeline.validate(method_ref)
    if _has_skeleton(plan) and not force:
        pipeline.note(PipelineStep("skeleton", KEPT, spec_of(plan)), ())
    else:
        pipeline.skeleton(plan, method_ref, output, force=force)
    return PipelineResult(
        find_plan(path, root=root, method_ref=method_ref), tuple(pipeline.steps), tuple(pipeline.warnings)
    )


def _framework_warnings(path: str, root: str | None) -> list[str]:
    """A warning for a project whose tests are for Minitest only."""
    project, _ = project_of(path, root)
    if not has_minitest_only(project):
        return []
    return ["the project has tests for Minitest (test/) and none for RSpec: the skeleton is for RSpec"]


def _has_skeleton(plan: Plan) -> bool:
    """Whether the plan records a skeleton that exists, or that was skipped."""
    data = plan.to_dict()
    if not AGENTS["skeleton"].is_done(data):
        return False
    is_skipped = data["automation"].get("skeleton_skipped") is True
    return is_skipped or os.path.lexists(os.path.join(plan.location.project.root, spec_of(plan)))


def run_all_methods(
    path: str, *, root: str | None = None, on_step: Callable[[PipelineStep], object] = lambda _: None
) -> list[PipelineResult | RuncardError]:
    """Run the pipeline for every method of a source that has a body; an error does not stop the others."""
    results: list[PipelineResult | RuncardError] = []
    for analysis in analyze_methods(path, root=root):
        try:
            results.append(
                run_pipeline(path, MethodRef.of(analysis.plan["target"]), root=root, on_step=on_step)
            )
        except RuncardError as error:
            results.append(error)
    return results


class _Pipeline:
    """The steps so far, and all warnings without duplicates."""

    def __init__(self, path: str, root: str | None, on_step: Callable[[PipelineStep], object]) -> None:
        self._path = path
        self._root = root
        self._on_step = on_step
        self.steps: list[PipelineStep] = []
        self.warnings: dict[str, None] = dict.fromkeys(_framework_warnings(path, root))

    def note(self, step: PipelineStep, warnings: Iterable[str]) -> None:
        self.steps.append(step)
        self._on_step(step)
        self.warnings |= dict.fromkeys(warnings)

    def analyze(self, method_ref: MethodRef) -> MethodRef:
        """Make sure that there is a fresh plan; returns the complete reference to its method."""
        location = locate_plan(self._path, root=self._root, method_ref=method_ref)
        if status_of(location).valid:
            self.note(PipelineStep("analyzer", KEPT, location.path), location.warnings)
            return MethodRef.of(location.plan_file.section("target"))
        analyzed = analyze_source(self._path, method_ref, root=self._root, write=True)
        full = MethodRef.of(analyzed.analysis.plan["target"])
        written = locate_plan(self._path, root=self._root, method_ref=full)
        self.note(PipelineStep("analyzer", DONE, written.path), analyzed.warnings)
        return full

    def skeleton(self, plan: Plan, method_ref: MethodRef, output: str | None, *, force: bool) -> None:
        """Write the spec, or extend it; one that cannot be read is left as it is, and the next agent may begin."""
        try:
            written = write_skeleton(
                self._path, root=self._root, method_ref=method_ref, output=output, force=force
            )
        except DocumentError as error:
            spec = output or os.path.join(plan.location.project.root, skeleton_path(plan))
            if not os.path.isfile(spec):
                raise
            self._keep_spec(plan, spec, error)
            return
        count = written.added
        added = "" if count is None else f": {count} context{'' if count == 1 else 's'} added"
        outcome = DONE if written.is_new else KEPT
        self.note(PipelineStep("skeleton", outcome, f"{written.path}{added}"), written.warnings)

    def _keep_spec(self, plan: Plan, spec: str, error: DocumentError) -> None:
        inside = path_in_project(plan, spec)
        plan.mark(
            "skeleton",
            skipped="the spec exists and cannot be extended",
            values={} if inside is None else {"skeleton_file": inside},
        )
        self.note(PipelineStep("skeleton", KEPT, spec), [*stale_warnings(plan.location), str(error)])

    def validate(self, method_ref: MethodRef) -> Plan:
        """Validate the plan; returns the validated plan."""
        result = validate_plan(self._path, root=self._root, method_ref=method_ref)
        if not result.report.valid:
            raise InvalidDocument(result.report, printable(result.plan.path))
        findings = [f"{warning.message} [{warning.rule}]" for warning in result.report.warnings]
        self.note(
            PipelineStep("validator", DONE, f"valid testplan {result.report.version}"),
            (*result.warnings, *findings),
        )
        return result.plan
