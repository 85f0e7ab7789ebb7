"""runcard plan optimize"""

from typing import TYPE_CHECKING

import click

from runcard.cli.plans.options import many_options, plans_argument, root_option, target_options

if TYPE_CHECKING:
    from runcard.cli.many import Many
    from runcard.operations.plans.optimize import FactoryAdvice
    from runcard.plans.plan_files import MethodRef


@click.command("optimize", short_help="Compare plans with the factories they have.")
@plans_argument
@target_options()
@root_option
@many_options("plans", "path")
def command(paths: tuple[str, ...], method_ref: "MethodRef", root: str | None, many: "Many") -> int:
    """Compare the states in the plan of each source SRC, or in the PLAN itself, with the traits of its factories.

    States without a trait, traits that no spec uses, and objects that a test of this level should get otherwise
    (build_stubbed for unit tests, create for the others) are warnings, which the plan keeps. Nothing else in it changes
    but the marker of the factory optimizer.

    Exit codes: 0 nothing to do, 1 error, 2 something could be better.
    """
    from runcard.operations.plans.optimize import optimize  # noqa: PLC0415

    many.each(
        paths,
        lambda path: optimize(path, root=root, method_ref=method_ref),
        lambda _, optimized: _show(optimized),
    )
    return many.finish()


def _show(optimized: "FactoryAdvice") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    say(f"{optimized.plan.path}: {optimized.strategy}")
    for match in optimized.matches:
        say(f"  {match.characteristic}: {match.state}  {match.factory}, :{match.trait}")
