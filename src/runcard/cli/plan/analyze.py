"""runcard plan analyze"""

from functools import partial
from typing import TYPE_CHECKING

import click

from runcard.cli.options import json_option
from runcard.cli.plan.options import METHOD_TYPES, progress_option, root_option

if TYPE_CHECKING:
    from runcard.operations.plans.analyzing import Analyzed


@click.command("analyze", short_help="Find what the tests of a Ruby method must cover.")
@click.argument("sources", nargs=-1, required=True, metavar="SRC...", type=click.Path())
@click.option("--method", metavar="NAME", help="The method to analyze.")
@click.option("--class", "class_name", metavar="NAME", help="Its class, where the name alone is not clear.")
@click.option("--type", "method_type", type=click.Choice(METHOD_TYPES), help="Its type, likewise.")
@click.option("--all-methods", is_flag=True, help="Analyze every method that has a body.")
@click.option("--write", "writes", is_flag=True, help="Write the plan, and print its path.")
@root_option
@json_option
@progress_option
def command(  # noqa: PLR0913, PLR0917 - an option is an argument
    sources: tuple[str, ...],
    method: str | None,
    class_name: str | None,
    method_type: str | None,
    all_methods: bool,
    writes: bool,
    root: str | None,
    as_json: bool,
    shows_progress: bool,
) -> int:
    """Find the conditions of a method in the Ruby file SRC, and print the plan that they make.

    The file is parsed, nothing is run, and the same source always gives the same plan.

    Exit codes: 0 good, 1 no such method or nothing that can be read, 2 good with warnings: no condition at all, more
    than six levels, or a part that could not be read.
    """
    from runcard.cli.plan.many import Many  # noqa: PLC0415
    from runcard.errors import RuncardError  # noqa: PLC0415
    from runcard.operations.plans.analyzing import analyze_methods, analyze_source, kept  # noqa: PLC0415
    from runcard.plans.places import Asked  # noqa: PLC0415

    if all_methods == (method is not None):
        raise click.UsageError("Name the method with --method, or say --all-methods.")
    many = Many("sources", "source", as_json=as_json, shows_progress=shows_progress)
    if method is not None:
        asked = Asked(class_name, method, method_type)
        many.each(sources, lambda source: analyze_source(source, asked, root=root, write=writes), _show)
        return many.finish()
    for source in sources:
        try:
            analyses = analyze_methods(source, root=root)
        except RuncardError as error:
            many.refuse(source, error)
            continue
        for analysis in analyses:
            many.each([source], partial(kept, analysis=analysis, root=root, write=writes), _show_one_of_many)
    return many.finish()


def _show_one_of_many(source: str, analyzed: "Analyzed") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    if analyzed.plan is None:
        say("---")
    _show(source, analyzed)


def _show(_: str, analyzed: "Analyzed") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    if analyzed.plan is not None:
        say(analyzed.plan.path)
        return
    for line in analyzed.text.splitlines():
        say(line)
