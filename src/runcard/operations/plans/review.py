"""The reviewer: a spec beside its plan. Nothing is written into the plan; a report may be written beside it."""

import os
from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.errors import StoreError
from runcard.files import failure, json_name, printable, write_atomic
from runcard.plans.freshness import stale_warnings
from runcard.plans.plan import Plan, plan_at
from runcard.plans.plan_files import MethodRef, locate_plan, report_name
from runcard.plans.project import check_inside
from runcard.plans.ruby.spec_reader import read_spec
from runcard.plans.spec_paths import spec_of
from runcard.plans.spec_review import Review, review
from runcard.views.plan_review import review_page


@dataclass(frozen=True, slots=True)
class ReviewResult:
    """What was found about a spec."""

    plan: Plan
    spec: str
    review: Review
    page: str  # the report, as Markdown
    report: str | None  # where it was written
    remarks: tuple[str, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        found = self.review
        said = list(self.remarks)
        if not found.has_group:
            said.append("the spec has no group for the method: all of its contexts were looked at")
        said += [f"no context for {one.characteristic}: {one.state}" for one in found.uncovered]
        said += [f"no example for {one.characteristic}: {one.state}" for one in found.empty]
        said += [f"line {part.line}: the plan knows no context '{part.name}'" for part in found.unknown]
        if found.placeholders:
            first = found.placeholders[0][0]
            said.append(f"{len(found.placeholders)} placeholders are left, the first in line {first}")
        return tuple(said)

    def to_dict(self) -> JsonObject:
        found = self.review
        return {
            "metadata_path": json_name(self.plan.path).text,
            "spec": json_name(self.spec).text,
            "complete": not self.warnings,
            "states": [one.to_dict() for one in found.states],
            "unknown_contexts": [{"line": part.line, "name": part.name} for part in found.unknown],
            "placeholders": [{"line": line, "text": text} for line, text in found.placeholders],
            "report": None if self.report is None else json_name(self.report).text,
            "warnings": list(self.warnings),
        }


def review_spec(
    path: str,
    spec: str | None = None,
    *,
    root: str | None = None,
    method_ref: MethodRef | None = None,
    write_report: bool = False,
) -> ReviewResult:
    """Compare a spec with its plan; without a name it is the one that the plan says, or that belongs to its source."""
    plan = plan_at(locate_plan(path, root=root, method_ref=method_ref))
    plan.check_exists()
    plan.check_valid()
    data = plan.to_dict()
    file = spec or os.path.join(plan.location.project.root, spec_of(plan))
    if spec is None and not os.path.lexists(file):
        raise StoreError(
            f"{printable(file)} does not exist: there is nothing to review",
            hint="`runcard plan skeleton` writes it; or name the spec",
        )
    read = read_spec(file)
    found = review(data, read)
    unread = [f"line {trouble.line}: {trouble.message}" for trouble in read.warnings]
    page = review_page(_title(data["target"]), spec_of(plan) if spec is None else spec, found)
    remarks = (*plan.warnings, *stale_warnings(plan.location), *unread)
    return ReviewResult(plan, file, found, page, _written(plan, page) if write_report else None, remarks)


def _title(target: JsonObject) -> str:
    return f"{target['class']}{'.' if target['method_type'] == 'class' else '#'}{target['method']}"


def _written(plan: Plan, page: str) -> str:
    path = os.path.join(os.path.dirname(plan.path), report_name(os.path.basename(plan.path)))
    check_inside(plan.location.project, path)
    try:
        write_atomic(path, page.encode())
    except OSError as error:
        raise failure(error, path, "write") from error
    return path
