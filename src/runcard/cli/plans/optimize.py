"""runcard plan optimize"""

from typing import TYPE_CHECKING

import click

from runcard.cli.plans.options import many_options, plans_argument, root_option, target_options

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.operations.plans.optimize import FactoryAdvice
    from runcard.plans.plan_files import MethodRef


@click.command("optimize", short_help="Compare plans with their factories.")
@plans_argument
@target_options()
@root_option
@many_options("plans", "path")
def command(paths: tuple[str, ...], method_ref: "MethodRef", root: str | None, batch: "Batch") -> int:
    """Compare the states in the plan of each source SRC, or in the PLAN itself, with the traits of its factories.

    Warns about states without a trait, traits that no spec uses, and objects that are built with the wrong strategy
    (build_stubbed for unit tests, create for the others). The warnings and the marker of the factory optimizer are
    written into the plan; nothing else in it changes.

    Exit codes: 0 nothing to improve, 1 error, 2 warnings.
    """
    from runcard.operations.plans.optimize import optimize  # noqa: PLC0415

    batch.each(
        paths,
        lambda path: optimize(path, root=root, method_ref=method_ref),
        lambda _, advice: _show(advice),
    )
    return batch.finish()


def _show(advice: "FactoryAdvice") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    say(f"{advice.plan.path}: {advice.strategy}")
    for match in advice.matches:
        say(f"  {match.characteristic}: {match.state}  {match.factory}, :{match.trait}")
