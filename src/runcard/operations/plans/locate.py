"""Find the path of the plan of a source."""

from dataclasses import dataclass

from runcard.encoding import JsonObject, Limits
from runcard.files import json_name
from runcard.plans.plan_files import MethodRef, PlanLocation, locate_plan


@dataclass(frozen=True, slots=True)
class PlanPath:
    """The path of a plan."""

    location: PlanLocation

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.location.warnings

    def to_dict(self) -> JsonObject:
        return {
            "metadata_path": json_name(self.location.path).text,
            "root": json_name(self.location.project.root).text,
            "file": json_name(self.location.file).text,
            "exists": self.location.plan_file.exists,
            "warnings": list(self.warnings),
        }


def locate(
    path: str, *, root: str | None = None, method_ref: MethodRef | None = None, limits: Limits | None = None
) -> PlanPath:
    """Find the path of the plan of a source; it need not exist."""
    location = locate_plan(path, root=root, method_ref=method_ref, limits=limits)
    location.check_method()
    return PlanPath(location)
