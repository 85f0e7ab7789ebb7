"""From a source to the skeleton of its spec in one go: analyzer, validator, skeleton.

What is done already and still holds is not done again: the analysis of a source that did not change, and a skeleton
that is there and the plan says so.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass

from runcard.documents.findings import InvalidDocument
from runcard.encoding import JsonObject
from runcard.files import json_name, printable
from runcard.operations.plans.analyze import analyze_source
from runcard.operations.plans.skeleton import write_skeleton
from runcard.operations.plans.validate import validate_plan
from runcard.plans.agents import AGENTS, next_agent
from runcard.plans.freshness import status_of
from runcard.plans.plan import Plan, plan_at
from runcard.plans.plan_files import MethodRef, locate_plan
from runcard.plans.spec_paths import spec_of

DONE, KEPT = "done", "kept"


@dataclass(frozen=True, slots=True)
class PipelineStep:
    """What came of one agent's work."""

    agent: str
    outcome: str  # done, or kept from before
    detail: str

    def to_dict(self) -> JsonObject:
        return {"agent": self.agent, "outcome": self.outcome, "detail": json_name(self.detail).text}


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """A source that went through the pipeline."""

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
) -> PipelineResult:
    """Analyze a method, validate its plan and write the skeleton of its spec; raises at the first step that fails."""
    run = _Pipeline(path, root)
    method_ref = run.analyzed(method_ref)
    plan = run.validated(method_ref)
    if _has_skeleton(plan) and not force:
        run.steps.append(PipelineStep("skeleton", KEPT, spec_of(plan)))
    else:
        written = write_skeleton(path, root=root, method_ref=method_ref, output=output, force=force)
        run.note(PipelineStep("skeleton", DONE, written.path), written.warnings)
    return PipelineResult(
        plan_at(locate_plan(path, root=root, method_ref=method_ref)), tuple(run.steps), tuple(run.warnings)
    )


def _has_skeleton(plan: Plan) -> bool:
    """Whether a plan has its skeleton: it says so, and the spec is there, unless none was wanted."""
    data = plan.to_dict()
    if not AGENTS["skeleton"].is_done(data):
        return False
    is_skipped = data["automation"].get("skeleton_skipped") is True
    return is_skipped or os.path.lexists(os.path.join(plan.location.project.root, spec_of(plan)))


class _Pipeline:
    """The steps so far; a warning is said once, whoever says it."""

    def __init__(self, path: str, root: str | None) -> None:
        self._path = path
        self._root = root
        self.steps: list[PipelineStep] = []
        self.warnings: dict[str, None] = {}

    def note(self, step: PipelineStep, warnings: Iterable[str]) -> None:
        self.steps.append(step)
        self.warnings |= dict.fromkeys(warnings)

    def analyzed(self, method_ref: MethodRef) -> MethodRef:
        """See that there is a fresh plan; the method in full, as the plan has it."""
        location = locate_plan(self._path, root=self._root, method_ref=method_ref)
        if status_of(location).valid:
            self.note(PipelineStep("analyzer", KEPT, location.path), location.warnings)
            return MethodRef.of(location.plan_file.section("target"))
        analyzed = analyze_source(self._path, method_ref, root=self._root, write=True)
        full = MethodRef.of(analyzed.analysis.plan["target"])
        written = locate_plan(self._path, root=self._root, method_ref=full)
        self.note(PipelineStep("analyzer", DONE, written.path), analyzed.warnings)
        return full

    def validated(self, method_ref: MethodRef) -> Plan:
        """Validate the plan; the plan as it is then."""
        done = validate_plan(self._path, root=self._root, method_ref=method_ref)
        if not done.report.valid:
            raise InvalidDocument(done.report, printable(done.plan.path))
        found = [f"{warning.message} [{warning.rule}]" for warning in done.report.warnings]
        self.note(
            PipelineStep("validator", DONE, f"valid testplan {done.report.version}"), (*done.warnings, *found)
        )
        return done.plan
