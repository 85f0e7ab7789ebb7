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
@click.option("--force", is_flag=True, help="Replace an existing spec.")
@target_options()
@root_option
@many_options("plans", "path")
def command(
    paths: tuple[str, ...],
    output: str | None,
    force: bool,
    method_ref: "MethodRef",
    root: str | None,
    batch: "Batch",
) -> int:
    """Write the skeleton of a spec from the plan of each source SRC, or from the PLAN itself, and print its path.

    There is a context for each state and an example for each combination, with placeholders to fill in. The spec of
    app/services/x.rb is spec/services/x_spec.rb, of lib/x.rb spec/lib/x_spec.rb; the spec of an additional method of
    x.rb, such as pay, is x_pay_spec.rb. An existing spec is not changed.

    Exit codes: 0 success, 1 nothing was written, 2 written, but the plan is not validated or not fresh.
    """
    from runcard.errors import UsageError  # noqa: PLC0415
    from runcard.operations.plans.skeleton import write_skeleton  # noqa: PLC0415

    if output is not None and len(paths) > 1:
        raise UsageError("--output names one file, but several plans were given", hint="pass one plan")
    batch.each(
        paths,
        lambda path: write_skeleton(path, root=root, method_ref=method_ref, output=output, force=force),
        lambda _, result: _show(result),
    )
    return batch.finish()


def _show(result: "SkeletonResult") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    say(result.path)
