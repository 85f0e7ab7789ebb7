"""runcard plan skeleton"""

from typing import TYPE_CHECKING

import click

from runcard.cli.options import output_option
from runcard.cli.plans.options import many_options, plans_argument, root_option, target_options

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.operations.plans.skeleton import SkeletonResult
    from runcard.plans.plan_files import MethodRef


@click.command("skeleton", short_help="Write the skeleton of a spec from its plan.")
@plans_argument
@output_option("FILE", "Write the spec to FILE; for one plan only.")
@click.option("--merge", is_flag=True, help="Extend an existing spec (default).")
@click.option("--missing", is_flag=True, help="Print what is missing in the spec; write nothing.")
@click.option("--force", is_flag=True, help="Replace an existing spec.")
@target_options()
@root_option
@many_options("plans", "path")
def command(
    paths: tuple[str, ...],
    output: str | None,
    merge: bool,
    missing: bool,
    force: bool,
    method_ref: "MethodRef",
    root: str | None,
    batch: "Batch",
) -> int:
    """Write the skeleton of a spec from the plan of each source SRC, or from the PLAN itself, and print its path.

    There is a context for each state and an example for each combination, with placeholders to fill in. The spec of
    app/services/x.rb is spec/services/x_spec.rb, of lib/x.rb spec/lib/x_spec.rb, of app/controllers/x_controller.rb
    spec/requests/x_spec.rb. All methods of a class are in one spec. An existing spec is extended: only the missing
    groups are inserted, all other bytes stay.

    Exit codes: 0 success, 1 nothing was written, 2 written, but the plan is not validated or not fresh.
    """
    from runcard.errors import UsageError  # noqa: PLC0415
    from runcard.operations.plans.skeleton import missing_examples, write_skeleton  # noqa: PLC0415

    if output is not None and len(paths) > 1:
        raise UsageError("--output names one file, but several plans were given", hint="pass one plan")
    if merge + missing + force > 1:
        raise UsageError("--merge, --missing and --force exclude each other", hint="pass one of them")
    if missing:
        batch.each(
            paths,
            lambda path: missing_examples(path, root=root, method_ref=method_ref, output=output),
            lambda _, result: _show_missing(result),
        )
        return batch.finish()
    batch.each(
        paths,
        lambda path: write_skeleton(path, root=root, method_ref=method_ref, output=output, force=force),
        lambda _, result: _show(result),
    )
    return batch.finish()


def _show_missing(result: "SkeletonResult") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    for line in result.missing:
        say(line)


def _show(result: "SkeletonResult") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    say(result.path)
