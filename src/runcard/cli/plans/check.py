"""runcard plan check"""

from typing import TYPE_CHECKING, NamedTuple

import click

from runcard.cli.plans.options import annotations_option, coverage_option, many_options, root_option

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.encoding import JsonObject
    from runcard.operations.plans.check import CheckedMethod


@click.command("check", short_help="Check that specs cover the methods that changed.")
@click.option(
    "--changed",
    is_flag=False,
    flag_value="",
    metavar="[BASE]",
    help="Check what changed since the branch left BASE (default: the main branch).",
)
@click.option("--staged", is_flag=True, help="Check what is staged for the next commit.")
@coverage_option
@annotations_option
@root_option
@many_options("sources", None)
def command(
    changed: str | None,
    staged: bool,
    coverage: str | None,
    annotations: str | None,
    root: str | None,
    batch: "Batch",
) -> int:
    """List the states of changed methods that their specs do not cover. No plans are needed, and none are written.

    The source and the specs are read as they are in the work tree. A public method counts as changed if its text, or
    that of a private method that it calls, differs.

    Exit codes: 0 all states are covered, or nothing changed, 1 error, 2 states are not covered, or not known to be.
    """
    from runcard.operations.plans.check import ChangedMethods  # noqa: PLC0415
    from runcard.plans.ruby.coverage import CoverageReport  # noqa: PLC0415

    if staged == (changed is not None):
        raise click.UsageError("Pass either --changed or --staged.")
    report = None if coverage is None else CoverageReport(coverage)
    methods = ChangedMethods(root or ".", changed or None, staged=staged, coverage=report)
    if methods.note:
        batch.warn(methods.note)
    count = 0
    for source in batch.over(methods.sources):
        with batch.catching(source):
            for checked in methods.check(source):
                count += 1
                if annotations:
                    batch.add(source, _Annotated(checked), lambda _, result: _annotate(result.checked))
                else:
                    batch.add(source, checked, lambda _, result: _show(result))
    if not count and not annotations:
        batch.done("No methods with conditions changed.")
    return batch.finish()


class _Annotated(NamedTuple):
    """A method whose states are annotations, so that the warnings need not list them."""

    checked: "CheckedMethod"

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.checked.short_warnings

    def to_dict(self) -> "JsonObject":
        return self.checked.to_dict()


def _show(checked: "CheckedMethod") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    where = f"{checked.path}:{checked.line}"
    say(f"{where}: {checked.target}: {checked.covered_count} of {checked.state_count} states are covered")


def _annotate(checked: "CheckedMethod") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415
    from runcard.operations.plans.review import state_warning  # noqa: PLC0415
    from runcard.views.plan_review import github_annotation  # noqa: PLC0415

    if checked.review is None:
        say(github_annotation(checked.path, checked.line, checked.warnings[-1]))
    for state in checked.uncovered:
        text = f"{checked.target}: {state_warning(state)}"
        say(github_annotation(checked.path, checked.line_of(state), text))
