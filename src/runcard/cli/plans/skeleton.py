"""runcard plan skeleton"""

from typing import TYPE_CHECKING

import click

from runcard.cli.options import output_option
from runcard.cli.plans.options import many_options, plans_argument, root_option, target_options

if TYPE_CHECKING:
    from runcard.cli.many import Many
    from runcard.operations.plans.skeleton import SkeletonResult
    from runcard.plans.plan_files import MethodRef


@click.command("skeleton", short_help="Write the skeleton of a spec by its plan.")
@plans_argument
@output_option("FILE", "Write the spec there; for one plan only.")
@click.option("--force", is_flag=True, help="Replace a spec that is there.")
@target_options()
@root_option
@many_options("plans", "path")
def command(
    paths: tuple[str, ...],
    output: str | None,
    force: bool,
    method_ref: "MethodRef",
    root: str | None,
    many: "Many",
) -> int:
    """Write the skeleton of a spec by the plan of each source SRC, or by the PLAN itself, and print its path.

    There is a context for each state and an example for each way through them, with comments in location of what is to be
    filled in. app/services/x.rb has its spec in spec/services/x_spec.rb, lib/x.rb in spec/lib/x_spec.rb; a further
    method of x.rb, such as pay, in x_pay_spec.rb. A spec that is there stays as it is.

    Exit codes: 0 good, 1 nothing was written, 2 written, but the plan is not validated or of an older source.
    """
    from runcard.errors import UsageError  # noqa: PLC0415
    from runcard.operations.plans.skeleton import write_skeleton  # noqa: PLC0415

    if output is not None and len(paths) > 1:
        raise UsageError("--output is one file, and there are several plans", hint="name one plan")
    many.each(
        paths,
        lambda path: write_skeleton(path, root=root, method_ref=method_ref, output=output, force=force),
        lambda _, written: _show(written),
    )
    return many.finish()


def _show(written: "SkeletonResult") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    say(written.path)
