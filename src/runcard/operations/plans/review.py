"""The reviewer: compares specs with their plan. The plan is not changed; a report can be written beside it."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from runcard.encoding import JsonObject
from runcard.errors import RuncardError, StoreError
from runcard.files import failure, json_name, printable, shell_word, write_atomic
from runcard.plans.analysis.branch_states import MethodBranches
from runcard.plans.branch_evidence import branch_runs
from runcard.plans.freshness import stale_warnings
from runcard.plans.plan import Plan, find_plan
from runcard.plans.plan_files import MethodRef, check_one_plan, report_name
from runcard.plans.project import check_inside
from runcard.plans.ruby.coverage import CoverageReport
from runcard.plans.ruby.spec_tree import SpecFile
from runcard.plans.spec_paths import spec_of, specs_of
from runcard.plans.spec_review import CoverageEvidence, Review, StateCoverage, read_tested, review
from runcard.views.plan_review import review_page

_ERROR = re.compile(r"(not_to|to_not)?[\s(]*raise_e\w+[\s(]*(?:::)?([A-Z][\w:]*|)")
NO_GROUP = "the spec has no group for the method: its contexts may be about other methods"


@dataclass(frozen=True, slots=True)
class ReviewResult:
    """The review of the specs of one method."""

    plan: Plan
    specs: tuple[str, ...]
    review: Review
    page: str  # the report, as Markdown
    report: str | None  # its path, if it was written
    other_warnings: tuple[str, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is missing, in short: the report lists it."""
        review = self.review
        warnings = list(self.other_warnings)
        if not review.has_group:
            warnings.append(NO_GROUP)
        if review.uncovered:
            warnings.append(uncovered_warning(len(review.uncovered), len(review.states)))
        if review.unknown:
            contexts = "1 context is" if len(review.unknown) == 1 else f"{len(review.unknown)} contexts are"
            warnings.append(f"{contexts} not in the plan")
        if review.placeholders:
            first = review.placeholders[0][0]
            warnings.append(f"{len(review.placeholders)} placeholders left, the first in line {first}")
        return tuple(warnings)

    @property
    def target(self) -> str:
        return title_of(self.plan.to_dict()["target"])

    def to_dict(self) -> JsonObject:
        review = self.review
        return {
            "metadata_path": json_name(self.plan.path).text,
            "spec": json_name(self.specs[0]).text if self.specs else None,
            "specs": [json_name(spec).text for spec in self.specs],
            "complete": not self.warnings,
            "states": [state.to_dict() for state in review.states],
            "unknown_contexts": [{"line": part.line, "name": part.name} for part in review.unknown],
            "placeholders": [{"line": line, "text": text} for line, text in review.placeholders],
            "report": None if self.report is None else json_name(self.report).text,
            "warnings": list(self.warnings),
        }


class ReviewSource(NamedTuple):
    """A source, and the root of its project."""

    path: str
    root: str


def state_warning(state: StateCoverage) -> str:
    """A state that is not covered, or not known to be, as a sentence."""
    return f"{state.status}: {state.characteristic}: {state.state} ({state.reason})"


def uncovered_warning(count: int, total: int) -> str:
    return f"{count} of {total} states {'is' if count == 1 else 'are'} not covered, or not known to be"


