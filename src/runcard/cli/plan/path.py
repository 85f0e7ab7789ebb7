"""runcard plan path"""

import click

from runcard.cli.options import json_option
from runcard.cli.plan.options import progress_option, root_option, target_options


@click.command("path", short_help="Print where the plan of a source lies.")
@click.argument("sources", nargs=-1, required=True, metavar="SRC...", type=click.Path())
@target_options
@root_option
@json_option
@progress_option
def command(
    sources: tuple[str, ...],
    class_name: str | None,
    method: str | None,
    method_type: str | None,
    root: str | None,
    as_json: bool,
    shows_progress: bool,
) -> int:
    """Print the path of the plan of each source SRC, whether it is there or not.

    The same source gives the same path from every directory.

    Exit codes: 0 good, 1 error, 2 not the documented path, and why.
    """
    from runcard.cli.plan.many import Many  # noqa: PLC0415
    from runcard.cli.printing import say  # noqa: PLC0415
    from runcard.operations.plans.status import locate  # noqa: PLC0415
    from runcard.plans.places import Asked  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    asked = Asked(class_name, method, method_type)
    limits = read_settings().limits
    many = Many("sources", "source", as_json=as_json, shows_progress=shows_progress)
    many.each(
        sources,
        lambda source: locate(source, root=root, asked=asked, limits=limits),
        lambda _, located: say(located.place.path),
    )
    return many.finish()
