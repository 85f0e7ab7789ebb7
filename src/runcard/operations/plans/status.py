"""Tell whether the plan of a source can still be used."""

from dataclasses import dataclass

from runcard.encoding import JsonObject, Limits
from runcard.files import json_name
from runcard.operations.plans.review import title_of
from runcard.plans.agents import next_agent
from runcard.plans.freshness import PlanStatus, status_of
from runcard.plans.plan_files import MethodRef, is_plan_path, locate_plan, locations_of_source


@dataclass(frozen=True, slots=True)
class StatusResult:
    """Whether a plan is fresh."""

    status: PlanStatus
    method: str = ""  # as `Class#method`, if the source has plans for several

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
            return f"needs a new analysis: {self.status.reason}"
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
    plans = [] if ref.method is not None or is_plan_path(path) else locations_of_source(first)
    if len(plans) < 2:
        return [StatusResult(status_of(first))]
    targets = [(plan, plan.plan_file.section("target")) for plan in plans]
    fitting = [StatusResult(status_of(plan), title_of(at)) for plan, at in targets if ref.matches(at)]
    return fitting or [StatusResult(status_of(first))]


def status(
    path: str, *, root: str | None = None, method_ref: MethodRef | None = None, limits: Limits | None = None
) -> StatusResult:
    """Check whether the plan of a source can be used, or needs a new analysis."""
    return StatusResult(status_of(locate_plan(path, root=root, method_ref=method_ref, limits=limits)))