def review_spec(
    path: str,
    specs: Sequence[str] = (),
    *,
    root: str | None = None,
    method_ref: MethodRef | None = None,
    coverage: CoverageReport | None = None,
    write_report: bool = False,
) -> ReviewResult:
    """Compare specs with their plan; by default the spec in the plan, or the default spec of the source."""
    plan = find_plan(path, root=root, method_ref=method_ref)
    check_one_plan(plan.location, path, method_ref)
    plan.check_exists()
    plan.check_valid()
    data = plan.to_latest()
    files = tuple(specs) or _default_specs(plan)
    trees = [(file, read_tested(file)) for file in files]
    warnings = [*plan.warnings, *stale_warnings(plan.location), *_read_warnings(trees)]
    evidence, problem = None, None
    if coverage is not None and stale_warnings(plan.location):
        problem = "the plan is not fresh"
    elif coverage is not None:
        source = ReviewSource(plan.location.source, plan.location.project.root)
        evidence, problem = coverage_evidence(
            source, data, coverage, [os.path.abspath(file) for file in files]
        )
    if problem:
        warnings.append(f"the coverage report is not used: {problem}")
    facts = None
    if not stale_warnings(plan.location):
        facts = source_facts(ReviewSource(plan.location.source, plan.location.project.root), data)
    result = review(data, trees, evidence, facts)
    shown = list(specs or specs_of(plan))
    page = review_page(title_of(data["target"]), shown, result, has_coverage=evidence is not None)
    return ReviewResult(
        plan, files, result, page, _write(plan, page) if write_report else None, tuple(warnings)
    )


def _default_specs(plan: Plan) -> tuple[str, ...]:
    root = plan.location.project.root
    files = tuple(os.path.join(root, spec) for spec in specs_of(plan))
    if not files:
        raise StoreError(
            f"{printable(os.path.join(root, spec_of(plan)))} does not exist",
            hint=f"to write it: runcard plan skeleton {shell_word(plan.source)}; or pass the spec",
        )
    return files


def _read_warnings(trees: list[tuple[str, SpecFile]]) -> list[str]:
    return [f"line {warning.line}: {warning.message}" for _, spec in trees for warning in spec.warnings]


def coverage_evidence(
    source: ReviewSource, data: JsonObject, coverage: CoverageReport, specs: Sequence[str]
) -> tuple[CoverageEvidence | None, str | None]:
    """What a coverage report shows about the states of a fresh plan; or why it cannot be used. Specs are in the project."""
    from runcard.plans.analysis import branches_of  # noqa: PLC0415 - its parser takes long to import

    report = coverage.of(source.path, source.root, [os.path.join(source.root, spec) for spec in specs])
    if report.coverage is None:
        return None, report.problem
    others = report.specs - {os.path.basename(spec) for spec in specs}
    if others:
        return None, f"other specs ran, too: {', '.join(sorted(others)[:3])}; run this spec alone"
    is_deep = data["analyzer"].get("deep") is True
    try:
        method = branches_of(source.path, MethodRef.of(data["target"]), root=source.root, is_deep=is_deep)
    except RuncardError as error:
        return None, error.message
    own = {way.error.rpartition("::")[2] for way in method.ways_out} - {""}
    expects_errors = any(_other_errors(os.path.join(source.root, spec), own) for spec in specs)
    runs = branch_runs(data, method, report.coverage, expects_errors=expects_errors)
    return CoverageEvidence(data["target"]["file"], runs), report.problem


def _other_errors(spec: str, own: set[str]) -> bool:
    """Whether an example of a spec expects an error that is not one that the method itself raises."""
    with open(spec, "rb") as file:
        text = file.read().decode(errors="replace")
    expected = [match[2].rpartition("::")[2] for match in _ERROR.finditer(text) if not match[1]]
    return any(name not in own for name in expected)


def source_facts(source: ReviewSource, data: JsonObject) -> MethodBranches | None:
    """What the method of a fresh plan asks, returns and raises; None if the source cannot be read."""
    from runcard.plans.analysis import branches_of  # noqa: PLC0415 - its parser takes long to import

    is_deep = data["analyzer"].get("deep") is True
    try:
        return branches_of(source.path, MethodRef.of(data["target"]), root=source.root, is_deep=is_deep)
    except RuncardError:
        return None


def title_of(target: JsonObject) -> str:
    """A method as `Class#method`."""
    return f"{target.get('class')}{'.' if target.get('method_type') == 'class' else '#'}{target['method']}"


def _write(plan: Plan, page: str) -> str:
    path = os.path.join(os.path.dirname(plan.path), report_name(os.path.basename(plan.path)))
    check_inside(plan.location.project, path)
    try:
        write_atomic(path, page.encode())
    except OSError as error:
        raise failure(error, path, "write") from error
    return path
