"""The reviewer: compares a spec with its plan. The plan is not changed; a report can be written beside it."""

import os
from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.errors import StoreError
from runcard.files import failure, json_name, printable, write_atomic
from runcard.plans.freshness import stale_warnings
from runcard.plans.plan import Plan, find_plan
from runcard.plans.plan_files import MethodRef, report_name
from runcard.plans.project import check_inside
from runcard.plans.ruby.spec_reader import read_spec
from runcard.plans.spec_paths import spec_of
from runcard.plans.spec_review import Review, review
from runcard.views.plan_review import review_page


@dataclass(frozen=True, slots=True)
class ReviewResult:
    """The review of a spec."""

    plan: Plan
    spec: str
    review: Review
    page: str  # the report, as Markdown
    report: str | None  # its path, if it was written
    other_warnings: tuple[str, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        review = self.review
        warnings = list(self.other_warnings)
        if not review.has_group:
            warnings.append("the spec has no group for the method: all of its contexts were checked")
        warnings += [f"no context for {state.characteristic}: {state.state}" for state in review.uncovered]
        warnings += [f"no example for {state.characteristic}: {state.state}" for state in review.empty]
        warnings += [f"line {node.line}: context '{node.name}' is not in the plan" for node in review.unknown]
        if review.placeholders:
            first = review.placeholders[0][0]
            warnings.append(f"{len(review.placeholders)} placeholders left, the first in line {first}")
        return tuple(warnings)

    def to_dict(self) -> JsonObject:
        review = self.review
        return {
            "metadata_path": json_name(self.plan.path).text,
            "spec": json_name(self.spec).text,
            "complete": not self.warnings,
            "states": [state.to_dict() for state in review.states],
            "unknown_contexts": [{"line": part.line, "name": part.name} for part in review.unknown],
            "placeholders": [{"line": line, "text": text} for line, text in review.placeholders],
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
    """Compare a spec with its plan; by default the spec in the plan, or the default spec of the source."""
    plan = find_plan(path, root=root, method_ref=method_ref)
    plan.check_exists()
    plan.check_valid()
    data = plan.to_dict()
    file = spec or os.path.join(plan.location.project.root, spec_of(plan))
    if spec is None and not os.path.lexists(file):
        raise StoreError(
            f"{printable(file)} does not exist",
            hint="run `runcard plan skeleton` to write it, or pass the spec",
        )
    spec_file = read_spec(file)
    result = review(data, spec_file)
    read_warnings = [f"line {warning.line}: {warning.message}" for warning in spec_file.warnings]
    page = review_page(_title(data["target"]), spec_of(plan) if spec is None else spec, result)
    other_warnings = (*plan.warnings, *stale_warnings(plan.location), *read_warnings)
    return ReviewResult(
        plan, file, result, page, _write(plan, page) if write_report else None, other_warnings
    )


def _title(target: JsonObject) -> str:
    return f"{target['class']}{'.' if target['method_type'] == 'class' else '#'}{target['method']}"


def _write(plan: Plan, page: str) -> str:
    path = os.path.join(os.path.dirname(plan.path), report_name(os.path.basename(plan.path)))
    check_inside(plan.location.project, path)
    try:
        write_atomic(path, page.encode())
    except OSError as error:
        raise failure(error, path, "write") from error
    return path
