"""Tell whether the plan of a source can still be used."""

from dataclasses import dataclass

from runcard.encoding import JsonObject, Limits
from runcard.files import json_name
from runcard.operations.plans.review import title_of
from runcard.plans.agents import next_agent
from runcard.plans.freshness import PlanStatus, analyze_command, status_of
from runcard.plans.plan_files import MethodRef, is_plan_path, locate_plan, locations_of_source


@dataclass(frozen=True, slots=True)
class StatusResult:
    """Whether a plan is fresh."""

    status: PlanStatus
    method: str = ""  # as `Class#method`, if the source has plans for several
    command: str = ""  # that makes a new analysis

    @property
    def warnings(self) -> tuple[str, ...]:
        unchecked = self.status.unchecked
        return (*self.status.location.warnings, *([] if unchecked is None else [unchecked]))

    @property
    def text(self) -> str:
        return f"{self.method}: {self._state}" if self.method else self._state

    @property
    def _state(self) -> str:
        if not self.status.valid:
            return f"needs a new analysis: {self.status.reason}; run `{self.command}`"
        text = "fresh" if self.status.validated else "fresh, not validated"
        return text if self.status.reason is None else f"{text}: {self.status.reason}"

    def to_dict(self) -> JsonObject:
        status = self.status
        plan_file = status.location.plan_file
        data = {} if status.location.is_other_method else plan_file.data or {}
        target = plan_file.section("target")
        return {
            "valid": status.valid,
            "metadata_path": json_name(plan_file.path).text,
            "reason": status.reason,
            "validated": status.validated,
            "target": {key: target.get(key) for key in ("class", "method", "method_type")}
            if target
            else None,
            "next": next_agent(data).name,
            "warnings": list(self.warnings),
        }


def status_of_all(
    path: str, *, root: str | None = None, method_ref: MethodRef | None = None, limits: Limits | None = None
) -> list[StatusResult]:
    """The status of each plan of a source that fits the method; if there is none, why it is needed."""
    ref = method_ref or MethodRef()
    first = locate_plan(path, root=root, method_ref=ref, limits=limits)
    source = "" if is_plan_path(path) else path
    plans = [] if ref.method is not None or not source else locations_of_source(first)
    targets = [(plan, plan.plan_file.section("target")) for plan in plans if len(plans) > 1]
    fitting = [(plan, title_of(target)) for plan, target in targets if ref.matches(target)]
    return [
        StatusResult(status_of(plan), title, analyze_command(plan, source, ref))
        for plan, title in fitting or [(first, "")]
    ]


def status(
    path: str, *, root: str | None = None, method_ref: MethodRef | None = None, limits: Limits | None = None
) -> StatusResult:
    """Check whether the plan of a source can be used, or needs a new analysis."""
    location = locate_plan(path, root=root, method_ref=method_ref, limits=limits)
    command = analyze_command(location, "" if is_plan_path(path) else path, method_ref)
    return StatusResult(status_of(location), command=command)
