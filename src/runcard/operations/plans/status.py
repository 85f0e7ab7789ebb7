"""Where the plan of a source lies, and whether it can still be used."""

from dataclasses import dataclass

from runcard.encoding import JsonObject, Limits
from runcard.files import json_name
from runcard.plans.agents import next_agent
from runcard.plans.freshness import Status, status_of
from runcard.plans.plan_files import Asked, Place, place_of


@dataclass(frozen=True, slots=True)
class Located:
    """The path of a plan."""

    place: Place

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.place.warnings

    def to_dict(self) -> JsonObject:
        return {
            "metadata_path": json_name(self.place.path).text,
            "root": json_name(self.place.project.root).text,
            "file": json_name(self.place.file).text,
            "exists": self.place.stored.exists,
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, slots=True)
class Told:
    """Whether a plan is a hit."""

    status: Status

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.status.place.warnings

    @property
    def in_words(self) -> str:
        if self.status.reason is not None:
            return f"needs a new analysis: {self.status.reason}"
        return "fresh" if self.status.validated else "fresh, not validated"

    def to_dict(self) -> JsonObject:
        status = self.status
        stored = status.place.stored
        data = {} if status.place.is_other else stored.data or {}
        target = stored.section("target")
        return {
            "valid": status.valid,
            "metadata_path": json_name(stored.path).text,
            "reason": status.reason,
            "validated": status.validated,
            "target": {key: target.get(key) for key in ("class", "method", "method_type")}
            if target
            else None,
            "next": next_agent(data).name,
            "warnings": list(self.warnings),
        }


def locate(
    path: str, *, root: str | None = None, asked: Asked | None = None, limits: Limits | None = None
) -> Located:
    """Where the plan of a source lies, or will lie."""
    place = place_of(path, root=root, asked=asked, limits=limits)
    place.check_own()
    return Located(place)


def status(
    path: str, *, root: str | None = None, asked: Asked | None = None, limits: Limits | None = None
) -> Told:
    """Whether the plan of a source can be used; the answer to a miss is a new analysis."""
    return Told(status_of(place_of(path, root=root, asked=asked, limits=limits)))
